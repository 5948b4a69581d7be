#!/bin/sh
# Tests the Python parts, each in a virtual environment of its own. python/ trains and applies forests. python/analysis/
# has the examples of docs/guide/figures.md, the report in a browser, and the pictures of the documents. Where an
# environment cannot be made it says why and tests nothing there.
#   scripts/python.sh [FOLDER [OPTION OF PYTEST]...]
# The playground is built for its tests; where it cannot be, a line says so, and they are skipped.
# Both call the command as `cargo test --profile ci` has built it, or the one that FLOWSIEVE names.
set -eu
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
case $target in /*) ;; *) target=$PWD/$target ;; esac
FLOWSIEVE=${FLOWSIEVE:-$target/ci/flowsieve}
PLAYGROUND=${PLAYGROUND:-$target/playground/index.html}
export FLOWSIEVE PLAYGROUND

tested() { # folder, options of pytest
    folder=$1
    shift
    why=$(scripts/venv.sh "$folder") || {
        printf 'python: skipped, nothing of %s/ was tested: %s\n' "$folder" "$why"
        return 0
    }
    if [ -f "$folder/package-lock.json" ]; then
        why=$(scripts/npm.sh "$folder") || printf 'python: %s: tests of %s/ that need it are skipped\n' "$why" "$folder"
    fi
    (cd "$folder" && exec .venv/bin/python -B -m pytest -q -rs --color=no -p no:cacheprovider "$@")
}

built() {
    why=$(scripts/playground.sh 2>&1) || printf '%s\n' "$why" | tail -n 1
}

if [ $# -gt 0 ]; then
    case $1 in python/analysis*) built ;; esac
    tested "$@"
    exit
fi
# Both at once: each waits for one process most of the time. What the second says comes after the first.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
{ built && tested python/analysis; } >"$log" 2>&1 &
failed=0
tested python || failed=1
wait $! || failed=1
cat "$log"
exit $failed
