#!/bin/sh
# Runs the property tests on new cases, round after round, for MINUTES (10). Each round has a seed, which is printed:
# `PROPTEST_RNG_SEED=SEED make test` draws the cases of Rust again.
set -eu
cd "$(dirname "$0")/.."

ends=$(($(date +%s) + 60 * ${MINUTES:-10}))
PROPTEST_RNG_SEED=${SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
export PROPTEST_RNG_SEED

# Modules of tests/ with a property test; those in src/ are in libraries.
modules=$(grep -rlE 'proptest! \{|TestRunner::new' crates/*/tests --include='*.rs' |
    sed -E 's#crates/[^/]+/tests/([^/.]+)(/.*|\.rs)#\1::#' | sort -u | tr '\n' ' ')
libraries="cargo test --locked --workspace --profile ci --lib"
programs="cargo test --locked --workspace --profile ci --test *_tests -- $modules"

failed() {
    printf 'test-random: failed with the seed %s; again: PROPTEST_RNG_SEED=%s %s\n' "$PROPTEST_RNG_SEED" "$PROPTEST_RNG_SEED" "$1" >&2
    exit 1
}

while :; do
    echo "test-random: seed $PROPTEST_RNG_SEED"
    for tests in "$libraries" "$programs"; do
        $tests || failed "$tests"
    done
    python="scripts/package.sh package -m hypothesis --hypothesis-profile=new --hypothesis-seed=$PROPTEST_RNG_SEED"
    $python || failed "$python"
    [ "$(date +%s)" -lt "$ends" ] || break
    PROPTEST_RNG_SEED=$((PROPTEST_RNG_SEED + 1))
done
echo "test-random: no property failed"
