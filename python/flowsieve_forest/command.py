"""The command: `train` writes a forest, `bounds` and `apply` write bounds into a flow list, `report` judges a forest."""

import argparse
import io
import json
import sys
from decimal import Decimal, InvalidOperation
from fractions import Fraction

import numpy as np

from flowsieve_forest import InputError, files, flow_list, forest_file, report
from flowsieve_forest.model import Model
from flowsieve_forest.quantiles import interval, quantiles

FEW = 100


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; returns the exit status."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except (InputError, OSError) as error:
        print(f"flowsieve_forest: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="flowsieve_forest", description="Trains and applies quantile forests.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    train = commands.add_parser("train", help="train a forest and write its file")
    train.set_defaults(run=_train)
    bounds = commands.add_parser("bounds", help="train a forest and write its bounds into a flow list")
    bounds.set_defaults(run=_bounds)
    bounds.add_argument("--flows", choices=["test", "all"], default="test", help="which flows to write (test)")
    for command in [train, bounds]:
        command.add_argument("trace", metavar="TRACE.csv", help="flow list with columns `feature:NAME`")
        command.add_argument("--features", metavar="A,B,...", help="features to read (all of the list, in its order)")
        command.add_argument("--trees", type=_whole(1, 100_000), default=10, help="trees (10)")
        command.add_argument("--depth", type=_whole(1, 64), default=10, help="most splits to a leaf (10)")
        command.add_argument("--samples", choices=list(forest_file.SAMPLES), default="all", help="flows in a leaf (all)")
        command.add_argument("--share", type=_share, default="0.8", help="share of the flows to train on, by time (0.8)")
        command.add_argument("--beta", type=_share, default="1", help="level of the prediction interval; `train`: only 1 (1)")
        command.add_argument("--seed", type=_whole(0, 2**32 - 1), default=1, help="seed of the bootstraps (1)")
        command.add_argument("--jobs", type=_whole(1, 1_024), default=1, help="threads; they change no result (1)")
    apply = commands.add_parser("apply", help="write a forest's bounds and predicted sizes into a flow list")
    apply.set_defaults(run=_apply)
    apply.add_argument("--brief", action="store_true", help="only bytes, lower, upper and predicted, which `predictions` reads")
    judge = commands.add_parser("report", help="compare a forest's bounds and predicted sizes with the sizes of a list")
    judge.set_defaults(run=_report)
    judge.add_argument("--json", action="store_true", help="print JSON")
    for command in [apply, judge]:
        command.add_argument("forest", metavar="FOREST.fsf", help="file of a forest")
        command.add_argument("trace", metavar="LIST.csv", help="flow list with the features that the forest reads")
        command.add_argument(
            "--from",
            dest="start",
            metavar="SHARE",
            type=_start,
            default="0.8",
            help="share of the flows to leave out, by time, on which the forest was trained (0.8)",
        )
    for command in [train, bounds, apply]:
        command.add_argument("--out", required=True, metavar="FILE", help="what to write")
        command.add_argument("--replace", action="store_true", help="replace that file if it exists")
    return parser


def _whole(least: int, most: int):
    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
            raise argparse.ArgumentTypeError(f"`{text}`; expected a whole number from {least} to {most}")
        return int(text)

    return parse


def _share(text: str) -> Fraction:
    """A decimal number, exactly."""
    try:
        share = Fraction(Decimal(text))
    except (InvalidOperation, ValueError, OverflowError):
        share = Fraction(-1)
    if not 0 < share <= 1:
        raise argparse.ArgumentTypeError(f"`{text}`; expected a decimal number above 0 and up to 1")
    return share


def _start(text: str) -> float:
    """As Flowsieve reads a share of flows: the numbers of the first flows have to be equal."""
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise argparse.ArgumentTypeError(f"`{text}`; expected a number from 0 to below 1")
    return share


def _train(options: argparse.Namespace) -> None:
    if options.beta != 1:
        raise InputError("a forest file has only the bounds of --beta 1; `bounds` writes those of another level into a list")
    flows, names, order, count = _read(options)
    encoded = forest_file.encode(_model(options, flows, names, order[:count]), names)
    with files.written(options.out, options.replace) as file:
        file.write(encoded)
    print(f"{options.out}: {options.trees} trees, {len(encoded)} bytes, trained on {count} of {len(order)} flows")


def _bounds(options: argparse.Namespace) -> None:
    flows, names, order, count = _read(options)
    model = _model(options, flows, names, order[:count])
    chosen = np.sort(order[count:] if options.flows == "test" else order)
    if len(chosen) == 0:
        raise InputError(f"{flows.path}: no flows are left to test; expected a smaller --share, or --flows all")
    features = flows.matrix(names)[chosen]
    if options.beta == 1:
        lower, upper = model.bounds(features)
    else:
        lower, upper = quantiles(model, features, interval(options.beta)).T
    columns = {"lower": lower, "upper": upper, "predicted": model.predicted(features)}
    with files.written(options.out, options.replace) as file:
        flow_list.write(io.TextIOWrapper(file, encoding="utf-8", newline="\n"), flows, chosen, columns)
    sizes = flows.sizes[chosen]
    bounded = np.count_nonzero((lower <= sizes) & (sizes <= upper))
    print(f"{options.out}: {len(chosen)} flows, {100 * bounded / len(chosen):.2f} % within their bounds")


def _apply(options: argparse.Namespace) -> None:
    files.check_new(options.out, options.replace)
    flows, chosen, columns = _applied(options)
    with files.written(options.out, options.replace) as file:
        out = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
        flow_list.write(out, flows, chosen, columns, options.brief)
    print(f"{options.out}: {len(chosen)} flows")


def _report(options: argparse.Namespace) -> None:
    flows, chosen, columns = _applied(options)
    rows = report.worth(flows.sizes[chosen], **columns)
    print(json.dumps(rows, indent=2) if options.json else report.text(rows), end="\n" if options.json else "")


def _applied(options: argparse.Namespace):
    """A list, its rows by time without the first ones, and what the forest says of each."""
    forest = forest_file.read(options.forest)
    flows = flow_list.read(options.trace)
    order = flows.by_time()
    chosen = order[int(options.start * len(order) + 0.5) :]
    if len(chosen) == 0:
        raise InputError(f"{flows.path}: none of {len(order)} flows is left; expected a smaller --from")
    features = flows.matrix(forest.features)[chosen]
    lower, upper = forest.bounds(features)
    return flows, chosen, {"lower": lower, "upper": upper, "predicted": forest.predicted(features)}


def _read(options: argparse.Namespace):
    """The list, the features to read of it, its rows by time, and how many of these are to train on."""
    files.check_new(options.out, options.replace)
    flows = flow_list.read(options.trace)
    names = options.features.split(",") if options.features else list(flows.features)
    if not names:
        raise InputError(f"{flows.path}:1: no column `feature:NAME`; expected facts known when a flow begins")
    if len(set(names)) != len(names):
        raise InputError("--features names one twice")
    order = flows.by_time()
    return flows, names, order, max(1, int(len(order) * options.share))


def _model(options: argparse.Namespace, flows: flow_list.FlowList, names: list[str], rows: np.ndarray) -> Model:
    features, sizes = flows.matrix(names)[rows], flows.sizes[rows]
    for warning in warnings(features, sizes, names):
        print(f"flowsieve_forest: warning: {flows.path}: {warning}", file=sys.stderr)
    return Model(
        features,
        sizes,
        trees=options.trees,
        depth=options.depth,
        samples=options.samples,
        seed=options.seed,
        jobs=options.jobs,
    )


def warnings(features: np.ndarray, sizes: np.ndarray, names: list[str]) -> list[str]:
    """Reasons why a trace is a poor one to train on."""
    found = []
    if len(sizes) < FEW:
        found.append(f"{len(sizes)} flows to train on; with fewer than {FEW} predictions are poor")
    if sizes.min() == sizes.max():
        found.append(f"all flows to train on have {sizes[0]} bytes, so all bounds will be equal")
    for name, column in zip(names, features.T):
        if column.min() == column.max():
            found.append(f"feature {name} is {column[0]} for all flows to train on, so it has no effect")
    return found
