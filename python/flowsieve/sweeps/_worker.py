"""A worker, on this machine or another: it makes runs of a bundle, and returns their parts."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
from pathlib import Path

from flowsieve import _flowsieve
from flowsieve.errors import SweepError
from flowsieve.sweeps._protocol import Bundle, Made, Program, Task


def this_program() -> Program:
    """The program of this process."""
    version, model, _ = _flowsieve.program()
    return Program(version, model, _flowsieve.digest(str(_flowsieve.__file__)))


class Worker:
    """Makes runs of one bundle in this process."""

    def __init__(self, bundle: Bundle, path: Path, parts: Path | None = None) -> None:
        """``path`` is the bundle on this machine's disk; ``parts`` the folder of parts that all share, if there is one."""
        here = this_program()
        if here != bundle.program:
            raise SweepError(
                f"the node {platform.node()} has another program: {here}; expected {bundle.program}: install the same wheel "
                "on all of them"
            )
        self._plan = _flowsieve.Experiment.open(os.fspath(path)).plan()
        if self._plan.hash != bundle.plan:
            raise SweepError(f"the node {platform.node()} makes a different plan from the same bundle; expected {bundle.plan}")
        self._shared = parts
        self._stopped = False

    def make(self, task: Task) -> list[Made]:
        """Makes the runs of a task, one after the other."""
        if self._shared is not None:
            self._make(task, os.fspath(self._shared))
            return [Made(key, None) for key in task.keys]
        folder = tempfile.mkdtemp(prefix="flowsieve-")
        try:
            self._make(task, folder)
            return [Made(key, self._plan.archive(folder, key)) for key in task.keys]
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def stop(self) -> None:
        """Ends runs under way, which fail then."""
        self._stopped = True

    def _make(self, task: Task, folder: str) -> None:
        self._plan.run_parts(set(task.keys), folder, ["--jobs=1"], self._look)

    def _look(self, *_: object) -> None:
        if self._stopped:
            raise SweepError("stopped")
