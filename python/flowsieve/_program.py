"""A program with schemes of one's own, run as a process: the same calls, and its errors as exceptions."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flowsieve import _flowsieve
from flowsieve._experiment import Experiment
from flowsieve._folders import Folder, PathLike, path_of
from flowsieve._lists import table_of
from flowsieve._progress import Listener
from flowsieve._table import ListTable
from flowsieve.errors import Error, ExperimentError, ResultError, SimulationError, SweepError

_LOOK_SECONDS = 0.05
_PATIENCE_SECONDS = 10.0
_FAILED = 1


class Program:
    """A program with schemes of one's own (docs/extend/scheme.md). Its experiments are run by it, as a process.

    >>> mine = fs.load("target/release/my-scheme")  # doctest: +SKIP
    >>> exp = mine.Experiment("quickstart").set(scheme=["my-scheme", "dctcp"])  # doctest: +SKIP
    >>> exp.run().compare("my-scheme", "dctcp")  # doctest: +SKIP
    """

    def __init__(self, path: PathLike) -> None:
        name = path_of("program", path)
        found = shutil.which(name)
        if found is None:
            text = f"program={name!r}: there is no such program; expected one that cargo has built"
            raise ExperimentError(text, name, expected="a program that cargo has built", kind="file", key="program")
        self.path: Path = Path(found).absolute()
        """The program."""
        self.version: str = _said(self.path, ["--version"]).strip().split(" ")[-2]
        """What it says that it is."""
        self.Experiment: type[Experiment] = type("Experiment", (Experiment,), {"_module": _Module(self.path)})
        """Experiments that this program runs: with the calls of :class:`flowsieve.Experiment`."""

    def explain(self, name: str) -> str:
        """What a setting, scheme, workload, kind of fabric or metric is, in words.

        >>> print(fs.load("target/release/my-scheme").explain("my-scheme"))  # doctest: +SKIP
        """
        return _said(self.path, ["explain", name])

    def list_schemes(self, word: str | None = None) -> ListTable:
        """Every scheme that it has, or those with a word in their name or description.

        >>> fs.load("target/release/my-scheme").list_schemes("my-scheme")  # doctest: +SKIP
        """
        return self._list("schemes", word)

    def list_settings(self, word: str | None = None) -> ListTable:
        """Every key of its experiment files, with unit and default.

        >>> fs.load("target/release/my-scheme").list_settings("my_setting")  # doctest: +SKIP
        """
        return self._list("settings", word)

    def _list(self, what: str, word: str | None) -> ListTable:
        words = [] if word is None else [word]
        return table_of(what, _said(self.path, ["list", what, *words, "--json"]))

    def __repr__(self) -> str:
        return f"Program({str(self.path)!r}, flowsieve {self.version})"


def load(program: PathLike) -> Program:
    """A program with schemes of one's own, as ``cargo build --release`` leaves it.

    >>> mine = fs.load("target/release/my-scheme")  # doctest: +SKIP
    >>> [scheme["name"] for scheme in mine.list_schemes()]  # doctest: +SKIP
    """
    return Program(program)


class _Module:
    """What the extension module is for other experiments: their texts are read by it, all else is done by the program."""

    def __init__(self, program: Path) -> None:
        self.program = program

    def open(self, path: str) -> _Experiment:
        return _Experiment(self.program, _flowsieve.Experiment.open(path), path, None, {})

    def of_text(self, text: str, name: str, folder: str) -> _Experiment:
        return _Experiment(self.program, _flowsieve.Experiment.of_text(text, name, folder), None, folder, {})


class _Experiment:
    def __init__(
        self,
        program: Path,
        raw: _flowsieve.Experiment,
        file: str | None,
        folder: str | None,
        options: dict[str, str],
    ) -> None:
        self._program = program
        self._raw = raw
        self._file = file
        self._folder = folder
        self._options = options

    @property
    def text(self) -> str:
        return self._raw.text

    @property
    def name(self) -> str:
        return self._raw.name

    @property
    def changes(self) -> list[str]:
        return self._raw.changes

    def with_changes(self, settings: dict[str, Any], options: Sequence[str]) -> _Experiment:
        raw = self._raw.with_changes(settings, options, True)
        # The last of several counts.
        options_now = {**self._options, **{word.split("=")[0]: word for word in options}}
        return _Experiment(self._program, raw, self._file, self._folder, options_now)

    def plan(self) -> _Plan:
        return _Plan(self)

    def write_flows(self, path: str, seed: int) -> None:
        _, _, scale = self._options.get("--scale", "").partition("=")
        if scale not in ("", "paper"):
            raise ExperimentError(f"scale={scale!r}: the flows of a scale are not written; expected none", key="scale")
        sets = [word for change in self.changes for word in ("--set", change)]
        Path(path).write_text(self.said("flows", *sets, "--seed", str(seed)))

    def said(self, command: str, *options: str, show: _Watch | None = None) -> str:
        """What the program says to a command about this experiment."""
        with self._in_a_file() as path:
            try:
                return _said(self._program, [command, path, *options], show)
            except Error as error:
                if self._file is not None:
                    raise
                raise _renamed(error, path, self.name) from None

    @property
    def changed(self) -> list[str]:
        """The options that change it."""
        return [word for change in self.changes for word in ("--set", change)] + list(self._options.values())

    @contextmanager
    def _in_a_file(self) -> Iterator[str]:
        if self._file is not None:
            yield self._file
            return
        # In the folder of the files that it names.
        folder = self._folder or "."
        try:
            place, path = tempfile.mkstemp(prefix=".flowsieve-", suffix=".toml", dir=folder)
        except OSError as error:
            text = f"{folder}: an experiment cannot be written there for {self._program}: {error.strerror}"
            raise ExperimentError(text, folder, expected="folder= with one that can be written", kind="file") from None
        try:
            with os.fdopen(place, "w") as file:
                file.write(self.text)
            yield path
        finally:
            os.unlink(path)


class _Plan:
    def __init__(self, experiment: _Experiment) -> None:
        self._experiment = experiment
        self._json = experiment.said("plan", *experiment.changed, "--json")
        self._listing = json.loads(self._json)

    def json(self) -> str:
        return self._json

    def text(self) -> str:
        return self._experiment.said("plan", *self._experiment.changed)

    @property
    def hash(self) -> str:
        return str(self._listing["plan"])

    def shard(self, shard: str) -> set[str]:
        raise ExperimentError(f"shard={shard!r}: a program of your own does not list the runs of a share; expected keys of plan().runs")

    def pack(self, path: str, replace: bool = False, result: str | None = None) -> None:
        words = [*(["--replace"] if replace else []), *([] if result is None else ["--result", result])]
        self._experiment.said("pack", *self._experiment.changed, "--out", path, *words)

    def run(self, out: str, options: Sequence[str], progress: Listener | None = None) -> _flowsieve.Outcome:
        self._make("run", out, options, progress)
        return _flowsieve.Outcome.open(out)

    def run_parts(self, keys: set[str], out: str, options: Sequence[str], progress: Listener | None = None) -> int:
        kept = Folder()
        file = kept.path / "keys"
        file.write_text("".join(f"{key}\n" for key in sorted(keys)))
        self._make("run", out, [f"--keys={file}", *options], progress, keys)
        return len(keys)

    def join(
        self, out: str, parts: Sequence[str], options: Sequence[str], progress: Listener | None = None
    ) -> _flowsieve.Outcome:
        self._make("join", out, [*options, *(f"--parts={folder}" for folder in parts)], progress)
        return _flowsieve.Outcome.open(out)

    def _make(
        self,
        command: str,
        out: str,
        options: Sequence[str],
        progress: Listener | None,
        keys: set[str] | None = None,
    ) -> None:
        cost = {run["key"]: run["packet_hops"] for run in self._listing["runs"] if keys is None or run["key"] in keys}
        watch = _Watch(Path(out) / "parts", cost, progress)
        try:
            self._experiment.said(command, *self._experiment.changed, "--out", out, *options, show=watch)
        except ExperimentError as error:
            if str(error).startswith(out):
                raise ResultError(str(error)) from None
            raise
        watch.look(at_end=True)

    def missing(self, out: str, replace: bool) -> list[str]:
        raise SweepError("runs of a program of your own are not spread over machines; expected exp.run(...)")


class _Watch:
    """Progress, as far as parts tell it."""

    def __init__(self, parts: Path, cost: dict[str, float], progress: Listener | None) -> None:
        self._parts = parts
        self._cost = cost
        self._progress = progress

    def look(self, at_end: bool = False) -> None:
        if self._progress is None:
            return
        there = {path.name for path in self._parts.iterdir()} if self._parts.is_dir() else set()
        done = self._cost.keys() if at_end else self._cost.keys() & there
        hops = sum(self._cost[key] for key in done)
        share = hops / (sum(self._cost.values()) or 1.0)
        self._progress(len(done), len(self._cost), share, int(hops), None, None)


def _said(program: Path, arguments: Sequence[str], show: _Watch | None = None) -> str:
    """What a process prints. An exception meanwhile, of Ctrl-C or of what shows progress, ends it as Ctrl-C does."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        try:
            process = subprocess.Popen([str(program), *arguments], stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        except OSError as error:
            raise ExperimentError(f"{program}: cannot be run: {error.strerror}", str(program), kind="file") from None
        try:
            while process.poll() is None:
                if show is not None:
                    show.look()
                time.sleep(_LOOK_SECONDS if show is not None else 0.005)
        except BaseException:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(_PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            raise
        out.seek(0)
        err.seek(0)
        if process.returncode != 0:
            raise _failed(program, process.returncode, err.read())
        return out.read()


def _failed(program: Path, status: int, said: str) -> Error:
    """The error of a process as an exception, with its message."""
    if status < 0:
        return SimulationError(f"{program} was ended by the signal {signal.Signals(-status).name}\n{said}".rstrip())
    begin = said.rfind("error: ")
    text = (said[begin + len("error: ") :] if begin >= 0 else said).strip() or f"{program} ended with status {status}"
    if status == _FAILED:
        return SimulationError(text)
    place = re.search(r"^\s*--> (.+?):(\d+):(\d+)$", text, re.MULTILINE)
    expected = re.search(r"= note: expected (.*)$", text, re.MULTILINE)
    nearest = re.search(r"did you mean `(.+?)`\?", text)
    file, line, column = (place[1], int(place[2]), int(place[3])) if place else (None, None, None)
    of_text = (expected[1] if expected else None, nearest[1] if nearest else None)
    return ExperimentError(text, file, line, column, *of_text, "program")


def _renamed(error: Error, path: str, name: str) -> Error:
    """An error about the experiment, and not about the file in which the program was given it."""
    text = str(error).replace(path, name)
    if not isinstance(error, ExperimentError):
        return type(error)(text)
    file = name if error.file == path else error.file
    return ExperimentError(text, file, error.line, error.column, error.expected, error.nearest, error.kind, error.key)
