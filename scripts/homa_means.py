#!/usr/bin/env python3
"""Compares slowdowns of a result with those that Homa's authors published, as means over message sizes.

    scripts/homa_means.py W4 results/w4/summary.csv

The result is one of papers/homa/, of `run` or of `reproduce`. Its classes of size are whole groups of the
authors' sizes. A class counts by its share of messages, in the result and in the publication alike. The smallest half
are the classes up to the one with which half of the messages is passed.
"""

import csv
import sys
from pathlib import Path

PUBLISHED = Path(__file__).parent.parent / "papers/homa/sigcomm18_slowdown.csv"
NAMES = {"homa": "Homa", "pfabric": "pFabric", "pias": "PIAS"}
# What the authors multiply the nominal load by, for headers and grants.
FACTORS = {"W1": 0.657, "W2": 0.796, "W3": 0.887, "W4": 0.898, "W5": 0.898}
UNITS = {"GB": 10**9, "MB": 10**6, "KB": 10**3, "B": 1}
FIGURES = [("slowdown_p50", "slowdown_median", "median"), ("slowdown_p99", "slowdown_p99", "p99")]


def size(word):
    """Bytes of a size as classes state it: 6.387KB."""
    unit = next(u for u in UNITS if word.endswith(u))
    return round(float(word[: -len(unit)]) * UNITS[unit])


def bounds(name):
    """Sizes of a class: above the first, up to the second."""
    if name.startswith(">"):
        return size(name[1:]), float("inf")
    low, high = name.split("-")
    return (0 if low == "0" else size(low)), size(high)


def published(rows, low, high, column):
    """Share of the messages with these sizes, in per cent, and the mean of a column over them."""
    rows = [r for r in rows if low < float(r["size_up_to"]) <= high]
    share = sum(float(r["messages_percent"]) for r in rows)
    weighted = sum(float(r["messages_percent"]) * float(r[column]) for r in rows)
    return share, weighted / share if share else 0.0


def main(workload, path):
    with open(PUBLISHED, newline="") as file:
        publication = [r for r in csv.DictReader(file) if r["workload"] == workload]
    with open(path, newline="") as file:
        result = [r for r in csv.DictReader(file) if r["size_class"].startswith(">") or "-" in r["size_class"]]
    print("scheme   load  messages       median: here, published         p99: here, published")
    for scheme, load in sorted({(r["scheme"], float(r["load"])) for r in result}):
        nominal = round(load / FACTORS[workload], 3)
        rows = [
            r
            for r in publication
            if r["transport"] == NAMES.get(scheme) and float(r["load"]) == nominal and r["size_up_to"].isdigit()
        ]
        classes = [r for r in result if (r["scheme"], float(r["load"])) == (scheme, load)]
        classes = sorted((bounds(r["size_class"]), r) for r in classes)
        for part, limit in [("smallest half", 50), ("all", 200)]:
            line = f"{NAMES.get(scheme, scheme):8} {nominal:<5} {part:14}"
            for here, there, name in FIGURES:
                passed = ours = theirs = 0.0
                for (low, high), row in classes:
                    share, value = published(rows, low, high, there)
                    if passed >= limit - 3 or not share:
                        continue
                    passed += share
                    ours += share * float(row[here])
                    theirs += share * value
                if passed:
                    line += f"  {name} {ours / passed:.2f}, {theirs / passed:.2f} ({100 * (ours / theirs - 1):+.1f} %)"
            print(line)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in FACTORS:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
