"""Tables of results: numbers are numbers, in every library and in none, and what is shown is a table."""

from __future__ import annotations

import csv
import gc
import html
import json
import math
import re
import subprocess
import sys
from pathlib import Path

import flowsieve as fs
import numpy as np
import pandas
import polars
import pyarrow
import pytest
from conftest import SMALL
from flowsieve import _show, _table


def test_rows__have_numbers_and_none(result: fs.Result) -> None:
    rows = result.rows()
    with (result.path / "summary.csv").open(newline="") as file:
        texts = list(csv.DictReader(file))
    assert [list(row) for row in rows] == [list(text) for text in texts]
    for row, text in zip(rows, texts):
        for name, value in row.items():
            if text[name] == "":
                assert value is None
            elif name in ("scheme", "size_class"):
                assert value == text[name]
            else:
                assert type(value) in (int, float) and float(text[name]) == value
    assert {type(row["flows"]) for row in rows} == {int} and {type(row["fct_mean_ratio"]) for row in rows} == {float}
    assert rows[-1]["up_to_bytes"] is None


@pytest.mark.parametrize("name", ["summary", "flows", "series", "plots", "compare"])
def test_tables__are_the_same_everywhere(name: str, result: fs.Result) -> None:
    table: fs.Table = getattr(result, name)()
    assert isinstance(table, fs.Table)
    frame, panda, arrow = table.to_polars(), table.to_pandas(), table.to_arrow()
    assert len(table) == frame.height == len(panda) == arrow.num_rows > 0
    assert table.columns == frame.columns == list(panda.columns) == arrow.column_names
    assert list(table) == frame.to_dicts() == arrow.to_pylist()
    assert polars.DataFrame(table).to_dicts() == pyarrow.table(table).to_pylist() == list(table)
    assert table.lazy().collect().height == len(table)
    for column in table.columns:
        for mine, other in zip(table.head(20), panda[column]):
            assert mine[column] == other or mine[column] is None and pandas.isna(other)
    assert table.head(2) == list(table)[:2]


def test_tables__are_not_read_before_they_are_used(small: fs.Experiment, tmp_path: Path) -> None:
    result = small.set(load=0.5, seeds=1).run(tmp_path / "out")
    tables = [result.flows(), result.summary(), result.series()]
    for table in tables:
        assert table.path is not None
        table.path.write_bytes(b"damaged")
    with pytest.raises(Exception, match="(?i)parquet|magic|footer"):
        len(tables[0])


def test_flows__without_pyarrow_are_read_by_polars(result: fs.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    table = result.flows()
    rows = list(table)
    monkeypatch.setattr(_table, "_is_there", lambda name: False)
    assert list(table) == rows and len(table) == len(rows) and table.columns == list(rows[0])
    assert list(polars.DataFrame(result.compare()).columns) == result.compare().columns


def test_repr__without_libraries_says_what_brings_them(result: fs.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_table, "_is_there", lambda name: False)
    monkeypatch.setitem(sys.modules, "polars", None)
    assert 'pip install "flowsieve[polars]"' in repr(result.flows())
    assert "pip install" in result.flows()._repr_html_()
    with pytest.raises(ModuleNotFoundError):
        list(result.flows())
    # The summary and comparisons need none.
    assert "dctcp" in repr(result.summary()) and "dctcp" in repr(result.compare())


@pytest.mark.parametrize("reader", ["pyarrow", "polars"])
def test_getitem__is_that_of_a_list(result: fs.Result, reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if reader == "polars":
        monkeypatch.setattr("flowsieve._table._is_there", lambda name: False)
    # Several batches, so that rows are found across them.
    monkeypatch.setattr("flowsieve._table._BATCH", 7)
    for table in (result.summary(), result.flows(), result.compare(), fs.list_schemes()):
        every = list(table)
        for index in (0, 5, -1, -len(every)):
            assert table[index] == every[index]
        ends = (None, 0, 3, 9, -4, -len(every) - 3, len(every) + 3)
        for some in [slice(first, end, step) for first in ends for end in ends for step in (None, 3, -1, -4)]:
            assert table[some] == every[some], some
        for index in (len(every), -len(every) - 1):
            with pytest.raises(IndexError):
                table[index]
    assert result.flows().head(2) == list(result.flows())[:2]


def test_lists__are_tables_and_lists() -> None:
    schemes = fs.list_schemes()
    assert "name" in schemes.columns and schemes.to_polars()["name"].to_list() == [each["name"] for each in schemes]
    assert json.loads(json.dumps(schemes)) == schemes == list(schemes) and repr(schemes).startswith("schemes: ")
    thresholds = fs.thresholds(workload="web-search", queues=3, load=[0.5, 0.8], method="background")
    assert thresholds.to_arrow().column("load").to_pylist() == thresholds.to_pandas()["load"].to_list() == [0.5, 0.8]
    assert "[1947640, 9735280]" in repr(thresholds) and "{'" not in thresholds._repr_html_()
    for lists in (fs.list_workloads, fs.list_topologies, fs.list_experiments, fs.list_settings, fs.list_formats):
        assert lists().to_polars().height == lists().to_arrow().num_rows == len(lists().to_pandas()) == len(lists()) > 1


def test_repr__is_aligned_and_says_what_is_left_out(result: fs.Result) -> None:
    lines = repr(result.summary()).splitlines()
    assert re.fullmatch(r"summary\.csv: 16 rows, \d+ columns", lines[0])
    assert lines[-1].startswith("… 6 more rows; more columns: ") and len(lines) == 13
    assert all(len(line) <= 110 for line in lines[:-1])
    at = lines[1].index("size_class")
    assert {line[at - 2 : at] for line in lines[1:-1]} == {"  "}
    assert re.search(r"\d \(\d[\d.]*–\d[\d.]*\)", lines[2]), "a value has its interval beside it"


def test_html__is_a_table_with_intervals_and_escapes(result: fs.Result) -> None:
    for shown in (result.summary()._repr_html_(), result.compare()._repr_html_(), result._repr_html_()):
        assert shown.count("<table>") == 1 and "<pre>" not in shown and "&gt;10MB" in shown
        assert re.search(r"<td[^>]*>[\d.]+ \([\d.]+–[\d.]+\)</td>", shown)
        assert "_low" not in shown
    whole = result._repr_html_()
    assert all(f"<li>{html.escape(sentence)}</li>" in whole for sentence in result.conclusions())
    assert "<script" not in _show.table(["a"], [{"a": "<script>"}], 1, "<script>")


def test_number__is_short_and_whole_numbers_keep_their_digits() -> None:
    numbers = [None, 7, 123456789, 0.5, 1.0, 12.3456, 1234.5678, 1e-9, math.nan, "text"]
    assert [_show.number(each) for each in numbers] == [
        *("–", "7", "123456789", "0.5", "1", "12.35", "1235", "1.00e-09", "nan", "text")
    ]


def test_compare__is_a_table_of_ratios(result: fs.Result) -> None:
    compared = result.compare("pias", "dctcp")
    rows = list(compared)
    assert len(rows) == 8 and {(row["value"], row["baseline"]) for row in rows} == {("pias", "dctcp")}
    by_hand = compared.data[0]["points"][0]["classes"][0]
    ratio = by_hand["fct"]["mean"]
    assert [rows[0][f"fct_mean_ratio{end}"] for end in ("", "_low", "_high")] == [ratio["value"], *ratio["interval"]]
    assert (rows[0]["pairs"], rows[0]["flow_ratio"]) == (by_hand["by_flow"]["pairs"], by_hand["by_flow"]["ratio"]["value"])
    # The same as in the summary.
    summary = next(row for row in result.rows() if (row["scheme"], row["load"], row["size_class"]) == ("pias", 0.5, "all"))
    row = next(row for row in rows if (row["load"], row["size_class"]) == (0.5, "all"))
    assert row["fct_mean_ratio"] == pytest.approx(summary["fct_mean_ratio"], rel=1e-5)


def test_compare__of_coflows_has_their_rows() -> None:
    workload = {"sizes": "fixed(20KB)", "pattern": "incast", "fan_in": 3, "flows": 30, "load": 0.5}
    result = fs.Experiment.from_dict({**SMALL, "workload": workload, "sweep": {"scheme": ["dctcp", "pias"]}}).run()
    assert "coflows" in {row["size_class"] for row in result.compare()}
    assert len(result.coflows()) == len(list(result.coflows())) > 0


SWEPT = {**SMALL, "network": {"ecn_threshold": "30KB"}, "workload": {**SMALL["workload"], "load": 0.5}}


@pytest.fixture(scope="module")
def swept() -> fs.Result:
    sweep = {"ecn_threshold": ["30KB", "97.5KB"], "scheme": ["dctcp"]}
    return fs.Experiment.from_dict({**SWEPT, "network": {}, "sweep": sweep}).run()


def test_compare__takes_numbers_for_swept_values(swept: fs.Result) -> None:
    said = str(swept.compare("97.5KB", "30KB", vary="ecn_threshold"))
    for pair in [(97_500, 30_000), (97500.0, np.int64(30_000)), (np.float32(97_500), "30KB")]:
        assert str(swept.compare(*pair, vary="ecn_threshold")) == said
    assert [row["network_ecn_threshold"] for row in swept.rows() if row["size_class"] == "all"] == ["30KB", "97.5KB"]
    with pytest.raises(fs.ExperimentError, match=r"^baseline=20000: this result has no ecn_threshold of 20000; expected 30KB, 97.5KB"):
        swept.compare(97_500, 20_000, vary="ecn_threshold")


def test_compare__errors_name_the_parameter(result: fs.Result) -> None:
    with pytest.raises(fs.ExperimentError, match="^value='pia': .*\n.*did you mean `pias`") as error:
        result.compare("pia", "dctcp")
    assert error.value.key == "value"
    with pytest.raises(fs.ExperimentError, match="^baseline='dctc': "):
        result.compare("pias", "dctc")
    with pytest.raises(fs.ExperimentError, match="^vary='lod': .*\n.*did you mean `load`"):
        result.compare(vary="lod")
    with pytest.raises(fs.ExperimentError, match="^vary='load': .*nothing to pair"):
        result.compare(0.8, 0.5, vary="load")
    with pytest.raises(TypeError, match="^value=0.8; expected a scheme's name, or vary="):
        result.compare(0.8, 0.5)
    with pytest.raises(TypeError, match="baseline=None; expected both"):
        result.compare("pias")
    with pytest.raises(TypeError, match="value is of the type list"):
        result.compare([1], 2, vary="load")  # type: ignore[arg-type]


def test_run__without_a_folder_is_removed_with_the_result(small: fs.Experiment) -> None:
    exp = small.set(load=0.5, scheme="dctcp", seeds=1)
    result = exp.run()
    folder = result.path
    flows = result.flows()
    del result
    gc.collect()
    assert len(flows) == 40, "its tables keep it"
    del flows
    gc.collect()
    assert not folder.parent.exists()


def test_run__without_a_folder_leaves_nothing_when_the_interpreter_ends(tmp_path: Path) -> None:
    code = """
import flowsieve as fs, os
res = fs.Experiment("quickstart").set(flows=20, load=0.5, scheme="dctcp", seeds=1).run()
if os.fork() == 0:
    raise SystemExit
os.wait()
assert len(res.rows()) > 0, "a child that ends does not remove it"
print(res.path)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 1 and not Path(done.stdout.strip()).exists()


def test_save__copies_the_result(small: fs.Experiment, tmp_path: Path) -> None:
    result = small.set(load=0.5, seeds=1).run()
    kept = result.save(tmp_path / "a" / "kept")
    assert kept.path == tmp_path / "a" / "kept" and kept.rows() == result.rows() and str(kept) == str(result)
    with pytest.raises(fs.ResultError, match="holds something already; expected another folder, or replace=True"):
        result.save(kept.path)
    assert result.save(kept.path, replace=True).rows() == result.rows()
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(fs.ResultError, match="something else than a result"):
        result.save(tmp_path, replace=True)
    with pytest.raises(fs.ResultError, match="apart from the result's own"):
        result.save(result.path / "inside")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "mine.txt"]
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["kept"]


def test_result__whose_folder_is_gone_or_has_another_says_so(small: fs.Experiment, tmp_path: Path) -> None:
    exp = small.set(load=0.5, scheme="dctcp", seeds=1)
    result = exp.run(tmp_path / "out")
    table = result.flows()
    exp.set(flows=30).run(tmp_path / "out", replace=True)
    for use in (result.rows, result.doctor, result.compare, result.data, result.report, result.flows, lambda: str(result)):
        with pytest.raises(fs.ResultError, match="another result was written there since"):
            use()
    result = fs.Result(tmp_path / "out")
    (tmp_path / "out").rename(tmp_path / "away")
    for use in (result.rows, result.doctor, result.compare, result.data, result.report, result.flows, lambda: str(result)):
        with pytest.raises(fs.ResultError, match="the result's folder is gone"):
            use()
    with pytest.raises(fs.ResultError, match="the folder is gone"):
        len(table)


def test_result__of_another_version_says_which(small: fs.Experiment, tmp_path: Path) -> None:
    result = small.set(load=0.5, scheme="dctcp", seeds=1).run(tmp_path / "out")
    manifest = result.path / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"flowsieve": "', '"flowsieve": "9', 1))
    with pytest.raises(fs.ResultError, match=r"it was written by flowsieve 9\S+, and this is flowsieve "):
        fs.Result(tmp_path / "out")


def test_doctor__gives_findings(result: fs.Result, small: fs.Experiment) -> None:
    found = result.doctor()
    assert len(found) == len(found.data) > 0 and all(isinstance(each, fs.Finding) for each in found)
    assert [each.text for each in found] == [each["text"] for each in found.data]
    assert found[0].is_cause and found[0].points and hash(found[0]) == hash(found[:1][0])
    with pytest.raises(AttributeError):
        found[0].text = "mine"  # type: ignore[misc]
    assert "<table>" in found._repr_html_() and found[0].severity in ("wrong", "careful", "note")
    single = small.set(load=0.5, seeds=1).run().doctor()
    assert any(each.remedy == "run with seeds=3 or more" for each in single) and "--seeds" not in str(single)


def test_check__finds_what_is_wrong_before_a_run(small: fs.Experiment) -> None:
    assert list(small.check()) == [] and str(small.check()) == "nothing looks wrong"
    wrong = fs.Experiment.from_dict({**SMALL, "workload": {"sizes": "web-serch", "flows": 40}}, name="mine.toml")
    (finding,) = wrong.check()
    assert (finding.severity, finding.at.split(":")[0]) == ("wrong", "mine.toml") and "web-search" in finding.text
    text = small.text.replace('scheme = ["dctcp", "pias"]', 'scheme = ["dctcp", "mine"]') + '\n[schemes.mine]\nbase = "dctcp"\n'
    (finding,) = fs.Experiment.from_text(text).check()
    assert finding.severity == "careful" and "mine" in finding.text


def test_lazy__keeps_a_temporary_result(small: fs.Experiment) -> None:
    frame = small.run().flows().lazy()
    gc.collect()
    by_hand = [row for row in small.run().flows() if row["bytes"] > 50_000]
    some = frame.filter(polars.col("bytes") > 50_000).select("bytes", "scheme")
    assert some.collect().to_dicts() == [{"bytes": row["bytes"], "scheme": row["scheme"]} for row in by_hand]
    assert frame.head(3).collect().height == 3 and frame.select(polars.len()).collect().item() == 320
    assert frame.filter(polars.col("flow") > 30).head(5).collect()["flow"].to_list() == [31, 32, 33, 34, 35]
