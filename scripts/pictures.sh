#!/bin/sh
# Makes the pictures of the documentation, docs/images/, from a result.
#   scripts/pictures.sh FLOWSIEVE RESULT
# Needs chromium with its driver, script(1) and Python.
set -eu
cd "$(dirname "$0")/.."
flowsieve=$1
result=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

why=$(scripts/venv.sh python/analysis) || {
    printf 'pictures: none were made: %s\n' "$why" >&2
    exit 2
}
# What a terminal of 80 columns shows, with its colours.
script -qec "stty cols 80; $flowsieve report $result" /dev/null >"$scratch/terminal.txt"
python/analysis/.venv/bin/python -B python/analysis/pictures.py "$result" "$scratch/terminal.txt" docs/images
ls -l docs/images
