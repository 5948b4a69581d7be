"""Plots for papers: one column wide or two, with embedded fonts, and told apart in grey by their lines and marks.

Every function gives a ``matplotlib.figure.Figure``, which a notebook shows, or draws into the ``ax`` that it gets. Scales, ticks, numbers, intervals,
names, colours, marks and dashes are those of the report and of ``flowsieve export --what figure``.

>>> import flowsieve as fs, tempfile
>>> exp = fs.Experiment.builtin("quickstart").set(flows=40, load=[0.5, 0.7], scheme=["dctcp", "pias"], seeds=2)
>>> res = exp.run(tempfile.mkdtemp() + "/out")
>>> fs.plot.fct_by_load(res, size_class="0-100KB", statistic="p99").savefig(res.path / "fig7.pdf")
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from flowsieve import _flowsieve
from flowsieve._missing import library
from flowsieve._naming import naming
from flowsieve._result import Result
from flowsieve.errors import ResultError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["WIDTHS", "cdf", "claims", "fct_by_load", "look", "series", "slowdown_by_size"]


def __dir__() -> list[str]:
    return sorted(__all__)


WIDTHS = {1: 3.5, 2: 7.16}
"""Inches of one column and of two (IEEE's and ACM's pages)."""

# Pixels of an inch in a notebook: a figure of one column is about half as wide as its cell.
_SCREEN = 144

# The report's names of marks and dashes, as matplotlib has them.
_MARKS = {"circle": "o", "square": "s", "diamond": "D", "triangle-up": "^", "triangle-down": "v", "x": "x", "cross": "+"}
_DASHES: dict[str, Any] = {"solid": "-", "dash": (0, (5, 1.5)), "dot": (0, (1, 1)), "dashdot": (0, (5, 1.5, 1, 1.5))}
_INK = "#333333"
_STATISTICS = ("mean", "p50", "p95", "p99", "p99.9")

# Shares of the room of a name: that of its bars, and half of that of a line across them.
_BARS = 0.8
_REFERENCE = 0.43

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
    # A dollar sign in a name is one.
    "text.parse_math": False,
}


@contextmanager
def _axes(ax: Any, columns: int | None, height: float | None, usual: tuple[int, float] = (1, 2.2)) -> Iterator[Any]:
    """The axes to draw into: the caller's, or those of a new figure of this size."""
    if ax is not None:
        if columns is not None or height is not None:
            raise ValueError("ax= is part of a figure that has its size; expected no columns= or height= with it")
        yield ax
        return
    columns = usual[0] if columns is None else columns
    if columns not in WIDTHS:
        raise ValueError(f"columns={columns}; expected 1 or 2")
    matplotlib = library("matplotlib")

    class Figure(library("matplotlib.figure").Figure):  # type: ignore[misc]
        def savefig(self, *arguments: Any, **options: Any) -> None:
            # Which letters a file gets is decided when it is written.
            with matplotlib.rc_context(_STYLE):
                super().savefig(*arguments, **options)

        def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
            # Notebooks show figures of pyplot, which this is not.
            out = io.BytesIO()
            self.savefig(out, format="png", dpi=2 * _SCREEN)
            width, height = self.get_size_inches()
            return out.getvalue(), {"width": round(width * _SCREEN), "height": round(height * _SCREEN)}

    with matplotlib.rc_context(_STYLE):
        size = (WIDTHS[columns], usual[1] if height is None else height)
        yield Figure(figsize=size, layout="constrained").add_subplot()


def _figure_of(axes: Any) -> Figure:
    figure: Figure = axes.figure
    return figure


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
    where: Mapping[str, object] | None = None,
    ax: Any = None,
    columns: int | None = None,
    height: float | None = None,
) -> Figure:
    """FCT, or slowdown (``metric="slowdown"``), of flows of a size class against the load, with intervals over seeds.

    ``x`` may be another swept setting; ``where`` chooses among the values of further ones, such as ``{"rtt": "80us"}``. With one
    value on the x axis there is a bar for each scheme.

    >>> import flowsieve as fs, tempfile
    >>> exp = fs.Experiment.builtin("quickstart").set(flows=40, load=[0.5, 0.7], scheme=["dctcp", "pias"], seeds=2)
    >>> res = exp.run(tempfile.mkdtemp() + "/out")
    >>> [line.get_label() for line in fs.plot.fct_by_load(res, statistic="p99").axes[0].containers]
    ['DCTCP', 'PIAS']
    """
    if metric not in ("fct", "slowdown"):
        raise ValueError(f"metric={metric!r}; expected fct or slowdown")
    plot = _described(result, x, f"{_known(statistic)} {metric}", size_class, where or {})
    with _axes(ax, columns, height) as axes:
        _draw(axes, plot)
        axes.set_ylabel(f"{plot['y']['label']}, {plot['class']}")
    return _figure_of(axes)


def slowdown_by_size(
    result: Result,
    *,
    load: float | None = None,
    statistic: str = "p99",
    where: Mapping[str, object] | None = None,
    ax: Any = None,
    columns: int | None = None,
    height: float | None = None,
) -> Figure:
    """Slowdown against flow size, in bins with equal numbers of flows, at one load (default: the highest), with intervals.

    A tick names a size, and below it the share of the flows that are not larger.

    >>> import flowsieve as fs, tempfile
    >>> exp = fs.Experiment.builtin("quickstart").set(flows=40, load=[0.5, 0.7], scheme=["dctcp", "pias"], seeds=2)
    >>> res = exp.run(tempfile.mkdtemp() + "/out")
    >>> fs.plot.slowdown_by_size(res, load=0.5).axes[0].get_ylabel()
    'p99 slowdown'
    """
    at, several = _load(result, load)
    chosen = dict(where or {}) | ({"load": f"{at:g}"} if several else {})
    plot = _described(result, "size", f"{_known(statistic)} slowdown", None, chosen)
    with _axes(ax, columns, height) as axes:
        _draw(axes, plot)
    return _figure_of(axes)


def cdf(
    result: Result,
    *,
    metric: str = "slowdown",
    load: float | None = None,
    where: Mapping[str, object] | None = None,
    ax: Any = None,
    columns: int | None = None,
    height: float | None = None,
) -> Figure:
    """The share of flows with at most this slowdown, or this FCT in µs (``metric="fct"``), at one load, over all seeds.

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
    at, _ = _load(result, load)
    chosen = {(point["scheme"], point["load"], *point["axes"].values()) for point in _chosen(result, where or {})}
    ends: list[float] = []
    with _axes(ax, columns, height) as axes:
        for index, point in enumerate(result.experiment["points"]):
            settings = [axis["value"] for axis in point["axes"]]
            if point["load"] != at or (point["scheme"], point["load"], *settings) not in chosen:
                continue
            rows = result.flows().lazy().filter(polars.col("point") == index)
            values = rows.select(expressions[metric].alias("value")).drop_nulls().sort("value").collect()["value"].to_list()
            ends += [values[0], values[-1]] if values else []
            shares = [(rank + 1) / len(values) for rank in range(len(values))]
            scheme = _scheme(result, point["scheme"])
            axes.plot(values, shares, drawstyle="steps-post", label=scheme["label"], **{**scheme["look"], "marker": None})
        if not ends:
            raise ResultError("the result keeps no finished flow; expected flow_records of full or sample in [run]")
        low, high = min(ends), max(ends)
        ticks = [list(tick) for tick in _flowsieve.ticks(low, high, True)]
        _scale(axes, "x", {"log": True, "from": low, "to": max(high, 1.01 * low), "ticks": ticks, "light": []})
        axes.set_ylim(0, 1)
        axes.set_xlabel("FCT (µs)" if metric == "fct" else "slowdown")
        axes.set_ylabel("share of flows")
        axes.legend()
    return _figure_of(axes)


def series(
    result: Result,
    name: str,
    *,
    of: str | None = None,
    seed: int | None = None,
    ax: Any = None,
    columns: int | None = None,
    height: float | None = None,
) -> Figure:
    """A time series of ``series.parquet`` by its name, such as ``"most backlog (bytes)"``: a line for each point, of one seed.

    ``of`` chooses among its links, flows or hosts; without it there is a line for each of them. A line has its scheme's colour;
    further lines of a scheme differ in their dashes.

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
    drawn: dict[str, int] = {}
    with _axes(ax, columns, height) as axes:
        for (point, place), rows in table.group_by("point", "of", maintain_order=True):
            if of not in (None, place):
                continue
            scheme = _scheme(result, points[point]["scheme"])
            before = drawn.get(scheme["label"], 0)
            drawn[scheme["label"]] = before + 1
            style = {**scheme["look"], "marker": None}
            if before:
                style["linestyle"] = look(scheme["number"] + before)["linestyle"]
            label = ", ".join(part for part in (scheme["label"], place) if part)
            axes.plot((rows["start_ps"] / 1e6).to_list(), rows["value"].to_list(), label=label, **style)
        axes.set_xlabel("time (µs)")
        axes.set_ylabel(name)
        axes.legend()
    return _figure_of(axes)


def claims(result: Result, *, ax: Any = None, columns: int | None = None, height: float | None = None) -> Figure:
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
    with _axes(ax, columns, height, (2, 0.7 + 0.22 * len(judged))) as axes:
        for row, each in enumerate(judged):
            ratio = each["measured"]["ratio"]
            colour = _scheme(result, each["claim"]["scheme"])["look"]["color"]
            if ratio["interval"] is not None:
                axes.plot(ratio["interval"], [row, row], color=colour)
            axes.plot([ratio["value"]], [row], color=colour, marker="o", linestyle="")
            for claimed in _claimed_ratios(each["claim"]["expected"]):
                axes.plot([claimed], [row], color=_INK, marker="o", fillstyle="none", linestyle="", markersize=6)
        names = [f"{each['claim']['id']}: {each['measured']['verdict'].replace('-', ' ')}" for each in judged]
        axes.axvline(1, color="#999999", linewidth=0.8)
        axes.set_yticks(range(len(judged)), names)
        axes.invert_yaxis()
        axes.set_xlabel("ratio to what it is compared with")
    return _figure_of(axes)


def _known(statistic: str) -> str:
    if statistic not in _STATISTICS:
        raise ValueError(f"statistic={statistic!r}; expected one of {', '.join(_STATISTICS)}")
    return statistic


def _load(result: Result, load: float | None) -> tuple[float | None, bool]:
    """The load that is asked for, or the highest; and whether the result has others."""
    loads = sorted({point["load"] for point in result.experiment["points"] if point["load"] is not None})
    if load is not None and load not in loads:
        raise ResultError(f"the result has no load {load}; it has {', '.join(map(str, loads)) or 'none'}")
    return load if load is not None else (loads[-1] if loads else None), len(loads) > 1


def _described(result: Result, x: str, y: str, size_class: str | None, where: Mapping[str, object]) -> dict[str, Any]:
    """One plot as the command describes it to everything that draws."""
    at = [f"{key}={value}" for key, value in where.items()]
    with naming("x", size_class=size_class, x=x):
        plots: list[dict[str, Any]] = json.loads(result._raw.figure(x, y, size_class, at))
    if len(plots) > 1:
        cases = "; ".join(part for plot in plots if (part := plot["case"] or plot["at"]))
        raise ResultError(f"there are {len(plots)} such plots, for {cases}; expected where= that chooses one")
    return plots[0]


def _scheme(result: Result, name: str) -> dict[str, Any]:
    """Number, label and look of a scheme."""
    schemes = result.experiment["schemes"]
    names = [each["name"] for each in schemes]
    number = names.index(name) if name in names else len(names)
    label = schemes[number].get("label", name) if name in names else name
    return {"number": number, "label": label, "look": look(number)}


def _draw(axes: Any, plot: Mapping[str, Any]) -> None:
    """Draws a described plot, but for its title: papers have captions."""
    for each in plot["series"]:
        _draw_series(axes, each, plot["foot"])
    for axis in "xy":
        _scale(axes, axis, plot[axis])
        getattr(axes, f"set_{axis}label")(plot[axis]["label"])
    axes.legend(ncols=2)


def _draw_series(axes: Any, each: Mapping[str, Any], foot: float) -> None:
    data = each["data"]
    xs, ys = [datum["x"] for datum in data], [datum["y"] for datum in data]
    style = {"color": each["colour"], "linestyle": _DASHES[each["dash"]], "marker": _MARKS[each["symbol"]]}
    intervals = None
    if any(datum["low"] is not None for datum in data):
        ends = [(datum["y"], datum["y"]) if datum["low"] is None else (datum["low"], datum["high"]) for datum in data]
        intervals = [[max(0.0, y - low) for y, (low, _) in zip(ys, ends)], [max(0.0, high - y) for y, (_, high) in zip(ys, ends)]]
    if each["shape"] == "reference":
        axes.hlines(ys, [x - _REFERENCE for x in xs], [x + _REFERENCE for x in xs], color=_INK, linewidth=1.5, label=each["label"])
    elif each["shape"] == "bars":
        bar, bars = each["bar"]
        width = _BARS / bars
        places = [x - _BARS / 2 + width * (bar + 0.5) for x in xs]
        axes.bar(places, [y - foot for y in ys], width, bottom=foot, color=each["colour"], label=each["label"])
        if intervals is not None:
            axes.errorbar(places, ys, yerr=intervals, fmt="none", ecolor=_INK, capsize=2, elinewidth=0.8)
    else:
        if each["shape"] == "dots":
            style["linestyle"] = ""
        axes.errorbar(
            xs, ys, yerr=intervals, label=each["label"], capsize=2, elinewidth=0.8, markevery=each["every"], **style
        )


def _scale(axes: Any, name: str, described: Mapping[str, Any]) -> None:
    """An axis with the described ends and ticks, and no others."""
    ticker = library("matplotlib.ticker")
    axis = getattr(axes, f"{name}axis")
    getattr(axes, f"set_{name}scale")("log" if described["log"] else "linear")
    axis.set_major_locator(ticker.FixedLocator([at for at, _ in described["ticks"]]))
    axis.set_major_formatter(ticker.FixedFormatter([words for _, words in described["ticks"]]))
    axis.set_minor_locator(ticker.FixedLocator(described["light"]))
    axis.set_minor_formatter(ticker.NullFormatter())
    getattr(axes, f"set_{name}lim")(described["from"], described["to"])


def _claimed_ratios(expected: Any) -> list[float]:
    """The ratios that a claim states, if it states any."""
    if not isinstance(expected, Mapping):
        return []
    changes = [expected.get("change"), expected.get("up-to"), *(expected.get("between") or [])]
    return [1 + change for change in changes if change is not None]


def _chosen(result: Result, where: Mapping[str, object]) -> list[dict[str, Any]]:
    points: list[dict[str, Any]] = result.data()["points"]

    def matches(point: dict[str, Any]) -> bool:
        for key, value in point["axes"].items():
            short = key.split(".", 1)[-1]
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
