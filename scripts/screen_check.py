#!/usr/bin/env python3
"""Measures how often screening finds the best point of a sweep, and its cost (docs/reference/performance.md#screening).

Runs a sweep whole for the truth, then twelve draws of five samples each: other seeds and other receivers. Prints for each
measure in how many draws the first point is the best of the truth, and in how many the best is among those to run whole; how
far the first is from the best, the share of pairs in the right order, and the processor time of a draw next to that of as
many seeds of the whole sweep.

    scripts/screen_check.py target/release/flowsieve out [--screen 18] [--draws 12] [--samples 5] [--truth 4]

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
        told = json.loads((out / "run.json").read_text())
        # A run that was interrupted counts what it still had to make.
        cpu.write_text(str(told["cpu_seconds"] * (told["parts_run"] + told["parts_found"]) / told["parts_run"]))
    return json.loads(done.stdout), float(cpu.read_text())


def values(table, measure):
    at, metric, statistic = MEASURES[measure]
    return {point["scheme"]: point["classes"][at][metric][statistic]["value"] for point in table["points"]}


def to_run_whole(table):
    return {table["points"][point]["scheme"] for ranking in table["rankings"] for point in ranking["whole"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("out", type=Path)
    parser.add_argument("--screen", type=int, default=18)
    parser.add_argument("--draws", type=int, default=12)
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--truth", type=int, default=4)
    options = parser.parse_args()
    for number, (name, text) in enumerate(SWEEPS.items()):
        folder = options.out / f"sweep{number}"
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "sweep.toml"
        file.write_text(f'title = "{name}"\n{text}')
        truth, whole = run(options.binary, file, folder / "whole", "--seeds", options.truth)
        draws = [
            run(options.binary, file, folder / f"{options.screen}-{options.samples}-{seed}", "--screen", options.screen, "--set", f"seed={seed}", "--seeds", options.samples)
            for seed in range(101, 101 + options.draws * options.samples, options.samples)
        ]
        for measure in MEASURES:
            true = values(truth, measure)
            best = min(true, key=true.get)
            found, named, off, right, pairs = 0, 0, [], 0, 0
            for table, _ in draws:
                here = values(table, measure)
                first = min(here, key=here.get)
                found += first == best
                named += best in to_run_whole(table)
                off.append(true[first] / true[best] - 1)
                for one, two in itertools.combinations(true, 2):
                    pairs += 1
                    right += (here[one] < here[two]) == (true[one] < true[two])
            print(f"{name}, {measure}: best first in {found} of {len(draws)} draws, to be run whole in {named}; the first at most {100 * max(off):.1f} % off; {100 * right / pairs:.0f} % of pairs in order", flush=True)
        mean = sum(cpu for _, cpu in draws) / len(draws)
        whole *= options.samples / options.truth
        sizes = sum(len(to_run_whole(table)) for table, _ in draws) / len(draws)
        print(f"{name}: {sizes:.1f} points to run whole on average; {mean:.1f} CPU-s a draw, {whole:.0f} whole: 1/{whole / mean:.0f}", flush=True)


if __name__ == "__main__":
    main()
