"""Runs on this machine's cores."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from flowsieve._numbers import whole_or_none
from flowsieve.sweeps._protocol import Bundle, Made, Task
from flowsieve.sweeps._worker import Worker


class Local:
    """``jobs`` runs at a time on this machine (default: the number of its cores).

    >>> import flowsieve as fs, tempfile
    >>> exp = fs.Experiment.builtin("quickstart").set(flows=20, load=0.5, seeds=1)
    >>> fs.sweep(exp, tempfile.mkdtemp() + "/out", on=fs.Local(jobs=2)).path.name
    'out'
    """

    parts: Path | None = None
    shards: int | None = None

    def __init__(self, jobs: int | None = None) -> None:
        self._jobs = whole_or_none("jobs", jobs, 1) or os.cpu_count() or 1
        self._pool: ThreadPoolExecutor | None = None
        self._worker: Worker | None = None

    def open(self, bundle: Bundle) -> None:
        """Starts as many threads: runs work without the interpreter's lock."""
        self._worker = Worker(bundle, bundle.path)
        self._pool = ThreadPoolExecutor(self._jobs, thread_name_prefix="flowsieve")

    def slots(self) -> int:
        """Its jobs."""
        return self._jobs

    def submit(self, bundle: Bundle, task: Task) -> Future[list[Made]]:
        """Gives a task to the next thread that is free."""
        assert self._pool is not None and self._worker is not None, "open comes first"
        return self._pool.submit(self._worker.make, task)

    def told(self) -> Iterable[str]:
        """Nothing: there is one machine."""
        return ()

    def close(self) -> None:
        """Stops runs under way, and waits for the threads to end."""
        if self._worker is not None:
            self._worker.stop()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None
