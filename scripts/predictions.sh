#!/bin/sh
# Makes papers/qclimb/predictions again: trains a forest for each row of forests.csv there on the first four fifths of a
# stand-in, and writes what it predicts of the last fifth. On x86_64 Linux they are the same bytes.
# OUT=DIR writes them elsewhere.
set -eu
cd "$(dirname "$0")/.."

predictions=papers/qclimb/predictions
out=${OUT:-$predictions}
jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)

why=$(scripts/venv.sh python) || {
    printf 'predictions: nothing was made: %s\n' "$why" >&2
    exit 2
}
cargo build --locked --profile quick -p flowsieve
target=${CARGO_TARGET_DIR:-target}

forests() {
    PYTHONPATH=python python/.venv/bin/python -B -m flowsieve_forest "$@" </dev/null
}

mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
tail -n +2 "$predictions/forests.csv" | while IFS=, read -r file trained_on calibration depth trees predicts; do
    for name in "$trained_on" "$predicts"; do
        "$target/quick/flowsieve" flows "$name" --set "calibration=$calibration" </dev/null >"$work/$name.csv"
    done
    forests train "$work/$trained_on.csv" --out "$work/forest.fsf" --replace \
        --trees "$trees" --depth "$depth" --seed 1 --share 0.8 --jobs "$jobs"
    forests apply "$work/forest.fsf" "$work/$predicts.csv" --out "$out/$file" --replace --brief --from 0.8
done
