"""Experiments, and running them."""

from __future__ import annotations

import contextlib
import html
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowsieve import _arrays, _findings, _flowsieve, _functions, _packing, _scheme, _show, _tables, _toml
from flowsieve._findings import Finding, Findings
from flowsieve._flows import Flows, written
from flowsieve._folders import Folder, PathLike, path_of
from flowsieve._given import given, takes, takes_settings, words_of
from flowsieve._lists import list_experiments
from flowsieve._numbers import whole, whole_or_none
from flowsieve._options import ChangeOptions, JoinOptions, MakeOptions, RunOptions
from flowsieve._plan import Plan
from flowsieve._progress import Listener, listener
from flowsieve._result import Result
from flowsieve._scheme import Scheme
from flowsieve._settings import Settings
from flowsieve.errors import ExperimentError, ResultError

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Experiment:
    """An experiment: a file or tables, and what is changed in it. It never changes; :meth:`set` gives another.

    It is made of a file (or the name of a built-in experiment), or of the tables of one by keyword: dicts, dataclasses or
    ``SimpleNamespace``. ``schemes`` is the list of those to compare, or a dict with the settings of each; :class:`Scheme` is one
    with Python in it. ``print`` shows what will run.

    >>> import flowsieve as fs
    >>> exp = fs.Experiment(
    ...     topology={"kind": "single-switch", "hosts": 8},
    ...     workload={"sizes": "web-search", "flows": 50},
    ...     schemes=["dctcp", "pias"],
    ...     sweep={"load": [0.5, 0.8]},
    ... )
    >>> len(exp.set(seeds=2).plan())
    8
    >>> fs.Experiment("quickstart").set(load=[0.5, 0.9], scheme="pias", seeds=1).plan().points
    ['pias, load 0.5', 'pias, load 0.9']
    """

    # Reads experiments: the module, or a program with schemes of your own.
    _module: Any = _flowsieve.Experiment

    def __init__(
        self,
        file: PathLike | None = None,
        /,
        *,
        title: str | None = None,
        topology: Any = None,
        workload: Any = None,
        schemes: Any = None,
        sweep: Any = None,
        network: Any = None,
        transport: Any = None,
        run: Any = None,
        report: Any = None,
        claims: Any = None,
        scale: Any = None,
        event: Any = None,
        name: str = "experiment.toml",
        folder: PathLike = ".",
    ) -> None:
        tables = {"title": title, "topology": topology, "workload": workload, "network": network, "transport": transport}
        tables |= {"schemes": schemes, "sweep": sweep, "run": run, "report": report, "claims": claims, "scale": scale, "event": event}
        given = {key: value for key, value in tables.items() if value is not None}
        self._begin()
        if file is not None:
            if given:
                raise TypeError(f"a file and {', '.join(given)}; expected one of the two: set(...) changes a file's settings")
            self._open(path_of("file", file))
            return
        if not given:
            raise TypeError("Experiment() is empty; expected a file, or tables by keyword, such as topology={...}")
        listed, own = _scheme.split(given.get("schemes"))
        given |= {} if listed is None else {"schemes": listed}
        self._call(own)
        self._of_tables(_tables.with_schemes(given, own), name, path_of("folder", folder))

    def _begin(self) -> None:
        self._folder: str | None = None
        """The folder of its paths; None if it is inside the module."""
        self._seeds: int | None = None
        self._scale: str | None = None
        self._own: dict[str, Scheme] = {}
        """Its schemes with Python in them."""
        self._files: dict[str, str] = {}
        """The files of arrays, by their paths: what they are called in results."""
        self._keep: tuple[object, ...] = ()
        """What has to live as long."""
        self._named: Any = None
        """The same with these names, once it is needed."""

    def _open(self, file: str) -> None:
        self._raw = self._module.open(file)
        if _packing.is_bundle(Path(file)):
            described = _packing.listed(Path(file))
            self._seeds, self._scale = described["seeds"], described["scale"]
        elif Path(file).is_file():
            self._folder = str(Path(file).parent)

    def _of_tables(self, tables: dict[str, Any], name: str, folder: str) -> None:
        listed, tables = _tables.without_flows(tables)
        folder, kept = os.path.abspath(folder), Folder()
        plain = _tables.plain(tables, lambda name, value: self._path_or(name, value, kept, folder))
        self._raw = self._calling(self._module.of_text(_toml.text_of(plain), name, folder))
        self._folder = folder
        self._keep = (kept,) if self._files else ()
        if listed is not None:
            self.__dict__.update(self.with_flows(listed).__dict__)

    @property
    def _calls(self) -> dict[str, Callable[..., Any]]:
        """The callables of schemes, by the names that settings have for them."""
        return {name: function for scheme in self._own.values() for name, function in scheme.calls.items()}

    def _call(self, schemes: Mapping[str, Scheme]) -> None:
        """Lets it call what these schemes have."""
        self._own = {**self._own, **schemes}

    def _calling(self, raw: Any) -> Any:
        """The module's experiment with the callables, if there are any."""
        if not self._calls:
            return raw
        if not isinstance(raw, _flowsieve.Experiment):
            text = f"{', '.join(self._calls)}: a program of your own cannot call Python; expected an experiment of fs.Experiment"
            raise TypeError(text)
        return raw.with_calls(self._calls)

    def _path_or(self, name: str, value: Any, kept: Folder, folder: str) -> Any:
        """The value of a setting that may be a file: an array becomes one, named by its path from the experiment's folder on."""
        made = _arrays.path_or(name, value, kept)
        return self._place(made, folder) if isinstance(made, Path) and made.parent == kept.path else made

    def _place(self, made: Path, folder: str) -> str:
        """The path of a temporary file from the experiment's folder on."""
        path = made.with_name(f"{len(self._files)}-{_packing.name_of(made)}")
        made.rename(path)
        short = _packing.relative(path, folder)
        self._files[short] = path.name.split("-", 1)[1]
        return short

    def _with(self, raw: Any) -> Experiment:
        other = object.__new__(type(self))
        other._begin()
        other._raw, other._folder, other._seeds, other._scale = raw, self._folder, self._seeds, self._scale
        other._files, other._keep, other._own = dict(self._files), self._keep, self._own
        return other

    def _with_folder(self) -> Experiment:
        """The same with a folder on this disk, from which paths lead to other files."""
        if self._folder is not None:
            return self
        kept = Folder()
        bundle = kept.path / "experiment.flowsieve"
        self._raw.plan().pack(str(bundle))
        text, folder, described = _packing.unpacked(bundle, kept.path)
        base = self._module.of_text(_toml.effective(text, described["sets"], None), self.name, folder)
        words = words_of(ChangeOptions, {name: described[name] for name in ("seeds", "scale")})
        other = self._with(self._calling(base.with_changes({}, words)))
        other._folder, other._keep = folder, (*self._keep, kept)
        return other

    @property
    def _settled(self) -> Any:
        """What runs: with the names of callables by the code that they have now."""
        raw = self._with_names()
        own = {name: scheme._now() for name, scheme in self._own.items()}
        changed = [scheme for name, scheme in own.items() if scheme is not self._own[name]]
        if not changed:
            return raw
        names = {f"schemes.{each.name}.{key}": each.settings[key] for each in changed for key in _scheme.CODE if key in each.settings}
        calls = {name: function for each in changed for name, function in each.calls.items()}
        return raw.with_changes(names, []).with_calls(calls)

    def _with_names(self) -> Any:
        """Files of arrays have names by their content, so that keys and results do not depend on where they are."""
        if not self._files:
            return self._raw
        if self._named is None:
            kept = Folder()
            bundle = kept.path / "experiment.flowsieve"
            self._raw.plan().pack(str(bundle))
            _packing.rename(bundle, self._files)
            self._named = self._calling(self._module.open(str(bundle)))
            self._keep = (*self._keep, kept)
        return self._named

    @classmethod
    def from_file(cls, path: PathLike) -> Experiment:
        """An experiment file, or a bundle of one.

        >>> import flowsieve as fs, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "mine.toml"
        >>> _ = path.write_text(fs.Experiment.builtin("quickstart").text)
        >>> len(fs.Experiment.from_file(path).plan())
        18
        """
        return cls(path)

    @classmethod
    def builtin(cls, name: str) -> Experiment:
        """An experiment of the package: see :func:`flowsieve.list_experiments`, and :func:`flowsieve.fabric`.

        >>> import flowsieve as fs
        >>> fs.Experiment.builtin("nos2/fig06").plan().title
        'NOS2, section V-B: medium flows and elephants, web search'
        """
        return cls(name)

    @classmethod
    def from_text(cls, text: str, *, name: str = "experiment.toml", folder: PathLike = ".") -> Experiment:
        """An experiment from the text of a file. Paths in it are relative to ``folder``; messages call it ``name``.

        >>> import flowsieve as fs
        >>> text = fs.Experiment.builtin("quickstart").text.replace("seeds = 3", "seeds = 1")
        >>> len(fs.Experiment.from_text(text, name="mine.toml").plan())
        6
        """
        made = object.__new__(cls)
        made._begin()
        made._folder = os.path.abspath(path_of("folder", folder))
        made._raw = cls._module.of_text(text, name, made._folder)
        return made

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
        made = object.__new__(cls)
        made._begin()
        made._of_tables(dict(experiment), name, path_of("folder", folder))
        return made

    @property
    def text(self) -> str:
        """Its text, without what is changed in it."""
        text: str = self._raw.text
        return text

    @property
    def name(self) -> str:
        """The name of its file in messages."""
        name: str = self._raw.name
        return name

    @property
    def changes(self) -> list[str]:
        """Its changes, each as in ``--set``."""
        changes: list[str] = self._raw.changes
        return changes

    def to_toml(self) -> str:
        """What will run, with everything that was set, as the text of a file.

        >>> import flowsieve as fs
        >>> exp = fs.Experiment("quickstart").set({"schemes.pias.queues": 4}, load=0.6, seeds=1)
        >>> "load = [0.6]" in exp.to_toml() and "queues = 4" in exp.to_toml()
        True
        >>> fs.Experiment.from_text(exp.to_toml()).plan().points == exp.plan().points
        True
        """
        if self._scale not in (None, "paper"):
            raise ExperimentError(
                f"scale={self._scale!r}: a scale has no text of its own; expected pack() to keep it, or set(flows=..., seeds=...)",
                expected="pack() to keep it, or set(flows=..., seeds=...)",
                key="scale",
            )
        text = _toml.effective(self.text, self.changes, self._seeds)
        for short in self._files:
            # Files of arrays are there as long as the experiment, wherever the text is used.
            text = text.replace(short, os.path.abspath(os.path.join(os.path.realpath(self._folder or "."), short)))
        left_out = "# This file does not hold the Python code of {}: run the script that gives it.\n"
        return "".join(left_out.format(_toml.commented(name)) for name in self._calls) + text

    @takes_settings
    def set(
        self,
        settings: Mapping[str, Any] | None = None,
        /,
        *,
        seeds: int | None = None,
        scale: str | None = None,
        **more: Unpack[Settings],
    ) -> Experiment:
        """A new experiment with changed settings, each by its name. Give those with dots in their path in a dict.

        A list makes a sweep, for a setting that holds no list itself. ``seeds`` and ``scale`` (smoke, quick or paper) are
        the command's ``--seeds`` and ``--scale``. Arrays of numpy, Arrow, polars or pandas, and lists and ranges of numbers,
        are measured ``sizes``, ``thresholds``, or with two columns a ``cdf``; a table as ``flows`` is a list of them. Their
        files are there as long as the experiment. ``scheme`` takes :class:`Scheme`, too.

        >>> import flowsieve as fs
        >>> exp = fs.Experiment.builtin("quickstart").set({"schemes.pias.queues": 4}, load=[0.5, 0.9], seeds=1)
        >>> exp.changes
        ['schemes.pias.queues=4', 'load=0.5,0.9']
        >>> len(exp.set(sizes=range(1_000, 50_000, 100)).plan())
        6
        """
        values: dict[str, Any] = {**(settings or {}), **more}
        own: dict[str, Scheme] = {}
        if "scheme" in values:
            values["scheme"], own = _scheme.split(values["scheme"])
            of_own = {f"schemes.{each.name}.{key}": value for each in own.values() for key, value in each.settings.items()}
            values = {**of_own, **values}
        names = {path: path.rsplit(".", 1)[-1] if isinstance(path, str) else "" for path in values}
        lists = [path for path, name in names.items() if name in ("flows", "list") and _arrays.is_list_of_flows(values[path])]
        listed = [values.pop(path) for path in lists]
        other = self
        if any(names[path] in ("sizes", "cdf") and _arrays.is_file_of(names[path], value) for path, value in values.items()):
            other = self._with_folder()
        changed = other._with(None)
        kept = Folder()
        for path, value in values.items():
            name = names[path]
            if name in ("sizes", "cdf"):
                values[path] = changed._path_or(name, value, kept, changed._folder or ".")
            else:
                values[path] = _arrays.setting(name, value)
        number = whole_or_none("seeds", seeds, 1)
        changed._call(own)
        with given(ChangeOptions, {"seeds": number, "scale": scale}) as words:
            changed._raw = changed._calling(other._raw.with_changes(values, words))
        changed._seeds = self._seeds if number is None else number
        changed._scale = scale if scale is not None else changed._scale
        if len(changed._files) > len(other._files):
            changed._keep = (*changed._keep, kept)
        for table in listed:
            changed = changed.with_flows(table)
        return changed

    def with_flows(self, table: Any) -> Experiment:
        """The same experiment with these flows as its workload: :class:`Flows`, or a table for :meth:`Flows.from_table`.

        The experiment must not set other traffic: no ``sizes``, ``load`` or ``flows``.

        >>> import flowsieve as fs
        >>> rack = fs.Experiment.from_dict({"topology": {"kind": "single-switch", "hosts": 3}, "sweep": {"scheme": "pias"}})
        >>> table = {"start_s": [0.0, 1e-6], "src": [0, 1], "dst": [2, 2], "bytes": [1000, 2000]}
        >>> len(rack.with_flows(table).plan())
        1
        """
        if isinstance(self._raw, _flowsieve.Experiment):
            with written(table) as path:
                return self._with(self._raw.with_list(path))
        # A program reads the list itself.
        flows = table if isinstance(table, Flows) else Flows.from_table(table)
        other = self._with_folder()
        changed = other._with(None)
        kept = Folder()
        copy = kept.path / "flows.csv"
        copy.write_bytes(flows.path.read_bytes())
        changed._raw = other._raw.with_changes({"list": changed._place(copy, changed._folder or ".")}, [])
        changed._keep = (*changed._keep, kept)
        return changed

    def flows(self, seed: int = 1) -> Flows:
        """The flows that it sends with this seed, as ``flowsieve flows`` writes them. All points must have the same flows.

        The list exists as long as the returned object.

        >>> import flowsieve as fs
        >>> flows = fs.Experiment.builtin("quickstart").set(flows=5, load=0.5).flows(seed=2)
        >>> len(flows.path.read_text().splitlines())
        6
        """
        folder = Folder()
        path = folder.path / "flows.csv"
        self._settled.write_flows(str(path), whole("seed", seed))
        return Flows(path, _keep=folder)

    def plan(self) -> Plan:
        """Checks everything, and returns the runs without making them.

        >>> import flowsieve as fs
        >>> print(fs.Experiment.builtin("quickstart").plan())  # doctest: +ELLIPSIS
        Web search at 50 % and 70 %: DCTCP, PIAS and pFabric
        18 runs of 6 points, about 583 million packet-hops in all; ...
        """
        raw = self._settled.plan()
        return Plan(raw, keep=self._keep, calls=self._calls)

    def check(self) -> Findings:
        """What is wrong in it, or looks so, as far as its text says: a sequence of :class:`Finding`. Nothing is run, but
        callables of schemes are asked twice about the first flows.

        >>> import flowsieve as fs
        >>> [finding.severity for finding in fs.Experiment("quickstart").set(sizes="web-serch").check()]
        ['wrong']
        >>> print(fs.Experiment("quickstart").check())
        nothing looks wrong
        """
        try:
            plan = self.plan()
        except ExperimentError as error:
            place = error.file if error.line is None else f"{error.file}:{error.line}"
            return _findings.of_experiment([Finding("wrong", str(error), at=place or "")])
        found = [Finding("careful", warning) for warning in plan.warnings]
        if self._own:
            # Flows that follow others are known only after a run: then its `doctor` asks.
            with contextlib.suppress(ExperimentError):
                found = _functions.unsure(self._own, self.flows()) + found
        return _findings.of_experiment(found)

    @takes(RunOptions)
    def run(
        self, out: PathLike | None = None, *, progress: bool | Listener = False, **options: Unpack[RunOptions]
    ) -> Result:
        """Makes the runs that the folder ``out`` lacks, and joins them.

        Without ``out`` the result is in a temporary folder, which is removed with it: :meth:`Result.save` keeps it.

        Other threads continue meanwhile. Ctrl-C keeps finished runs, and the same call makes the rest.

        >>> import flowsieve as fs, tempfile
        >>> exp = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, seeds=1)
        >>> heard = []
        >>> res = exp.run(tempfile.mkdtemp() + "/out", progress=lambda finished, runs, *_: heard.append((finished, runs)))
        >>> heard[-1]
        (3, 3)
        """
        words = words_of(RunOptions, options)
        raw = self._settled.plan()
        kept = Folder() if out is None else None
        folder = str(kept.path / "result") if kept is not None else path_of("out", out)
        return _with_report(raw.run(folder, words, listener(progress)), kept, self._own)

    @takes(MakeOptions)
    def run_parts(
        self,
        keys: Iterable[str],
        out: PathLike,
        *,
        progress: bool | Listener = False,
        **options: Unpack[MakeOptions],
    ) -> int:
        """Makes only these runs, as parts in the folder ``out``, without joining them. Returns how many of them exist then.

        >>> import flowsieve as fs, tempfile
        >>> exp = fs.Experiment.builtin("quickstart").set(flows=20, load=0.5, seeds=1)
        >>> exp.run_parts(exp.plan().shard("1/3"), tempfile.mkdtemp() + "/out")
        1
        """
        words = words_of(MakeOptions, options)
        made: int = self._settled.plan().run_parts(set(keys), path_of("out", out), words, listener(progress))
        return made

    @takes(JoinOptions)
    def join(
        self,
        out: PathLike,
        parts: Iterable[PathLike] = (),
        *,
        progress: bool | Listener = False,
        **options: Unpack[JoinOptions],
    ) -> Result:
        """Joins the parts of these folders, and those in ``out``, to the result. All runs must have parts, unless an option
        says what to do with the others.

        >>> import flowsieve as fs, tempfile
        >>> exp = fs.Experiment.builtin("quickstart").set(flows=20, load=0.5, seeds=1)
        >>> folders = [tempfile.mkdtemp() for _ in range(2)]
        >>> for number, folder in enumerate(folders, start=1):
        ...     _ = exp.run_parts(exp.plan().shard(f"{number}/2"), folder)
        >>> exp.join(tempfile.mkdtemp() + "/out", folders).title
        'Web search at 50 % and 70 %: DCTCP, PIAS and pFabric'
        """
        folders = [os.fspath(folder) for folder in parts]
        words = words_of(JoinOptions, options)
        raw = self._settled.plan()
        return _with_report(raw.join(path_of("out", out), folders, words, listener(progress)), None, self._own)

    def pack(self, path: PathLike, *, result: Result | None = None, replace: bool = False) -> Path:
        """Writes it with every file that it names as a bundle, for other machines. With its ``result`` the bundle has digests of
        that, which ``flowsieve verify`` proves.

        An existing file is replaced only with ``replace=True``.

        >>> import flowsieve as fs, tempfile
        >>> bundle = fs.Experiment.builtin("quickstart").set(seeds=1).pack(tempfile.mkdtemp() + "/x.flowsieve")
        >>> len(fs.Experiment.from_file(bundle).plan())
        6
        """
        return self.plan().pack(path, result=result, replace=replace)

    def __reduce__(self) -> tuple[Any, ...]:
        """A bundle, and what its schemes call: copies, and other processes, have the same runs."""
        kept = Folder()
        bundle = kept.path / "experiment.flowsieve"
        self._with_names().plan().pack(str(bundle))
        return _unpickled, (getattr(self._module, "program", None), bundle.read_bytes(), self._own)

    def __str__(self) -> str:
        try:
            return self.to_toml()
        except (ExperimentError, ModuleNotFoundError):
            # A scale, or a wrong text: as it stands, and what is changed in it.
            given = [*self.changes, *([f"seeds={self._seeds}"] if self._seeds is not None else [])]
            given += [f"scale={self._scale}"] if self._scale is not None else []
            return self.text + "".join(f"\n# changed: {each}" for each in given)

    def __repr__(self) -> str:
        changed = f", changed: {', '.join(self.changes)}" if self.changes else ""
        return f"Experiment({self.name!r}{changed})"

    def _repr_html_(self) -> str:
        try:
            said = _show.preformatted(str(self.plan()))
        except (ExperimentError, ModuleNotFoundError) as error:
            said = _show.preformatted(f"cannot run: {error}")
        return said + f"<details><summary>{html.escape(self.name)}</summary>{_show.preformatted(str(self))}</details>"


def _unpickled(program: Path | None, content: bytes, own: Mapping[str, Scheme]) -> Experiment:
    if program is None:
        of = Experiment
    else:
        from flowsieve._program import load

        of = load(program).Experiment
    kept = Folder()
    bundle = kept.path / "experiment.flowsieve"
    bundle.write_bytes(content)
    other = of(bundle)
    other._call(own)
    other._raw = other._calling(other._raw)
    other._keep = (kept,)
    return other


def _with_report(raw: _flowsieve.Outcome, kept: Folder | None, own: Mapping[str, Scheme]) -> Result:
    """A result with its report, as the command leaves it. Where the report cannot be written, the result is there all the same."""
    result = Result(raw, _keep=kept, _own=own)
    try:
        result.report()
    except ResultError as error:
        warnings.warn(f"no report: {error}", stacklevel=3)
    return result


def fabric(speeds: str) -> Experiment:
    """An experiment on a leaf-spine fabric of today, as ``flowsieve init --fabric`` writes it.

    ``speeds`` are those of its hosts and its uplinks in Gbit/s: ``25-100``, ``100-400`` or ``400-800``. The text has the
    sources of its buffers, round trips and marking thresholds.

    >>> import flowsieve as fs
    >>> exp = fs.fabric("25-100").set(hosts_per_leaf=8, flows=200, seeds=1)
    >>> exp.plan().points
    ['dctcp', 'pias-4']
    """
    names = [str(found["file"]) for found in list_experiments(folder="built-in:")]
    known = [name.removeprefix(_FABRICS) for name in names if name.startswith(_FABRICS)]
    asked = speeds.removeprefix("leaf-spine-") if isinstance(speeds, str) else speeds
    if asked not in known:
        expected = " or ".join(repr(name) for name in known)
        raise ExperimentError(f"there is no fabric {speeds!r}; expected {expected}", expected=expected, kind="name", key="speeds")
    return Experiment.builtin(_FABRICS + asked)


_FABRICS = "fabrics/leaf-spine-"
"""The names of the experiments on fabrics of today begin with this."""
