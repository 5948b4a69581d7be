#!/bin/sh
# Makes sure that what a target needs is there: a Rust toolchain and a linker; with `lints` also rustfmt and clippy,
# with `bench` also valgrind and GNU time.
#
# Debian packages are installed by root alone. Anyone else is told the one command to run; the status is then 2.
set -eu

need=${1:-}
rust_wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$(dirname "$0")/../Cargo.toml")

stop() {
    printf 'setup: %s\n' "$*" >&2
    exit 2
}

# Debian packages that lack, by the commands that they bring.
packages=
wants() {
    command -v "$1" >/dev/null 2>&1 || packages="$packages $2"
}

wants cc 'gcc libc6-dev'
if [ "$need" = bench ]; then
    wants valgrind valgrind
    wants /usr/bin/time time
fi
if [ -n "$packages" ]; then
    command -v apt-get >/dev/null 2>&1 ||
        stop "missing:$packages (names of Debian's packages); install them with the package manager of this system"
    [ "$(id -u)" -eq 0 ] || stop "missing packages; run: sudo apt-get install --yes$packages"
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086 # a list of names
    { apt-get update --quiet && apt-get install --yes --quiet --no-install-recommends $packages; } >&2 ||
        stop "apt-get could not install:$packages"
fi

command -v cargo >/dev/null 2>&1 || stop "no cargo; install Rust $rust_wanted or later, see https://rustup.rs"
rust_found=$(rustc --version | cut -d ' ' -f 2)
oldest=$(printf '%s\n' "$rust_wanted" "$rust_found" | sort -V | head -n 1)
[ "$oldest" = "$rust_wanted" ] || stop "Rust $rust_found is too old; run: rustup update stable (wanted: $rust_wanted)"

if [ "$need" = lints ] && ! { cargo fmt --version && cargo clippy --version; } >/dev/null 2>&1; then
    command -v rustup >/dev/null 2>&1 || stop "no rustfmt or no clippy; install both for Rust $rust_found"
    rustup component add rustfmt clippy >&2 || stop "rustup could not install rustfmt and clippy"
fi
