#!/bin/sh
# Builds the tests of Rust, then runs them N times (20). For each run it prints the number of tests and their processor
# time, and at the end the fastest, the slowest and their ratio. The status is 1 if a run fails, if two runs have other
# tests, or if the slowest took more than 1.3 times the fastest.
#   scripts/test_time.sh [N [OPTION OF CARGO TEST]...]
# The options say which tests: all of the workspace without any.
set -eu
cd "$(dirname "$0")/.."

most_ratio=1.3
runs=20
if [ $# -gt 0 ]; then
    runs=$1
    shift
fi
case $runs in '' | *[!0-9]* | 0) echo "test_time: $runs runs; expected a whole number, 1 at least" >&2; exit 2 ;; esac
[ $# -gt 0 ] || set -- --workspace

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Seconds of processor time of all processes that have ended so far, into `spent`. A subshell has a count of its own.
look() {
    times >"$folder/times"
    spent=$(awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, part, /[ms]/); sum += 60 * part[1] + part[2] } printf "%.2f", sum }' \
        "$folder/times")
}

cargo test --locked --profile ci --no-run --quiet "$@"

number=1
while [ "$number" -le "$runs" ]; do
    look
    before=$spent
    cargo test --locked --profile ci --no-fail-fast "$@" >"$folder/output" 2>&1 || {
        cat "$folder/output"
        echo "test_time: run $number failed" >&2
        exit 1
    }
    look
    grep -E '^test .* \.\.\. ' "$folder/output" | sed 's/, \(.*\)$//' | sort >"$folder/tests"
    [ "$number" -eq 1 ] && cp "$folder/tests" "$folder/first"
    cmp -s "$folder/first" "$folder/tests" || {
        diff "$folder/first" "$folder/tests" || true
        echo "test_time: run $number had other tests than run 1" >&2
        exit 1
    }
    seconds=$(awk "BEGIN { printf \"%.2f\", $spent - $before }")
    echo "$seconds" >>"$folder/seconds"
    printf 'run %s: %s tests, %s s of processor time\n' "$number" "$(wc -l <"$folder/tests")" "$seconds"
    number=$((number + 1))
done
sort -n "$folder/seconds" | awk -v most="$most_ratio" '
    NR == 1 { fastest = $1 }
    { slowest = $1 }
    END {
        printf "fastest %.2f s, slowest %.2f s, ratio %.3f (at most %.1f)\n", fastest, slowest, slowest / fastest, most
        exit slowest > most * fastest
    }'
