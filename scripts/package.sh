#!/bin/sh
# Builds a wheel with every check on, which shares what `cargo test` compiled, and tests it as installed, in an environment of its own:
# the package, or with `cluster` its sweeps on Ray. Where an environment cannot be made it says why and tests nothing.
#   scripts/package.sh package|cluster [OPTION OF PYTEST]...
set -eu
cd "$(dirname "$0")/.."
folder=python/$1
shift

target=${CARGO_TARGET_DIR:-target}
why=$(scripts/wheel.sh ci "$target" && scripts/venv.sh "$folder") || {
    printf 'python: skipped, nothing of %s/ was tested: %s\n' "$folder" "$why"
    exit 0
}
python=$PWD/$folder/.venv/bin/python
wheels=$(realpath "$target")/wheels
"$python" -m pip install --quiet --disable-pip-version-check --no-deps --no-index --force-reinstall "$wheels"/*.whl
cd "$folder"
documented=
if [ "$folder" = python/package ]; then
    "$python" -m mypy --no-error-summary
    "$python" -m mypy.stubtest --concise flowsieve._flowsieve >&2
    # The checker of most editors: the package itself, and then what it shows to users.
    quietly() {
        PATH="$(dirname "$python"):$PATH" "$python" -m "$@" >"$wheels/../pyright.txt" || {
            cat "$wheels/../pyright.txt"
            exit 1
        }
    }
    quietly basedpyright
    quietly basedpyright --verifytypes flowsieve --ignoreexternal
    FLOWSIEVE_WHEEL=$(ls "$wheels"/*.whl)
    export FLOWSIEVE_WHEEL
    # The examples of its docstrings, in addition to the tests.
    documented='tests --doctest-modules --pyargs flowsieve'
fi
# shellcheck disable=SC2086 # several words
exec "$python" -B -m pytest -q -rs --color=no -p no:cacheprovider $documented "$@"
