#!/bin/sh
# Checks licences, bans and sources of all dependencies with cargo-deny (deny.toml). Installs it into .cargo-tools/ where
# it lacks; without optimisation, because one check takes a second and its release build many minutes.
set -eu
cd "$(dirname "$0")/.."

version=0.20.2
PATH="$PWD/.cargo-tools/bin:$PATH"
if ! command -v cargo-deny >/dev/null 2>&1; then
    echo "deny: building cargo-deny $version into .cargo-tools/ (once)"
    CARGO_PROFILE_DEV_DEBUG=0 cargo install --locked --quiet cargo-deny --version "$version" --no-default-features --profile dev \
        --root .cargo-tools --target-dir target/tools
fi
cargo deny --locked check licenses bans sources
