"""Progress: one line that changes on a terminal, a display that does in a notebook, lines now and then elsewhere."""

from __future__ import annotations

import io
import sys
import types

import pytest
from flowsieve import _progress


class Screen(io.StringIO):
    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


def run(line: _progress.Line) -> None:
    for finished in range(4):
        line(finished, 3, finished / 3, 1_000_000 * finished, 2e6 if finished else None, 90.0 if finished else None)


@pytest.mark.parametrize(
    ("is_terminal", "written"),
    [
        (False, "0/3 runs, 0 %\n3/3 runs, 100 %\n"),
        (
            True,
            "\r0/3 runs, 0 %\r1/3 runs, 33 %, 2.0 M packet-hops/s, 1 min 30 s left"
            "\r2/3 runs, 67 %, 2.0 M packet-hops/s, 1 min 30 s left\r3/3 runs, 100 %" + " " * 37 + "\n",
        ),
    ],
)
def test_line__on_a_terminal_and_in_a_log(is_terminal: bool, written: str, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(is_terminal)
    monkeypatch.setattr(sys, "stderr", screen)
    run(_progress.Line())
    assert screen.getvalue() == written


@pytest.mark.parametrize("ipython", [None, types.SimpleNamespace(get_ipython=lambda: None)])
def test_line__where_a_kernel_is_imported_and_none_runs_is_no_display(ipython: object, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(False)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    run(_progress.Line())
    assert screen.getvalue() == "0/3 runs, 0 %\n3/3 runs, 100 %\n"


def test_line__in_a_notebook_is_one_display(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    def display(data: dict[str, str], raw: bool, display_id: bool) -> object:
        assert raw and display_id
        return types.SimpleNamespace(update=lambda data, raw: shown.append(data["text/plain"]))

    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=object))
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=display))
    run(_progress.Line())
    assert shown[-1] == "3/3 runs, 100 %" and len(shown) == 4 and not any("\r" in text for text in shown)


def test_in_words__times() -> None:
    assert [_progress.in_words(seconds) for seconds in (59.4, 61.0, 7_260.0)] == ["59 s", "1 min 01 s", "2 h 01 min"]
