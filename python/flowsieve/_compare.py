"""Comparisons: values of the sweep by the names that the result has for them, and the ratios as a table."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from flowsieve._columns import FRACTION, TEXT, WHOLE
from flowsieve._table import RowsTable
from flowsieve.errors import ExperimentError

_STATISTICS = {"mean": "mean", "p50": "p50", "p95": "p95", "p99": "p99", "p99.9": "p999"}
_ENDS = ("", "_low", "_high")
_RATIOS = [f"{metric}_{name}_ratio" for metric in ("fct", "slowdown") for name in _STATISTICS.values()]
_KINDS = {
    **dict.fromkeys(("varied", "value", "baseline", "case"), TEXT),
    "load": FRACTION,
    "size_class": TEXT,
    **dict.fromkeys(("point", "baseline_point", "flows", "unfinished", "baseline_unfinished"), WHOLE),
    **{f"{name}{end}": FRACTION for name in _RATIOS for end in _ENDS},
    "pairs": WHOLE,
    **{f"flow_ratio{end}": FRACTION for end in _ENDS},
    **dict.fromkeys(("flow_ratio_error", "faster", "slower"), FRACTION),
}
_SHOWN = ("value", "baseline", "case", "load", "size_class", "flows", "fct_mean_ratio", "fct_p99_ratio", "flow_ratio")

_UNITS = {
    **{f"{prefix}B": 10.0**power for prefix, power in (("", 0), ("K", 3), ("M", 6), ("G", 9), ("T", 12))},
    **{f"{prefix}bps": 10.0**power for prefix, power in (("", 0), ("K", 3), ("M", 6), ("G", 9), ("T", 12))},
    **{"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12, "": 1.0, "%": 0.01},
}
_QUANTITY = re.compile(r"(-?\d+(?:\.\d+)?(?:e-?\d+)?)([A-Za-z%]*)")


class Comparison(RowsTable):
    """Schemes, or values of another swept setting, over the same flows: a row for each pair, point and size class.

    Columns that end in ``_ratio`` are the first's value over the baseline's, paired by seed, with the ends of its interval in
    ``_low`` and ``_high``. ``print`` shows the command's text, and ``data`` is what ``flowsieve compare --json`` says.

    >>> import flowsieve as fs
    >>> res = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2).run()
    >>> compared = res.compare("pias", "dctcp")
    >>> [row["size_class"] for row in compared if row["fct_mean_ratio"] is not None][-1]
    'all'
    >>> compared.to_polars()["baseline"].unique().to_list()
    ['dctcp']
    """

    def __init__(self, data: list[dict[str, Any]], said: str) -> None:
        super().__init__("comparison", _KINDS, rows=lambda: list(_rows(data)), shown=_SHOWN)
        self.data = data
        self._said = said

    def __str__(self) -> str:
        return self._said


def _rows(data: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for pair in data:
        what = {name: pair[name] for name in ("varied", "value", "baseline")}
        for point in pair["points"]:
            at = {"case": point["case"] or None, "load": point["load"], "point": point["point"]}
            at["baseline_point"] = point["baseline"]
            classes = [(each["class"], each) for each in point["classes"]]
            coflows = point.get("coflows")
            classes += [("coflows", coflows)] if coflows is not None else []
            classes += [(f"coflows {name}", each) for name, each in point.get("coflow_classes", [])]
            for name, each in classes:
                row = {**what, **at, "size_class": name, **_of_class(each)}
                yield {column: row[column] for column in _KINDS}


def _of_class(each: Mapping[str, Any]) -> dict[str, Any]:
    row = {name: each[name] for name in ("flows", "unfinished", "baseline_unfinished")}
    for metric in ("fct", "slowdown"):
        for statistic, name in _STATISTICS.items():
            row.update(_ends(f"{metric}_{name}_ratio", each[metric][statistic]))
    by_flow = each["by_flow"] or {}
    row.update(_ends("flow_ratio", by_flow.get("ratio")))
    row["flow_ratio_error"] = by_flow.get("error")
    row.update({name: by_flow.get(name) for name in ("pairs", "faster", "slower")})
    return row


def _ends(name: str, ratio: Mapping[str, Any] | None) -> dict[str, float | None]:
    low, high = (None, None) if ratio is None or ratio["interval"] is None else ratio["interval"]
    return dict(zip((f"{name}{end}" for end in _ENDS), (None if ratio is None else ratio["value"], low, high)))


def swept(experiment: Mapping[str, Any], name: str) -> list[str]:
    """The values of a swept setting, as the result has them."""
    values: list[str] = []
    for point in experiment["points"]:
        if name == "load" and point["load"] is not None:
            values.append(f"{point['load']:g}")
        values += [axis["value"] for axis in point["axes"] if name in (axis["key"], axis["key"].split(".", 1)[-1])]
    return list(dict.fromkeys(values))


def value_name(experiment: Mapping[str, Any], parameter: str, value: Any, vary: str | None) -> str | None:
    """What the result calls a value: numbers are found among those swept, in bytes, bits a second or seconds."""
    if value is None or isinstance(value, str):
        return value
    if vary is None:
        raise TypeError(f"{parameter}={value!r}; expected a scheme's name, or vary= with the swept setting that has this value")
    if isinstance(value, bool) or getattr(value, "dtype", None) == bool:
        return "true" if value else "false"
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{parameter} is of the type {type(value).__name__}; expected a text or a number") from None
    names = swept(experiment, vary)
    found = [name for name in names if _is(name, number)]
    if names and not found:
        expected = ", ".join(names)
        raise ExperimentError(
            f"{parameter}={value!r}: this result has no {vary} of {number:g}; expected {expected}",
            expected=expected,
            kind="name",
            key=parameter,
        )
    return found[0] if found else f"{number:g}"


def _is(name: str, number: float) -> bool:
    quantity = _QUANTITY.fullmatch(name)
    if quantity is None or quantity[2] not in _UNITS:
        return False
    return math.isclose(float(quantity[1]) * _UNITS[quantity[2]], number, rel_tol=1e-9)
