"""Temporary folders that live as long as the object that needs them."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Union

PathLike = Union[str, "os.PathLike[str]"]


def path_of(name: str, value: object, also: str = "") -> str:
    """A path that a parameter is given."""
    if isinstance(value, (str, os.PathLike)):
        path = os.fspath(value)
        if isinstance(path, str):
            return path
    raise TypeError(f"{name} is of the type {type(value).__name__}; expected a path{also}")


class Folder:
    """A folder that is removed with the last reference to it, or when the interpreter ends."""

    def __init__(self) -> None:
        self.path: Path = Path(tempfile.mkdtemp(prefix="flowsieve-"))
        self._remove = weakref.finalize(self, _remove, str(self.path), os.getpid())

    def __str__(self) -> str:
        return str(self.path)


def _remove(path: str, process: int) -> None:
    # A process that was forked from this one has no say in it.
    if os.getpid() == process:
        shutil.rmtree(path, ignore_errors=True)
