"""The examples of the page about Python, executed one after the other as a reader would."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import flowsieve as fs
import pytest

DOCS = Path(__file__).parents[3] / "docs"


def execute(page: Path) -> int:
    """Executes the blocks of a page; returns how many there are."""
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)
    return len(blocks)


def test_page__every_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert execute(DOCS / "guide" / "python.md") >= 11
    said = capsys.readouterr().out
    assert "web-search\n" in said and "18 runs of 6 points" in said
    assert "pias / dctcp" in said
    assert (tmp_path / "fig7.pdf").stat().st_size > 2_000 and (tmp_path / "fig9.svg").is_file()
    assert "recent / pias" in said and "'calls': 20000" in said


def documented(name: str, thing: object) -> Iterator[tuple[str, str]]:
    """A public thing and what is public of it, with their docstrings."""
    yield name, inspect.getdoc(thing) or ""
    if inspect.isclass(thing):
        for inner, member in vars(thing).items():
            of = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            if not inner.startswith("_") and callable(of):
                yield f"{name}.{inner}", inspect.getdoc(of) or ""


def test_docstrings__of_what_is_public_have_an_example() -> None:
    things = [(name, getattr(fs, name)) for name in fs.__all__]
    modules = [(name, thing) for name, thing in things if inspect.ismodule(thing)]
    inner = [
        (f"{module}.{name}", thing)
        for module, of in modules
        for name, thing in vars(of).items()
        if inspect.isfunction(thing) and thing.__module__ == of.__name__ and not name.startswith("_")
    ]
    # Names and texts as they stand, and what only a backend calls, say themselves what they are.
    simple = {"Experiment.text", "Experiment.name", "Experiment.changes", "Result.title", "program", "Run", "FlowStart", "__version__"}
    errors = {name for name, thing in things if inspect.isclass(thing) and issubclass(thing, Exception)}
    backend = {"open", "slots", "submit", "told", "close", "parts", "shards"}
    without = [
        name
        for top, thing in [*things, *inner]
        if not inspect.ismodule(thing) and top not in errors
        for name, text in documented(top, thing)
        if ">>>" not in text and name not in simple and name.rsplit(".", 1)[-1] not in backend
    ]
    assert without == []
