#!/bin/sh
# Makes FOLDER/.venv, a virtual environment with the exact packages of FOLDER/requirements.txt, where it is not there yet.
#   scripts/venv.sh FOLDER
# Where there is no Python 3.11 or later, or the packages cannot be had, it prints why and fails. Without a folder it looks for Python
# alone.
set -eu
cd "$(dirname "$0")/.."
folder=${1:-.}
cd "$folder"

stop() {
    printf '%s\n' "$*"
    exit 1
}

fits() {
    "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

if [ "$folder" != . ] && fits .venv/bin/python && cmp -s requirements.txt .venv/requirements.txt; then
    exit 0
fi
python=
for name in python3 python3.14 python3.13 python3.12 python3.11; do
    if fits "$name"; then
        python=$name
        break
    fi
done
[ -n "$python" ] || stop "no Python 3.11 or later with venv and ensurepip"
[ "$folder" != . ] || exit 0
echo "python: installing the packages of requirements.txt into $folder/.venv (once)" >&2
rm -rf .venv
"$python" -m venv .venv >&2 || stop "$python -m venv failed"
# Nothing is compiled: a platform without a wheel is one that the versions are not pinned for.
.venv/bin/python -m pip install --quiet --disable-pip-version-check --retries 2 --require-hashes --only-binary :all: \
    -r requirements.txt >&2 || stop "pip could not install the packages of $folder/requirements.txt"
cp requirements.txt .venv/requirements.txt
