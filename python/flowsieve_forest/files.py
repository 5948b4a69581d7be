"""Writes the files that a person names: whole or not there, and never over another unasked, as `flowsieve` does."""

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator
from typing import BinaryIO

from flowsieve_forest import InputError


def check_new(path: str, replace: bool) -> None:
    """Whether the file may be written, before the work that it takes."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        raise InputError(f"{path}: is not a regular file, and is not replaced; expected a new name or a regular file")
    if not replace:
        raise InputError(f"{path}: already exists and is not overwritten; expected a new name or --replace")


@contextlib.contextmanager
def written(path: str, replace: bool) -> Iterator[BinaryIO]:
    """A file that has this name once all of it is written."""
    check_new(path, replace)
    descriptor, partial = tempfile.mkstemp(prefix=".partial-", dir=os.path.dirname(path) or ".")
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        # As open to others as the process makes any file; mkstemp makes it ours alone.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(partial, 0o666 & ~mask)
        if replace:
            os.replace(partial, path)
        else:
            # What has come meanwhile stays.
            os.link(partial, path)
            os.unlink(partial)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(partial)
        raise
