#!/bin/sh
# Runs the property tests on new cases, round after round, for MINUTES (10). Each round has a seed, which is printed:
# `PROPTEST_RNG_SEED=SEED make test` draws the cases of that round again.
set -eu
cd "$(dirname "$0")/.."

ends=$(($(date +%s) + 60 * ${MINUTES:-10}))
PROPTEST_RNG_SEED=${SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}

# The targets of cargo with a property test: a crate, and --lib or --test with a name.
targets=$(grep -rlE 'proptest! \{|TestRunner::new' crates --include='*.rs' |
    sed -E 's#crates/([^/]+)/src/.*#\1 --lib#; s#crates/([^/]+)/tests/([^/.]+)(/.*|\.rs)#\1 --test \2#' | sort -u)

failed() {
    printf 'test-random: %s failed with the seed %s; again: PROPTEST_RNG_SEED=%s %s\n' "$1" "$PROPTEST_RNG_SEED" "$PROPTEST_RNG_SEED" "$2" >&2
    exit 1
}

export PROPTEST_RNG_SEED
while :; do
    echo "test-random: seed $PROPTEST_RNG_SEED"
    while read -r crate target; do
        again="cargo test --locked --profile ci --package flowsieve-$crate $target"
        $again --quiet || failed "$crate $target" "$again"
    done <<EOF
$targets
EOF
    scripts/package.sh package -m hypothesis --hypothesis-profile=new --hypothesis-seed="$PROPTEST_RNG_SEED" ||
        failed python "scripts/package.sh package -m hypothesis --hypothesis-profile=new --hypothesis-seed=$PROPTEST_RNG_SEED"
    [ "$(date +%s)" -lt "$ends" ] || break
    PROPTEST_RNG_SEED=$((PROPTEST_RNG_SEED + 1))
done
echo "test-random: no property failed"
