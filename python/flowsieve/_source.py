"""What identifies a callable: its name, and a hash of the code that runs and of all that it refers to.

Code is what Python executes, not the text of a file, which may have changed since. Functions, classes and modules that are not
installed are followed; the version stands for those that are. Where something cannot be followed, the identity is that of this
session alone: the runs are made again in the next one.
"""

from __future__ import annotations

import builtins
import dis
import functools
import hashlib
import io
import pickle
import sys
import types
import uuid
from collections.abc import Callable, Iterable
from typing import Any

# References are followed this deep.
_DEEPEST = 64
_SESSION = uuid.uuid4().hex
"""Stands for what has no hash, so that kept runs of another session are not taken for the same."""
_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_ANYWHERE = {"__import__", "compile", "eval", "exec", "globals", "input", "locals", "open"}
"""Functions of Python that reach what no name refers to."""
_BY_NAME = {"dir", "getattr", "vars"}
"""The same of a module or class that they are given."""
_LOADS = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}
_DESCRIPTORS = (types.MemberDescriptorType, types.GetSetDescriptorType, types.WrapperDescriptorType, types.MethodDescriptorType)


def name_of(function: Callable[..., Any]) -> str:
    """``module.qualified_name``."""
    of: Any = function.func if isinstance(function, functools.partial) else function
    of = of if hasattr(of, "__qualname__") else type(of)
    return f"{getattr(of, '__module__', None) or '?'}.{of.__qualname__}"


def identity(function: Callable[..., Any]) -> str:
    """The name by which settings have it: as its code changes, so do the keys of runs."""
    hashed = _Hash()
    hashed.text(f"Python {sys.version_info[0]}.{sys.version_info[1]}")
    hashed.add(function)
    said = "code" if hashed.is_known else "code of this session"
    return f"{name_of(function)} (Python, {said} {hashed.hasher.hexdigest()[:16]})"


class _Hash:
    """The hash of a value and of what it refers to."""

    def __init__(self, depth: int = 0) -> None:
        self.hasher = hashlib.sha256()
        self.is_known = True
        self._depth = depth
        # By identity: the value's number, and the value, which keeps its identity as long as it lives.
        self._seen: dict[int, tuple[int, object]] = {}

    def text(self, text: str) -> None:
        self._bytes(text.encode(errors="surrogatepass"))

    def _bytes(self, raw: bytes) -> None:
        self.hasher.update(f"{len(raw)} ".encode() + raw)

    def unknown(self) -> None:
        self.is_known = False
        self.text(_SESSION)

    def add(self, value: Any, names: frozenset[str] = frozenset()) -> None:
        """Adds a value. Code that refers to it by a global name uses ``names`` of it, if it is a module."""
        if type(value) in _PLAIN:
            self.text(f"{type(value).__name__} {value!r}")
            return
        # Several functions may use different names of one module.
        is_module = isinstance(value, types.ModuleType)
        if id(value) in self._seen and not is_module:
            self.text(f"again {self._seen[id(value)][0]}")
        elif self._depth > _DEEPEST:
            self.unknown()
        else:
            self._seen.setdefault(id(value), (len(self._seen), value))
            self._depth += 1
            try:
                self._compound(value, names)
            except Exception:
                # The value's own code may raise anything.
                self.unknown()
            finally:
                self._depth -= 1

    def all(self, values: Iterable[Any]) -> None:
        listed = list(values)
        self.text(str(len(listed)))
        for each in listed:
            self.add(each)

    def _compound(self, value: Any, names: frozenset[str]) -> None:
        self.text(type(value).__qualname__)
        if isinstance(value, types.ModuleType):
            self._module(value, names)
        elif _is_of_library(value):
            self._library(value.__module__, value.__qualname__)
        elif isinstance(value, types.FunctionType):
            self._function(value)
        elif isinstance(value, types.CodeType):
            self._code(value, {})
        elif isinstance(value, types.MethodType):
            self.all((value.__func__, value.__self__))
        elif isinstance(value, type):
            self._class(value)
        elif type(value) is functools.partial:
            self.all((value.func, value.args, value.keywords))
        elif type(value) in (list, tuple):
            self.all(value)
        elif type(value) in (dict, types.MappingProxyType):
            self.all(each for item in value.items() for each in item)
        elif type(value) in (set, frozenset):
            self._set(value)
        elif type(value) in (staticmethod, classmethod):
            self.add(value.__func__)
        elif type(value) is property:
            self.all((value.fget, value.fset, value.fdel))
        elif isinstance(value, _DESCRIPTORS):
            self.text(value.__qualname__)
        elif hasattr(value, "dtype") and hasattr(value, "tobytes") and not getattr(value.dtype, "hasobject", True):
            self.text(f"{value.dtype} {getattr(value, 'shape', ())}")
            self._bytes(value.tobytes())
        else:
            self._instance(value)

    def _library(self, module: str, name: str) -> None:
        library = sys.modules.get(module.partition(".")[0])
        self.text(f"{module}.{name} {getattr(library, '__version__', '')}")

    def _module(self, module: types.ModuleType, names: frozenset[str]) -> None:
        if _is_library(module.__name__):
            self._library(module.__name__, "")
            return
        self.text(module.__name__)
        if names & _BY_NAME:
            self.unknown()
        known = vars(module)
        if "__getattr__" in known:
            self.unknown()
        for name in sorted(names & known.keys()):
            self.text(name)
            self.add(known[name], names if isinstance(known[name], types.ModuleType) else frozenset())

    def _function(self, function: types.FunctionType) -> None:
        self.all((function.__defaults__, function.__kwdefaults__, function.__dict__))
        cells = function.__closure__ or ()
        self.text(str(len(cells)))
        names = _names(function.__code__)
        for cell in cells:
            try:
                value = cell.cell_contents
            except ValueError:
                self.text("empty")
                continue
            self.add(value, names)
        self._code(function.__code__, function.__globals__)

    def _code(self, code: types.CodeType, known: dict[str, Any]) -> None:
        """Adds what is executed, without the names of files and the numbers of lines."""
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        self.text(repr((counts, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)))
        self._bytes(code.co_code)
        self._bytes(getattr(code, "co_exceptiontable", b""))
        self.text(str(len(code.co_consts)))
        for value in code.co_consts:
            if isinstance(value, types.CodeType):
                self._code(value, known)
            else:
                self.add(value)
        names = _names(code)
        steps = [(step.opname, step.argval) for step in dis.get_instructions(code)]
        # In the body of a class its own names come first.
        own = {name for does, name in steps if does == "STORE_NAME"}
        for name in sorted({name for does, name in steps if does in _LOADS} - own):
            self.text(name)
            if name in known:
                self.add(known[name], names)
            elif name in _ANYWHERE or not hasattr(builtins, name):
                self.unknown()
        for name in sorted({name for does, name in steps if does == "IMPORT_NAME" and not _is_library(name)}):
            if name in sys.modules:
                self.add(sys.modules[name], names)
            else:
                self.unknown()

    def _class(self, of: type) -> None:
        self.text(f"{of.__module__}.{of.__qualname__}")
        for name, member in sorted(vars(of).items()):
            # What Python itself writes there says nothing, and may be a number of a line.
            if name not in _WRITTEN_BY_PYTHON:
                self.text(name)
                self.add(member)
        self.all(of.__bases__)
        if type(of) is not type:
            self.add(type(of))

    def _set(self, values: Iterable[Any]) -> None:
        digests = []
        for value in values:
            inner = _Hash(self._depth)
            inner.add(value)
            self.is_known &= inner.is_known
            digests.append(inner.hasher.digest())
        self.text(str(len(digests)))
        for digest in sorted(digests):
            self._bytes(digest)

    def _instance(self, value: Any) -> None:
        of = type(value)
        self.add(of)
        if hasattr(value, "__wrapped__"):
            self.add(value.__wrapped__)
            if isinstance(value, functools._lru_cache_wrapper):
                return  # what it has kept changes nothing
        if not _is_library(of.__module__):
            self.add(getattr(value, "__dict__", None))
            for slot in sorted({slot for base in of.__mro__ for slot in _slots(base)}):
                self.text(slot)
                self.add(getattr(value, slot, None))
            if all(base is object or not _is_library(base.__module__) for base in of.__mro__):
                return
        # What a library's or Python's own code keeps is known to pickle alone.
        raw = io.BytesIO()
        _Pickler(self, value, raw).dump(value)
        self._bytes(raw.getvalue())


class _Pickler(pickle.Pickler):
    """Pickles a value, but for the functions, classes and modules in it, which it would name: their code is added."""

    def __init__(self, owner: _Hash, value: object, raw: io.BytesIO) -> None:
        super().__init__(raw, protocol=4)
        self._owner = owner
        self._value = value

    def persistent_id(self, obj: Any) -> str | None:
        if obj is self._value or not isinstance(obj, _CODE):
            return None
        if isinstance(obj, types.BuiltinFunctionType) and not isinstance(obj.__self__, (types.ModuleType, type(None))):
            return None  # a method, with what it is of
        self._owner.add(obj)
        if isinstance(obj, types.BuiltinFunctionType) and not _is_library(obj.__module__):
            self._owner.unknown()
        return "added"


_CODE = (types.FunctionType, types.MethodType, types.ModuleType, types.BuiltinFunctionType, type, set, frozenset)
_WRITTEN_BY_PYTHON = set(
    "__module__ __qualname__ __dict__ __weakref__ __doc__ __firstlineno__ __static_attributes__ __annotations__ __annotate__ "
    "__annotations_cache__ __annotate_func__ __abstractmethods__ _abc_impl __parameters__ __orig_bases__ __dataclass_fields__ "
    "__dataclass_params__".split()
)


def _names(code: types.CodeType) -> frozenset[str]:
    """The names in code and in the code inside it."""
    inner = (_names(value) for value in code.co_consts if isinstance(value, types.CodeType))
    return frozenset(code.co_names).union(*inner)


def _slots(of: type) -> Iterable[str]:
    slots = vars(of).get("__slots__", ())
    listed = (slots,) if isinstance(slots, str) else slots
    # Private names are stored under the class's name.
    prefix = f"_{of.__name__.lstrip('_')}"
    return [prefix + slot if slot.startswith("__") and not slot.endswith("__") else slot for slot in listed]


def _is_of_library(value: Any) -> bool:
    """Whether a value is a function or class that a name of a library's stands for."""
    return isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)) and _is_library(value.__module__)


def _is_library(module: object) -> bool:
    """Whether a module is Python's own or was installed: its version stands for its code."""
    top = module.partition(".")[0] if isinstance(module, str) else ""
    file = getattr(sys.modules.get(top), "__file__", None) or ""
    return top != "__main__" and (top in sys.stdlib_module_names or "site-packages" in file or "dist-packages" in file)
