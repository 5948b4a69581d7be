#!/bin/sh
# Installs the exact packages of FOLDER/package-lock.json into FOLDER/node_modules, where they are not there yet. Their own scripts are
# not run. Where there is no npm, or the packages cannot be had, it prints why and fails.
#   scripts/npm.sh FOLDER
set -eu
cd "$(dirname "$0")/../$1"
cmp -s package-lock.json node_modules/installed-lock.json && exit 0
command -v npm >/dev/null 2>&1 || {
    echo "no npm"
    exit 1
}
echo "npm: installing the packages of package-lock.json into $1/node_modules (once)" >&2
npm ci --ignore-scripts --no-audit --no-fund --silent >&2 || {
    echo "npm could not install the packages of $1/package-lock.json"
    exit 1
}
cp package-lock.json node_modules/installed-lock.json
