"""Wrong arguments: each is refused with the parameter's name, and names in other scripts are no error."""

from __future__ import annotations

import shutil
from pathlib import Path

import flowsieve as fs
import numpy as np
import polars
import pytest
from conftest import SMALL


@pytest.mark.parametrize("name", ["", "  \n", "x" * 201])
def test_explain__of_nothing_or_of_too_much(name: str) -> None:
    with pytest.raises(fs.ExperimentError, match=r"^name (is empty|has 201 characters); expected the name of a setting") as error:
        fs.explain(name)
    assert error.value.key == "name" and len(str(error.value)) < 200
    with pytest.raises(TypeError, match="^name is of the type NoneType; expected a text"):
        fs.explain(None)  # type: ignore[arg-type]
    with pytest.raises(fs.ExperimentError, match="`θρ` is not a setting"):
        fs.explain("θρ")


@pytest.mark.parametrize(
    ("load", "error", "said"),
    [
        ([], ValueError, "^load is empty"),
        (np.ones((2, 2)), ValueError, r"^load has the shape \(2, 2\); expected one dimension"),
        ("0.5", TypeError, r"^load\[0\] is of the type str; expected a number"),
        (float("nan"), ValueError, r"^load\[0\] = nan; expected a finite number"),
        (1e18, ValueError, "load.*1e18.* out of range"),
        (-1, ValueError, "load.*-1.* out of range"),
    ],
)
def test_thresholds__loads_that_are_none(load: object, error: type, said: str) -> None:
    with pytest.raises(error, match=said):
        fs.thresholds(workload="web-search", load=load, queues=2, method="pias")  # type: ignore[arg-type]


def test_thresholds__texts_of_a_wrong_type_name_the_parameter() -> None:
    for name in ("workload", "column"):
        with pytest.raises(TypeError, match=f"^{name} is of the type int; expected a text"):
            fs.thresholds(**{"workload": "web-search", name: 10**18})  # type: ignore[arg-type]
    for name in ("method", "rate", "rtt", "marking"):
        with pytest.raises(fs.ExperimentError, match=f"^{name}=1000000000000000000: "):
            fs.thresholds(workload="web-search", **{name: 10**18})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (np.ones((2, 2)), "^load has a list in its list; expected one dimension"),
        ([0.5, [0.7]], "^load has a list in its list"),
        (np.array([]), "^load is empty; expected at least one value"),
        ([0.5, float("nan")], "`load` = NaN is out of range"),
        (10**18, "`load` = 1e18 is out of range"),
        (np.array([True]), "`load` cannot be true"),
        (np.array([1j]), "of the type complex"),
    ],
)
def test_set__values_that_no_setting_has(value: object, said: str, small: fs.Experiment) -> None:
    with pytest.raises(fs.ExperimentError, match=said):
        small.set(load=value).plan()


def test_set__a_cdf_that_falls(small: fs.Experiment) -> None:
    for pairs, said in [
        ([(1000, 0.9), (2000, 0.5)], r"^cdf\[1\] = 0.5; expected a share that is not below the one before, 0.9"),
        ([(2000, 0.5), (1000, 1.0)], r"^cdf\[1\] = 1000; expected a size that is not below the one before, 2000"),
    ]:
        with pytest.raises(fs.ExperimentError, match=said):
            small.set(cdf=pairs)


FLOWS = {"start_s": [0.0, 1e-6], "src": [0, 1], "dst": [2, 2], "bytes": [1000, 2000]}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"start_s": [0.0, float("nan")]}, "flows, row 1: start_s is `nan`"),
        ({"start_s": [0.0, -1.0]}, "flows, row 1: start_s is `-1"),
        ({"start_s": [0.0, 1e18]}, r"flows, row 1: start_s is `1e\+18`"),
        ({"bytes": [1, 10**18]}, "flows, row 1: bytes is `1000000000000000000`"),
        ({"bytes": [1.5, 2]}, "flows, row 0: bytes is `1.5`"),
        ({"bytes": np.array([True, False])}, "flows, row 0: bytes is `True`"),
        ({"bytes": [1]}, "differ in length: start_s 2, src 2, dst 2, bytes 1"),
        ({"bytes": np.ones((2, 2))}, "flows, row 0: bytes is"),
        ({"bytes": [None, 1]}, "flows, row 0: bytes is ``"),
        ({"src": [10**18, 0]}, "flows, row 0: src is `1000000000000000000`"),
        ({"src": [-1, 0]}, "flows, row 0: src is `-1`"),
    ],
)
def test_flows__rows_that_no_flow_has(change: dict[str, object], said: str) -> None:
    rack = fs.Experiment(topology=SMALL["topology"], schemes=["dctcp"])
    with pytest.raises(fs.ExperimentError, match=said):
        rack.with_flows({**FLOWS, **change}).plan()


def test_names__of_other_scripts(tmp_path: Path) -> None:
    folder = tmp_path / "φάκελος 实验 مجلد"
    folder.mkdir()
    (folder / "μεγέθη.csv").write_text("bytes\n1000\n20000\n")
    title = "Τίτλος 标题 عنوان"
    exp = fs.Experiment(
        title=title,
        topology=SMALL["topology"],
        workload={"sizes": "μεγέθη.csv", "flows": 20, "load": 0.5},
        schemes=["dctcp", "pias"],
        run={"seeds": 2},
        folder=folder,
    )
    result = exp.run(folder / "αποτέλεσμα")
    again = fs.Experiment(exp.pack(folder / "包.flowsieve"))
    assert [run.key for run in again.plan().runs] == [run.key for run in exp.plan().runs]
    assert result.title == result.save(folder / "نسخة").title == title
    assert title in result._repr_html_() and title in result.report().read_text()
    assert result.flows().lazy().select(polars.len()).collect().item() == len(result.flows()) == 80
    fs.plot.cdf(result).savefig(folder / "图.pdf")
    with pytest.raises(fs.ExperimentError, match="^value='σχήμα': this result has no scheme `σχήμα`"):
        result.compare("σχήμα", "dctcp")
    # Schemes are columns and file names in other tools.
    with pytest.raises(fs.ExperimentError, match='"方案" cannot name a scheme') as error:
        fs.Experiment(topology=SMALL["topology"], schemes={"方案": {"base": "pias"}}, workload=SMALL["workload"]).plan()
    assert error.value.expected == "ASCII letters, digits, `-` and `_`, 64 at most"


def test_tables__of_a_folder_that_is_gone(small: fs.Experiment, tmp_path: Path) -> None:
    result = small.set(load=0.5, seeds=1).run(tmp_path / "out")
    tables = [result.summary(), result.flows(), result.series(), result.plots()]
    rows = iter(result.flows())
    compared = result.compare("pias", "dctcp")
    shutil.rmtree(tmp_path / "out")
    for table in tables:
        for use in (table.to_polars, table.to_pandas, table.to_arrow, table.head, table.lazy, table._repr_html_):
            with pytest.raises(fs.ResultError, match="the folder is gone; expected it as long as its tables are used"):
                use()
        with pytest.raises(fs.ResultError, match="the folder is gone"):
            len(table)
    with pytest.raises(fs.ResultError, match="the folder is gone"):
        next(rows)
    with pytest.raises(fs.ResultError, match="the result's folder is gone"):
        fs.plot.cdf(result)
    # What was computed before stays.
    assert "pias / dctcp" in str(compared) and result.title == SMALL["title"]
