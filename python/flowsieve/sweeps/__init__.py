"""Sweeps over many machines: one function, over one small protocol.

>>> import flowsieve as fs, tempfile
>>> exp = fs.Experiment.builtin("quickstart").set(flows=20, load=0.5, scheme=["dctcp", "pias"], seeds=2)
>>> res = fs.sweep(exp, tempfile.mkdtemp() + "/out", on=fs.Local(jobs=2))
>>> len(res.experiment["points"])
2

However the runs are spread, the result has the same bytes as that of ``exp.run``, but for ``run.json``. See docs/guide/big-sweeps.md.
"""

from __future__ import annotations

from flowsieve.sweeps._driver import sweep
from flowsieve.sweeps._local import Local
from flowsieve.sweeps._protocol import Backend, Bundle, Lost, Made, Task
from flowsieve.sweeps._ray import Ray
from flowsieve.sweeps._slurm import Slurm
from flowsieve.sweeps._worker import Worker

__all__ = ["Backend", "Bundle", "Local", "Lost", "Made", "Ray", "Slurm", "Task", "Worker", "sweep"]


def __dir__() -> list[str]:
    return sorted(__all__)
