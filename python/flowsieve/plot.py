"""Plots for papers: one column wide or two, with embedded fonts, and told apart in grey by their lines and marks.

Every function gives a ``matplotlib.figure.Figure``. The numbers, colours, marks and dashes are those of the report.

>>> import flowsieve as fs, tempfile
>>> exp = fs.Experiment.builtin("quickstart").set(flows=40, load=[0.5, 0.7], scheme=["dctcp", "pias"], seeds=2)
>>> res = exp.run(tempfile.mkdtemp() + "/out")
>>> fs.plot.fct_by_load(res, size_class="0-100KB", statistic="p99").savefig(res.path / "fig7.pdf")
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from flowsieve import _flowsieve
from flowsieve._missing import library
from flowsieve._result import Result
from flowsieve.errors import ResultError

__all__ = ["WIDTHS", "cdf", "claims", "fct_by_load", "look", "series", "slowdown_by_size"]


def __dir__() -> list[str]:
    return sorted(__all__)


WIDTHS = {1: 3.5, 2: 7.16}
"""Inches of one column and of two (IEEE's and ACM's pages)."""

# The report's names of marks and dashes, as matplotlib has them.
_MARKS = {"circle": "o", "square": "s", "diamond": "D", "triangle-up": "^", "triangle-down": "v", "x": "x", "cross": "+"}
_DASHES: dict[str, Any] = {"solid": "-", "dash": (0, (5, 1.5)), "dot": (0, (1, 1)), "dashdot": (0, (5, 1.5, 1, 1.5))}
_CLAIMED = "#333333"

_STYLE = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    # Letters as outlines of TrueType, which journals take, and not as bitmaps of Type 3.
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "path",
}

_LOG_SPAN = 20.0


@contextmanager
def _figure(columns: int, height: float) -> Iterator[tuple[Any, Any]]:
    if columns not in WIDTHS:
        raise ValueError(f"columns={columns}; expected 1 or 2")
    matplotlib = library("matplotlib")

    class Figure(library("matplotlib.figure").Figure):  # type: ignore[misc]
        def savefig(self, *arguments: Any, **options: Any) -> None:
            # Which letters a file gets is decided when it is written.
            with matplotlib.rc_context(_STYLE):
                super().savefig(*arguments, **options)

    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(WIDTHS[columns], height), layout="constrained")
        yield figure, figure.add_subplot()


def look(scheme: int) -> dict[str, Any]:
    """Colour, dash and mark of a scheme, by its number in the sweep: those of the report.

    >>> import flowsieve as fs
    >>> fs.plot.look(1)["marker"]
    's'
    """
    colour, symbol, dash = _flowsieve.look(scheme)
    return {"color": colour, "linestyle": _DASHES[dash], "marker": _MARKS[symbol]}


def fct_by_load(
    result: Result,
    *,
    size_class: str = "all",
    statistic: str = "mean",
    metric: str = "fct",
    x: str = "load",
    where: Mapping[str, str] | None = None,
    columns: int = 1,
    height: float = 2.2,
) -> Any:
    """FCT, or slowdown (``metric="slowdown"``), of flows of a size class against the load, with intervals over seeds.

    ``x`` may be another swept setting; ``where`` chooses among the values of further ones, such as ``{"rtt": "80us"}``.

    >>> import flowsieve as fs, tempfile
    >>> exp = fs.Experiment.builtin("quickstart").set(flows=40, load=[0.5, 0.7], scheme=["dctcp", "pias"], seeds=2)
    >>> res = exp.run(tempfile.mkdtemp() + "/out")
    >>> [line.get_label() for line in fs.plot.fct_by_load(res, statistic="p99").axes[0].containers]
    ['dctcp', 'pias']
    """
    points = _chosen(result, where or {}, x)
    unit = {"fct": "us", "slowdown": ""}.get(metric)
    if unit is None:
        raise ValueError(f"metric={metric!r}; expected fct or slowdown")
    field = "fct_us" if metric == "fct" else metric
    with _figure(columns, height) as (figure, axes):
        lines = _lines(result, points, x, lambda point: _statistic(_class(point, size_class), field, statistic))
        _draw_lines(axes, lines, result)
        axes.set_xlabel(x)
        axes.set_ylabel(f"{statistic} {'FCT (us)' if metric == 'fct' else 'slowdown'}, {size_class}")
        _fit(axes, [value for line in lines.values() for _, value, _ in line])
        axes.legend(ncols=2)
    return figure


def slowdown_by_size(
    result: Result,
    *,
    load: float | None = None,
    statistic: str = "p99",
    where: Mapping[str, str] | None = None,
    columns: int = 1,
    height: float = 2.2,
) -> Any:
    """Slowdown against flow size, in bins with equal numbers of flows, at one load (default: the highest).

    >>> import flowsieve as fs, tempfile
    >>> exp = fs.Experiment.builtin("quickstart").set(flows=40, load=[0.5, 0.7], scheme=["dctcp", "pias"], seeds=2)
    >>> res = exp.run(tempfile.mkdtemp() + "/out")
    >>> fs.plot.slowdown_by_size(res, load=0.5).axes[0].get_xscale()
    'log'
    """
    points = _chosen(result, where or {}, None)
    loads = sorted({point["load"] for point in points if point["load"] is not None})
    at = load if load is not None else (loads[-1] if loads else None)
    points = [point for point in points if point["load"] == at]
    if not points:
        raise ResultError(f"the result has no load {at}; it has {', '.join(map(str, loads))}")
    with _figure(columns, height) as (figure, axes):
        values = []
        for point in points:
            bins = [each for each in point["size_bins"] if each["slowdown"].get(statistic) is not None]
            sizes = [_bytes(each) for each in bins]
            found = [each["slowdown"][statistic]["value"] for each in bins]
            values += found
            axes.plot(sizes, found, label=point["scheme"], **look(_number(result, point["scheme"])))
        axes.set_xscale("log")
        axes.set_xlabel("flow size (bytes)")
        axes.set_ylabel(f"{statistic} slowdown")
        _fit(axes, values)
        axes.legend(ncols=2)
    return figure


def cdf(
    result: Result,
    *,
    metric: str = "slowdown",
    load: float | None = None,
    columns: int = 1,
    height: float = 2.2,
) -> Any:
    """The share of flows with at most this slowdown, or this FCT in us (``metric="fct"``), at one load, over all seeds.

    >>> import flowsieve as fs, tempfile
    >>> exp = fs.Experiment.builtin("quickstart").set(flows=40, load=[0.5, 0.7], scheme=["dctcp", "pias"], seeds=2)
    >>> res = exp.run(tempfile.mkdtemp() + "/out")
    >>> fs.plot.cdf(res, load=0.5).axes[0].get_ylabel()
    'share of flows'
    """
    polars = library("polars")
    expressions = {"slowdown": polars.col("slowdown"), "fct": polars.col("fct_ps") / 1e6}
    if metric not in expressions:
        raise ValueError(f"metric={metric!r}; expected fct or slowdown")
    points = result.experiment["points"]
    loads = sorted({point["load"] for point in points if point["load"] is not None})
    at = load if load is not None else (loads[-1] if loads else None)
    with _figure(columns, height) as (figure, axes):
        for index, point in enumerate(points):
            if point["load"] != at or point["axes"]:
                continue
            rows = result.flows().lazy().filter(polars.col("point") == index)
            values = rows.select(expressions[metric].alias("value")).drop_nulls().sort("value").collect()["value"]
            shares = [(rank + 1) / len(values) for rank in range(len(values))]
            style = {**look(_number(result, point["scheme"])), "marker": None}
            axes.plot(values.to_list(), shares, drawstyle="steps-post", label=point["scheme"], **style)
        axes.set_xscale("log")
        axes.set_ylim(0, 1)
        axes.set_xlabel("FCT (us)" if metric == "fct" else "slowdown")
        axes.set_ylabel("share of flows")
        axes.legend()
    return figure


def series(
    result: Result,
    name: str,
    *,
    of: str | None = None,
    seed: int | None = None,
    columns: int = 1,
    height: float = 2.2,
) -> Any:
    """A time series of ``series.parquet`` by its name, such as ``"most backlog (bytes)"``: a line for each point, of one seed.

    ``of`` chooses among its links, flows or hosts; without it there is a line for each of them.

    >>> import flowsieve as fs, tempfile
    >>> exp = fs.Experiment.builtin("quickstart").set(flows=40, load=[0.5, 0.7], scheme=["dctcp", "pias"], seeds=2)
    >>> res = exp.run(tempfile.mkdtemp() + "/out")
    >>> len(fs.plot.series(res, "flows under way").axes[0].lines)
    4
    """
    polars = library("polars")
    table = result.series().to_polars().with_columns(polars.col("series", "of").cast(polars.String))
    names = sorted(set(table["series"]))
    if name not in names:
        raise ResultError(f"the result has no series {name!r}; it has {', '.join(names) or 'none'}")
    table = table.filter(polars.col("series") == name)
    places = sorted(set(table["of"]))
    if of is not None and of not in places:
        raise ResultError(f"the series {name!r} has no {of!r}; it has {', '.join(places)}")
    table = table.filter(polars.col("seed") == (seed if seed is not None else table["seed"].min()))
    points = result.experiment["points"]
    with _figure(columns, height) as (figure, axes):
        lines = table.group_by("point", "of", maintain_order=True)
        for number, ((point, place), rows) in enumerate(line for line in lines if of in (None, line[0][1])):
            label = ", ".join(part for part in (points[point]["scheme"], place) if part)
            style = {**look(number), "marker": None}
            axes.plot((rows["start_ps"] / 1e6).to_list(), rows["value"].to_list(), label=label, **style)
        axes.set_xlabel("time (us)")
        axes.set_ylabel(name)
        axes.legend()
    return figure


def claims(result: Result, *, columns: int = 2, height: float | None = None) -> Any:
    """A paper's claimed ratios next to the measured ones, with intervals: a row for each claim of a change.

    A dot is the measured ratio, a hollow mark the claimed one.

    >>> import flowsieve as fs, tempfile
    >>> res = fs.Experiment.builtin("nos2/fig06").set(scale="smoke").run(tempfile.mkdtemp() + "/out")
    >>> len(fs.plot.claims(res).axes[0].get_yticks()) > 0
    True
    """
    judged = [each for each in result.claims() if each["measured"]["ratio"] is not None]
    if not judged:
        raise ResultError("the result has no measured claims of changes")
    with _figure(columns, height if height is not None else 0.7 + 0.22 * len(judged)) as (figure, axes):
        for row, each in enumerate(judged):
            ratio = each["measured"]["ratio"]
            if ratio["interval"] is not None:
                axes.plot(ratio["interval"], [row, row], color=look(0)["color"])
            axes.plot([ratio["value"]], [row], color=look(0)["color"], marker="o", linestyle="")
            for claimed in _claimed_ratios(each["claim"]["expected"]):
                axes.plot([claimed], [row], color=_CLAIMED, marker="o", fillstyle="none", linestyle="", markersize=6)
        names = [f"{each['claim']['id']}: {each['measured']['verdict'].replace('-', ' ')}" for each in judged]
        axes.axvline(1, color="#999999", linewidth=0.8)
        axes.set_yticks(range(len(judged)), names)
        axes.invert_yaxis()
        axes.set_xlabel("ratio to what it is compared with")
    return figure


def _claimed_ratios(expected: Any) -> list[float]:
    """The ratios that a claim states, if it states any."""
    if not isinstance(expected, Mapping):
        return []
    changes = [expected.get("change"), expected.get("up-to"), *(expected.get("between") or [])]
    return [1 + change for change in changes if change is not None]


def _chosen(result: Result, where: Mapping[str, str], x: str | None) -> list[dict[str, Any]]:
    points: list[dict[str, Any]] = result.data()["points"]

    def matches(point: dict[str, Any]) -> bool:
        for key, value in point["axes"].items():
            short = key.split(".", 1)[-1]
            if x is not None and x in (key, short):
                continue
            wanted = where.get(key, where.get(short))
            if wanted is None:
                others = sorted({other["axes"].get(key) for other in points})
                if len(others) > 1:
                    raise ResultError(f"{short} has several values: {', '.join(others)}; expected one in where={{{short!r}: …}}")
            elif str(wanted) != value:
                return False
        return True

    chosen = [point for point in points if matches(point)]
    if not chosen:
        raise ResultError(f"the result has no point where {dict(where)}")
    return chosen


def _class(point: dict[str, Any], name: str) -> dict[str, Any]:
    for each in point["classes"]:
        if each["class"] == name:
            return dict(each)
    names = ", ".join(each["class"] for each in point["classes"])
    raise ResultError(f"the result has no size class {name!r}; it has {names}")


def _statistic(group: dict[str, Any], field: str, statistic: str) -> tuple[float, tuple[float, float] | None] | None:
    if statistic not in group[field]:
        raise ValueError(f"statistic={statistic!r}; expected one of {', '.join(group[field])}")
    found = group[field][statistic]
    if found is None:
        return None
    interval = found["interval"]
    return found["value"], None if interval is None else (interval[0], interval[1])


_Line = list[tuple[Any, float, "tuple[float, float] | None"]]


def _lines(
    result: Result,
    points: list[dict[str, Any]],
    x: str,
    value: Callable[[dict[str, Any]], "tuple[float, tuple[float, float] | None] | None"],
) -> dict[str, _Line]:
    lines: dict[str, _Line] = {}
    for point in points:
        at = point["load"] if x == "load" else _axis(point, x)
        found = value(point)
        if found is not None:
            lines.setdefault(point["scheme"], []).append((at, *found))
    return lines


def _axis(point: dict[str, Any], x: str) -> str:
    for key, value in point["axes"].items():
        if x in (key, key.split(".", 1)[-1]):
            return str(value)
    raise ResultError(f"{x!r} was not swept; swept were load and {', '.join(point['axes']) or 'nothing else'}")


def _draw_lines(axes: Any, lines: dict[str, _Line], result: Result) -> None:
    for scheme, line in lines.items():
        xs, ys = [at for at, _, _ in line], [value for _, value, _ in line]
        below = [value - (ends[0] if ends else value) for _, value, ends in line]
        above = [(ends[1] if ends else value) - value for _, value, ends in line]
        style = look(_number(result, scheme))
        axes.errorbar(xs, ys, yerr=[below, above], label=scheme, capsize=2, elinewidth=0.8, **style)


def _number(result: Result, scheme: str) -> int:
    names = [each["name"] for each in result.experiment["schemes"]]
    return names.index(scheme) if scheme in names else len(names)


def _fit(axes: Any, values: list[float]) -> None:
    positive = [value for value in values if value > 0]
    if positive and max(positive) > _LOG_SPAN * min(positive):
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)


def _bytes(group: dict[str, Any]) -> float:
    """Where a bin of sizes is drawn: at its upper end."""
    return float(group["up_to_bytes"])
