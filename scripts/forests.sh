#!/bin/sh
# Trains the forests of experiments/qclimb/forests again, as forests.csv there says. On x86_64 Linux they are the same bytes.
# OUT=DIR writes them elsewhere.
set -eu
cd "$(dirname "$0")/.."

forests=experiments/qclimb/forests
out=${OUT:-$forests}
jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)

why=$(scripts/venv.sh python) || {
    printf 'forests: nothing was trained: %s\n' "$why" >&2
    exit 2
}
cargo build --locked --profile quick -p flowsieve
target=${CARGO_TARGET_DIR:-target}

mkdir -p "$out"
trace=$(mktemp)
trap 'rm -f "$trace"' EXIT
trap 'exit 1' INT TERM
tail -n +2 "$forests/forests.csv" | while IFS=, read -r file stand_in calibration seed depth trees; do
    "$target/quick/flowsieve" forest trace "$stand_in" --calibration "$calibration" --seed "$seed" </dev/null >"$trace"
    PYTHONPATH=python python/.venv/bin/python -B -m flowsieve_forest train "$trace" --out "$out/$file" --replace \
        --trees "$trees" --depth "$depth" --seed 1 --share 0.8 --jobs "$jobs" </dev/null
done
