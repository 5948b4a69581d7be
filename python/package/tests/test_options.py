"""Options of calls are those of the command: in signatures, in docstrings, and in what they do."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import flowsieve as fs
import numpy as np
import pytest
from flowsieve import _options
from flowsieve._given import words_of
from flowsieve._option import options_of

CALLS = [
    (fs.Experiment.run, _options.RunOptions),
    (fs.Experiment.run_parts, _options.MakeOptions),
    (fs.Experiment.join, _options.JoinOptions),
    (fs.Result.data, _options.ReportOptions),
    (fs.Result.report, _options.ReportOptions),
    (fs.Result.compare, _options.CompareOptions),
    (fs.Result.export, _options.ExportOptions),
    (fs.thresholds, _options.ModelOptions),
    (fs.tune, _options.TuneOptions),
]


@pytest.mark.parametrize(("call", "group"), CALLS, ids=lambda of: of.__name__)
def test_signature__and_docstring_have_every_option(call: object, group: type) -> None:
    parameters = inspect.signature(call).parameters  # type: ignore[arg-type]
    described = inspect.getdoc(call) or ""
    for name, (hint, option) in options_of(group).items():
        parameter = parameters[name]
        assert (parameter.kind, parameter.default) == (parameter.KEYWORD_ONLY, option.default)
        assert parameter.annotation == hint and f"\n    {name}: " in described
    assert not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    section = described.split("Options:")[1].split(">>>")[0]
    assert not re.search(r"(?<![\w-])--[a-z]", section), "the command's words"
    assert described.index("Options:") < described.index(">>>")


def test_words__are_those_of_the_command() -> None:
    given = {"jobs": np.int64(3), "guard": False, "fresh": np.bool_(True), "replace": None}
    assert words_of(_options.RunOptions, given) == ["--jobs=3", "--no-guard", "--fresh"]
    assert words_of(_options.RunOptions, {"guard": True, "fresh": False}) == []
    many = {"at": ["load=0.5", "scheme=pias"], "class_": "--what=flows"}
    assert words_of(_options.ExportOptions, many) == ["--at=load=0.5", "--at=scheme=pias", "--class=--what=flows"]
    assert words_of(_options.ModelOptions, {"load": np.array([0.5, 0.8])}) == ["--load=0.5", "--load=0.8"]


def test_words__that_are_wrong_name_the_parameter(small: fs.Experiment, tmp_path: Path) -> None:
    for given, error, said in [
        ({"job": 2}, TypeError, "there is no parameter 'job'; expected one of jobs, "),
        ({"fresh": 1}, TypeError, "fresh is of the type int; expected True or False"),
        ({"jobs": 2.5}, fs.ExperimentError, r"jobs=2.5; expected a whole number, 1 to 1024"),
        ({"jobs": 2000}, fs.ExperimentError, r"jobs=2000: 2000 is not in 1\.\.=1024"),
    ]:
        with pytest.raises(error, match=f"^{said}"):
            small.run(tmp_path / "out", **given)  # type: ignore[arg-type]
    with pytest.raises(fs.ExperimentError, match="^load is empty"):
        fs.thresholds(workload="web-search", load=[])
    with pytest.raises(fs.ExperimentError, match='^method="guess": expected equal-split, pias, .*simulate'):
        fs.thresholds(workload="web-search", method="guess")  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


def test_export__writes_what_the_command_writes(result: fs.Result) -> None:
    assert "\\begin{table*}" in result.export(format="latex", y="mean fct", columns=2)
    figure = result.export(what="figure", y="p99 slowdown", class_="0-100KB", at=["load=0.5"])
    assert figure.startswith("<svg") and "dctcp" in figure.lower()
    assert len(result.export(what="flows").splitlines()) == 1 + len(result.flows())
    with pytest.raises(fs.ExperimentError, match="safe_csv=True applies only to CSV; expected format csv"):
        result.export(format="latex", safe_csv=True)


def test_thresholds__are_searched_for_in_the_simulator() -> None:
    found = fs.thresholds(workload="web-search", load=0.6, queues=2, method="simulate", evaluations=3, flows=60, jobs=1)
    assert len(found) == 1 and found[0]["load"] == 0.6


def test_tune__answers_and_refuses(tmp_path: Path) -> None:
    fabric = tmp_path / "fabric.toml"
    fabric.write_text('[topology]\nkind = "single-switch"\nhosts = 4\nhost_link = "10Gbps"\n')
    sizes = [3_000] * 90 + [400_000] * 10
    found = fs.tune(fabric, tmp_path / "out", sizes=sizes, load=0.6, queues="2", marking="queue", flows=100, seeds=2, jobs=1)
    assert found["recommended"]["queues"] in (1, 2)
    assert found["changes"][-1]["class"] == "all"
    assert (tmp_path / "out" / "README.md").is_file()
    with pytest.raises(fs.ExperimentError, match="load"):
        fs.tune(fabric, tmp_path / "other", sizes=sizes)
    with pytest.raises(fs.ExperimentError, match="no distribution"):
        fs.tune(fabric, tmp_path / "other", load=0.6)
    with pytest.raises(fs.ExperimentError, match="too little for any answer"):
        fs.tune(fabric, tmp_path / "other", sizes=sizes, load=0.6, budget="1ms")
