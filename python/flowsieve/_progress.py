"""Progress of runs: on a terminal one line that changes, in a notebook a display that does, elsewhere a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol, Union

Listener = Callable[[int, int, float, int, Union[float, None], Union[float, None]], None]
"""Called with finished runs, all runs, the share that is done, packet-hops, packet-hops a second, seconds left."""

_EVERY_SECONDS = 10.0


class Shown(Protocol):
    """Where progress stands."""

    def show(self, text: str, is_last: bool) -> None:
        """Puts a text in the place of the former one."""


class _Terminal:
    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._width = 0

    def show(self, text: str, is_last: bool) -> None:
        self._stream.write("\r" + text.ljust(self._width) + ("\n" if is_last else ""))
        self._stream.flush()
        self._width = len(text)


class _Lines:
    """Without carriage returns, which neither logs nor notebooks understand."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._shown = -_EVERY_SECONDS

    def show(self, text: str, is_last: bool) -> None:
        if is_last or time.monotonic() - self._shown >= _EVERY_SECONDS:
            self._shown = time.monotonic()
            self._stream.write(text + "\n")
            self._stream.flush()


class _Notebook:
    def __init__(self, display: Any) -> None:
        self._handle = display({"text/plain": ""}, raw=True, display_id=True)

    def show(self, text: str, is_last: bool) -> None:
        self._handle.update({"text/plain": text}, raw=True)


def place() -> Shown:
    """Where progress is to stand in this process."""
    # A process may import a kernel and run none; one that runs has loaded IPython.
    shell = sys.modules.get("IPython")
    if "ipykernel" in sys.modules and shell is not None and shell.get_ipython() is not None:
        return _Notebook(import_module("IPython.display").display)
    return _Terminal(sys.stderr) if sys.stderr.isatty() else _Lines(sys.stderr)


def in_words(seconds: float) -> str:
    """A time for reading."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


class Line:
    """Shows the progress of runs; what it is called with is a :data:`Listener`'s."""

    def __init__(self, shown: Shown | None = None) -> None:
        self._shown = shown if shown is not None else place()
        self._last = ""

    def __call__(
        self, finished: int, runs: int, share: float, packet_hops: int, rate: float | None, left: float | None
    ) -> None:
        text = f"{finished}/{runs} runs, {100 * share:.0f} %"
        is_last = finished == runs
        if rate is not None and left is not None and not is_last:
            text += f", {rate / 1e6:.1f} M packet-hops/s, {in_words(left)} left"
        if text != self._last:
            self._last = text
            self._shown.show(text, is_last)


def listener(progress: bool | Listener) -> Listener | None:
    """What a call's ``progress`` asks for: nothing, the usual line, or a function of one's own."""
    if progress is True:
        return Line()
    return progress or None
