#!/bin/sh
# Writes every row of each paper into target/pages, from the measurements that are kept in papers/PAPER/measured:
# PAPER.html, one file with its figures, and PAPER.csv, a row a claim. It runs no simulation, and takes 40 s.
#   scripts/pages.sh [PAPER ...]
# It calls the command that FLOWSIEVE names, or else builds one.
set -eu
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
if [ -z "${FLOWSIEVE:-}" ]; then
    ${CARGO:-cargo} build --locked --profile quick -p flowsieve
    FLOWSIEVE=$target/quick/flowsieve
fi
if [ $# = 0 ]; then
    # Names of papers have no spaces.
    set -- $(ls -d papers/*/measured | cut -d/ -f2)
fi
mkdir -p "$target/pages"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for paper; do
    scale=paper
    ! ls "papers/$paper/measured/"*.quick.json >/dev/null 2>&1 || scale=quick
    "$FLOWSIEVE" reproduce "$paper" --folder papers --scale "$scale" --from-measured --out "$scratch/out" \
        --page "$scratch/$paper.md" --replace >"$scratch/printed" 2>&1 || { cat "$scratch/printed" >&2 && exit 1; }
    python3 scripts/pages.py "$scratch/$paper.md" "$target/pages"
done
