"""Experiments, what they would run, and running them."""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flowsieve import _flowsieve
from flowsieve._flows import Flows, written
from flowsieve._numbers import whole, whole_or_none
from flowsieve._progress import Listener, listener
from flowsieve._result import PathLike, Result, preformatted
from flowsieve.errors import ResultError


@dataclass(frozen=True)
class Run:
    """A run of a plan: a point with a seed."""

    key: str
    """The name of its part: a hash of everything that its result depends on."""
    point: int
    """The index of its point in the plan."""
    seed: int
    packet_hops: float
    """About how many packet-hops it takes."""
    memory_bytes: int
    """About how much memory it takes at most."""


class Plan:
    """The runs of an experiment, before they are made.

    >>> import flowsieve as fs
    >>> plan = fs.Experiment.builtin("quickstart").set(flows=10, seeds=2).plan()
    >>> len(plan), len(plan.points)
    (12, 6)
    >>> plan.shard("1/3") & plan.shard("2/3")
    set()
    """

    def __init__(self, raw: _flowsieve.Plan) -> None:
        self._raw = raw
        listing = json.loads(raw.json())
        self.hash: str = listing["plan"]
        """The plan's hash: equal on all machines with the same experiment and program."""
        self.versions: dict[str, str] = listing["versions"]
        """The program that makes the runs, with ``model``."""
        self.title: str = listing["title"]
        self.points: list[str] = listing["points"]
        """Scheme, load and swept settings of each point, in words."""
        self.runs = [Run(**run) for run in listing["runs"]]
        """The runs in the order in which they start."""
        self.packet_hops: float = listing["packet_hops"]
        self.warnings: list[str] = listing["warnings"]

    def shard(self, shard: str) -> set[str]:
        """The keys of a share of the runs by cost, such as ``"3/40"``, the same on every machine.

        >>> import flowsieve as fs
        >>> plan = fs.Experiment.builtin("quickstart").set(flows=10, seeds=2).plan()
        >>> len(plan.shard("1/2") | plan.shard("2/2")) == len(plan)
        True
        """
        return set(self._raw.shard(shard))

    def pack(self, path: PathLike, *, replace: bool = False) -> Path:
        """Writes the experiment with every file that it names as a bundle, for other machines.

        An existing file is replaced only with ``replace=True``.

        >>> import flowsieve as fs, tempfile
        >>> fs.Experiment.builtin("quickstart").plan().pack(tempfile.mkdtemp() + "/quickstart.flowsieve").name
        'quickstart.flowsieve'
        """
        self._raw.pack(os.fspath(path), replace)
        return Path(path)

    def __len__(self) -> int:
        return len(self.runs)

    def __str__(self) -> str:
        return self._raw.text()

    def __repr__(self) -> str:
        return self._raw.text()

    def _repr_html_(self) -> str:
        return preformatted(self._raw.text())


class Experiment:
    """An experiment: a file and its changes. It is immutable; :meth:`set` returns a new one.

    >>> import flowsieve as fs
    >>> exp = fs.Experiment.builtin("quickstart")
    >>> exp.set(load=[0.5, 0.9], scheme="pias", seeds=1).plan().points
    ['pias, load 0.5', 'pias, load 0.9']
    """

    def __init__(self, raw: _flowsieve.Experiment) -> None:
        self._raw = raw

    @classmethod
    def from_file(cls, path: PathLike) -> Experiment:
        """An experiment file, or a bundle of one.

        >>> import flowsieve as fs, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "mine.toml"
        >>> _ = path.write_text(fs.Experiment.builtin("quickstart").text)
        >>> len(fs.Experiment.from_file(path).plan())
        18
        """
        return cls(_flowsieve.Experiment.open(os.fspath(path)))

    @classmethod
    def builtin(cls, name: str) -> Experiment:
        """An experiment of the package: see :func:`flowsieve.list_experiments`.

        >>> import flowsieve as fs
        >>> fs.Experiment.builtin("nos2/fig06").plan().title
        'NOS2, section V-B: medium flows and elephants, web search'
        """
        return cls(_flowsieve.Experiment.open(name))

    @classmethod
    def from_text(cls, text: str, *, name: str = "experiment.toml", folder: PathLike = ".") -> Experiment:
        """An experiment from the text of a file. Paths in it are relative to ``folder``; messages call it ``name``.

        >>> import flowsieve as fs
        >>> text = fs.Experiment.builtin("quickstart").text.replace("seeds = 3", "seeds = 1")
        >>> len(fs.Experiment.from_text(text, name="mine.toml").plan())
        6
        """
        return cls(_flowsieve.Experiment.of_text(text, name, os.fspath(folder)))

    @classmethod
    def from_dict(
        cls, experiment: Mapping[str, Any], *, name: str = "experiment.toml", folder: PathLike = "."
    ) -> Experiment:
        """An experiment from dicts, as the tables of a file. numpy numbers and arrays, and paths, are accepted.

        >>> import flowsieve as fs
        >>> exp = fs.Experiment.from_dict({
        ...     "topology": {"kind": "single-switch", "hosts": 8},
        ...     "workload": {"sizes": "web-search", "flows": 50, "load": 0.5},
        ...     "sweep": {"scheme": ["dctcp", "pias"]},
        ... })
        >>> len(exp.plan())
        2
        """
        text = _flowsieve.Experiment.text_of(dict(experiment))
        return cls.from_text(text, name=name, folder=folder)

    @property
    def text(self) -> str:
        """Its text, without its changes."""
        return self._raw.text

    @property
    def name(self) -> str:
        """The name of its file in messages."""
        return self._raw.name

    @property
    def changes(self) -> list[str]:
        """Its changes, each as in ``--set``."""
        return self._raw.changes

    def set(
        self,
        settings: Mapping[str, Any] | None = None,
        /,
        *,
        seeds: int | None = None,
        scale: str | None = None,
        **more: Any,
    ) -> Experiment:
        """A new experiment with changed settings, each by its name. Give those with dots in their path in a dict.

        A list makes a sweep, for a setting that holds no list itself. ``seeds`` and ``scale`` (smoke, quick or paper) are
        the command's ``--seeds`` and ``--scale``.

        >>> import flowsieve as fs
        >>> exp = fs.Experiment.builtin("quickstart").set({"schemes.pias.queues": 4}, load=[0.5, 0.9], seeds=1)
        >>> exp.changes
        ['schemes.pias.queues=4', 'load=0.5,0.9']
        """
        given = {**(settings or {}), **more}
        return Experiment(self._raw.with_changes(given, whole_or_none("seeds", seeds, 1), scale))

    def with_flows(self, table: Any) -> Experiment:
        """The same experiment with these flows as its workload: :class:`Flows`, or a table for :meth:`Flows.from_table`.

        The experiment must not set other traffic: no ``sizes``, ``load`` or ``flows``.

        >>> import flowsieve as fs
        >>> rack = fs.Experiment.from_dict({"topology": {"kind": "single-switch", "hosts": 3}, "sweep": {"scheme": "pias"}})
        >>> table = {"start_s": [0.0, 1e-6], "src": [0, 1], "dst": [2, 2], "bytes": [1000, 2000]}
        >>> len(rack.with_flows(table).plan())
        1
        """
        with written(table) as path:
            return Experiment(self._raw.with_list(path))

    def flows(self, seed: int = 1) -> Flows:
        """The flows that it sends with this seed, as ``flowsieve flows`` writes them. All points must have the same flows.

        The list exists as long as the returned object.

        >>> import flowsieve as fs
        >>> flows = fs.Experiment.builtin("quickstart").set(flows=5, load=0.5).flows(seed=2)
        >>> len(flows.path.read_text().splitlines())
        6
        """
        folder = tempfile.TemporaryDirectory(prefix="flowsieve-")
        path = os.path.join(folder.name, "flows.csv")
        self._raw.write_flows(path, whole("seed", seed))
        return Flows(path, _keep=folder)

    def plan(self) -> Plan:
        """Checks everything, and returns the runs without making them.

        >>> import flowsieve as fs
        >>> print(fs.Experiment.builtin("quickstart").plan())  # doctest: +ELLIPSIS
        Web search at 50 % and 70 %: DCTCP, PIAS and pFabric
        18 runs of 6 points, about 583 million packet-hops in all; ...
        """
        return Plan(self._raw.plan())

    def run(
        self,
        out: PathLike,
        *,
        jobs: int | None = None,
        progress: bool | Listener = False,
        replace: bool = False,
        fresh: bool = False,
        guard: bool = True,
    ) -> Result:
        """Makes the runs that the folder ``out`` lacks, ``jobs`` at a time (default: the number of cores), and joins them.

        Other threads continue meanwhile. Ctrl-C keeps finished runs, and the same call makes the rest. ``replace``,
        ``fresh`` and ``guard`` are the command's ``--replace``, ``--fresh`` and (turned off) ``--no-guard``.

        >>> import flowsieve as fs, tempfile
        >>> exp = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, seeds=1)
        >>> heard = []
        >>> res = exp.run(tempfile.mkdtemp() + "/out", progress=lambda finished, runs, *_: heard.append((finished, runs)))
        >>> heard[-1]
        (3, 3)
        """
        raw = self._raw.plan()
        return _with_report(raw.run(os.fspath(out), whole_or_none("jobs", jobs, 1), replace, fresh, guard, listener(progress)))

    def run_parts(
        self,
        keys: Iterable[str],
        out: PathLike,
        *,
        jobs: int | None = None,
        progress: bool | Listener = False,
        guard: bool = True,
    ) -> int:
        """Makes only these runs, as parts in the folder ``out``, without joining them. Returns how many of them exist then.

        >>> import flowsieve as fs, tempfile
        >>> exp = fs.Experiment.builtin("quickstart").set(flows=20, load=0.5, seeds=1)
        >>> exp.run_parts(exp.plan().shard("1/3"), tempfile.mkdtemp() + "/out")
        1
        """
        return self._raw.plan().run_parts(set(keys), os.fspath(out), whole_or_none("jobs", jobs, 1), guard, listener(progress))

    def join(
        self,
        out: PathLike,
        parts: Iterable[PathLike] = (),
        *,
        missing: str = "refuse",
        jobs: int | None = None,
        replace: bool = False,
        progress: bool | Listener = False,
    ) -> Result:
        """Joins the parts of these folders, and those in ``out``, to the result.

        ``missing`` says what to do with runs without parts: ``"refuse"``, ``"leave-out"``, or ``"make"`` them here.

        >>> import flowsieve as fs, tempfile
        >>> exp = fs.Experiment.builtin("quickstart").set(flows=20, load=0.5, seeds=1)
        >>> folders = [tempfile.mkdtemp() for _ in range(2)]
        >>> for number, folder in enumerate(folders, start=1):
        ...     _ = exp.run_parts(exp.plan().shard(f"{number}/2"), folder)
        >>> exp.join(tempfile.mkdtemp() + "/out", folders).title
        'Web search at 50 % and 70 %: DCTCP, PIAS and pFabric'
        """
        folders = [os.fspath(folder) for folder in parts]
        raw = self._raw.plan()
        return _with_report(raw.join(os.fspath(out), folders, missing, whole_or_none("jobs", jobs, 1), replace, listener(progress)))

    def pack(self, path: PathLike, *, replace: bool = False) -> Path:
        """Writes it with every file that it names as a bundle, for other machines.

        An existing file is replaced only with ``replace=True``.

        >>> import flowsieve as fs, tempfile
        >>> bundle = fs.Experiment.builtin("quickstart").set(seeds=1).pack(tempfile.mkdtemp() + "/x.flowsieve")
        >>> len(fs.Experiment.from_file(bundle).plan())
        6
        """
        return self.plan().pack(path, replace=replace)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        changed = f", changed: {', '.join(self.changes)}" if self.changes else ""
        return f"Experiment({self.name!r}{changed})"


def _with_report(raw: _flowsieve.Outcome) -> Result:
    """A result with its report, as the command leaves it. If the report cannot be written, the result still exists."""
    result = Result(raw)
    try:
        result.report()
    except ResultError as error:
        warnings.warn(f"no report: {error}", stacklevel=3)
    return result
