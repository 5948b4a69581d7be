"""What can go wrong, each with the text that the command has for it, in Python's words."""

from __future__ import annotations

from flowsieve._words import in_python

__all__ = ["Error", "ExperimentError", "InternalError", "ResultError", "SimulationError", "SweepError"]


def __dir__() -> list[str]:
    return sorted(__all__)


class Error(Exception):
    """Whatever Flowsieve says is wrong. Its text names parameters of Python, and no options of the command."""

    def __init__(self, text: str = "") -> None:
        super().__init__(in_python(text))


class ExperimentError(Error, ValueError):
    """An experiment, or a file or an argument of it, is wrong.

    ``file``, ``line`` and ``column`` (from 1) say where; ``key`` is the key, or the column of a file, at fault; ``expected`` says
    what would be right, and ``nearest`` is the valid name that is most like a wrong one. Each is None where it is not known.
    ``kind`` says in a word what is wrong: ``name``, ``value``, ``missing``, ``columns``, ``argument`` …

    >>> import flowsieve as fs
    >>> try:
    ...     fs.Experiment.from_dict({"workload": {"sises": "web-search"}}).plan()
    ... except fs.ExperimentError as error:
    ...     print(error.kind, error.line, error.key, error.nearest)
    name 2 sises sizes
    """

    def __init__(
        self,
        text: str,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        expected: str | None = None,
        nearest: str | None = None,
        kind: str = "argument",
        key: str | None = None,
    ) -> None:
        super().__init__(text)
        self.kind = kind
        self.key = key
        self.file = file
        self.line = line
        self.column = column
        self.expected: str | None = None if expected is None else in_python(expected)
        self.nearest = nearest

    def __reduce__(self) -> tuple[type[ExperimentError], tuple[object, ...]]:
        places = (self.file, self.line, self.column)
        return type(self), (str(self), *places, self.expected, self.nearest, self.kind, self.key)


class ResultError(Error, OSError):
    """A result's folder cannot be read or written, or holds other files."""


class SimulationError(Error, RuntimeError):
    """A run failed by itself: its text says which, and why."""


class SweepError(Error, RuntimeError):
    """A sweep over machines failed. Finished runs are kept. ``key`` is that of the run at fault, if there is one.
    """

    def __init__(self, text: str, key: str | None = None) -> None:
        super().__init__(text)
        self.key = key

    def __reduce__(self) -> tuple[type[SweepError], tuple[object, ...]]:
        return type(self), (str(self), self.key)


class InternalError(Error, RuntimeError):
    """A bug of Flowsieve."""

    def __init__(self, said: str) -> None:
        super().__init__(f"a bug of Flowsieve: {said}\nplease report it, with the experiment and this text")
        self.said = said

    def __reduce__(self) -> tuple[type[InternalError], tuple[object, ...]]:
        return type(self), (self.said,)
