#!/bin/sh
# Compiles the agent's programs to the file that is named, or to agent.bpf.o here. The committed object is that of clang
# 14.0.6 with the headers of libbpf 1.1 and Linux 6.1 (Debian 12: clang-14, llvm-14, libbpf-dev); other versions differ.
set -eu
out=$(realpath -m "${1:-$(dirname "$0")/agent.bpf.o}")
cd "$(dirname "$0")"
# Without debug data for people: only that of the kernel (BTF) stays.
${CLANG:-clang-14} -O2 -g -target bpf -mcpu=v3 -Wall -Werror -fdebug-compilation-dir=. \
    -isystem "/usr/include/$(uname -m)-linux-gnu" -c agent.bpf.c -o "$out"
${STRIP:-llvm-strip-14} --strip-debug "$out"
