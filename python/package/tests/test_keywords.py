"""Experiments by keyword, arrays as settings, and the text of what will run."""

from __future__ import annotations

import gc
import inspect
import math
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import flowsieve as fs
import numpy as np
import pandas
import polars
import pyarrow
import pytest
from conftest import SMALL, files

TOPOLOGY = {"kind": "single-switch", "hosts": 8}


def keys(exp: fs.Experiment) -> list[str]:
    """The names of its runs, which do not depend on where files are."""
    return [run.key for run in exp.plan().runs]


@dataclass
class Rack:
    kind: str = "single-switch"
    hosts: int = 8


@pytest.mark.parametrize("topology", [TOPOLOGY, SimpleNamespace(**TOPOLOGY), Rack()])
def test_experiment__by_keyword_is_that_of_a_dict(topology: object, small: fs.Experiment) -> None:
    exp = fs.Experiment(
        title="Eight hosts",
        topology=topology,
        workload={"sizes": "web-search", "flows": 40},
        schemes=["dctcp", "pias"],
        sweep={"load": [0.5, 0.8]},
        run={"seeds": 2},
    )
    assert {run.key for run in exp.plan().runs} == {run.key for run in small.plan().runs}


def test_experiment__by_keyword_takes_settings_of_schemes_and_sections(small: fs.Experiment) -> None:
    exp = fs.Experiment(
        topology=TOPOLOGY,
        workload={"sizes": "web-search", "flows": 40, "load": 0.5},
        schemes={"dctcp": None, "pias": {"queues": 4}, "mine": {"base": "pias", "queues": 3, "thresholds": np.array([1000, 2000])}},
        network={"ecn_threshold": "30KB"},
        transport={"rto_min": "5ms"},
        report={"size_classes": ["10KB"]},
        run={"seeds": 1},
    )
    assert exp.plan().points == ["dctcp", "pias", "mine"]
    assert 'ecn_threshold = "30KB"' in exp.to_toml() and 'thresholds = ["1000B", "2000B"]' in exp.text


def test_experiment__by_keyword_says_what_is_wrong(tmp_path: Path) -> None:
    for given, said in [
        ({}, "Experiment\\(\\) is empty"),
        ({"schemes": []}, "schemes=\\[\\]; expected a list of names"),
        ({"schemes": 7}, "schemes|not iterable"),
        ({"schemes": ["dctcp"], "sweep": {"scheme": ["pias"]}}, "one of the two"),
        ({"topolgy": {}}, "topolgy"),
    ]:
        with pytest.raises(TypeError, match=said):
            fs.Experiment(**given)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a file and topology"):
        fs.Experiment("quickstart", topology=TOPOLOGY)
    with pytest.raises(fs.ExperimentError, match="unknown key `hots`"):
        fs.Experiment(topology={"kind": "single-switch", "hots": 8}, schemes=["dctcp"]).plan()


@pytest.mark.parametrize("name", [each["file"] for each in fs.list_experiments(folder="built-in:")][:12])
def test_to_toml__is_what_will_run(name: str) -> None:
    exp = fs.Experiment(name)
    changed = exp.set(seeds=2, initial_window=12)
    if "flows =" in exp.text:
        changed = changed.set(flows=30)
    try:
        plan = changed.plan()
    except fs.ExperimentError:
        pytest.skip("these settings do not fit it")
    # Files that the package carries are found next to its own experiments alone.
    try:
        again = fs.Experiment.from_text(changed.to_toml()).plan()
    except fs.ExperimentError as error:
        assert "No such file" in str(error) or "cannot be read" in str(error)
        return
    assert [run.key for run in again.runs] == [run.key for run in plan.runs]


def test_to_toml__has_every_kind_of_change(small: fs.Experiment, tmp_path: Path) -> None:
    changes = [
        {"load": [0.3, 0.4], "scheme": "pias"},
        {"sizes": ["uniform(1KB, 2KB)", "fixed(3KB)"]},
        {"sizes": "uniform(1KB, 2KB)", "flows": np.int64(7)},
        {"schemes.pias.thresholds": ["20KB", "1MB"], "schemes.pias.queues": 3},
        {"schemes.pias.thresholds": "equal-split"},
        {"schemes.mine.base": "pias", "schemes.mine.queues": 2, "scheme": ["mine", "dctcp"]},
        {"network.leaf.ecn_threshold": "20KB", "buffer": ["300KB", "400KB"]},
        {"size_classes": ["10KB", "1MB"], "rto_min": "5ms"},
        {"sweep.load": [0.2]},
        {"load": 0.7},
        {"slow_start_restart": False},
    ]
    for change in changes:
        exp = small.set(change, seeds=1)
        again = fs.Experiment.from_text(exp.to_toml())
        assert keys(again) == keys(exp) and str(exp) == exp.to_toml(), change
    assert small.to_toml() == small.text == str(small)
    bundle = fs.Experiment(small.set(load=0.3, seeds=1).pack(tmp_path / "x.flowsieve"))
    assert "load = [0.3]" in bundle.to_toml() and "seeds = 1" in bundle.to_toml()


def test_to_toml__of_several_workloads(small: fs.Experiment) -> None:
    workloads = [
        {"name": "small", "sizes": "fixed(2KB)", "flows": 20, "load": 0.2},
        {"name": "large", "sizes": "fixed(2MB)", "flows": 5, "load": 0.3},
    ]
    exp = fs.Experiment.from_dict({"topology": TOPOLOGY, "workload": workloads, "sweep": {"scheme": ["dctcp"]}})
    for change in ({"workload.small.load": 0.1}, {"workload.small.load": [0.1, 0.2]}):
        changed = exp.set(change)
        assert keys(fs.Experiment.from_text(changed.to_toml())) == keys(changed)


def test_to_toml__of_a_scale_or_a_wrong_text_says_so(small: fs.Experiment) -> None:
    scaled = small.set(scale="smoke", seeds=1, load=0.5)
    with pytest.raises(fs.ExperimentError, match="^scale='smoke': a scale has no text of its own; expected pack"):
        scaled.to_toml()
    assert str(scaled) == small.text + "\n# changed: load=0.5\n# changed: seeds=1\n# changed: scale=smoke"
    assert small.set(scale="paper").to_toml() == small.text


SIZES = [1000, 20_000, 20_000, 3000]


@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        np.array,
        pyarrow.array,
        pyarrow.chunked_array,
        lambda sizes: polars.Series(sizes),
        lambda sizes: pandas.Series(sizes),
        lambda sizes: pandas.Series(sizes, dtype="Int64"),
        lambda sizes: np.array(sizes, dtype=float),
        lambda sizes: np.array(sizes, dtype=np.uint32),
        lambda sizes: [np.int64(size) for size in sizes],
    ],
)
def test_set__arrays_are_sizes(make: object, small: fs.Experiment) -> None:
    values = make([SIZES]) if make is pyarrow.chunked_array else make(SIZES)  # type: ignore[operator]
    exp = small.set(sizes=values, seeds=1)
    path = Path(next(line for line in exp.to_toml().splitlines() if line.startswith("sizes = ")).split('"')[1])
    assert path.read_text() == "bytes\n1000\n20000\n20000\n3000\n"
    by_keyword = fs.Experiment.from_dict({**SMALL, "workload": {"sizes": values, "flows": 40}})
    keys = [run.key for run in by_keyword.set(seeds=1).plan().runs]
    assert len(keys) == len(exp.plan().runs) == 4
    other = exp.set(load=0.5)
    del exp
    gc.collect()
    assert path.is_file() and len(other.plan()) == 2
    del other
    gc.collect()
    assert not path.exists()


def test_set__large_arrays_are_what_lists_are(small: fs.Experiment) -> None:
    sizes = [1, 10**12, 7, *range(1_000, 300_000)]
    listed = keys(small.set(sizes=sizes, load=0.5, seeds=1))
    for array in (np.array(sizes), np.array(sizes, dtype=float), polars.Series(sizes), pyarrow.array(sizes), pandas.Series(sizes)):
        assert keys(small.set(sizes=array, load=0.5, seeds=1)) == listed
    masked = np.ma.array([1000, 2000], mask=[False, True])
    with pytest.raises(fs.ExperimentError, match=r"sizes\[1\] = None; expected a number"):
        small.set(sizes=masked)


def test_set__refuses_a_wrong_name_at_once(small: fs.Experiment) -> None:
    for name, nearest in [("lod", "load"), ("schemes.pias.queus", "queues"), ("pias.queues", "schemes.pias.queues")]:
        with pytest.raises(fs.ExperimentError, match=r"--> set\(") as error:
            small.set({name: 3})
        assert (error.value.kind, error.value.nearest) == ("name", nearest)
    names = inspect.signature(small.set).parameters
    assert {"load", "scheme", "ecn_threshold", "seeds", "scale"} <= set(names) and "more" not in names


def test_set__ranges_and_texts(small: fs.Experiment) -> None:
    assert small.set(sizes=range(1000, 3000, 500), load=0.5, seeds=1).run().flows().to_polars()["bytes"].is_between(1000, 2500).all()
    assert len(small.set(sizes=["web-search", "data-mining"]).plan()) == 16
    assert small.set(load=polars.Series([0.1, 0.2])).changes == small.set(load=pyarrow.array([0.1, 0.2])).changes == ["load=0.1,0.2"]
    assert small.set({"schemes.pias.thresholds": pandas.Series([1000, 2000])}).changes == ["schemes.pias.thresholds=1000B,2000B"]
    assert keys(small.set(sizes=SIZES).set(sizes="web-search")) == keys(small)


@pytest.mark.parametrize(
    ("values", "error", "said"),
    [
        ([], ValueError, "sizes is empty"),
        (np.array([]), ValueError, "sizes is empty"),
        ([1000, -5], ValueError, r"sizes\[1\] = -5; expected 1 to 2\*\*53 bytes"),
        ([0], ValueError, r"sizes\[0\] = 0"),
        ([2**53 + 1], ValueError, r"sizes\[0\] = 9007199254740993"),
        ([1000, math.nan], ValueError, r"sizes\[1\] = nan; expected a finite number"),
        (np.array([1.5]), ValueError, r"sizes\[0\] = 1.5; expected a whole number of bytes"),
        (np.array([math.inf]), ValueError, r"sizes\[0\] = inf"),
        (pandas.Series([1, None], dtype="Int64"), (ValueError, TypeError), r"sizes\[1\]"),
        (polars.Series([1, None]), ValueError, r"sizes\[1\] = None; expected a number"),
        (np.array([[1, 2]]), ValueError, r"sizes has the shape \(1, 2\); expected one dimension"),
        ([1, [2]], ValueError, r"sizes\[1\] is a list; expected one dimension"),
        (np.array([True]), TypeError, "sizes is of the type bool"),
        (polars.Series([True]), TypeError, "sizes is of the type Boolean"),
        (np.array(["a"]), TypeError, r"sizes\[0\] is of the type str"),
        (np.array([1j]), TypeError, r"sizes\[0\] is of the type complex"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), TypeError, r"sizes\[0\] is of the type date"),
        (polars.DataFrame({"a": [1]}), TypeError, "sizes is a table"),
    ],
)
def test_arrays__that_are_no_sizes_are_refused(values: object, error: type, said: str, small: fs.Experiment) -> None:
    with pytest.raises(error, match=said):
        small.set(sizes=values)
    with pytest.raises(error, match=said):
        fs.thresholds(sizes=values)
    with pytest.raises(error, match=said):
        fs.Experiment.from_dict({**SMALL, "workload": {"sizes": values, "flows": 3}})


def test_arrays__thresholds_are_bytes(small: fs.Experiment) -> None:
    for wrong, said in [([1000, -1], r"thresholds\[1\] = -1"), ([1.5], r"thresholds\[0\] = 1.5")]:
        with pytest.raises(fs.ExperimentError, match=said) as error:
            small.set({"schemes.pias.thresholds": wrong})
        assert error.value.key == "thresholds"


CDF = {"size_bytes": [1000, 20_000], "cdf": [0.5, 1.0]}


@pytest.mark.parametrize(
    "make",
    [dict, polars.DataFrame, pandas.DataFrame, pyarrow.table, lambda cdf: np.array(list(zip(*cdf.values()))), lambda cdf: list(zip(*cdf.values()))],
)
def test_set__a_table_or_two_columns_are_a_cdf(make: object, tmp_path: Path) -> None:
    (tmp_path / "cdf.csv").write_text("size_bytes,cdf\n1000,0.5\n20000,1.0\n")
    base = fs.Experiment.from_dict({**SMALL, "workload": {"cdf": str(tmp_path / "cdf.csv"), "flows": 10}})
    values = make(CDF)  # type: ignore[operator]
    exp = fs.Experiment.from_dict({**SMALL, "workload": {"cdf": values, "flows": 10}})
    assert keys(base.set(cdf=values)) == keys(base.set(cdf=CDF)) == keys(exp)
    assert exp.plan().packet_hops == base.plan().packet_hops
    given = {"queues": 2, "method": "background", "load": 0.6}
    assert fs.thresholds(cdf=values, **given) == fs.thresholds(cdf=str(tmp_path / "cdf.csv"), **given)


def test_set__what_is_no_cdf_is_refused(small: fs.Experiment) -> None:
    for wrong, error, said in [
        ({"size_bytes": [1]}, ValueError, "cdf has no column cdf"),
        ({"size_bytes": [1, 2], "cdf": [1.0]}, ValueError, "differ in length"),
        ([(1000, 1.5)], ValueError, r"cdf\[0\] = 1.5; expected a share"),
        ([(-1, 1.0)], ValueError, r"cdf\[0\] = -1; expected 1 to"),
        ([(1, math.nan)], ValueError, r"cdf\[0\] = nan"),
        (np.array([1, 2]), ValueError, r"cdf has the shape \(2,\); expected two columns"),
        ([(1, 2, 3)], ValueError, "a row that is no pair"),
        ([], ValueError, "cdf is empty"),
        ([("a", 1.0)], TypeError, r"cdf\[0\] is of the type str"),
    ]:
        with pytest.raises(error, match=said):
            small.set(cdf=wrong)


def test_set__a_table_is_a_flow_list() -> None:
    flows = {"start_s": [0.0, 1e-6], "src": [0, 1], "dst": [2, 2], "bytes": [1000, 20_000]}
    exp = fs.Experiment(topology=TOPOLOGY, schemes=["dctcp"])
    assert exp.set(flows=flows).plan().hash == exp.set(flows=polars.DataFrame(flows)).plan().hash == exp.with_flows(flows).plan().hash
    for name in ("list", "flows"):
        by_keyword = fs.Experiment(topology=TOPOLOGY, workload={name: pandas.DataFrame(flows)}, schemes=["dctcp"])
        assert keys(by_keyword) == keys(exp.with_flows(flows))
    with pytest.raises(fs.ExperimentError, match=r"flows, row 1\b"):
        exp.set(flows={**flows, "bytes": [1000, -5]})


ARRAYS = """
import flowsieve as fs, sys
tables = {"topology": {"kind": "single-switch", "hosts": 8}, "sweep": {"scheme": ["dctcp", "pias"]}}
tables["workload"] = {"cdf": [(1000, 0.5), (20_000, 1.0)], "load": 0.5, "flows": 20}
fs.Experiment(**tables).run(sys.argv[1] + "/a")
fs.Experiment("quickstart").set(sizes=[1000, 20_000], load=0.5, flows=20, seeds=1).run(sys.argv[1] + "/b")
"""


def test_arrays__give_the_same_keys_and_bytes_in_every_process(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        subprocess.run([sys.executable, "-c", ARRAYS, str(tmp_path / name)], cwd=tmp_path / name, check=True)
    assert files(tmp_path / "one") == files(tmp_path / "two")
    settings = fs.Result(tmp_path / "one" / "b").experiment["points"][0]["settings"]
    assert settings["workload.sizes"].startswith("sizes-") and "/" not in settings["workload.sizes"]
    # They travel.
    exp = fs.Experiment("quickstart").set(sizes=[1000, 20_000], load=0.5, flows=20, seeds=1)
    again = fs.Experiment(exp.pack(tmp_path / "x.flowsieve"))
    assert keys(again) == keys(exp)


def test_arrays__stand_beside_the_files_of_an_experiment(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(fs.Experiment("quickstart").text.replace("4_000", "30").replace('sizes = "web-search"', 'cdf = "c.csv"'))
    (tmp_path / "c.csv").write_text("size_bytes,cdf\n1000,0.5\n20000,1.0\n")
    exp = fs.Experiment(tmp_path / "x.toml")
    bundle = fs.Experiment(exp.set(load=0.4, seeds=1).pack(tmp_path / "x.flowsieve"))
    for base in (exp.set(load=0.4, seeds=1), bundle):
        changed = base.set(cdf=[(1000, 0.5), (30_000, 1.0)])
        assert max(row["bytes"] for row in changed.run().flows()) > 20_000
        assert max(row["bytes"] for row in base.run().flows()) <= 20_000
        (point, *_) = changed.run().experiment["points"]
        assert (point["load"], point["settings"]["workload.cdf"][:4]) == (0.4, "cdf-")
    assert fs.Experiment.from_text(changed.to_toml()).set(seeds=1).plan().points == changed.plan().points


def test_arrays__do_not_depend_on_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exp = fs.Experiment.from_dict(SMALL).set(sizes=SIZES, seeds=1)
    there = keys(fs.Experiment.from_dict(SMALL).set(sizes=SIZES, seeds=1))
    monkeypatch.chdir(tmp_path)
    assert keys(exp) == there
