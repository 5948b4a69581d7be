#!/bin/sh
# Builds the documents into target/book with mdBook, which it installs into .cargo-tools/ if it is missing; without
# optimisation, because one book takes a second. docs/README.md is the table of contents. The playground is in it, where it can
# be built.
set -eu
cd "$(dirname "$0")/.."

version=0.5.4
PATH="$PWD/.cargo-tools/bin:$PATH"
if ! command -v mdbook >/dev/null 2>&1; then
    echo "book: building mdbook $version into .cargo-tools/ (once)"
    CARGO_PROFILE_DEV_DEBUG=0 cargo install --locked --quiet mdbook --version "$version" --no-default-features \
        --features search --profile dev --root .cargo-tools --target-dir target/tools
fi
python3 scripts/book.py
mdbook build
# The lesson's links lead there.
if why=$(scripts/playground.sh 2>&1); then
    rm -rf target/book/playground
    cp -r "${CARGO_TARGET_DIR:-target}/playground" target/book/
else
    printf 'book: without the playground: %s\n' "$(printf '%s\n' "$why" | tail -n 1)"
fi
