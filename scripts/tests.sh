#!/bin/sh
# Runs the tests of what `cargo test --no-run` has built: those of the lab first, which need the machine for themselves, then
# the others beside Python's. Most of these wait for one process, so that each half would leave a core idle. What Python's say
# comes last.
# The catalogues of papers (tests of the module `catalogue`) are left out if nothing that they run has changed since they passed
# last, and a line says so; with ALL=1 they run in any case.
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
passed=${CARGO_TARGET_DIR:-target}/catalogues-passed
run='crates experiments papers Cargo.toml Cargo.lock'
# shellcheck disable=SC2086 # several names
now=$(git status --porcelain $run && git rev-parse $(printf 'HEAD:%s ' $run)) || now=unknown
skipped=$lab
if [ "${ALL:-}" != 1 ] && [ "$(cat "$passed" 2>/dev/null)" = "$now" ]; then
    skipped="$lab catalogue::"
    left_out="left out: the catalogues of papers, which passed with the same $run (make test-all runs them)"
fi
# shellcheck disable=SC2046,SC2086 # several names
"${CARGO:-cargo}" test --no-fail-fast "$@" -- $(printf -- '--skip %s ' $skipped) || failed=1
case $now in
*" "* | unknown) ;; # Not committed, or no repository.
*) [ $failed = 1 ] || printf '%s\n' "$now" >"$passed" ;;
esac
wait $python || failed=1
cat "$log"
echo "${left_out:-}"
exit $failed
