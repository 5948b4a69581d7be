"""The text of an experiment with everything that was set in it: the rules of ``--set``, on the tables of a file."""

from __future__ import annotations

import importlib
import json
import re
from functools import lru_cache
from typing import Any

from flowsieve import _flowsieve



_ONLY_TABLES = re.compile(r"^\[([\w-]+)\]\n\n(?=\[\1\.)", re.MULTILINE)


def text_of(tables: dict[str, Any]) -> str:
    """The text of tables, without headings of those that hold tables alone."""
    return _ONLY_TABLES.sub("", _flowsieve.Experiment.text_of(tables))


def effective(text: str, sets: list[str], seeds: int | None) -> str:
    """The text, changed."""
    if not sets and seeds is None:
        return text
    tables = _toml().loads(text)
    for each in sets:
        name, value = each.split("=", 1)
        _apply(tables, name.strip(), value.strip())
    if seeds is not None:
        tables.setdefault("run", {})["seeds"] = seeds
    return text_of(tables)


def commented(text: str) -> str:
    """A text that can stand in a comment: on one line, and without control characters."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _toml() -> Any:
    try:
        return importlib.import_module("tomllib")
    except ModuleNotFoundError:
        pass
    try:
        return importlib.import_module("tomli")
    except ModuleNotFoundError as error:
        text = "reading TOML needs Python 3.11 or later; expected tomli before that: pip install tomli"
        raise ModuleNotFoundError(text, name="tomli") from error


@lru_cache(maxsize=1)
def _keys() -> dict[str, tuple[str, str]]:
    """The section of each setting, and what it expects."""
    every: list[dict[str, str]] = json.loads(_flowsieve.list_of("settings"))
    found: dict[str, tuple[str, str]] = {}
    for each in every:
        if each["section"] != "topology.link" and each["name"] != "base":
            found.setdefault(each["name"], (each["section"], each["expects"]))
    return found


def _apply(tables: dict[str, Any], path: str, text: str) -> None:
    parts = path.split(".")
    name = parts[-1]
    section, expects = _keys().get(name, (parts[0], ""))
    values = _values(text, expects)
    sweep = tables.setdefault("sweep", {})
    if name == "scheme" and len(parts) == 1 or parts[0] == "sweep":
        sweep[name] = values
        return
    at = [section] if len(parts) == 1 else parts[:-1]
    swept = sweep
    if at[0] == "workload" and len(at) == 2:
        swept = sweep.get("workload", {}).get(at[1], {})
    can_be_swept = len(at) == 1 or at[0] == "workload"
    if can_be_swept and (name in swept or len(values) > 1):
        target = sweep if len(at) == 1 else sweep.setdefault("workload", {}).setdefault(at[1], {})
        target[name] = values
    else:
        _table(tables, at)[name] = values[0] if len(values) == 1 else values
    if not sweep:
        del tables["sweep"]


def _table(tables: dict[str, Any], path: list[str]) -> dict[str, Any]:
    """The table of a path, made if it is not there; of several workloads the one of this name."""
    found: Any = tables
    for part in path:
        if isinstance(found, list):
            found = next((each for each in found if each.get("name") == part), {})
        else:
            found = found.setdefault(part, {})
    table: dict[str, Any] = found
    return table


def _values(text: str, expects: str) -> list[Any]:
    """The values of a change: several make a sweep, for a setting that holds no list. A name may stand for some lists."""
    holds_list, may_be_named = expects.startswith("a list of"), ", or " in expects
    whole = _value(text)
    if isinstance(whole, list):
        return [whole] if holds_list else whole
    if whole is not None:
        parts = [whole]
    else:
        parts = [part.strip() if _value(part) is None else _value(part) for part in _parts(text)]
    names_a_list = may_be_named and len(parts) == 1 and isinstance(parts[0], str) and not text[:1].isdigit()
    return [parts] if holds_list and not names_a_list else parts


def _value(text: str) -> Any:
    """A value of TOML; None if it is none, and so a text."""
    toml = _toml()
    try:
        return toml.loads(f"value = {text}")["value"]
    except toml.TOMLDecodeError:
        return None


def _parts(text: str) -> list[str]:
    """Split at commas, but not within the brackets of a formula or within quotes."""
    parts, depth, quoted = [""], 0, False
    for letter in text:
        quoted ^= letter == '"'
        depth += {"(": 1, ")": -1 if depth else 0}.get(letter, 0)
        if letter == "," and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
