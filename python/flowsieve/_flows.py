"""Workloads as tables, and tables as workloads: the columns of a flow list."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowsieve._folders import Folder, PathLike
from flowsieve._missing import library
from flowsieve._table import CsvTable
from flowsieve.errors import ExperimentError

if TYPE_CHECKING:
    import polars

REQUIRED = ("start_s", "src", "dst", "bytes")
"""The columns that every list has; docs/reference/flow-lists.md names the others."""


class Flows(CsvTable):
    """A flow list: a CSV file with the columns ``start_s``, ``src``, ``dst``, ``bytes`` and optionally others.

    >>> import flowsieve as fs
    >>> flows = fs.Flows.from_table({"start_s": [0.0, 1e-6], "src": [0, 1], "dst": [2, 2], "bytes": [1000, 2000]})
    >>> exp = fs.Experiment.from_dict({"topology": {"kind": "single-switch", "hosts": 3}, "sweep": {"scheme": "dctcp"}})
    >>> len(exp.with_flows(flows).plan())
    1
    """

    def __init__(self, path: PathLike, *, _keep: Folder | None = None) -> None:
        super().__init__(path, keep=_keep)

    def lazy(self) -> polars.LazyFrame:
        frame: polars.LazyFrame = library("polars").scan_csv(self.path, infer_schema_length=None)
        return frame

    @classmethod
    def from_table(cls, table: Any) -> Flows:
        """Flows from a polars or pandas DataFrame, an Arrow table, or a dict of columns.

        Values are checked when an experiment uses the flows, since it knows its hosts.

        >>> import flowsieve as fs
        >>> flows = fs.Flows.from_table({"start_s": [0.0], "src": [0], "dst": [1], "bytes": [1000]})
        >>> flows.path.read_text()
        'start_s,src,dst,bytes\\n0.0,0,1,1000\\n'
        """
        folder = Folder()
        path = folder.path / "flows.csv"
        _write(table, str(path))
        return cls(path, _keep=folder)


@contextlib.contextmanager
def written(table: Any) -> Iterator[str]:
    """The path of a table's list. Errors about it name rows of the table instead of lines of the list."""
    flows = table if isinstance(table, Flows) else Flows.from_table(table)
    path = str(flows.path)
    try:
        yield path
    except ExperimentError as error:
        if error.file != path or isinstance(table, Flows):
            raise
        line = error.line
        row = "" if line is None else ", the columns" if line == 1 else f", row {line - 2}"
        with flows.path.open() as file:
            names = file.readline().rstrip("\n").split(",")
        raise ExperimentError(
            str(error).replace(path if line is None else f"{path}:{line}", f"flows{row}"),
            "flows",
            line,
            names.index(error.key) + 1 if error.key in names else None,
            error.expected,
            error.nearest,
            error.kind,
            error.key,
        ) from None


def _write(table: Any, path: str) -> None:
    if hasattr(table, "collect") and not hasattr(table, "write_csv"):
        table = table.collect()
    names = _columns(table)
    missing = [name for name in REQUIRED if name not in names]
    if missing:
        raise ExperimentError(
            f"the table of flows has no column {', '.join(missing)}; expected {', '.join(REQUIRED)} and optionally others "
            f"of a flow list; it has {', '.join(names) or 'none'}",
            expected=", ".join(REQUIRED),
        )
    if isinstance(table, Mapping):
        columns = [list(table[name]) for name in names]
        if len({len(column) for column in columns}) > 1:
            lengths = ", ".join(f"{name} {len(column)}" for name, column in zip(names, columns))
            raise ExperimentError(f"the columns of the table of flows differ in length: {lengths}")
        with Path(path).open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(names)
            writer.writerows(zip(*columns))
    elif hasattr(table, "write_csv"):
        table.write_csv(path)
    elif hasattr(table, "to_csv"):
        table.to_csv(path, index=False)
    else:
        arrow_csv = library("pyarrow.csv")
        plain = arrow_csv.WriteOptions(include_header=False, quoting_style="none")
        with Path(path).open("wb") as out:
            out.write((",".join(names) + "\n").encode())
            arrow_csv.write_csv(table, out, plain)


def _columns(table: Any) -> list[str]:
    if isinstance(table, Mapping):
        return [str(name) for name in table]
    if hasattr(table, "column_names"):
        return [str(name) for name in table.column_names]
    if hasattr(table, "columns"):
        return [str(name) for name in table.columns]
    raise ExperimentError(
        f"{type(table).__name__} is not a table of flows; expected a polars or pandas DataFrame, an Arrow table, or a dict "
        "of columns"
    )
