"""Errors by the parameter that they are about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flowsieve._words import about
from flowsieve.errors import ExperimentError


@contextmanager
def naming(fallback: str | None = None, /, **given: object) -> Iterator[None]:
    """Errors within it begin with the parameter that they are about: the one whose value they quote, or ``fallback``."""
    try:
        yield
    except ExperimentError as error:
        text, name = about(str(error), given, fallback)
        places = (error.file, error.line, error.column, error.expected, error.nearest, error.kind)
        raise ExperimentError(text, *places, error.key if name is None else name) from None
