#!/usr/bin/env python3
"""Checks `flowsieve tune` on cases that it was not developed on (docs/operate/tune.md#how-it-was-checked).

For each case: tune; then run every candidate whole on seeds that tune did not use, and compare the recommended one with the
best by the same cost; then run the measured candidate next to today's network on further seeds, so many that their own error
is small beside that of tune's, and see whether tune's intervals hold the ratios found there.

    scripts/tune_check.py target/release/flowsieve out [--flows 1000] [--seeds 5] [--exhaustive 3] [--truth 40] [--cases 1,2]

A run that exists is not made again. The last lines are the table of the page.
"""

import argparse
import csv
import io
import json
import math
import re
import subprocess
import time
from pathlib import Path

LEAF_SPINE = """[topology]
kind = "leaf-spine"
leaves = {leaves}
spines = {spines}
hosts_per_leaf = {hosts}
host_link = "{host_link}"
fabric_link = "{fabric_link}"
link_delay = "200ns"
host_delay = "{host_delay}"
"""

CASES = [
    ("data mining, 0.6, 32 hosts of 10G", "data-mining", 0.6, LEAF_SPINE.format(leaves=4, spines=2, hosts=8, host_link="10Gbps", fabric_link="40Gbps", host_delay="20us")),
    ("cache follower, 0.7, 32 hosts of 25G", "fb-cache-follower", 0.7, LEAF_SPINE.format(leaves=4, spines=2, hosts=8, host_link="25Gbps", fabric_link="100Gbps", host_delay="5us")),
    ("Homa's W3, 0.5, 24 hosts of 10G", "homa-w3", 0.5, LEAF_SPINE.format(leaves=3, spines=3, hosts=8, host_link="10Gbps", fabric_link="40Gbps", host_delay="10us")),
    ("web search, 0.8, fat-tree of 16 hosts", "web-search", 0.8, '[topology]\nkind = "fat-tree"\nk = 4\nhost_link = "10Gbps"\nfabric_link = "10Gbps"\nlink_delay = "200ns"\nhost_delay = "20us"\n'),
    ("Hadoop, 0.6, 16 hosts at one switch", "fb-hadoop", 0.6, '[topology]\nkind = "single-switch"\nhosts = 16\nhost_link = "25Gbps"\nlink_delay = "200ns"\nhost_delay = "10us"\n'),
]


def flowsieve(binary, *arguments):
    done = subprocess.run([binary, *map(str, arguments)], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, arguments))}: exit status {done.returncode}")
    return done.stdout


def seeds_of(text, first, seeds, without_screen=False):
    """An experiment with other seeds."""
    text = re.sub(r"(?m)^seed = .*$", f"seed = {first}", text)
    text = re.sub(r"(?m)^seeds = .*$", f"seeds = {seeds}", text)
    return re.sub(r"(?m)^screen = .*\n", "", text) if without_screen else text


def points(binary, file, out):
    return json.loads(flowsieve(binary, "run", file, "--out", out, "--jobs", 1, "--json"))["points"]


def small_and_all(point):
    """The p99 FCT of the smallest class and the mean FCT of all, means over the seeds."""
    small, everything = point["classes"][0], point["classes"][-1]
    return small["fct_us"]["p99"]["value"], everything["fct_us"]["mean"]["value"]


def bytes_of(size):
    """The bytes of a size such as 100KB."""
    number, unit = re.fullmatch(r"([\d.]+)([KMG]?B)", size).groups()
    return float(number) * {"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9}[unit]


def measures(fcts):
    fcts = sorted(fcts)
    return {"mean": math.fsum(fcts) / len(fcts), "p99": fcts[math.ceil(0.99 * len(fcts)) - 1]}


def ratio(binary, result, small):
    """The second scheme's mean and p99 FCT over the first's, as tune measures them: geometric means over seeds, of the flows up
    to `small` bytes."""
    rows = csv.DictReader(io.StringIO(flowsieve(binary, "export", result, "--what", "flows")))
    by = {}
    for row in rows:
        if float(row["bytes"]) <= small and row["fct_ps"]:
            by.setdefault(row["seed"], {}).setdefault(row["scheme"], []).append(int(row["fct_ps"]))
    pairs = [[measures(fcts) for fcts in seed.values()] for seed in by.values()]
    return {of: math.exp(math.fsum(math.log(other[of] / today[of]) for today, other in pairs) / len(pairs)) for of in ("mean", "p99")}


def check(options, number):
    name, workload, load, fabric = CASES[number]
    folder = options.out / f"case{number + 1}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "fabric.toml").write_text(fabric)
    out, begun = folder / "recommendation", time.time()
    effort = ["--seeds", options.seeds] if options.seeds else ["--budget", options.budget]
    flows = ["--flows", options.flows] if options.flows else []
    tuned = json.loads(
        flowsieve(options.binary, "tune", folder / "fabric.toml", "--workload", workload, "--load", load, "--out", out, "--jobs", options.jobs, "--json", *effort, *flows)
    )
    took = time.time() - begun
    text = json.loads((out / "screened" / "manifest.json").read_text())["experiment"]["text"]
    exhaustive = out / "exhaustive.toml"
    exhaustive.write_text(seeds_of(text, 2001, options.exhaustive, without_screen=True))
    all_points = points(options.binary, exhaustive, folder / "exhaustive")
    finished = [point for point in all_points if point["classes"][-1]["unfinished"] == 0]
    best = min(finished, key=lambda point: math.prod(small_and_all(point)))
    recommended = next(point for point in all_points if point["scheme"] == tuned["recommended"]["name"])
    of_best = [here / there - 1 for here, there in zip(small_and_all(recommended), small_and_all(best))]
    held, intervals = 0, 0
    if tuned["measured"]:
        further = out / "further.toml"
        further.write_text(seeds_of((out / "experiment.toml").read_text(), 3001, options.truth))
        points(options.binary, further, folder / "further")
        for change in (tuned["changes"][0], tuned["changes"][-1]):
            small = math.inf if change["class"] == "all" else bytes_of(change["class"].split("-")[1])
            truth = ratio(options.binary, folder / "further", small)
            for measure in ("mean", "p99"):
                if change[measure]:
                    low, high = change[measure]["interval"]
                    intervals += 1
                    held += low <= truth[measure] <= high
    print(
        f"| {name} | {tuned['verdict']}: {tuned['recommended']['name']} | {best['scheme']} of {len(all_points)} | "
        f"{100 * of_best[0]:+.1f} %, {100 * of_best[1]:+.1f} % | {held} of {intervals} | {took:.0f} s |",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("out", type=Path)
    parser.add_argument("--flows", type=int, help="flows of a run")
    parser.add_argument("--seeds", type=int, help="seeds instead of a budget")
    parser.add_argument("--budget", default="10m")
    parser.add_argument("--exhaustive", type=int, default=3, help="seeds of the exhaustive search")
    parser.add_argument("--truth", type=int, default=40, help="seeds of the ratios that intervals should hold")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cases", default=",".join(str(number + 1) for number in range(len(CASES))))
    options = parser.parse_args()
    print("| case | recommended | best of all candidates | small p99, mean FCT beyond the best | truth in the interval | time |")
    print("| --- | --- | --- | --- | --- | --- |")
    for number in options.cases.split(","):
        check(options, int(number) - 1)


if __name__ == "__main__":
    main()
