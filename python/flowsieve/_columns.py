"""CSV files of results as columns with types: numbers as numbers, empty cells as None."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

WHOLE, FRACTION, TEXT = "whole", "fraction", "text"
"""What a column holds."""

_TEXTS = {
    *("scheme", "size_class", "plot", "case", "at", "class", "series", "kind", "x_name", "x_unit", "y_name", "y_unit"),
    *("varied", "value", "baseline"),
}
_WHOLES = {
    *("point", "seeds", "flows", "unfinished", "above_bytes", "up_to_bytes", "timeouts", "found_lost", "unneeded"),
    *("duplicate_acks", "held_most_bytes", "baseline_point", "baseline_unfinished", "pairs"),
}
# Of others (swept settings, hosts, the x of a plot) their values say it.
_FRACTIONS = ("load", "start_s", "deadline_s", "y", "low", "high", "from_bytes", "to_bytes", "faster", "slower")
_ENDINGS = ("_us", "_ratio", "_low", "_high", "_mean", "_p50", "_p95", "_p99", "_p999", "_gain", "_cv", "_share", "_mean_bytes")
_STARTS = ("fct_", "slowdown_", "held_", "flow_ratio")


def names_of(path: Path) -> list[str]:
    """The columns of a file."""
    with path.open(newline="") as file:
        return next(csv.reader(file), [])


def known(name: str) -> str | None:
    """What a column holds, if its name says so."""
    if name in _TEXTS:
        return TEXT
    if name in _WHOLES:
        return WHOLE
    is_statistic = name.startswith(_STARTS) or name.endswith("_share")
    return FRACTION if name in _FRACTIONS or is_statistic and name.endswith(_ENDINGS) or name == "flow_ratio" else None


def kinds_of(path: Path) -> dict[str, str]:
    """What each column holds: by its name, or else by all of its values."""
    names = names_of(path)
    kinds = {name: known(name) for name in names}
    open_ones = [at for at, name in enumerate(names) if kinds[name] is None]
    seen: dict[int, set[str]] = {at: set() for at in open_ones}
    if open_ones:
        with path.open(newline="") as file:
            rows = csv.reader(file)
            next(rows)
            for row in rows:
                for at in open_ones:
                    if row[at] != "":
                        seen[at].add(_kind(row[at]))
    return {name: kinds[name] or _widest(seen[at]) for at, name in enumerate(names)}


def _kind(cell: str) -> str:
    for kind, read in ((WHOLE, int), (FRACTION, float)):
        try:
            read(cell)
        except ValueError:
            continue
        return kind
    return TEXT


def _widest(seen: set[str]) -> str:
    return next((kind for kind in (TEXT, FRACTION, WHOLE) if kind in seen), TEXT)


_READ: Mapping[str, Any] = {WHOLE: int, FRACTION: float, TEXT: str}


def rows_of(path: Path, kinds: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """The rows, one after the other."""
    reads = [(name, _READ[kind]) for name, kind in kinds.items()]
    with path.open(newline="") as file:
        rows = csv.reader(file)
        next(rows, None)
        for row in rows:
            yield {name: None if cell == "" else read(cell) for (name, read), cell in zip(reads, row)}
