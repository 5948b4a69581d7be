#!/usr/bin/env python3
"""Says how many messages and bytes were under way during the time in which messages begin.

    flowsieve export results/w4-87 --what flows | scripts/homa_backlog.py

A scheme that holds a load has about as many at the end of that time as in its middle. For each load and seed it prints
the means over eight equal parts of that time: messages under way, and their bytes.
"""

import csv
import itertools
import sys

PARTS = 8


def means(changes, end):
    """Means over the parts of [0, end) of a level that changes by (time, difference)."""
    sums = [0.0] * PARTS
    level, before = 0, 0.0
    for time, change in sorted(changes):
        time = min(time, end)
        while before < time:
            part = min(int(before * PARTS / end), PARTS - 1)
            until = min(time, end * (part + 1) / PARTS)
            until = until if until > before else time
            sums[part] += level * (until - before)
            before = until
        level += change
    return [total * PARTS / end for total in sums]


def main():
    flows = csv.DictReader(sys.stdin)
    runs = {}
    for flow in flows:
        runs.setdefault((flow["scheme"], flow["load"], flow["seed"]), []).append(flow)
    for (scheme, load, seed), flows in runs.items():
        begun = [float(flow["start_ps"]) for flow in flows]
        ended = [float(flow["start_ps"]) + float(flow["fct_ps"] or "inf") for flow in flows]
        sizes = [int(flow["bytes"]) for flow in flows]
        end = max(begun)
        for what, weights in [("messages", itertools.repeat(1)), ("KB", (size / 1000 for size in sizes))]:
            weights = list(itertools.islice(weights, len(flows)))
            rises, falls = zip(begun, weights), zip(ended, (-weight for weight in weights))
            values = "".join(f"{value:9,.0f}" for value in means([*rises, *falls], end))
            print(f"{scheme:10} load {load:7} seed {seed:3} {what:9}{values}")


if __name__ == "__main__":
    main()
