#!/bin/sh
# Installs a wheel into an environment of its own, as pipx does, and runs the command and the package there.
#   scripts/try_wheel.sh WHEEL
set -eu
[ $# -eq 1 ] && [ -f "$1" ] || {
    echo "try_wheel: $* is not one wheel; expected the path of a file" >&2
    exit 2
}
wheel=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-index "$wheel"
# Nothing of the clone is near.
cd "$folder"
venv/bin/flowsieve --version
venv/bin/flowsieve run quickstart --scale smoke --out result >/dev/null
venv/bin/python -c 'import flowsieve as fs; print(fs.Result("result").title)'
