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
"${CARGO:-cargo}" test --no-fail-fast "$@" --test lab --test lab_own || failed=1
{
    scripts/python.sh || failed=1
    scripts/package.sh package || failed=1
    exit $failed
} >"$log" 2>&1 &
python=$!
"${CARGO:-cargo}" test --no-fail-fast "$@" -- \
    --skip lab_clean__ --skip lab_compare__ --skip lab_doctor__ --skip lab_run__ --skip lab_up__ || failed=1
wait $python || failed=1
cat "$log"
exit $failed
