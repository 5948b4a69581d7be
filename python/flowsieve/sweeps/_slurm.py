"""Runs as job arrays of SLURM: a script, ``sbatch``, and a disk that all nodes share."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from pathlib import Path

from flowsieve import _flowsieve
from flowsieve._numbers import whole
from flowsieve._folders import PathLike
from flowsieve.errors import SweepError
from flowsieve.sweeps._protocol import Bundle, Lost, Made, Task


class Slurm:
    """A sweep is a job array of ``jobs`` tasks; its parts go into ``parts``, a folder on a disk that all nodes share.

    ``options`` are further ones of ``sbatch``, such as ``["--partition=short", "--time=2:00:00"]``; ``setup`` is the first
    command of a job, such as ``"source venv/bin/activate"``. It must make the command ``flowsieve`` available.

    >>> fs.sweep(exp, "results/sweep", on=fs.Slurm("/shared/sweep", jobs=40))  # doctest: +SKIP
    """

    def __init__(self, parts: PathLike, *, jobs: int = 40, options: Sequence[str] = (), setup: str = "") -> None:
        self.parts: Path = Path(parts).absolute()
        self.shards: int = whole("jobs", jobs, 1)
        self._options = list(options)
        self._setup = setup
        self._bundle: Path | None = None
        self._new: list[tuple[Task, Future[list[Made]]]] = []
        self._arrays = 0
        self._processes: list[subprocess.Popen[str]] = []
        self._plan: _flowsieve.Plan | None = None

    def open(self, bundle: Bundle) -> None:
        """Puts the bundle next to the parts."""
        if shutil.which("sbatch") is None:
            raise SweepError("sbatch is not installed; expected SLURM's commands on this machine")
        self.parts.mkdir(parents=True, exist_ok=True)
        self._bundle = self.parts / f"{bundle.digest[:16]}.flowsieve"
        shutil.copyfile(bundle.path, self._bundle)
        self._plan = _flowsieve.Experiment.open(str(self._bundle)).plan()

    def slots(self) -> int:
        """The tasks of an array: SLURM itself says when each begins."""
        return self.shards

    def submit(self, bundle: Bundle, task: Task) -> Future[list[Made]]:
        """Notes a task for the next array."""
        future: Future[list[Made]] = Future()
        self._new.append((task, future))
        return future

    def told(self) -> Iterable[str]:
        """Submits what was noted since as one array."""
        if not self._new:
            return []
        tasks, self._new = self._new, []
        self._arrays += 1
        script = self._script(tasks)
        process = subprocess.Popen(
            ["sbatch", "--wait", "--parsable", str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._processes.append(process)
        threading.Thread(target=self._wait, args=(process, tasks), daemon=True).start()
        return [f"sbatch: an array of {len(tasks)} tasks, {script}"]

    def _script(self, tasks: list[tuple[Task, Future[list[Made]]]]) -> Path:
        assert self._bundle is not None, "open comes first"
        stem = self._bundle.with_suffix(f".{self._arrays}")
        for number, (task, _) in enumerate(tasks, start=1):
            Path(f"{stem}.{number}.keys").write_text("".join(f"{key}\n" for key in task.keys))
        most = max(task.memory_bytes for task, _ in tasks)
        lines = [
            "#!/bin/sh",
            f"#SBATCH --job-name=flowsieve --array=1-{len(tasks)} --ntasks=1 --cpus-per-task=1",
            f"#SBATCH --mem={-(-most // 1_000_000)}M",
            f"#SBATCH --output={shlex.quote(str(stem))}.%a.log",
            *(f"#SBATCH {option}" for option in self._options),
            self._setup,
            f'flowsieve run {shlex.quote(str(self._bundle))} --keys {shlex.quote(str(stem))}."$SLURM_ARRAY_TASK_ID".keys \\',
            f"    --jobs 1 --out {shlex.quote(str(self.parts))}",
        ]
        script = Path(f"{stem}.sh")
        script.write_text("\n".join(line for line in lines if line) + "\n")
        return script

    def _wait(self, process: subprocess.Popen[str], tasks: list[tuple[Task, Future[list[Made]]]]) -> None:
        _, said = process.communicate()
        assert self._plan is not None, "open comes first"
        try:
            missing = set(self._plan.missing(str(self.parts), True))
        except Exception as error:
            for _, future in tasks:
                future.set_exception(error)
            return
        for task, future in tasks:
            if missing.isdisjoint(task.keys):
                future.set_result([Made(key, None) for key in task.keys])
            else:
                why = said.strip() or f"sbatch ended with status {process.returncode}; see the logs in {self.parts}"
                future.set_exception(Lost(why))

    def close(self) -> None:
        """Stops waiting. Arrays that are queued go on: ``scancel`` ends them."""
        for process in self._processes:
            if process.poll() is None:
                process.terminate()
