"""The tables of an experiment, from dicts, dataclasses and namespaces."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from flowsieve import _arrays
from flowsieve._scheme import Scheme

# Dicts in dicts are looked at this deep; the module refuses deeper ones.
_DEEPEST = 20


def plain(value: Any, path_or: Callable[[str, Any], Any], path: tuple[Any, ...] = ()) -> Any:
    """Dicts and lists. ``path_or`` gives the path of a file for an array that an experiment has in one."""
    if len(path) > _DEEPEST:
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = dataclasses.asdict(value)
    elif isinstance(value, SimpleNamespace):
        value = vars(value)
    section, name = path[:1], path[-1] if path else ""
    if section == ("workload",):
        if name in ("sizes", "cdf"):
            value = path_or(name, value)
    if isinstance(value, Mapping):
        return {key: plain(inner, path_or, (*path, key)) for key, inner in value.items()}
    if isinstance(value, (list, tuple)) and any(isinstance(each, (Mapping, SimpleNamespace, list, tuple)) for each in value):
        return [plain(each, path_or, (*path, at)) for at, each in enumerate(value)]
    return _arrays.setting(name, value) if section in (("schemes",), ("report",)) else _arrays.plain(value)


def with_schemes(tables: dict[str, Any], own: Mapping[str, Scheme]) -> dict[str, Any]:
    """The schemes by keyword: a list is swept, and a dict has the settings of each, too. ``own`` are those in Python."""
    schemes = tables.pop("schemes", None)
    if schemes is None:
        return tables
    names = [schemes] if isinstance(schemes, str) else list(schemes)
    if not names or not all(isinstance(name, str) for name in names):
        raise TypeError(f"schemes={schemes!r}; expected a list of names, or a dict of settings by name")
    sweep = tables.get("sweep") or {}
    sweep = dict(sweep if isinstance(sweep, Mapping) else vars(sweep))
    if isinstance(schemes, Mapping):
        with_settings = {name: given for name, given in schemes.items() if given}
        tables = {**tables, **({"schemes": with_settings} if with_settings else {})}
    elif own:
        tables = {**tables, "schemes": {name: scheme.settings for name, scheme in own.items()}}
    if not isinstance(schemes, Mapping) and "scheme" in sweep:
        raise TypeError("schemes and sweep['scheme']; expected one of the two")
    return {**tables, "sweep": {"scheme": names, **sweep}}


def without_flows(tables: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The table of flows that is the workload, if there is one, and the tables without it."""
    workload = tables.get("workload")
    for name in ("list", "flows"):
        if isinstance(workload, Mapping) and name in workload and _arrays.is_list_of_flows(workload[name]):
            rest = {key: value for key, value in workload.items() if key != name}
            others = {key: value for key, value in tables.items() if key != "workload"}
            return workload[name], {**others, **({"workload": rest} if rest else {})}
    return None, tables
