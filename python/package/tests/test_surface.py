"""What the package shows: all that is meant to be used, and nothing else."""

from __future__ import annotations

import inspect
from types import ModuleType

import flowsieve as fs
import pytest

MODULES = [fs, fs.plot, fs.forest, fs.errors, fs.sweeps]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_dir__is_all_and_every_name_is_there(module: ModuleType) -> None:
    assert dir(module) == sorted(module.__all__)
    assert all(hasattr(module, name) for name in module.__all__)
    assert not {"Any", "TYPE_CHECKING", "annotations"} & set(dir(module))


def test_all__has_what_is_meant_to_be_used() -> None:
    assert {"__version__", "Experiment", "Finding", "Program", "Result", "Table", "load", "sweeps", "forest", "plot"} <= set(fs.__all__)
    names: dict[str, object] = {}
    exec("from flowsieve import *", names)
    assert set(fs.__all__) <= set(names)
    assert fs.__version__ == fs.program()[0]
    with pytest.raises(AttributeError, match="no attribute 'Any'"):
        fs.Any  # noqa: B018


def _callables(module: ModuleType) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for name in module.__all__:
        thing = getattr(module, name)
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            members = [(inner, member) for inner, member in vars(thing).items() if not inner.startswith("_")]
            found += [(f"{name}.{inner}", getattr(thing, inner)) for inner, member in members if not isinstance(member, property)]
            found.append((name, thing))
        elif inspect.isfunction(thing):
            found.append((name, thing))
    return [(name, thing) for name, thing in found if callable(thing)]


@pytest.mark.parametrize("module", [fs, fs.plot, fs.forest], ids=lambda module: module.__name__)
def test_parameters__beyond_two_have_to_be_named(module: ModuleType) -> None:
    many = {}
    for name, thing in _callables(module):
        try:
            parameters = inspect.signature(thing).parameters.values()  # type: ignore[arg-type]
        except ValueError:
            continue
        some = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD) and each.name != "self"]
        if len(some) > 2:
            many[name] = [each.name for each in some]
    assert many == {}


def test_annotations__are_complete() -> None:
    for module in MODULES:
        for name, thing in _callables(module):
            if inspect.isfunction(thing):
                signature = inspect.signature(thing)
                assert signature.return_annotation is not inspect.Signature.empty, name
