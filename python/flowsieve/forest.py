"""Forests that predict the sizes of flows (QCLIMB): training, use and evaluation.

They need the package that ``pip install ./python`` brings in a clone of Flowsieve. See docs/reference/predicted-sizes.md.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
from pathlib import Path
from typing import Any

from flowsieve._missing import library
from flowsieve._folders import PathLike
from flowsieve.errors import ExperimentError

__all__ = ["apply", "report", "train"]


def __dir__() -> list[str]:
    return sorted(__all__)


def _carry_out(arguments: list[object], trace: PathLike) -> None:
    if library("flowsieve_forest.command").main([str(argument) for argument in arguments]) != 0:
        name = os.fspath(trace)
        raise ExperimentError(f"{name}: no forest could be trained on it or applied to it; see the reason above", name)


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
    arguments: list[object] = ["train", os.fspath(trace), "--out", os.fspath(out), "--trees", trees, "--depth", depth]
    arguments += ["--share", share, "--seed", seed, "--jobs", jobs]
    if features is not None:
        arguments += ["--features", ",".join(features)]
    _carry_out(arguments, trace)
    return Path(out)


def apply(forest: PathLike, trace: PathLike, *, out: PathLike, start: float = 0.8) -> Path:
    """Writes a flow list with what a forest predicts of it, after the first ``start`` of its flows: ``predictions`` reads it.

    >>> fs.forest.apply("trace.fsf", "trace.csv", out="predicted.csv")  # doctest: +SKIP
    """
    _carry_out(["apply", os.fspath(forest), os.fspath(trace), "--out", os.fspath(out), "--from", start], trace)
    return Path(out)


def report(forest: PathLike, trace: PathLike, *, start: float = 0.8) -> list[dict[str, Any]]:
    """The quality of a forest's predictions by size class, on the flows of a list after the first ``start`` of them.

    >>> fs.forest.report("trace.fsf", "trace.csv")[0]  # doctest: +SKIP
    """
    with contextlib.redirect_stdout(io.StringIO()) as said:
        _carry_out(["report", os.fspath(forest), os.fspath(trace), "--from", start, "--json"], trace)
    worth: list[dict[str, Any]] = json.loads(said.getvalue())
    return worth
