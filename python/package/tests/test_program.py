"""Programs with schemes of one's own: the same calls and results, made by a process."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import flowsieve as fs
import pytest
from conftest import SMALL, files


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> fs.Program:
    """The command itself, in the place of a program with more schemes."""
    path = tmp_path_factory.mktemp("target") / "my-scheme"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m flowsieve "$@"\n')
    path.chmod(0o755)
    return fs.load(path)


def test_load__gives_the_same_results(program: fs.Program, small: fs.Experiment, result: fs.Result, tmp_path: Path) -> None:
    exp = program.Experiment.from_dict(SMALL, folder=tmp_path)
    assert isinstance(exp, fs.Experiment) and exp.text == small.text
    assert exp.plan().hash == small.plan().hash and str(exp.plan()) == str(small.plan())
    heard: list[tuple[int, int]] = []
    made = exp.run(tmp_path / "out", jobs=2, progress=lambda finished, runs, *_: heard.append((finished, runs)))
    assert files(made.path) == files(result.path) and heard[-1] == (8, 8)
    changed = exp.set({"schemes.pias.queues": 4}, load=[0.5], seeds=1)
    assert changed.run().rows() == small.set({"schemes.pias.queues": 4}, load=[0.5], seeds=1).run().rows()
    assert [path.name for path in tmp_path.iterdir()] == ["out"], "nothing else is left"


def test_load__experiments_from_everywhere(program: fs.Program, small: fs.Experiment, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(small.text)
    bundle = small.set(load=0.5, seeds=1).pack(tmp_path / "x.flowsieve")
    keys = [run.key for run in small.set(load=0.5, seeds=1).plan().runs]
    for exp in (
        program.Experiment(tmp_path / "x.toml").set(load=0.5, seeds=1),
        program.Experiment.from_text(small.text).set(load=0.5, seeds=1),
        program.Experiment(**SMALL).set(load=0.5, seeds=1),
        program.Experiment(bundle),
    ):
        assert [run.key for run in exp.plan().runs] == keys
    quick = program.Experiment.builtin("quickstart").set(scale="smoke")
    assert quick.plan().packet_hops == fs.Experiment("quickstart").set(scale="smoke").plan().packet_hops
    again = fs.Experiment(quick.pack(tmp_path / "q.flowsieve"))
    assert [run.key for run in again.plan().runs] == [run.key for run in quick.plan().runs]


def test_load__arrays_and_tables(program: fs.Program, small: fs.Experiment) -> None:
    mine, other = (exp.set(sizes=[1000, 20_000], load=0.5, seeds=1) for exp in (program.Experiment(**SMALL), small))
    assert mine.run().rows() == other.run().rows()
    assert [run.key for run in mine.plan().runs] == [run.key for run in other.plan().runs]
    flows = {"start_s": [0.0, 1e-6], "src": [0, 1], "dst": [2, 2], "bytes": [1000, 200_000]}
    rack = {"topology": SMALL["topology"], "sweep": {"scheme": "pias"}}
    listed = program.Experiment(**rack).with_flows(flows)
    assert listed.run().rows() == fs.Experiment(**rack).with_flows(flows).run().rows()
    assert list(small.set(load=0.5).flows(seed=2)) == list(program.Experiment(**SMALL).set(load=0.5).flows(seed=2))
    with pytest.raises(fs.ExperimentError, match=r"flows-\w+\.csv:3\b|-5"):
        program.Experiment(**rack).with_flows({**flows, "bytes": [1000, -5]}).plan()


def test_load__parts_and_joining(program: fs.Program, result: fs.Result, tmp_path: Path) -> None:
    exp = program.Experiment(**SMALL)
    keys = [run.key for run in exp.plan().runs]
    assert exp.run_parts(keys[:5], tmp_path / "parts") == 5
    with pytest.raises(fs.ExperimentError, match="3 of 8 runs are missing; .*run_missing=True"):
        exp.join(tmp_path / "joined", [tmp_path / "parts"])
    assert files(exp.join(tmp_path / "joined", [tmp_path / "parts"], run_missing=True).path) == files(result.path)
    with pytest.raises(fs.ExperimentError, match="'partial=True' cannot be used with 'run_missing=True'"):
        exp.join(tmp_path / "joined", partial=True, run_missing=True)
    with pytest.raises(fs.SweepError, match="not spread over machines"):
        fs.sweep(exp, tmp_path / "swept")
    with pytest.raises(fs.ExperimentError, match="expected keys of plan"):
        exp.plan().shard("1/2")


def test_load__lists_and_explains(program: fs.Program) -> None:
    assert program.list_schemes("pias") == fs.list_schemes("pias") and program.list_settings("load") == fs.list_settings("load")
    assert program.explain("fan_in") == fs.explain("fan_in") and program.version == fs.__version__
    assert "my-scheme" in repr(program)


def test_load__errors_are_those_of_the_program(program: fs.Program, result: fs.Result, tmp_path: Path) -> None:
    wrong = {**SMALL, "workload": {"sizes": "web-serch", "flows": 40}}
    with pytest.raises(fs.ExperimentError, match="did you mean `web-search`") as error:
        program.Experiment.from_dict(wrong, name="mine.toml").plan()
    assert (error.value.file, error.value.nearest, error.value.line is not None) == ("mine.toml", "web-search", True)
    exp = program.Experiment(**SMALL)
    for call in (
        lambda: exp.set({"lod": 0.5}).plan(),
        lambda: exp.set(load=-1).run(tmp_path / "out"),
        lambda: program.explain("no-such-name"),
    ):
        with pytest.raises(fs.ExperimentError) as error:
            call()
        assert not re.search(r"(?<![\w-])--[a-z]|error: ", str(error.value))
    with pytest.raises(fs.ResultError, match="would be replaced.*replace=True"):
        exp.set(load=0.3).run(result.path)
    for path in ("nowhere/my-scheme", __file__):
        with pytest.raises(fs.ExperimentError, match="there is no such program"):
            fs.load(path)
    with pytest.raises(fs.ExperimentError, match="nowhere: an experiment cannot be written there"):
        program.Experiment.from_dict(SMALL, folder="nowhere").plan()


def test_load__programs_that_fail_or_are_stopped(program: fs.Program, tmp_path: Path) -> None:
    def script(text: str) -> Path:
        path = tmp_path / "failing"
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path

    for text, error, said in [
        ("kill -9 $$", fs.SimulationError, "ended by the signal SIGKILL"),
        ("echo 'noise\nerror: the run stood still' >&2; exit 1", fs.SimulationError, "^the run stood still$"),
        ("exit 3", fs.ExperimentError, "ended with status 3"),
    ]:
        with pytest.raises(error, match=said):
            fs.load(script(text))

    def fail(finished: int, *_: object) -> None:
        raise ZeroDivisionError("mine")

    many = program.Experiment(**SMALL).set(seeds=400)
    with pytest.raises(ZeroDivisionError, match="mine"):
        many.run(tmp_path / "out", jobs=1, progress=fail)
    assert not (tmp_path / "out" / "manifest.json").exists()
