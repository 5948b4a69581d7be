#!/bin/sh
# Makes sure that what a target needs is there: a Rust toolchain and a linker; with `test` also rustfmt, clippy,
# Python and a browser with its driver; with `bench` also valgrind and GNU time; with `agent` what the host agent's
# way needs; with `lab` what a lab on Linux needs, with `lab-applications` the programs that are shown in one, too.
#
# Debian packages are installed by root alone. For others it prints the one command to run, and the status is 2. If only
# Python or a browser is missing, it goes on, and their tests say that they are skipped.
set -eu

cd "$(dirname "$0")/.."
need=${1:-}
rust_wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

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

if [ "$need" = agent ]; then
    [ "$(id -u)" -eq 0 ] || stop "network namespaces and BPF need root; run: sudo make $need"
    wants tc iproute2
    wants nstat iproute2
    wants python3 python3
fi
if [ "$need" = lab ] || [ "$need" = lab-applications ]; then
    [ "$(id -u)" -eq 0 ] || stop "a lab needs root for network namespaces; run: sudo make $need"
    wants ip iproute2
    wants clang clang
    [ -e /usr/include/bpf/libbpf.h ] || packages="$packages libbpf-dev"
fi
if [ "$need" = lab-applications ]; then
    # Debian starts both as services, which listen to this machine's own addresses; the labs have namespaces of their own.
    wants memcached memcached
    wants nginx nginx-light
    wants curl curl
    wants python3 python3
fi

# Installs these packages of Debian; where that may not or cannot be, says in one line what to do and fails.
install() {
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "missing: $* (names of Debian's packages); install them with the package manager of this system"
        return 1
    fi
    if [ "$(id -u)" -ne 0 ]; then
        echo "missing packages; run: sudo apt-get install --yes $*"
        return 1
    fi
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update --quiet && apt-get install --yes --quiet --no-install-recommends "$@"; } >&2 || {
        echo "apt-get could not install: $*"
        return 1
    }
}

if [ -n "$packages" ]; then
    # shellcheck disable=SC2086 # a list of names
    why=$(install $packages) || stop "$why"
fi

if [ "$need" = test ]; then
    packages=
    scripts/venv.sh >/dev/null || packages="python3 python3-venv"
    # A browser without any font draws boxes for letters.
    { command -v chromium && command -v chromedriver; } >/dev/null 2>&1 ||
        packages="$packages chromium chromium-driver fonts-dejavu-core"
    command -v npm >/dev/null 2>&1 || packages="$packages npm"
    if [ -n "$packages" ]; then
        # shellcheck disable=SC2086 # a list of names
        why=$(install $packages) || printf 'setup: %s; tests that need them are skipped\n' "$why" >&2
    fi
fi

command -v cargo >/dev/null 2>&1 || stop "no cargo; install Rust $rust_wanted or later, see https://rustup.rs"
rust_found=$(rustc --version | cut -d ' ' -f 2)
oldest=$(printf '%s\n' "$rust_wanted" "$rust_found" | sort -V | head -n 1)
[ "$oldest" = "$rust_wanted" ] || stop "Rust $rust_found is too old; run: rustup update stable (wanted: $rust_wanted)"

if [ "$need" = test ] && ! { cargo fmt --version && cargo clippy --version; } >/dev/null 2>&1; then
    command -v rustup >/dev/null 2>&1 || stop "no rustfmt or no clippy; install both for Rust $rust_found"
    rustup component add rustfmt clippy >&2 || stop "rustup could not install rustfmt and clippy"
fi
if [ "$need" = test ] && ! { rustup target list --installed | grep -q '^wasm32-unknown-unknown$'; } 2>/dev/null; then
    rustup target add wasm32-unknown-unknown >&2 ||
        printf 'setup: no target wasm32-unknown-unknown; tests of the playground are skipped\n' >&2
fi
