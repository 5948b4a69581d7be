#!/usr/bin/env python3
"""Draws and tabulates what sizes are worth, from the result of experiments/what-sizes-are-worth.toml.

    scripts/worth.py figure results/what-sizes-are-worth/summary.csv > docs/images/what-sizes-are-worth.svg
    scripts/worth.py tables results/what-sizes-are-worth/summary.csv

The figure has the mean slowdown over that of DCTCP, paired over the same flows, with its 95 % interval. The tables have
three figures for each workload, scheme and load.
"""

import csv
import math
import sys

GROUPS = [
    ("nothing known", [("pias", "PIAS"), ("nos2", "NOS2"), ("awafs", "AWAFS"), ("qc-las", "QC-LAS")]),
    (
        "bounds of the size",
        [
            ("qclimb-tenfold", "QCLIMB, factor 10"),
            ("qclimb-twofold", "QCLIMB, factor 2"),
            ("qclimb-tenth", "QCLIMB, 10 %"),
        ],
    ),
    ("a predicted size, factor 2", [("pfabric-predicted", "pFabric"), ("homa-predicted", "Homa")]),
    ("the size", [("qclimb-ps", "QCLIMB"), ("pfabric", "pFabric"), ("homa", "Homa")]),
    ("the size, no losses", [("oracle", "SRPT, fixed window")]),
    ("the size, and spraying", [("pfabric-sprayed", "pFabric"), ("homa-sprayed", "Homa")]),
]
WORKLOADS = [
    ("web-search", "web search"),
    ("fb-hadoop", "Hadoop"),
    ("fb-cache-follower", "cache"),
    ("data-mining", "data mining"),
]
LOADS = [("0.5", "#7aa6d8"), ("0.7", "#2f6db5"), ("0.9", "#0b2f5c")]
TICKS = [0.4, 0.5, 0.6, 0.8, 1]
LEFT, PANEL, GAP, ROW, TOP = 170, 130, 24, 17, 46


def rows_of(path):
    with open(path, newline="") as file:
        return {(r["workload_sizes"], r["scheme"], r["load"], r["size_class"]): r for r in csv.DictReader(file)}


def figure(rows):
    """An SVG: a panel for each workload, a row for each scheme, a mark for each load."""
    lines = sum(len(schemes) + 1 for _, schemes in GROUPS)
    width, bottom = LEFT + len(WORKLOADS) * (PANEL + GAP), TOP + lines * ROW
    low, high = math.log(TICKS[0]), math.log(TICKS[-1])
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {bottom + 40}" font-family="sans-serif" '
        'font-size="11"><title>Mean slowdown over that of DCTCP, by what is known of sizes</title>',
        f'<rect width="{width}" height="{bottom + 40}" fill="white"/>',
    ]
    for at, (load, colour) in enumerate(LOADS):
        x = LEFT + at * 90
        out.append(f'<circle cx="{x}" cy="12" r="3.5" fill="{colour}"/><text x="{x + 8}" y="16">load {load}</text>')
    for at, (name, title) in enumerate(WORKLOADS):
        left = LEFT + at * (PANEL + GAP)

        def place(ratio, left=left):
            return left + PANEL * (min(max(math.log(ratio), low), high) - low) / (high - low)

        out.append(f'<text x="{left + PANEL / 2}" y="36" text-anchor="middle" font-weight="bold">{title}</text>')
        for tick in TICKS:
            x, stroke = place(tick), "#555" if tick == 1 else "#ddd"
            out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom}" stroke="{stroke}"/>')
            out.append(f'<text x="{x:.1f}" y="{bottom + 14}" text-anchor="middle">{tick:g}</text>')
        y = TOP
        for heading, schemes in GROUPS:
            y += ROW
            if at == 0:
                out.append(f'<text x="4" y="{y - 4}" font-style="italic">{heading}</text>')
            for scheme, label in schemes:
                y += ROW
                if at == 0:
                    out.append(f'<text x="{LEFT - 10}" y="{y - 4}" text-anchor="end">{label}</text>')
                for shift, (load, colour) in zip((-4, 0, 4), LOADS):
                    row = rows.get((name, scheme, load, "all"))
                    if row is None:
                        continue
                    middle = y - 8 + shift
                    ends = [row[f"slowdown_mean_ratio{end}"] for end in ("_low", "_high")]
                    if all(ends):
                        one, other = (place(float(end)) for end in ends)
                        out.append(
                            f'<line x1="{one:.1f}" x2="{other:.1f}" y1="{middle}" y2="{middle}" stroke="{colour}"/>'
                        )
                    ratio = float(row["slowdown_mean_ratio"])
                    out.append(
                        f'<circle cx="{place(ratio):.1f}" cy="{middle}" r="2.6" fill="{colour}">'
                        f"<title>{label}, {title}, load {load}: {ratio:.3g}</title></circle>"
                    )
    middle = LEFT + (width - LEFT) / 2
    out.append(f'<text x="{middle}" y="{bottom + 32}" text-anchor="middle">mean slowdown over that of DCTCP</text></svg>')
    print("\n".join(out))


def tables(rows):
    """A table for each workload: three figures over DCTCP's, at each load."""
    figures = [("all", "slowdown_mean"), ("0-100KB", "fct_p99"), (">10MB", "fct_mean")]
    for name, title in WORKLOADS:
        print(f"\n**{title.capitalize()}**\n")
        print("| | mean slowdown | p99 of flows to 100 KB | mean of flows above 10 MB |\n| --- | --- | --- | --- |")
        for heading, schemes in GROUPS:
            for scheme, label in schemes:
                cells = [f"{heading}: {label}"]
                for of, figure in figures:
                    values = []
                    for load, _ in LOADS:
                        row = rows.get((name, scheme, load, of))
                        value = row and row[f"{figure}_ratio"]
                        values.append(f"{float(value):.2f}" if value else "–")
                    cells.append(", ".join(values))
                print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    commands = {"figure": figure, "tables": tables}
    if len(sys.argv) != 3 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]](rows_of(sys.argv[2]))
