"""Results from Python: the tables are the files, and the numbers those of the command."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import flowsieve as fs
import numpy as np
import pandas
import polars
import pyarrow
import pytest
from conftest import SMALL, files
from flowsieve import _packing
from matplotlib.figure import Figure


def _lines(container: object) -> Any:
    """The line of a container with its bars, which matplotlib's types do not know."""
    return vars(container)["lines"]


def test_tables__are_the_same_in_every_library(result: fs.Result) -> None:
    table = result.flows()
    frame = table.to_polars()
    assert frame.height == 8 * 40
    assert table.to_pandas().shape == table.to_arrow().shape == frame.shape
    assert table.lazy().select(polars.len()).collect().item() == frame.height
    # By Arrow's C stream, without pyarrow between.
    assert polars.DataFrame(table).equals(frame)
    assert pyarrow.table(table).num_rows == frame.height
    assert pandas.DataFrame.from_arrow(table).shape == frame.shape
    means = frame.group_by("scheme").agg(polars.col("fct_ps").mean() / 1e6)
    assert sorted(map(str, means["scheme"])) == ["dctcp", "pias"]


def test_summary__is_the_csv_of_the_result(result: fs.Result) -> None:
    rows = result.rows()
    assert result.summary().to_polars().height == len(rows) == 16
    classes = {row["size_class"] for row in rows}
    assert classes == {"0-100KB", "100KB-10MB", ">10MB", "all"}
    # A statistic by hand: the mean over seeds of the mean FCT of all flows.
    row = next(row for row in rows if (row["scheme"], row["load"], row["size_class"]) == ("pias", 0.5, "all"))
    flows = result.flows().to_polars().filter((polars.col("scheme") == "pias") & (polars.col("load") == 0.5))
    by_seed = flows.group_by("seed").agg(polars.col("fct_ps").mean() / 1e6)["fct_ps"].mean()
    assert isinstance(by_seed, float) and row["fct_mean_us"] == pytest.approx(by_seed, rel=1e-12)


def test_compare_and_doctor__are_the_commands(result: fs.Result) -> None:
    def said(*words: str) -> str:
        arguments = [sys.executable, "-m", "flowsieve", *words]
        return subprocess.run(arguments, capture_output=True, text=True, check=True).stdout

    compared = result.compare("pias", "dctcp")
    assert said("compare", str(result.path), "pias", "dctcp") == str(compared)
    assert compared.data[0]["scheme"] == "pias" and "<table>" in compared._repr_html_()
    assert said("doctor", str(result.path)) == str(result.doctor())
    assert result.conclusions()[0] in " ".join(str(result).split())
    # Advice is in the words of Python.
    assert "--" not in " ".join(result.conclusions()) and "--seeds" not in str(result)
    with pytest.raises(fs.ExperimentError, match="did you mean `pias`"):
        result.compare("pia", "dctcp")
    small = result.compare("pias", "dctcp", class_="0-100KB")
    assert {row["size_class"] for row in small} == {"0-100KB"} and "10MB" not in str(small)
    with pytest.raises(fs.ExperimentError, match="(?s)^class_='0-10KB': .*did you mean `0-100KB`"):
        result.compare(class_="0-10KB")


def test_flow__is_the_timeline_of_the_command(result: fs.Result, tmp_path: Path) -> None:
    followed = result.flow("p99:0-100KB")
    assert [each["run"] for each in followed.data][0] == "dctcp, load 0.5, seed 1" and len(followed.data) == 4
    # Of one seed, as the table has it.
    flows = result.flows().to_polars().filter((polars.col("scheme") == "dctcp") & (polars.col("load") == 0.5))
    flows = flows.filter((polars.col("seed") == 1) & (polars.col("flow") == followed.data[0]["flow"]))
    assert flows["fct_ps"].to_list() == [followed.data[0]["fct_ps"]]
    assert str(followed).startswith(f"Flow {followed.data[0]['flow']}, the p99 by slowdown of ")
    assert followed._repr_svg_() == followed.svg and "pias, load 0.8, seed 1" in followed.svg
    path = followed.save(tmp_path / "flow.svg")
    assert path.read_text(encoding="utf-8") == followed.svg
    with pytest.raises(fs.ResultError, match="replace=True"):
        followed.save(path)
    assert result.flow(followed.data[0]["flow"]).data[0]["packets"] == followed.data[0]["packets"]
    for wrong in ("fastest", -1, "p99:small"):
        with pytest.raises(fs.ExperimentError, match="expected"):
            result.flow(wrong)


def test_flow__of_a_scheme_of_this_session_needs_its_callables(small: fs.Experiment, tmp_path: Path) -> None:
    mine = fs.Scheme("mine", tagger=lambda flow: 0)
    result = small.set(scheme=[mine], load=0.5, seeds=1).run(tmp_path / "out")
    assert result.flow("slowest").data[0]["run"] == "mine, load 0.5, seed 1"
    with pytest.raises(fs.ExperimentError, match="tagger"):
        fs.Result(result.path).flow("slowest")


def test_report__and_plots(small: fs.Experiment, tmp_path: Path) -> None:
    result = small.run(tmp_path / "out")
    page = result.report()
    assert page.read_text().startswith("<!") and result.plots().to_polars().height > 0
    assert "p99" in result.export(y="p99 fct")


def test_lists__say_what_there_is() -> None:
    assert {"dctcp", "pias", "qclimb"} <= {each["name"] for each in fs.list_schemes()}
    assert fs.list_workloads("web") and fs.list_topologies() and fs.list_settings("queue") and fs.list_formats("htsim")
    assert any("quickstart" in each["file"] for each in fs.list_experiments(folder="built-in:"))
    assert "ECN" in fs.explain("ecn_threshold") or "mark" in fs.explain("ecn_threshold")
    thresholds = fs.thresholds(workload="web-search", queues=4, load=[0.5, 0.8], method="pias")
    assert [each["load"] for each in thresholds] == [0.5, 0.8] and len(thresholds[0]["thresholds_bytes"]) == 3
    assert fs.thresholds(workload="web-search")
    wrongs: list[dict[str, Any]] = [{"workload": "web-serch"}, {"workload": "web-search", "method": "guess"}, {}]
    for wrong in wrongs:
        with pytest.raises(fs.ExperimentError):
            fs.thresholds(**wrong)


FLOWS = {"start_s": [0.0, 1e-6, 2e-6], "src": [0, 1, 0], "dst": [2, 2, 1], "bytes": [1000, 20_000, 3000]}
LISTED = {"topology": {"kind": "single-switch", "hosts": 3}, "sweep": {"scheme": ["dctcp", "pias"]}}


@pytest.mark.parametrize("make", [dict, polars.DataFrame, pandas.DataFrame, pyarrow.table])
def test_with_flows__a_table_is_a_workload(make: type, tmp_path: Path) -> None:
    exp = fs.Experiment.from_dict(LISTED).with_flows(make(FLOWS))
    result = exp.run(tmp_path / "out")
    flows = result.flows().to_polars().filter(polars.col("scheme") == "pias").sort("flow")
    assert flows["bytes"].to_list() == FLOWS["bytes"]
    # The same flows give the same keys, from whatever table and folder they come, and travel.
    other = fs.Experiment.from_dict(LISTED, folder=tmp_path).with_flows(FLOWS)
    keys = [run.key for run in exp.plan().runs]
    assert keys == [run.key for run in other.plan().runs]
    bundle = exp.pack(tmp_path / "x.flowsieve")
    assert keys == [run.key for run in fs.Experiment.from_file(bundle).plan().runs]


def test_flows__of_an_experiment_can_be_sent_again(small: fs.Experiment) -> None:
    flows = small.set(load=0.5).flows(seed=2)
    assert flows.to_polars().columns[:4] == list(fs.Flows.from_table(FLOWS).to_polars().columns[:4])
    again = fs.Experiment.from_dict({"topology": SMALL["topology"], "sweep": {"scheme": "pias"}}).with_flows(flows)
    assert len(again.plan()) == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"bytes": [1000, -5, 3000]}, r"flows, row 1\b.*"),
        ({"dst": [2, 2, 7]}, r"flows, row 2\b"),
        ({"bytes": [1000, object(), 3000]}, r"flows, row 1\b"),
        ({"start_s": [0.0, float("nan"), 2e-6]}, r"flows, row 1\b"),
        ({"src": [0, 1, None]}, r"flows, row 2\b"),
    ],
)
def test_with_flows__wrong_values_are_named_by_row(change: dict[str, list[object]], said: str) -> None:
    exp = fs.Experiment.from_dict(LISTED)
    for make in (dict, pandas.DataFrame):
        with pytest.raises(fs.ExperimentError, match=said):
            exp.with_flows(make({**FLOWS, **change}))


def test_with_flows__errors_have_their_place() -> None:
    exp = fs.Experiment.from_dict(LISTED)
    with pytest.raises(fs.ExperimentError) as error:
        exp.with_flows({**FLOWS, "bytes": [1000, -5, 3000]})
    # The second row stands in the third line of a list.
    assert (error.value.file, error.value.line, error.value.column) == ("flows", 3, list(FLOWS).index("bytes") + 1)
    assert (error.value.kind, error.value.key, error.value.expected is not None) == ("value", "bytes", True)
    with pytest.raises(fs.ExperimentError) as error:
        exp.with_flows({name: [] for name in FLOWS})
    assert (error.value.kind, error.value.file, error.value.line) == ("empty", "flows", None)
    assert exp.with_flows(polars.LazyFrame(FLOWS)).plan().hash == exp.with_flows(FLOWS).plan().hash


def test_with_flows__what_is_no_table_of_flows() -> None:
    exp = fs.Experiment.from_dict(LISTED)
    with pytest.raises(fs.ExperimentError, match="no column bytes"):
        exp.with_flows({name: FLOWS[name] for name in ("start_s", "src", "dst")})
    with pytest.raises(fs.ExperimentError, match="differ in length"):
        exp.with_flows({**FLOWS, "dst": [2]})
    with pytest.raises(fs.ExperimentError, match="int is not a table of flows"):
        exp.with_flows(7)
    with pytest.raises(fs.ExperimentError, match="sizes"):
        fs.Experiment.from_dict(SMALL).with_flows(FLOWS)


def test_plots__have_the_numbers_of_plots_csv(small: fs.Experiment, tmp_path: Path) -> None:
    result = small.run(tmp_path / "out")
    result.report()
    figure = fs.plot.fct_by_load(result, size_class="0-100KB", statistic="p99")
    assert figure.get_size_inches()[0] == 3.5
    with (result.path / "plots.csv").open(newline="") as file:
        plots = list(csv.DictReader(file))
    rows = [row for row in plots if "p99 FCT" in row["plot"] and "0-100KB" in row["plot"]]
    drawn = [
        (line.get_label(), x, y)
        for container in figure.axes[0].containers
        for line in [_lines(container)[0]]
        for x, y in zip(line.get_xdata(), line.get_ydata())
    ]
    assert len(drawn) == 4
    for (_, x, y), row in zip(drawn, [row for row in rows if "/" not in row["plot"]]):
        assert float(row["x"]) == pytest.approx(x) and float(row["y"]) == pytest.approx(y, rel=1e-5)


def test_plots__of_every_kind_are_drawn_and_fonts_embedded(result: fs.Result, tmp_path: Path) -> None:
    for name, figure in {
        "fct": fs.plot.fct_by_load(result, metric="slowdown", columns=2),
        "sizes": fs.plot.slowdown_by_size(result, load=0.8),
        "cdf": fs.plot.cdf(result, load=0.5),
    }.items():
        path = tmp_path / f"{name}.pdf"
        figure.savefig(path)
        assert b"/Type3" not in path.read_bytes() and path.stat().st_size > 2_000
    with pytest.raises(fs.ExperimentError, match="^size_class='0-10KB': this result has no class") as error:
        fs.plot.fct_by_load(result, size_class="0-10KB")
    assert (error.value.key, error.value.nearest) == ("size_class", "0-100KB")
    small = fs.plot.fct_by_load(result, size_class="0-100kb").axes[0]
    assert small.get_ylabel() == fs.plot.fct_by_load(result, size_class="0-100KB").axes[0].get_ylabel()
    assert len(result.compare(class_="100kb-10mb")) == 2 and "pias" in result.export(class_="0-100kb", y="mean fct")
    with pytest.raises(fs.ExperimentError, match="varies no setting `rtt`"):
        fs.plot.fct_by_load(result, x="rtt")
    with pytest.raises(fs.ResultError, match="no measured claims"):
        fs.plot.claims(result)


def test_pack__with_its_result_carries_digests(small: fs.Experiment, tmp_path: Path) -> None:
    exp = small.set(sizes=np.array([1000, 20_000]), load=0.5, seeds=1)
    result = exp.run()
    described = _packing.listed(exp.pack(tmp_path / "x.flowsieve", result=result))
    assert described["versions"]["commit"] == fs.program()[2] == result.experiment["versions"]["commit"]
    assert {"flows.parquet", "manifest.json", "summary.csv"} <= set(described["expected"]["files"])
    with pytest.raises(fs.ExperimentError, match="is not the result of this plan: its points are "):
        small.pack(tmp_path / "y.flowsieve", result=result)
    assert "expected" not in _packing.listed(small.pack(tmp_path / "y.flowsieve"))


def test_report__opens_where_there_is_a_browser(result: fs.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or len(opened) == 1)
    page = result.report(show=True)
    with pytest.warns(UserWarning, match=f"no browser was found; the report is {re.escape(str(page))}"):
        assert result.report(show=True) == page
    assert opened == [page.resolve().as_uri()] * 2 and result.report() == page and len(opened) == 2


def test_plots__of_series_and_claims(tmp_path: Path) -> None:
    text = """
        [topology]
        kind = "single-switch"
        hosts = 4
        [workload]
        sizes = "fixed(200KB)"
        flows = 40
        load = 0.6
        [sweep]
        scheme = ["dctcp", "pias"]
        [run]
        seeds = 2
        sample_interval = "100us"
        sample_utilisation = ["switch0 to host2"]
        [[claims]]
        id = "one"
        where = "Fig 1"
        metric = "mean fct"
        scheme = "pias"
        baseline = "dctcp"
        claimed = "-20%"
    """
    result = fs.Experiment.from_text(text).run(tmp_path / "out")
    figure = fs.plot.series(result, "utilisation (share)", of="switch0 to host2")
    rows = result.series().to_polars().filter(
        (polars.col("series") == "utilisation (share)") & (polars.col("seed") == 1) & (polars.col("scheme") == "dctcp")
    )
    assert np.asarray(figure.axes[0].lines[0].get_ydata()).tolist() == rows["value"].to_list()
    assert [line.get_label() for line in figure.axes[0].lines] == ["DCTCP, switch0 to host2", "PIAS, switch0 to host2"]
    for name, of in (("heat", None), ("utilisation (share)", "host9")):
        with pytest.raises(fs.ResultError, match="it has"):
            fs.plot.series(result, name, of=of)
    claims = fs.plot.claims(result)
    assert claims.axes[0].get_yticklabels()[0].get_text().startswith("one: ")
    drawn = [np.asarray(line.get_xdata()).tolist() for line in claims.axes[0].lines]
    assert [xs[0] for xs in drawn if len(xs) == 1] == [result.claims()[0]["measured"]["ratio"]["value"], 0.8]


def test_plots__are_drawn_from_the_command_s_description(result: fs.Result) -> None:
    # Percentiles of so few flows have no intervals.
    axes = fs.plot.slowdown_by_size(result, load=0.8, statistic="mean").axes[0]
    described = json.loads(result._outcome.figure("size", "mean slowdown", None, ["load=0.8"]))[0]
    assert axes.get_legend_handles_labels()[1] == ["DCTCP", "PIAS"]
    assert axes.get_ylim() == pytest.approx((described["y"]["from"], described["y"]["to"]))
    assert [tick.get_text() for tick in axes.get_yticklabels()] == [words for _, words in described["y"]["ticks"]]
    # A size, and below it the share of the flows up to it.
    assert axes.get_xticklabels()[-1].get_text().splitlines()[1] == "100 %"
    for container, series in zip(axes.containers, described["series"]):
        line, _, bars = _lines(container)
        look = fs.plot.look(series["scheme"])
        assert (line.get_color(), line.get_marker()) == (look["color"], look["marker"])
        for (start, end), datum in zip(bars[0].get_segments(), series["data"]):
            # A bin with flows of one seed has none.
            ends = [datum["y"] if datum[end] is None else datum[end] for end in ("low", "high")]
            assert [start[1], end[1]] == pytest.approx(ends) and start[1] >= 1
    assert any(datum["low"] is not None for series in described["series"] for datum in series["data"])
    assert fs.plot.slowdown_by_size(result, load=0.8).axes[0].get_ylabel() == "p99 slowdown"


def test_plots__one_load_has_bars(small: fs.Experiment, tmp_path: Path) -> None:
    result = small.set(load=0.5).run(tmp_path / "out")
    axes = fs.plot.fct_by_load(result).axes[0]
    assert len(axes.patches) == 2 and axes.get_ylim()[0] == 0
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["DCTCP", "PIAS"]


def test_plots__in_axes_of_ones_own(result: fs.Result) -> None:
    figure = Figure(figsize=(6, 3))
    left, right = figure.subplots(1, 2)
    assert fs.plot.fct_by_load(result, ax=left) is figure and fs.plot.cdf(result, load=0.5, ax=right) is figure
    assert len(left.containers) == len(right.lines) == 2 and len(figure.axes) == 2
    with pytest.raises(ValueError, match="expected no columns= or height="):
        fs.plot.fct_by_load(result, ax=left, columns=2)
    with pytest.raises(ValueError, match="expected 1 or 2"):
        fs.plot.fct_by_load(result, columns=3)
    with pytest.raises(ValueError, match="expected one of mean, p50"):
        fs.plot.fct_by_load(result, statistic="median")
    with pytest.raises(fs.ResultError, match="has no load 0.9; it has 0.5, 0.8"):
        fs.plot.slowdown_by_size(result, load=0.9)


def test_plots__of_several_cases_ask_which(small: fs.Experiment, tmp_path: Path) -> None:
    result = small.set(load=[0.5, 0.8], ecn_threshold=["20pkt", "65pkt"]).run(tmp_path / "out")
    with pytest.raises(fs.ResultError, match="there are 2 such plots, for .*ecn_threshold = 20pkt; .*expected where="):
        fs.plot.fct_by_load(result)
    axes = fs.plot.fct_by_load(result, where={"ecn_threshold": "20pkt"}).axes[0]
    assert len(axes.containers) == 2 and axes.get_xlabel() == "load"
    with pytest.raises(fs.ExperimentError, match="expected one of 20pkt, 65pkt"):
        fs.plot.fct_by_load(result, where={"ecn_threshold": "7pkt"})


def test_plots__schemes_differ_in_grey() -> None:
    looks = [fs.plot.look(scheme) for scheme in range(7)]

    def grey(colour: str) -> float:
        red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
        return 0.299 * red + 0.587 * green + 0.114 * blue

    assert len({look["marker"] for look in looks}) == 7
    for one, other in zip(looks, looks[1:]):
        assert abs(grey(one["color"]) - grey(other["color"])) > 8 or one["linestyle"] != other["linestyle"]
        assert one["linestyle"] != other["linestyle"]


def test_plots__look_as_in_the_report(result: fs.Result) -> None:
    report = (result.path / "report.html").read_text()
    for scheme in range(2):
        assert fs.plot.look(scheme)["color"].lower() in report
    assert [fs.plot.look(scheme)["color"] for scheme in range(2)] == ["#004488", "#DDAA33"]


def test_import__brings_no_other_library() -> None:
    code = "import sys, flowsieve; print([name for name in ('polars','pandas','pyarrow','matplotlib','ray','numpy') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_library__that_is_missing_says_what_brings_it(monkeypatch: pytest.MonkeyPatch, result: fs.Result) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "flowsieve\[polars\]"'):
        result.flows().to_polars()


def test_result__opens_again_and_is_unchanged(result: fs.Result) -> None:
    before = files(result.path)
    again = fs.Result(result.path)
    assert again.title == "Eight hosts" and str(again) == str(result) and "<table>" in again._repr_html_()
    assert files(result.path) == before
