"""Options of the command as keyword arguments: in a call's signature and docstring, and as the command's words."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from flowsieve._folders import path_of
from flowsieve._naming import naming
from flowsieve._numbers import whole
from flowsieve._option import Option, options_of
from flowsieve._settings import Settings
from flowsieve._words import in_python
from flowsieve.errors import ExperimentError

_Call = TypeVar("_Call", bound=Callable[..., Any])


def takes(group: type) -> Callable[[_Call], _Call]:
    """Shows the options of a group in the signature and the docstring of a call that has them as ``**options``."""

    def shown(call: _Call) -> _Call:
        options = options_of(group)
        signature = inspect.signature(call)
        own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        more = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=hint)
            for name, (hint, option) in options.items()
        ]
        call.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
        said, examples, rest = inspect.cleandoc(call.__doc__ or "").partition("\n\n>>> ")
        lines = [f"    {name}: {_described(option)}" for name, (_, option) in options.items()]
        call.__doc__ = "\n".join([said, "", "Options:", *lines]) + examples + rest
        return call

    return shown


def takes_settings(call: _Call) -> _Call:
    """Shows every setting in the signature of a call that has them as ``**more``, so that notebooks complete them."""
    signature = inspect.signature(call)
    own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
    more = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in Settings.__annotations__]
    call.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
    return call


def _described(option: Option) -> str:
    limits = f" ({option.takes})" if option.takes else ""
    return in_python(option.help) + limits + "."


def words_of(group: type, options: Mapping[str, object]) -> list[str]:
    """Options as the command takes them, one word each. What is None is not given."""
    known = options_of(group)
    words: list[str] = []
    for name, value in options.items():
        if name not in known:
            raise TypeError(f"there is no parameter {name!r}; expected one of {', '.join(known)}")
        option = known[name][1]
        if value is None:
            continue
        if option.is_switch:
            if not isinstance(value, bool) and getattr(value, "dtype", None) != bool:
                raise TypeError(f"{name} is of the type {type(value).__name__}; expected True or False")
            words += [option.flag] if bool(value) != option.default else []
            continue
        several = option.many and isinstance(value, Iterable) and not isinstance(value, (str, os.PathLike))
        values = list(value) if several else [value]  # type: ignore[call-overload]
        if not values:
            raise ExperimentError(f"{name} is empty; expected a value, or leave it out", key=name)
        words += [f"{option.flag}={_text(name, each, option)}" for each in values]
    return words


def _text(name: str, value: object, option: Option) -> str:
    if option.takes == "a path":
        return path_of(name, value)
    if option.takes.startswith("a whole number"):
        return str(whole(name, value, expected=option.takes))
    return str(value)


@contextmanager
def given(group: type, options: Mapping[str, object], fallback: str | None = None, /, **more: object) -> Iterator[list[str]]:
    """The words of options. Errors within it begin with the parameter that they are about, as in :func:`naming`."""
    words = words_of(group, options)
    with naming(fallback, **{**more, **options}):
        yield words
