"""Sweeps: however the runs are spread, and whatever fails meanwhile, the result has the bytes of one local run."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import flowsieve as fs
import pytest
from conftest import files
from flowsieve.sweeps import Bundle, Lost, Made, Task, Worker
from flowsieve.sweeps._driver import WORTH_SECONDS, sweep_by


class Scripted:
    """Makes runs at once, but does with each task what ``misdeed`` says first."""

    parts = None
    shards = None

    def __init__(self, misdeed: Callable[[int, Task, Callable[[], list[Made]]], list[Made]]) -> None:
        self._misdeed = misdeed
        self.tasks: list[Task] = []
        self.is_closed = False

    def open(self, bundle: Bundle) -> None:
        self._worker = Worker(bundle, bundle.path)

    def slots(self) -> int:
        return 2

    def submit(self, bundle: Bundle, task: Task) -> Future[list[Made]]:
        future: Future[list[Made]] = Future()
        self.tasks.append(task)
        try:
            future.set_result(self._misdeed(len(self.tasks), task, lambda: self._worker.make(task)))
        except BaseException as error:
            future.set_exception(error)
        return future

    def told(self) -> Iterable[str]:
        return ()

    def close(self) -> None:
        self.is_closed = True


def test_sweep__on_this_machine_gives_the_same_bytes(small: fs.Experiment, result: fs.Result, tmp_path: Path) -> None:
    heard: list[tuple[int, int]] = []
    swept = fs.sweep(
        small, tmp_path / "out", on=fs.Local(jobs=2), progress=lambda finished, runs, *_: heard.append((finished, runs))
    )
    assert files(swept.path) == files(result.path)
    assert heard[-1] == (8, 8)
    # Again: nothing is left to do.
    assert files(fs.sweep(small, tmp_path / "out").path) == files(result.path)


def test_sweep__of_many_short_runs_hands_out_some_of_them_at_a_time(small: fs.Experiment, tmp_path: Path) -> None:
    backend = Scripted(lambda number, task, make: make())
    # A task has a quarter of what is left on two slots, but no more than come back together without filling the driver's memory.
    # Workers take no time by this clock, so that none of these runs is too long to go with others.
    many = small.set(flows=1, load=0.5, scheme="dctcp", seeds=1_200)
    swept = sweep_by(lambda: 0.0, many, tmp_path / "out", backend)
    assert len(swept.experiment["points"][0]["parts"]) == 1_200
    tasks = [len(task.keys) for task in backend.tasks]
    assert sum(tasks) == 1_200 and tasks[0] == 250 and tasks == sorted(tasks, reverse=True)


def test_sweep__of_slow_workers_hands_out_one_run_at_a_time_once_that_is_known(small: fs.Experiment, tmp_path: Path) -> None:
    now = [0.0]

    def slowly(number: int, task: Task, make: Callable[[], list[Made]]) -> list[Made]:
        now[0] += 2 * WORTH_SECONDS * len(task.keys)
        return make()

    backend = Scripted(slowly)
    several = small.set(flows=1, load=0.5, scheme="dctcp", seeds=40)
    sweep_by(lambda: now[0], several, tmp_path / "out", backend)
    tasks = [len(task.keys) for task in backend.tasks]
    # Both slots are filled before the first task comes back.
    assert tasks[0] == 10 and tasks[1] > 1 and set(tasks[2:]) == {1} and sum(tasks) == 40


def test_sweep__what_is_lost_is_made_again(
    small: fs.Experiment, result: fs.Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def lose(number: int, task: Task, make: Callable[[], list[Made]]) -> list[Made]:
        if number in (1, 3):
            raise Lost("the node is gone")
        if number == 2:
            return [replace(made, archive=b"garbage") for made in make()]
        if number == 4:
            return [replace(made, archive=(made.archive or b"")[:700]) for made in make()]
        if number == 5:
            return "nothing of the kind"  # type: ignore[return-value]
        return make()

    backend = Scripted(lose)
    swept = fs.sweep(small, tmp_path / "out", on=backend)
    assert files(swept.path) == files(result.path)
    assert backend.is_closed and max(task.tries for task in backend.tasks) >= 1
    assert "made again: the node is gone" in capsys.readouterr().err


def test_sweep__what_is_lost_again_and_again_is_named(small: fs.Experiment, tmp_path: Path) -> None:
    def lose(number: int, task: Task, make: Callable[[], list[Made]]) -> list[Made]:
        raise Lost("out of memory")

    with pytest.raises(fs.SweepError, match=r"lost 4 times; it is estimated to take \d+ MB of memory: out of memory") as caught:
        fs.sweep(small, tmp_path / "out", on=Scripted(lose))
    assert caught.value.key in {run.key for run in small.plan().runs}


def test_sweep__a_run_that_fails_ends_it_and_the_others_are_kept(
    small: fs.Experiment, result: fs.Result, tmp_path: Path
) -> None:
    def fail(number: int, task: Task, make: Callable[[], list[Made]]) -> list[Made]:
        if number == 3:
            raise fs.SimulationError("pias, load 0.5, seed 1: made to fail")
        return make()

    backend = Scripted(fail)
    with pytest.raises(fs.SimulationError, match="made to fail"):
        fs.sweep(small, tmp_path / "out", on=backend)
    kept = {path.name for path in (tmp_path / "out" / "parts").iterdir() if not path.name.startswith(".")}
    assert kept >= {key for task in backend.tasks[:2] for key in task.keys} and backend.is_closed
    assert kept.isdisjoint(backend.tasks[2].keys) and not (tmp_path / "out" / "manifest.json").exists()
    # And goes on from there.
    again = Scripted(lambda number, task, make: make())
    assert files(fs.sweep(small, tmp_path / "out", on=again).path) == files(result.path)
    assert not kept & {key for task in again.tasks for key in task.keys}


def test_sweep__a_worker_that_never_answers_is_given_up(small: fs.Experiment, result: fs.Result, tmp_path: Path) -> None:
    class Silent(Scripted):
        def submit(self, bundle: Bundle, task: Task) -> Future[list[Made]]:
            if not self.tasks:
                self.tasks.append(task)
                return Future()
            return super().submit(bundle, task)

    # Each look at this clock is a minute later.
    minutes = itertools.count()
    backend = Silent(lambda number, task, make: make())
    swept = sweep_by(lambda: 60.0 * next(minutes), small, tmp_path / "out", backend, patience=3_600.0)
    assert files(swept.path) == files(result.path)
    assert [task.tries for task in backend.tasks if set(task.keys) & set(backend.tasks[0].keys)] == [0, 1]


def test_sweep__the_part_of_another_run_is_refused(small: fs.Experiment, tmp_path: Path) -> None:
    other = small.set(seeds=1)
    plan = other.plan()
    other.run_parts([plan.runs[0].key], tmp_path / "out")
    first = plan._raw.archive(str(tmp_path / "out"), plan.runs[0].key)

    def swap(number: int, task: Task, make: Callable[[], list[Made]]) -> list[Made]:
        return [replace(made, archive=first) for made in make()]

    # The part of another run is not taken for this one's.
    with pytest.raises(fs.SweepError, match="something else than its parts"):
        fs.sweep(other, tmp_path / "out", on=Scripted(swap))


def test_sweep__what_is_no_archive_is_made_again(small: fs.Experiment, result: fs.Result, tmp_path: Path) -> None:
    def text_first(number: int, task: Task, make: Callable[[], list[Made]]) -> list[Made]:
        if number > 2:
            return make()
        # A text, and the word of a backend without a shared folder that the part is in it.
        return [Made(key, "part" if number == 1 else None) for key in task.keys]  # type: ignore[arg-type]

    assert files(fs.sweep(small, tmp_path / "out", on=Scripted(text_first)).path) == files(result.path)


def test_worker__of_another_program_is_refused(small: fs.Experiment, tmp_path: Path) -> None:
    from flowsieve.sweeps._worker import this_program

    path = small.pack(tmp_path / "x.flowsieve")
    here = this_program()
    for wrong in (replace(here, model=here.model + 1), replace(here, digest="0" * 64), replace(here, version="99")):
        with pytest.raises(fs.SweepError, match="has another program"):
            Worker(Bundle(path, "", small.plan().hash, wrong), path)
    with pytest.raises(fs.SweepError, match="makes a different plan"):
        Worker(Bundle(path, "", "0" * 32, here), path)


SBATCH = """#!{python}
# What SLURM does with an array, one task after the other.
import os, re, subprocess, sys
script = sys.argv[-1]
text = open(script).read()
assert sys.argv[1:3] == ["--wait", "--parsable"], sys.argv
last = int(re.search(r"--array=1-(\\d+)", text).group(1))
status = 0
for number in range(1, last + 1):
    if {fails!r} and number == 1 and not os.path.exists("failed-once"):
        open("failed-once", "w").close()
        status = 1
        continue
    status |= subprocess.run(["sh", script], env={{**os.environ, "SLURM_ARRAY_TASK_ID": str(number)}}).returncode
print(7)
sys.exit(status)
"""


@pytest.mark.parametrize("fails", [False, True])
def test_slurm__an_array_makes_the_parts(
    small: fs.Experiment, result: fs.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in {
        "sbatch": SBATCH.format(python=sys.executable, fails=fails),
        "flowsieve": f'#!/bin/sh\nexec {sys.executable} -m flowsieve "$@"\n',
    }.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    on = fs.Slurm(tmp_path / "shared", jobs=3, options=["--time=10:00"])
    swept = fs.sweep(small, tmp_path / "out", on=on)
    assert files(swept.path) == files(result.path)
    script = next((tmp_path / "shared").glob("*.1.sh")).read_text()
    assert "#SBATCH --time=10:00" in script and "--array=1-3" in script and "#SBATCH --mem=" in script
    assert len(list((tmp_path / "shared").glob("*.sh"))) == (2 if fails else 1)


def test_slurm__without_its_commands(small: fs.Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(fs.SweepError, match="sbatch is not installed"):
        fs.sweep(small, tmp_path / "out", on=fs.Slurm(tmp_path / "shared"))
    for backend in [lambda: fs.Slurm(tmp_path, jobs=0), lambda: fs.Local(jobs=0)]:
        with pytest.raises(fs.ExperimentError, match="jobs=0; expected a whole number of at least 1"):
            backend()


def test_ray__that_is_missing_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ModuleNotFoundError, match=r'ray is not installed; expected it from: pip install "flowsieve\[ray\]"'):
        fs.Ray()


DRIVER = """
import flowsieve as fs, os, sys
exp = fs.Experiment.from_file(sys.argv[1])
def show(finished, *_):
    if finished >= 3:
        os.kill(os.getpid(), 9)
fs.sweep(exp, sys.argv[2], on=fs.Local(jobs=1), progress=show)
"""


@pytest.mark.skipif(os.name != "posix", reason="kills a process")
def test_sweep__goes_on_when_its_driver_was_killed(tmp_path: Path) -> None:
    exp = fs.Experiment.from_dict(
        {
            "topology": {"kind": "single-switch", "hosts": 8},
            "workload": {"sizes": "web-search", "flows": 300},
            "sweep": {"load": [0.5, 0.8], "scheme": ["dctcp", "pias"]},
            "run": {"seeds": 4},
        }
    )
    bundle = exp.pack(tmp_path / "x.flowsieve")
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    killed = subprocess.run([sys.executable, str(script), str(bundle), str(tmp_path / "out")], check=False)
    assert killed.returncode == -9
    kept = [path for path in (tmp_path / "out" / "parts").iterdir() if not path.name.startswith(".")]
    assert 3 <= len(kept) < 16
    swept = fs.sweep(exp, tmp_path / "out")
    assert files(swept.path) == files(exp.run(tmp_path / "whole").path)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 150 KB; needs root."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=150k", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("a disk of its own can be mounted by root alone")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_sweep__a_full_disk_keeps_what_is_finished(small: fs.Experiment, tmp_path: Path, small_disk: Path) -> None:
    exp = small.set(flows=300)
    with pytest.raises(fs.ResultError, match="free some space and run again: finished points are kept"):
        fs.sweep(exp, small_disk / "out")
    subprocess.run(["mount", "-o", "remount,size=100m", str(small_disk)], check=True)
    assert files(fs.sweep(exp, small_disk / "out").path) == files(exp.run(tmp_path / "whole").path)


@pytest.mark.skipif(os.name != "posix", reason="locks as POSIX has them")
def test_sweep__a_folder_that_another_process_writes_is_said(small: fs.Experiment, tmp_path: Path) -> None:
    import fcntl

    fs.sweep(small, tmp_path / "out")
    with (tmp_path / "out" / ".lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(fs.ResultError, match="another process is at work in this folder"):
            fs.sweep(small, tmp_path / "out")
    fs.sweep(small, tmp_path / "out")
