#!/bin/sh
# Tests python/, the trainer of forests, in python/.venv. Where that cannot be made it says why and tests nothing. The
# committed forests are trained again on what FLOWSIEVE writes: the command as `cargo test --profile ci` has built it.
set -eu
cd "$(dirname "$0")/.."

why=$(scripts/venv.sh) || {
    printf 'python: skipped, nothing of python/ was tested: %s\n' "$why"
    exit 0
}

target=${CARGO_TARGET_DIR:-target}
case $target in /*) ;; *) target=$PWD/$target ;; esac
FLOWSIEVE=${FLOWSIEVE:-$target/ci/flowsieve}
export FLOWSIEVE

cd python
exec .venv/bin/python -B -m pytest -q -rs --color=no -p no:cacheprovider "$@"
