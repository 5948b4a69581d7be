"""Whole numbers as arguments, within bounds, or an error that says what was expected."""

from __future__ import annotations

import operator
from typing import Any

from flowsieve.errors import ExperimentError

_MOST = 2**63 - 1


def whole(name: str, value: Any, least: int = 0, expected: str | None = None) -> int:
    """A Python or numpy integer; booleans and fractions are refused."""
    expected = f"a whole number of at least {least}" if expected is None else expected
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise ExperimentError(f"{name}={value!r}; expected {expected}", expected=expected) from None
    if not least <= number <= _MOST:
        raise ExperimentError(f"{name}={value!r}; expected {expected}", expected=expected)
    return number


def whole_or_none(name: str, value: Any, least: int = 0) -> int | None:
    """The same, where nothing may be said."""
    return None if value is None else whole(name, value, least)
