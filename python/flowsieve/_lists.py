"""Lists of what you can choose, and thresholds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from flowsieve import _arrays, _flowsieve
from flowsieve._folders import Folder, PathLike, path_of
from flowsieve._given import given, takes
from flowsieve._options import ModelOptions, TuneOptions
from flowsieve._table import ListTable
from flowsieve.errors import ExperimentError

if TYPE_CHECKING:
    from typing_extensions import Unpack

_LONGEST = 200
"""The longest name that is looked up: no path of a setting is longer."""


def _list(what: str, word: str | None, folder: PathLike | None = None) -> ListTable:
    return table_of(what, _flowsieve.list_of(what, word, None if folder is None else path_of("folder", folder)))


def table_of(what: str, said: str) -> ListTable:
    """What the command says as JSON to ``list``: first the columns that say what a row is."""
    return ListTable(what, json.loads(said), ("name", "file", "section", "title", "summary", "help"))


def list_schemes(word: str | None = None) -> ListTable:
    """Every scheme, or those with a word in their name or description: a table, and a list of dicts.

    >>> import flowsieve as fs
    >>> "pias" in [scheme["name"] for scheme in fs.list_schemes()]
    True
    """
    return _list("schemes", word)


def list_workloads(word: str | None = None) -> ListTable:
    """The published distributions of flow sizes, and stand-ins for recorded traces.

    >>> import flowsieve as fs
    >>> "web-search" in [workload["name"] for workload in fs.list_workloads("web")]
    True
    """
    return _list("workloads", word)


def list_topologies(word: str | None = None) -> ListTable:
    """The kinds of fabric.

    >>> import flowsieve as fs
    >>> "fat-tree" in [kind["name"] for kind in fs.list_topologies()]
    True
    """
    return _list("topologies", word)


def list_experiments(word: str | None = None, folder: PathLike | None = None) -> ListTable:
    """The experiments of a folder [default: ``experiments`` and ``papers``, if they exist, else those of the package].

    >>> import flowsieve as fs
    >>> "nos2/fig06" in [experiment["file"] for experiment in fs.list_experiments(folder="built-in:")]
    True
    """
    return _list("experiments", word, folder)


def list_settings(word: str | None = None) -> ListTable:
    """Every key of an experiment file, with unit and default.

    >>> import flowsieve as fs
    >>> "ecn_threshold" in [setting["name"] for setting in fs.list_settings("ecn")]
    True
    """
    return _list("settings", word)


def list_formats(word: str | None = None) -> ListTable:
    """The files of other simulators that ``flowsieve convert`` reads, with what each loses.

    >>> import flowsieve as fs
    >>> "hpcc" in [found["name"] for found in fs.list_formats()]
    True
    """
    return _list("formats", word)


def explain(name: str) -> str:
    """Explains a setting, scheme, workload, kind of fabric or metric.

    >>> import flowsieve as fs
    >>> print(fs.explain("fan_in").splitlines()[0])
    fan_in: a setting
    """
    if not isinstance(name, str):
        raise TypeError(f"name is of the type {type(name).__name__}; expected a text")
    if not name.strip() or len(name) > _LONGEST:
        said = f"has {len(name)} characters" if name.strip() else "is empty"
        expected = f"the name of a setting, scheme, workload, kind of fabric or metric, of at most {_LONGEST} characters"
        raise ExperimentError(f"name {said}; expected {expected}", expected=expected, kind="empty" if not name.strip() else "name", key="name")
    return _flowsieve.explain(name)


@takes(ModelOptions)
def thresholds(
    *,
    workload: str | None = None,
    cdf: Any = None,
    sizes: Any = None,
    column: str | None = None,
    fabric: PathLike | None = None,
    model_only: bool = False,
    **options: Unpack[ModelOptions],
) -> ListTable:
    """Demotion thresholds for a distribution of flow sizes: a table, and a list of dicts, with a row for each load.

    The distribution is a built-in ``workload``, or ``sizes`` or a ``cdf``: files, or arrays of sizes in bytes, or of two columns.
    ``column`` is that of a file of sizes. Without a ``method`` all stand side by side, with the ones to take, what a short
    simulation says of them next to one queue (not with ``model_only``), and the ECN threshold of each of the rates. Rates and
    round trip may be those of a ``fabric``: an experiment's file, or the name of a built-in one.

    >>> import flowsieve as fs
    >>> fs.thresholds(workload="web-search", queues=2, method="background")[0]["thresholds_bytes"]
    [...]
    >>> fs.thresholds(sizes=[1_000] * 90 + [1_000_000] * 10, queues=2, method="background")[0]["load"]
    0.8
    """
    load = options.get("load")
    if load is not None:
        several = isinstance(load, (list, tuple)) or _arrays.is_array(load)
        options["load"] = _arrays.numbers("load", load if several else [load])
    folder = Folder()
    of = _distribution("thresholds", workload, cdf, sizes, column, folder)
    if model_only and options.get("method") is not None:
        raise ExperimentError("model_only=True is for all methods next to each other; expected no method", key="model_only")
    place = None if fabric is None else path_of("fabric", fabric)
    with given(ModelOptions, options, workload=workload) as words:
        found = json.loads(_flowsieve.thresholds(of, place, model_only, words))
    return ListTable("thresholds", found, ("load", "thresholds_bytes", "recommended_bytes", "asked_queues", "ecn_threshold_bytes"))


@takes(TuneOptions)
def tune(
    fabric: PathLike,
    out: PathLike = "recommendation",
    *,
    workload: str | None = None,
    cdf: Any = None,
    sizes: Any = None,
    column: str | None = None,
    **options: Unpack[TuneOptions],
) -> dict[str, Any]:
    """What would help a fabric's traffic, by simulation: queues, thresholds and marks, with what each size of flow gains.

    The ``fabric`` is an experiment's file, or the name of a built-in one. Sizes are those of :func:`thresholds`. The folder ``out``
    gets the page, the experiment that proves it, and with ``ports`` the configuration of switches and hosts. A call that was
    interrupted goes on if it is made again.

    >>> import tempfile
    >>> import flowsieve as fs
    >>> found = fs.tune("quickstart", tempfile.mkdtemp(), workload="web-search", load=0.5, queues="2", marking="queue", flows=100, seeds=2)
    >>> found["recommended"]["queues"] in (1, 2)
    True
    """
    folder = Folder()
    of = _distribution("tune", workload, cdf, sizes, column, folder)
    with given(TuneOptions, options, workload=workload) as words:
        found: dict[str, Any] = json.loads(_flowsieve.tune(path_of("fabric", fabric), path_of("out", out), of, words))
    return found


def _distribution(call: str, workload: str | None, cdf: Any, sizes: Any, column: str | None, folder: Folder) -> list[str]:
    """The words of the options that say which sizes."""
    for name, text in (("workload", workload), ("column", column)):
        if text is not None and not isinstance(text, str):
            raise TypeError(f"{name} is of the type {type(text).__name__}; expected a text")
    of = {"workload": workload, "cdf": _file("cdf", cdf, folder), "sizes": _file("sizes", sizes, folder), "column": column}
    if not any((workload, of["cdf"], of["sizes"])):
        raise ExperimentError(f"{call}() has no distribution of sizes; expected workload, cdf or sizes")
    return [f"--{name}={value}" for name, value in of.items() if value is not None]


def _file(name: str, value: Any, folder: Folder) -> str | None:
    """The path of a file, or of one with an array in it."""
    value = _arrays.path_or(name, value, folder)
    return None if value is None else path_of(name, value, ", or an array")
