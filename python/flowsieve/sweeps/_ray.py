"""Runs on a cluster of Ray: tasks, and nothing else of Ray."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from flowsieve._missing import library
from flowsieve._folders import PathLike
from flowsieve.errors import Error
from flowsieve.sweeps._protocol import Bundle, Lost, Made, Task
from flowsieve.sweeps._worker import Worker

NO_ROOM_SECONDS = 30.0
"""After so long without a run that could begin, the person is told what was asked for."""

_LOOK_SECONDS = 1.0


class Ray:
    """A run is a task of Ray, with one CPU and its estimated memory.

    ``address`` is that of the cluster, as ``ray.init`` takes it; a cluster that this process is already connected to is
    used. ``install=True`` sends the installed package to the nodes by Ray's runtime environment; otherwise the same wheel
    must be installed there. ``parts`` is a folder on a disk that all nodes share, if there is one: then only keys travel.

    >>> fs.sweep(exp, "results/sweep", on=fs.Ray(address="auto"))  # doctest: +SKIP
    """

    shards: int | None = None

    def __init__(self, address: str | None = None, *, install: bool = False, parts: PathLike | None = None) -> None:
        self._ray = library("ray")
        self._clock: Callable[[], float] = time.monotonic
        self._address = address
        self._install = install
        self.parts: Path | None = None if parts is None else Path(parts).absolute()
        self._connected = False
        self._bundle_ref: Any = None
        self._make: Any = None
        self._refs: dict[Future[list[Made]], Any] = {}
        self._cpus = (0.0, 1)
        self._last_bytes = 0
        self._looked = 0.0
        self._there = ""
        self._room_seen = 0.0

    def open(self, bundle: Bundle) -> None:
        """Connects, and puts the bundle into the object store: it comes to each node once."""
        ray = self._ray
        if not ray.is_initialized():
            ray.init(address=self._address, log_to_driver=False, runtime_env=self._environment())
            self._connected = True
        self._bundle_ref = ray.put(bundle.path.read_bytes())
        self._room_seen = self._clock()
        # Its own retries would hide a run that ends its worker again and again.
        self._make = ray.remote(num_cpus=1, max_retries=0)(_make)

    def _environment(self) -> dict[str, Any] | None:
        if not self._install:
            return None
        package = Path(__file__).parents[1]
        return {"py_modules": [str(package)]}

    def slots(self) -> int:
        """The CPUs of the cluster, looked at now and then."""
        looked, cpus = self._cpus
        if self._clock() - looked > _LOOK_SECONDS:
            cpus = int(self._ray.cluster_resources().get("CPU", 0))
            self._cpus = (self._clock(), cpus)
        return max(1, cpus)

    def submit(self, bundle: Bundle, task: Task) -> Future[list[Made]]:
        """A task of Ray; what becomes of it becomes of the future."""
        self._last_bytes = task.memory_bytes
        options = self._make.options(memory=task.memory_bytes)
        ref = options.remote(self._bundle_ref, bundle, task, self.parts)
        future: Future[list[Made]] = _Cancelling(self._ray, ref)
        self._refs[future] = ref
        ref.future().add_done_callback(lambda done: self._pass_on(done, future))
        return future

    def _pass_on(self, done: Future[Any], future: Future[list[Made]]) -> None:
        self._refs.pop(future, None)
        if not future.set_running_or_notify_cancel():
            return
        error = done.exception()
        if error is None:
            future.set_result(done.result())
            return
        errors = self._ray.exceptions
        cause = getattr(error, "cause", None)
        if isinstance(cause, Error):
            future.set_exception(cause)
        elif isinstance(error, errors.RayTaskError):
            future.set_exception(error)
        else:
            # A process, a node or an object that is gone: whatever it says stands in its first line.
            first = (str(error).strip() or type(error).__name__).splitlines()[0]
            future.set_exception(Lost(f"{type(error).__name__}: {first}"))

    def told(self) -> Iterable[str]:
        """How many nodes there are, where that changes; and that none has room for a run, once it has been so for a while."""
        now = self._clock()
        if not self._refs or now - self._looked < _LOOK_SECONDS:
            return []
        self._looked = now
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        cpus, memory = (sum(node.get(what, 0) for node in nodes) for what in ("CPU", "memory"))
        there = f"{len(nodes)} nodes with {cpus:.0f} CPUs and {memory / 1e6:.0f} MB of memory"
        said = [] if there == self._there else [f"Ray: {there}"]
        self._there = there
        if any(node.get("CPU", 0) >= 1 and node.get("memory", 0) >= self._last_bytes for node in nodes):
            self._room_seen = now
        elif now - self._room_seen >= NO_ROOM_SECONDS:
            self._room_seen = now
            asked = f"asked for 1 CPU and {self._last_bytes / 1e6:.0f} MB of memory"
            said.append(f"no node of the cluster has the resources for a run: {asked}; the cluster has {there}; waiting")
        return said

    def close(self) -> None:
        """Drops runs under way, and the connection if it was made here."""
        for future in list(self._refs):
            future.cancel()
        self._bundle_ref = None
        if self._connected:
            self._ray.shutdown()
            self._connected = False


class _Cancelling(Future[list[Made]]):
    """A future that takes its task along when it is given up."""

    def __init__(self, ray: Any, ref: Any) -> None:
        super().__init__()
        self._ray = ray
        self._ref = ref

    def cancel(self) -> bool:
        self._ray.cancel(self._ref, force=True)
        return super().cancel()


# By digest of the bundle: a process makes many runs of the same experiment, and reads it once.
_WORKERS: dict[tuple[str, Path | None], Worker] = {}


def _make(content: bytes, bundle: Bundle, task: Task, parts: Path | None) -> list[Made]:
    """What a process of Ray does."""
    worker = _WORKERS.get((bundle.digest, parts))
    if worker is None:
        _WORKERS.clear()
        folder = tempfile.mkdtemp(prefix="flowsieve-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        path = Path(folder) / "experiment.flowsieve"
        path.write_bytes(content)
        worker = Worker(bundle, path, parts)
        _WORKERS[bundle.digest, parts] = worker
        os.unlink(path)
    return worker.make(task)
