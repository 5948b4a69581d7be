#!/bin/sh
# Draws every picture of the documents anew, docs/images/.
#   scripts/pictures.sh
# It calls the command that FLOWSIEVE names, or else builds one. Needs chromium with its driver, and Python.
# The runs, 84 s of processor time (2026-11-26), are kept in target/pictures for the next call.
set -eu
cd "$(dirname "$0")/.."

why=$(scripts/venv.sh python/analysis) || {
    printf 'pictures: none were made: %s\n' "$why" >&2
    exit 2
}
target=${CARGO_TARGET_DIR:-target}
if [ -z "${FLOWSIEVE:-}" ]; then
    ${CARGO:-cargo} build --locked --profile quick -p flowsieve
    FLOWSIEVE=$target/quick/flowsieve
fi
scripts/playground.sh
PLAYGROUND=$target/playground/index.html
export PLAYGROUND
exec python/analysis/.venv/bin/python -B python/analysis/pictures.py "$FLOWSIEVE" "$target/pictures"
