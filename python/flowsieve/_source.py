"""What identifies a callable: its name, and a hash of its source and of what the source refers to."""

from __future__ import annotations

import functools
import hashlib
import inspect
import marshal
import pickle
import sys
import tokenize
import types
import uuid
from collections.abc import Callable
from typing import Any

# References are followed this deep.
_DEEPEST = 8
_SESSION = uuid.uuid4().hex
"""Stands for what has no hash, so that kept runs of another session are not taken for the same."""


def name_of(function: Callable[..., Any]) -> str:
    """``module.qualified_name``."""
    of: Any = function.func if isinstance(function, functools.partial) else function
    of = of if hasattr(of, "__qualname__") else type(of)
    return f"{getattr(of, '__module__', None) or '?'}.{of.__qualname__}"


def identity(function: Callable[..., Any]) -> str:
    """The name by which settings have it: as the source changes, so do the keys of runs."""
    hashed = _Hash()
    hashed.add(function, 0)
    said = "source" if hashed.is_known else "without a source, this session"
    return f"{name_of(function)} (Python, {said} {hashed.hasher.hexdigest()[:16]})"


class _Hash:
    """The hash of a value: of a function by its source, defaults, and the variables and globals that it refers to."""

    def __init__(self) -> None:
        self.hasher = hashlib.sha256()
        self.is_known = True
        # The values are kept: a number stands for one value alone as long as it lives.
        self._seen: dict[int, object] = {}

    def _text(self, text: str) -> None:
        raw = text.encode(errors="surrogatepass")
        self.hasher.update(f"{len(raw)} ".encode() + raw)

    def add(self, value: Any, depth: int) -> None:
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            self._text(f"{type(value).__name__} {value!r}")
        elif id(value) in self._seen:
            self._text("again")
        elif depth > _DEEPEST:
            self._unknown()
        else:
            self._seen[id(value)] = value
            self._text(type(value).__qualname__)
            self._compound(value, depth)

    def _compound(self, value: Any, depth: int) -> None:
        if isinstance(value, types.ModuleType):
            self._text(f"{value.__name__} {getattr(value, '__version__', '')}")
        elif _is_library(getattr(value, "__module__", None)) and hasattr(value, "__qualname__"):
            library = sys.modules[value.__module__.partition(".")[0]]
            self._text(f"{value.__module__}.{value.__qualname__} {getattr(library, '__version__', '')}")
        elif isinstance(value, functools.partial):
            self._all((value.func, value.args, value.keywords), depth)
        elif isinstance(value, types.MethodType):
            self._all((value.__func__, value.__self__), depth)
        elif isinstance(value, types.FunctionType):
            self._function(value, depth)
        elif isinstance(value, type):
            self._class(value, depth)
        elif isinstance(value, (list, tuple)):
            self._all(value, depth)
        elif isinstance(value, dict):
            self._all([each for item in value.items() for each in item], depth)
        elif hasattr(value, "dtype") and hasattr(value, "tobytes"):
            self._text(f"{value.dtype} {getattr(value, 'shape', ())}")
            self.hasher.update(value.tobytes())
        elif hasattr(value, "__dict__") and not isinstance(value, types.BuiltinFunctionType):
            self._all((type(value), vars(value)), depth)
        else:
            self._pickled(value)

    def _all(self, values: Any, depth: int) -> None:
        self._text(str(len(values)))
        for each in values:
            self.add(each, depth + 1)

    def _function(self, function: types.FunctionType, depth: int) -> None:
        code = function.__code__
        try:
            self._text(inspect.getsource(function))
        except (OSError, TypeError, SyntaxError, tokenize.TokenError):
            # Of code that was made from a text, the file has other lines or does not exist.
            self.hasher.update(marshal.dumps(code))
        self._all((function.__defaults__, function.__kwdefaults__), depth)
        for cell in function.__closure__ or ():
            self._all([cell.cell_contents] if _is_full(cell) else [], depth)
        self._globals(code, function.__globals__, depth)

    def _globals(self, code: types.CodeType, known: dict[str, Any], depth: int) -> None:
        for name in sorted(set(code.co_names) & known.keys()):
            self._text(name)
            self.add(known[name], depth + 1)
        for inner in code.co_consts:
            if isinstance(inner, types.CodeType):
                self._globals(inner, known, depth)

    def _class(self, of: type, depth: int) -> None:
        self._text(f"{of.__module__}.{of.__qualname__}")
        if not any(isinstance(each, types.FunctionType) for each in vars(of).values()):
            return
        for name, member in sorted(vars(of).items()):
            plain = member.__func__ if isinstance(member, (staticmethod, classmethod)) else member
            if isinstance(plain, types.FunctionType) or not name.startswith("__"):
                self._text(name)
                self.add(plain, depth + 1)
        self._all(of.__bases__, depth)

    def _pickled(self, value: Any) -> None:
        try:
            self.hasher.update(pickle.dumps(value, protocol=4))
        except Exception:
            self._unknown()

    def _unknown(self) -> None:
        self.is_known = False
        self._text(_SESSION)


def _is_library(module: object) -> bool:
    """Whether a module is Python's own or was installed: its version stands for its source."""
    top = module.partition(".")[0] if isinstance(module, str) else ""
    file = getattr(sys.modules.get(top), "__file__", None) or ""
    return top != "__main__" and (top in sys.stdlib_module_names or "site-packages" in file or "dist-packages" in file)


def _is_full(cell: Any) -> bool:
    try:
        cell.cell_contents
    except ValueError:
        return False
    return True
