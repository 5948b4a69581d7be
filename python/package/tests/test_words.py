"""Errors in Python's words: names of parameters, and never an option of the command."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from pathlib import Path

import flowsieve as fs
import pytest
from flowsieve._words import in_python


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("name another folder with --out, or say --replace", "name another folder with out, or say replace=True"),
        ("--> --set load=0.5,0.7", "--> set(load=[0.5, 0.7])"),
        ("--> --set sizes=web-serch\n = help", '--> set(sizes="web-serch")\n = help'),
        ('--> --set sizes="uniform(1KB, 2KB)"', '--> set(sizes="uniform(1KB, 2KB)")'),
        ("--> --set schemes.pias.queues=4", '--> set({"schemes.pias.queues": 4})'),
        ("with --set ecn=true --set load=1 nothing reads this key", "with set(ecn=True) set(load=1) nothing reads this key"),
        ("--seeds 5, --scale smoke", 'seeds=5, scale="smoke"'),
        ("file, --set, --seeds and --scale, by a program", "file, set, seeds and scale, by a program"),
        ('--> --cdf "x.csv"', '--> cdf="x.csv"'),
        ("--load -1.0: expected a load above 0", "load=-1.0: expected a load above 0"),
        ("--no-guard lets it go on", "guard=False lets it go on"),
        ("(see `flowsieve list workloads`)", "(see flowsieve.list_workloads())"),
        ("`flowsieve list experiments --folder built-in:`", 'flowsieve.list_experiments(folder="built-in:")'),
        ("a name that `flowsieve list` shows", "a name that flowsieve.list_…() shows"),
        ("a -- b --- c, 5--6, x--out", "a -- b --- c, 5--6, x--out"),
    ],
)
def test_in_python__names_parameters(said: str, meant: str) -> None:
    assert in_python(said) == meant
    assert in_python(meant) == meant, "once is enough"


def test_errors__of_every_call_name_no_option(small: fs.Experiment, result: fs.Result, tmp_path: Path) -> None:
    (tmp_path / "taken.flowsieve").write_text("mine")
    calls: list[Callable[[], object]] = [
        lambda: small.set(sizes="web-serch").plan(),
        lambda: small.set(load=-1).plan(),
        lambda: small.set({"schemes.pias.queus": 3}).plan(),
        lambda: small.set({"lod": [0.3, "x"]}),
        lambda: small.set(scale="huge"),
        lambda: small.set(flows=60).run(result.path),
        lambda: small.join(tmp_path / "out"),
        lambda: small.join(tmp_path / "out", partial=True, run_missing=True),
        lambda: small.pack(tmp_path / "taken.flowsieve"),
        lambda: small.flows(),
        lambda: small.plan().shard("5/4"),
        lambda: fs.thresholds(workload="web-search", load=-1),
        lambda: fs.thresholds(workload="web-search", queues=100),
        lambda: fs.thresholds(workload="web-search", queues=1, model_only=True, method="guess"),  # type: ignore[arg-type]
        lambda: fs.thresholds(workload="web-search", cdf="x.csv"),
        lambda: fs.thresholds(workload="web-search", marking="x"),  # type: ignore[arg-type]
        lambda: fs.thresholds(workload="web-search", fabric="nowhere.toml"),
        lambda: fs.explain("xx"),
        lambda: fs.Experiment("nowhere.toml"),
        lambda: fs.Result(tmp_path),
        lambda: result.export(y="x"),
        lambda: result.export(class_="x"),
        lambda: result.report(x="x"),
        lambda: result.data(x="x"),
        lambda: result.compare("a", "b"),
        lambda: result.compare(vary="x"),
    ]
    for at, call in enumerate(calls):
        with pytest.raises(fs.Error) as error:
            call()
        assert not re.search(r"(?<![\w-])--[a-z]", str(error.value)), at
        assert not re.search(r"(?<![\w-])--[a-z]|`flowsieve ", str(getattr(error.value, "expected", ""))), at


def test_errors__name_the_parameter(result: fs.Result) -> None:
    for call, name in [
        (lambda: result.export(y="x"), "y"),
        (lambda: result.export(class_="x"), "class_"),
        (lambda: result.report(x="x"), "x"),
        (lambda: fs.thresholds(workload="web-search", method="guess"), "method"),  # type: ignore[arg-type]
        (lambda: fs.thresholds(workload="web-search", marking="guess"), "marking"),  # type: ignore[arg-type]
        (lambda: fs.thresholds(workload="web-search", rate="guess"), "rate"),  # type: ignore[arg-type]
        (lambda: fs.thresholds(workload="web-search", rtt="guess"), "rtt"),  # type: ignore[arg-type]
        (lambda: result.compare("a", "dctcp"), "value"),
    ]:
        with pytest.raises(fs.ExperimentError, match=f"^{name}\\b"):
            call()


def test_errors__travel_between_processes() -> None:
    errors = [fs.ResultError("--replace"), fs.SweepError("--out", "key"), fs.InternalError("x"), fs.SimulationError("y")]
    for error in errors:
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == str(error)
    assert str(errors[0]) == "replace=True" and isinstance(errors[0], OSError)


def test_paths__of_a_wrong_type_name_the_parameter(small: fs.Experiment, result: fs.Result) -> None:
    for call, said in [
        (lambda: fs.Experiment(7), "file"),  # type: ignore[arg-type]
        (lambda: fs.Experiment.from_text("", folder=7), "folder"),  # type: ignore[arg-type]
        (lambda: small.run(7), "out"),  # type: ignore[arg-type]
        (lambda: result.save(7), "folder"),  # type: ignore[arg-type]
        (lambda: fs.Result(7), "path"),  # type: ignore[arg-type]
        (lambda: fs.load(7), "program"),  # type: ignore[arg-type]
        (lambda: fs.thresholds(sizes=7), "sizes"),
        (lambda: fs.thresholds(workload="web-search", fabric=7), "fabric"),  # type: ignore[arg-type]
    ]:
        with pytest.raises(TypeError, match=f"^{said} is of the type int; expected a path"):
            call()
