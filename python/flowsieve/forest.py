"""Forests that predict the sizes of flows (QCLIMB): training and evaluation.

Training needs the package that ``pip install ./python`` brings in a clone of Flowsieve. See docs/reference/predicted-sizes.md.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from flowsieve import _flowsieve
from flowsieve._missing import library
from flowsieve._folders import PathLike
from flowsieve.errors import ExperimentError

__all__ = ["report", "train"]


def __dir__() -> list[str]:
    return sorted(__all__)


def train(
    trace: PathLike,
    out: PathLike,
    *,
    trees: int = 10,
    depth: int = 10,
    share: float = 0.8,
    seed: int = 1,
    jobs: int = 1,
    features: list[str] | None = None,
) -> Path:
    """Trains a forest on the first ``share`` of a flow list with columns ``feature:NAME``, and writes its file.

    >>> fs.forest.train("trace.csv", "trace.fsf", trees=20)  # doctest: +SKIP
    """
    command = library("flowsieve_forest.command")
    arguments = ["train", os.fspath(trace), "--out", os.fspath(out), "--trees", trees, "--depth", depth]
    arguments += ["--share", share, "--seed", seed, "--jobs", jobs]
    if features is not None:
        arguments += ["--features", ",".join(features)]
    if command.main([str(argument) for argument in arguments]) != 0:
        raise ExperimentError(f"{os.fspath(trace)}: no forest could be trained on it; see the reason above", os.fspath(trace))
    return Path(out)


def report(forest: PathLike, trace: PathLike, *, start: float = 0.8) -> list[dict[str, Any]]:
    """The quality of a forest's predictions by size class, on the flows of a list after the first ``start`` of them.

    >>> fs.forest.report("trace.fsf", "trace.csv")[0]  # doctest: +SKIP
    """
    worth: list[dict[str, Any]] = json.loads(
        _flowsieve.worth_of_forest(os.fspath(forest), os.fspath(trace), float(start))
    )
    return worth
