#!/bin/sh
# Measures the simulator; docs/reference/performance.md explains the figures, and notes/ has their history.
#   1. time: every bench target, which ends with the reference run (packet-hops per CPU-second of the event loop);
#   2. counts: instructions and mispredicted branches per packet-hop under callgrind, set-up subtracted;
#   3. the whole command: packet-hops per CPU-second and peak memory of a run from file to report.
# LARGE=1 adds the fat-tree of 1,024 hosts with 100,000 flows.
set -eu
cd "$(dirname "$0")/.."

schemes='dctcp pias pfabric'
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The path of what cargo builds with these arguments.
executable() {
    cargo "$@" --locked --message-format=json | sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1
}

# The number before "packet-hops" in the output of the reference run.
hops_of() {
    sed -n 's/^[a-z]*: \([0-9]*\) packet-hops.*/\1/p' "$1"
}

echo "== machine"
sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | sort | uniq -c
rustc --version
date -u +%Y-%m-%d
uptime

echo "== time"
cargo bench --locked --workspace --bench '*'
reference=$(executable bench --workspace --bench reference --no-run)
if [ -n "${LARGE:-}" ]; then
    /usr/bin/time -f 'peak memory %M KB' "$reference" pias pfabric --fat-tree --flows 100000 --runs 1
fi

for balancing in flowlet hula flowlet hula; do
    echo "-- $balancing"
    "$reference" dctcp --racks-of-8 --balancing "$balancing" --load 50 --flows 4000
done

echo "== counts (callgrind --branch-sim=yes, the reference run less a run of 1 flow)"
for scheme in $schemes; do
    for flows in 1 2000; do
        valgrind --tool=callgrind --branch-sim=yes --callgrind-out-file="$scratch/$flows.callgrind" \
            "$reference" "$scheme" --flows "$flows" --runs 1 >"$scratch/$flows.out" 2>"$scratch/$flows.err" || {
            cat "$scratch/$flows.err" >&2
            exit 1
        }
        # events: Ir Bc Bcm Bi Bim
        echo "$(hops_of "$scratch/$flows.out") $(sed -n 's/^totals: //p' "$scratch/$flows.callgrind")"
    done | awk -v scheme="$scheme" '
        { hops = $1 - hops; instructions = $2 - instructions; missed = $4 + $6 - missed }
        END { printf "%s: %.0f instructions and %.2f mispredicted branches per packet-hop, %d packet-hops\n",
              scheme, instructions / hops, missed / hops, hops }'
done

# The fabric of the papers, on which all figures so far were measured.
reference_fabric="--set leaves=9 --set spines=4 --set hosts_per_leaf=16 --set flows=2000"
echo "== the whole command (experiments/quickstart.toml with $reference_fabric at load 0.6, one seed)"
flowsieve=$(executable build --release --workspace --bin flowsieve)
for scheme in $schemes; do
    /usr/bin/time -o "$scratch/time" -f '%U %S %M' "$flowsieve" run experiments/quickstart.toml $reference_fabric \
        --set load=0.6 --set "scheme=$scheme" --seeds 1 --jobs 1 --out "$scratch/$scheme" >/dev/null 2>&1
    hops=$(sed -n 's/.*"packet_hops": *\([0-9]*\).*/\1/p' "$scratch/$scheme/manifest.json" | head -n 1)
    awk -v scheme="$scheme" -v hops="$hops" '
        { printf "%s: %.2f M packet-hops per CPU-second, %.0f MB at most\n", scheme, hops / ($1 + $2) / 1e6, $3 / 1000 }
    ' "$scratch/time"
done
