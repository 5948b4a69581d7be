"""Flowsieve from Python: experiments with flow schedulers for data-centre networks, and their results.

>>> import flowsieve as fs
>>> exp = fs.Experiment.builtin("quickstart").set(load=[0.5, 0.7], scheme=["pias", "dctcp"], seeds=2)
>>> print(exp.plan().points[0])
pias, load 0.5

Whatever is computed is computed by the command's own code: the package shows it. See docs/guide/python.md.
"""

from __future__ import annotations

import typing as _typing

from flowsieve import errors
from flowsieve._compare import Comparison
from flowsieve._experiment import Experiment, fabric
from flowsieve._findings import Finding, Findings
from flowsieve._flows import Flows
from flowsieve._flowsieve import FlowStart, program
from flowsieve._followed import FollowedFlow
from flowsieve._lists import (
    explain,
    list_experiments,
    list_formats,
    list_schemes,
    list_settings,
    list_topologies,
    list_workloads,
    thresholds,
    tune,
)
from flowsieve._plan import Plan, Run
from flowsieve._program import Program, load
from flowsieve._result import Result
from flowsieve._scheme import Scheme
from flowsieve._table import Table
from flowsieve.errors import Error, ExperimentError, InternalError, ResultError, SimulationError, SweepError

if _typing.TYPE_CHECKING:
    from flowsieve import forest, plot, sweeps
    from flowsieve.sweeps import Local, Ray, Slurm, sweep

__version__ = program()[0]

__all__ = [
    "__version__",
    "Comparison",
    "Error",
    "Experiment",
    "ExperimentError",
    "Finding",
    "Findings",
    "FlowStart",
    "Flows",
    "FollowedFlow",
    "InternalError",
    "Local",
    "Plan",
    "Program",
    "Ray",
    "Result",
    "ResultError",
    "Run",
    "Scheme",
    "SimulationError",
    "Slurm",
    "SweepError",
    "Table",
    "errors",
    "explain",
    "fabric",
    "forest",
    "list_experiments",
    "list_formats",
    "list_schemes",
    "list_settings",
    "list_topologies",
    "list_workloads",
    "load",
    "plot",
    "program",
    "sweep",
    "sweeps",
    "thresholds",
    "tune",
]

# Rarely used modules are imported on demand.
_LATER = {name: "flowsieve.sweeps" for name in ("Local", "Ray", "Slurm", "sweep")}


def __getattr__(name: str) -> _typing.Any:
    import importlib

    if name in ("plot", "forest", "sweeps"):
        return importlib.import_module(f"flowsieve.{name}")
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module 'flowsieve' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
