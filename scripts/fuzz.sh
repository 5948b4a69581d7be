#!/bin/sh
# Runs every fuzz target in fuzz/ for SECONDS_EACH seconds (60). Needs a nightly compiler and cargo-fuzz, and says so.
set -eu
cd "$(dirname "$0")/.."

seconds=${SECONDS_EACH:-60}
# An input that takes longer is a failure: nothing of what is read or run here takes a second.
hang=20
PATH="$PWD/.cargo-tools/bin:$PATH"

missing=
cargo +nightly --version >/dev/null 2>&1 || missing="$missing
  a nightly compiler: rustup toolchain install nightly"
command -v cargo-fuzz >/dev/null 2>&1 || missing="$missing
  cargo-fuzz: cargo install --locked cargo-fuzz --root .cargo-tools"
command -v c++ >/dev/null 2>&1 || missing="$missing
  a C++ compiler: sudo apt-get install --yes g++"
if [ -n "$missing" ]; then
    printf 'fuzz: nothing was fuzzed; missing:%s\n' "$missing" >&2
    exit 2
fi

# What a target starts from in addition to the inputs that it has found before.
examples() {
    case $1 in
        experiment) echo experiments papers ;;
        coflow_trace) echo crates/flowsieve/tests/golden ;;
        cdf) echo crates/workload/data ;;
        convert | exports) echo crates/workload/tests/samples ;;
    esac
}

for file in fuzz/fuzz_targets/*.rs; do
    target=$(basename "$file" .rs)
    echo "fuzz: $target for $seconds s"
    mkdir -p "fuzz/corpus/$target"
    # shellcheck disable=SC2046 # none or one folder
    cargo +nightly fuzz run "$target" "fuzz/corpus/$target" $(examples "$target") -- \
        -max_total_time="$seconds" -timeout="$hang" -print_final_stats=1
done
echo "fuzz: no target failed"
