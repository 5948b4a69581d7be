"""The driver of a sweep: hands out runs, the costliest first, keeps their parts as they come, and joins them."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace as changed
from pathlib import Path

from flowsieve import _flowsieve
from flowsieve._experiment import Experiment
from flowsieve._folders import PathLike
from flowsieve._plan import Plan, Run
from flowsieve._progress import Listener, listener
from flowsieve._result import Result
from flowsieve._scheme import refuse_elsewhere
from flowsieve.errors import Error, SweepError
from flowsieve.sweeps._local import Local
from flowsieve.sweeps._protocol import Backend, Bundle, Lost, Made, Task
from flowsieve.sweeps._worker import this_program

TRIES = 3
"""How often a run that is lost with its machine is made again."""

WORTH_SECONDS = 2.0
"""Runs below this are made several at a time: each that is handed out costs some milliseconds."""

MOST_TOGETHER = 250
"""The largest number of runs in a task. They come back together, so the driver should hold few."""

PATIENCE = 20.0
"""A task is given up after this many times its estimate, and at least ``patience``."""

_FIRST_RATE = 5e6
"""Packet-hops a second of a worker, until the first runs say better."""

_LOOK_SECONDS = 0.1


def sweep(
    experiment: Experiment,
    out: PathLike,
    *,
    on: Backend | None = None,
    progress: bool | Listener = False,
    replace: bool = False,
    patience: float = 1800.0,
) -> Result:
    """Makes the runs of an experiment where ``on`` says (default: this machine's cores), and joins them in ``out``.

    Parts are written as they come. If a sweep is stopped, by Ctrl-C or with its driver, the same call makes the missing
    runs. A run is made again elsewhere, at most three times, if its machine is lost. The same holds if it has not answered
    for ``patience`` seconds and twenty times its estimate. A run that fails ends the sweep with its own error; the others
    are kept.

    >>> import flowsieve as fs, tempfile
    >>> exp = fs.Experiment.builtin("quickstart").set(flows=20, load=0.5, seeds=1)
    >>> res = fs.sweep(exp, tempfile.mkdtemp() + "/out")
    >>> len(res.experiment["points"])
    3
    """
    return sweep_by(time.monotonic, experiment, out, on, progress=progress, replace=replace, patience=patience)


def sweep_by(
    clock: Callable[[], float],
    experiment: Experiment,
    out: PathLike,
    on: Backend | None,
    *,
    progress: bool | Listener = False,
    replace: bool = False,
    patience: float = 1800.0,
) -> Result:
    """Makes a sweep whose driver measures by ``clock``, in seconds: how fast workers are, and how long a task has had.

    Which runs are handed out together follows from these times, and no byte of the result does.
    """
    backend: Backend = on if on is not None else Local()
    plan = experiment.plan()
    refuse_elsewhere("sweep", plan._calls)
    missing = set(plan._raw.missing(str(out), replace))
    shared = backend.parts
    if shared is not None:
        missing &= set(plan._raw.missing(str(shared), True))
    if missing:
        with tempfile.TemporaryDirectory(prefix="flowsieve-") as folder:
            path = plan.pack(Path(folder) / "experiment.flowsieve")
            bundle = Bundle(path, _flowsieve.digest(str(path)), plan.hash, this_program())
            driver = _Driver(plan, str(out), bundle, backend, listener(progress), patience, clock)
            driver.carry_out(missing)
    return experiment.join(out, [] if shared is None else [shared], replace=replace)


class _Driver:
    def __init__(
        self,
        plan: Plan,
        out: str,
        bundle: Bundle,
        backend: Backend,
        show: Listener | None,
        patience: float,
        clock: Callable[[], float],
    ) -> None:
        self._plan = plan._raw
        self._runs = plan.runs
        self._out = out
        self._bundle = bundle
        self._backend = backend
        self._show = show
        self._patience = patience
        self._clock = clock
        self._cost = {run.key: run.packet_hops for run in plan.runs}
        self._under_way: dict[Future[list[Made]], tuple[Task, float]] = {}
        self._done: set[str] = set()
        """Runs that are there, made now or before."""
        self._made = 0.0
        """Packet-hops of those made now, by their estimates."""
        self._busy_seconds = 0.0
        self._begun = clock()

    def carry_out(self, missing: set[str]) -> None:
        """Makes these runs."""
        self._done = {run.key for run in self._runs if run.key not in missing}
        queue = sorted((run for run in self._runs if run.key in missing), key=lambda run: (-run.packet_hops, run.key))
        tasks: list[Task] = []
        if self._backend.shards is not None:
            tasks, queue = _cut(queue, self._backend.shards), []
        self._backend.open(self._bundle)
        try:
            while queue or tasks or self._under_way:
                while len(self._under_way) < max(1, self._backend.slots()) and (queue or tasks):
                    task = tasks.pop(0) if tasks else self._next(queue)
                    self._under_way[self._backend.submit(self._bundle, task)] = (task, self._clock())
                for said in self._backend.told():
                    print(said, file=sys.stderr, flush=True)
                wait(self._under_way, timeout=_LOOK_SECONDS, return_when=FIRST_COMPLETED)
                tasks.extend(self._take_all([future for future in self._under_way if future.done()]))
                tasks.extend(self._given_up())
                self._tell()
        finally:
            self._backend.close()

    def _rate(self) -> float:
        """Packet-hops a second of a worker, by what came back."""
        return self._made / self._busy_seconds if self._busy_seconds > 0 and self._made > 0 else _FIRST_RATE

    def _next(self, queue: list[Run]) -> Task:
        """The costliest run that is left, with others where it is short."""
        worth = WORTH_SECONDS * self._rate()
        # No worker should have several while another has none.
        most = max(1, min(MOST_TOGETHER, len(queue) // (2 * max(1, self._backend.slots()))))
        taken = [queue.pop(0)]
        cost = taken[0].packet_hops
        while queue and len(taken) < most and cost + queue[0].packet_hops <= worth:
            taken.append(queue.pop(0))
            cost += taken[-1].packet_hops
        return _task(taken)

    def _take_all(self, futures: list[Future[list[Made]]]) -> list[Task]:
        """Keeps what came back, all of it also where one of them failed; gives what has to be made again."""
        again: list[Task] = []
        failed: Exception | None = None
        for future in futures:
            try:
                again.extend(self._take(future))
            except Exception as error:
                failed = failed if failed is not None else error
        if failed is not None:
            raise failed
        return again

    def _take(self, future: Future[list[Made]]) -> list[Task]:
        """Keeps the parts of a task; gives what of it has to be made again."""
        task, begun = self._under_way.pop(future)
        try:
            made = future.result()
        except Lost as lost:
            return [self._again(task, task.keys, str(lost))]
        except Error:
            raise
        except Exception as error:
            raise SweepError(f"a worker failed: {error!r}", task.keys[0]) from error
        kept = {key for key in task.keys if self._keep(key, made)}
        self._busy_seconds += self._clock() - begun
        self._made += sum(self._cost[key] for key in kept)
        self._done |= kept
        left = tuple(key for key in task.keys if key not in kept)
        return [self._again(task, left, "a worker gave something else than its parts")] if left else []

    def _keep(self, key: str, made: object) -> bool:
        """Keeps the part of a key, if it is among what a worker gave, and whole."""
        for part in made if isinstance(made, list) else []:
            if isinstance(part, Made) and part.key == key:
                if part.archive is None:
                    return self._backend.parts is not None
                return isinstance(part.archive, bytes) and self._plan.take(self._out, key, part.archive)
        return False

    def _given_up(self) -> list[Task]:
        """Tasks without an answer."""
        now, again = self._clock(), []
        for future, (task, begun) in list(self._under_way.items()):
            if now - begun > max(self._patience, PATIENCE * task.packet_hops / self._rate()):
                future.cancel()
                del self._under_way[future]
                again.append(self._again(task, task.keys, f"no answer for {now - begun:.0f} s"))
        return again

    def _again(self, task: Task, keys: tuple[str, ...], why: str) -> Task:
        if task.tries >= TRIES:
            raise SweepError(
                f"the run {keys[0]} was lost {task.tries + 1} times; it is estimated to take "
                f"{task.memory_bytes / 1e6:.0f} MB of memory: {why}",
                keys[0],
            )
        print(f"{len(keys)} runs are made again: {why}", file=sys.stderr, flush=True)
        cost = sum(self._cost[key] for key in keys)
        return changed(task, keys=keys, packet_hops=cost, tries=task.tries + 1)

    def _tell(self) -> None:
        if self._show is None:
            return
        every = sum(self._cost.values()) or 1.0
        left = sum(cost for key, cost in self._cost.items() if key not in self._done)
        seconds = self._clock() - self._begun
        rate = self._made / seconds if seconds > 1 and self._made > 0 else None
        seconds_left = None if rate is None else left / rate
        self._show(len(self._done), len(self._cost), 1 - left / every, int(self._made), rate, seconds_left)


def _task(runs: list[Run]) -> Task:
    return Task(
        tuple(run.key for run in runs),
        sum(run.packet_hops for run in runs),
        max(run.memory_bytes for run in runs),
    )


def _cut(queue: list[Run], shards: int) -> list[Task]:
    """As many tasks of about equal cost: the costliest run to the task that has least."""
    taken: list[list[Run]] = [[] for _ in range(min(shards, len(queue)))]
    costs = [0.0] * len(taken)
    for run in queue:
        least = costs.index(min(costs))
        taken[least].append(run)
        costs[least] += max(run.packet_hops, 1.0)
    return [_task(runs) for runs in taken]
