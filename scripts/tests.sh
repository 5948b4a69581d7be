#!/bin/sh
# Runs the tests of what `cargo test --no-run` has built: those of the lab first, which need the machine for themselves, then
# the others beside Python's. Most of these wait for one process, so that each half would leave a core idle. What Python's say
# comes last.
#   scripts/tests.sh [OPTION OF CARGO TEST]...
set -eu
cd "$(dirname "$0")/.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0
lab='lab_clean__ lab_compare__ lab_doctor__ lab_run__ lab_up__'
# shellcheck disable=SC2086 # several names
"${CARGO:-cargo}" test --no-fail-fast "$@" --test flowsieve_tests -- $lab || failed=1
{
    scripts/python.sh || failed=1
    scripts/package.sh package || failed=1
    exit $failed
} >"$log" 2>&1 &
python=$!
# shellcheck disable=SC2046,SC2086 # several names
"${CARGO:-cargo}" test --no-fail-fast "$@" -- $(printf -- '--skip %s ' $lab) || failed=1
wait $python || failed=1
cat "$log"
exit $failed
