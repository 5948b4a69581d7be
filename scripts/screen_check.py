#!/usr/bin/env python3
"""Measures how often screening finds the best point of a sweep, and its cost (docs/reference/performance-command.md#screening).

Runs a sweep whole for the truth, then twelve draws of one sample each: another seed and other receivers. Prints for each
measure in how many draws the first point is the best of the truth, how far the first is from it otherwise, the share of pairs
in the right order, and the processor time of a draw next to that of one seed of the sweep.

    scripts/screen_check.py target/release/flowsieve out [--screen 18] [--draws 12] [--truth 4]

A run that exists is not made again, and its time is that of the first time.
"""

import argparse
import itertools
import json
import subprocess
from pathlib import Path

FABRIC = """
[topology]
kind = "leaf-spine"
leaves = 9
spines = 4
hosts_per_leaf = 16
host_link = "10Gbps"
fabric_link = "40Gbps"
link_delay = "200ns"
host_delay = "20us"
[workload]
sizes = "web-search"
load = 0.6
flows = 4000
[run]
parameters = "ns2"
"""

SWEEPS = {
    "six thresholds of PIAS": FABRIC
    + "".join(
        f'[schemes.{rule}-{queues}]\nbase = "pias"\nqueues = {queues}\nthresholds = "{rule}"\n'
        for rule in ("background", "equal-split")
        for queues in (2, 4, 8)
    )
    + '[sweep]\nscheme = ["background-2", "background-4", "background-8", "equal-split-2", "equal-split-4", "equal-split-8"]\n',
    "six schemes": FABRIC + '[sweep]\nscheme = ["dctcp", "pias", "es-8", "qc-las", "pfabric", "fair-queueing"]\n',
}

MEASURES = {"mean slowdown": (-1, "slowdown", "mean"), "p99 FCT of 0-100KB": (0, "fct_us", "p99")}


def run(binary, file, out, *more):
    done = subprocess.run([binary, "run", file, "--jobs", "1", "--out", out, "--json", *map(str, more)], stdout=subprocess.PIPE, check=True)
    cpu = out / "cpu"
    if not cpu.exists():
        cpu.write_text(str(json.loads((out / "run.json").read_text())["cpu_seconds"]))
    return json.loads(done.stdout)["points"], float(cpu.read_text())


def values(points, measure):
    at, metric, statistic = MEASURES[measure]
    return {point["scheme"]: point["classes"][at][metric][statistic]["value"] for point in points}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("out", type=Path)
    parser.add_argument("--screen", type=int, default=18)
    parser.add_argument("--draws", type=int, default=12)
    parser.add_argument("--truth", type=int, default=4)
    options = parser.parse_args()
    for number, (name, text) in enumerate(SWEEPS.items()):
        folder = options.out / f"sweep{number}"
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "sweep.toml"
        file.write_text(f'title = "{name}"\n{text}')
        truth, whole = run(options.binary, file, folder / "whole", "--seeds", options.truth)
        draws = [
            run(options.binary, file, folder / f"{options.screen}-{seed}", "--screen", options.screen, "--set", f"seed={seed}", "--seeds", 1)
            for seed in range(101, 101 + options.draws)
        ]
        for measure in MEASURES:
            true = values(truth, measure)
            best = min(true, key=true.get)
            found, off, right, pairs = 0, [], 0, 0
            for points, _ in draws:
                here = values(points, measure)
                first = min(here, key=here.get)
                found += first == best
                off.append(true[first] / true[best] - 1)
                for one, two in itertools.combinations(true, 2):
                    pairs += 1
                    right += (here[one] < here[two]) == (true[one] < true[two])
            print(f"{name}, {measure}: best found in {found} of {len(draws)}, else at most {100 * max(off):.1f} % off; {100 * right / pairs:.0f} % of pairs in order", flush=True)
        mean = sum(cpu for _, cpu in draws) / len(draws)
        print(f"{name}: {mean:.2f} CPU-s a draw, {whole / options.truth:.1f} whole: 1/{whole / options.truth / mean:.0f}", flush=True)


if __name__ == "__main__":
    main()
