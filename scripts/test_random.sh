#!/bin/sh
# Runs the property tests on new cases, round after round, for MINUTES (10). Each round has a seed, which is printed:
# `PROPTEST_RNG_SEED=SEED make test` draws the cases of Rust again.
set -eu
cd "$(dirname "$0")/.."

ends=$(($(date +%s) + 60 * ${MINUTES:-10}))
PROPTEST_RNG_SEED=${SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
export PROPTEST_RNG_SEED

# Files in tests/ with a property test, as options of cargo; those in src/ are in libraries.
targets=$(grep -rlE 'proptest! \{|TestRunner::new' crates/*/tests --include='*.rs' |
    sed -E 's#crates/[^/]+/tests/([^/.]+)(/.*|\.rs)#--test \1#' | sort -u)
tests="cargo test --locked --workspace --profile ci --lib $(echo "$targets" | tr '\n' ' ')"

failed() {
    printf 'test-random: failed with the seed %s; again: PROPTEST_RNG_SEED=%s %s\n' "$PROPTEST_RNG_SEED" "$PROPTEST_RNG_SEED" "$1" >&2
    exit 1
}

while :; do
    echo "test-random: seed $PROPTEST_RNG_SEED"
    $tests --quiet || failed "$tests"
    python="scripts/package.sh package -m hypothesis --hypothesis-profile=new --hypothesis-seed=$PROPTEST_RNG_SEED"
    $python || failed "$python"
    [ "$(date +%s)" -lt "$ends" ] || break
    PROPTEST_RNG_SEED=$((PROPTEST_RNG_SEED + 1))
done
echo "test-random: no property failed"
