#!/bin/sh
# Builds the wheel of the package flowsieve, for this machine's Linux, with the tools of python/package/requirements.txt.
#   scripts/wheel.sh PROFILE FOLDER
# PROFILE is `quick` (to build), `release` (quick to run), or `ci` (every check on, sharing what `cargo test` compiled). The
# wheel is the only thing in FOLDER/wheels. Where the tools cannot be had it prints why and fails.
set -eu
cd "$(dirname "$0")/.."
profile=$1
out=$2/wheels

why=$(scripts/venv.sh python/package) || {
    printf '%s\n' "$why"
    exit 1
}
rm -rf "$out"
# patchelf and audit need not be there: what the extension links is in every Linux.
VIRTUAL_ENV=$PWD/python/package/.venv python/package/.venv/bin/maturin build --quiet --locked --profile "$profile" \
    --interpreter python/package/.venv/bin/python --out "$out" >&2 || {
    echo "maturin could not build the wheel"
    exit 1
}
