"""Results: a folder, its tables, and what follows from them."""

from __future__ import annotations

import csv
import html
import json
import os
from pathlib import Path
from typing import Any, Union

from flowsieve import _flowsieve
from flowsieve._missing import library

PathLike = Union[str, "os.PathLike[str]"]


class Table:
    """A table of a result. Its file is read only when you ask for the data.

    A Parquet file is also an Arrow stream (``__arrow_c_stream__``), which polars, pyarrow, pandas and DuckDB accept directly.

    >>> import flowsieve as fs, tempfile
    >>> exp = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2)
    >>> res = exp.run(tempfile.mkdtemp() + "/out")
    >>> res.flows().path.name
    'flows.parquet'
    """

    def __init__(self, path: PathLike) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            from flowsieve.errors import ResultError

            raise ResultError(f"{self.path}: there is no such table in this result")

    @property
    def _is_csv(self) -> bool:
        return self.path.suffix == ".csv"

    def lazy(self) -> Any:
        """A ``polars.LazyFrame``, which reads only the part of a large table that a query needs.

        >>> import flowsieve as fs, tempfile
        >>> exp = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2)
        >>> res = exp.run(tempfile.mkdtemp() + "/out")
        >>> import polars as pl
        >>> res.flows().lazy().select(pl.len()).collect().item()
        160
        """
        polars = library("polars")
        return polars.scan_csv(self.path, infer_schema_length=None) if self._is_csv else polars.scan_parquet(self.path)

    def to_polars(self) -> Any:
        """A ``polars.DataFrame``.

        >>> import flowsieve as fs, tempfile
        >>> exp = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2)
        >>> res = exp.run(tempfile.mkdtemp() + "/out")
        >>> res.flows().to_polars().height
        160
        """
        polars = library("polars")
        return polars.read_csv(self.path, infer_schema_length=None) if self._is_csv else polars.read_parquet(self.path)

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame``.

        >>> import flowsieve as fs, tempfile
        >>> exp = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2)
        >>> res = exp.run(tempfile.mkdtemp() + "/out")
        >>> len(res.flows().to_pandas())
        160
        """
        pandas = library("pandas")
        return pandas.read_csv(self.path) if self._is_csv else pandas.read_parquet(self.path)

    def to_arrow(self) -> Any:
        """A ``pyarrow.Table``.

        >>> import flowsieve as fs, tempfile
        >>> exp = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2)
        >>> res = exp.run(tempfile.mkdtemp() + "/out")
        >>> res.flows().to_arrow().num_rows
        160
        """
        if self._is_csv:
            return library("pyarrow.csv").read_csv(self.path)
        return library("pyarrow.parquet").read_table(self.path)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        if self._is_csv:
            return self.to_arrow().__arrow_c_stream__(requested_schema)
        return _flowsieve.arrow_stream(self.path)

    def __repr__(self) -> str:
        return f"Table({str(self.path)!r})"


class _Said:
    """The command's output: its text, and the same as data."""

    def __init__(self, data: list[dict[str, Any]], text: str) -> None:
        self.data = data
        self._text = text

    def __len__(self) -> int:
        return len(self.data)

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return preformatted(self._text)


class Comparison(_Said):
    """Schemes, or values of another swept setting, over the same flows.

    ``data`` is the output of ``flowsieve compare --json``: a list with an entry for each pair.

    >>> import flowsieve as fs, tempfile
    >>> exp = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2)
    >>> res = exp.run(tempfile.mkdtemp() + "/out")
    >>> res.compare("pias", "dctcp").data[0]["baseline"]
    'dctcp'
    """


class Findings(_Said):
    """Causes, then problems of a result, the most important first. ``data`` is the list of ``flowsieve doctor --json``.

    >>> import flowsieve as fs, tempfile
    >>> exp = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2)
    >>> res = exp.run(tempfile.mkdtemp() + "/out")
    >>> res.doctor().data[0]["is_cause"]
    True
    """


class Result:
    """A finished result: the folder that ``flowsieve run`` leaves.

    >>> import flowsieve as fs, tempfile
    >>> exp = fs.Experiment.builtin("quickstart").set(flows=50, load=0.5, scheme=["dctcp", "pias"], seeds=2)
    >>> res = exp.run(tempfile.mkdtemp() + "/out")
    >>> [point["scheme"] for point in res.data()["points"]]
    ['dctcp', 'pias']
    """

    def __init__(self, path: PathLike | _flowsieve.Outcome) -> None:
        if isinstance(path, _flowsieve.Outcome):
            self._raw = path
        else:
            self._raw = _flowsieve.Outcome.open(os.fspath(path))

    @property
    def path(self) -> Path:
        """Its folder.

        >>> import flowsieve as fs, tempfile
        >>> exp = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2)
        >>> res = exp.run(tempfile.mkdtemp() + "/out")
        >>> res.path.name
        'out'
        """
        return Path(self._raw.path)

    @property
    def experiment(self) -> dict[str, Any]:
        """The experiment as in the manifest: title, text, changes, versions, schemes, points with all settings.

        >>> import flowsieve as fs, tempfile
        >>> exp = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2)
        >>> res = exp.run(tempfile.mkdtemp() + "/out")
        >>> res.experiment["points"][1]["settings"]["workload.flows"]
        '40'
        """
        described: dict[str, Any] = json.loads(self._raw.experiment())
        return described

    @property
    def title(self) -> str:
        """The experiment's title."""
        return str(self.experiment["title"])

    def flows(self) -> Table:
        """A row for each flow (``flows.parquet``).

        >>> import flowsieve as fs, tempfile
        >>> exp = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2)
        >>> res = exp.run(tempfile.mkdtemp() + "/out")
        >>> "slowdown" in res.flows().to_polars().columns
        True
        """
        return Table(self.path / "flows.parquet")

    def coflows(self) -> Table:
        """A row for each coflow (``coflows.parquet``), if there are any.

        >>> import flowsieve as fs, tempfile
        >>> exp = fs.Experiment.builtin("quickstart").set(pattern="incast", fan_in=4, flows=40, load=0.5, scheme="dctcp", seeds=1)
        >>> exp.run(tempfile.mkdtemp() + "/out").coflows().to_polars().height
        10
        """
        return Table(self.path / "coflows.parquet")

    def series(self) -> Table:
        """Series over time (``series.parquet``).

        >>> import flowsieve as fs, tempfile
        >>> exp = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2)
        >>> res = exp.run(tempfile.mkdtemp() + "/out")
        >>> "flows under way" in set(res.series().to_polars()["series"])
        True
        """
        return Table(self.path / "series.parquet")

    def summary(self) -> Table:
        """Statistics by point and size class (``summary.csv``), with intervals over seeds.

        >>> import flowsieve as fs, tempfile
        >>> exp = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2)
        >>> res = exp.run(tempfile.mkdtemp() + "/out")
        >>> "fct_mean_us" in res.summary().to_polars().columns
        True
        """
        return Table(self.path / "summary.csv")

    def plots(self) -> Table:
        """The numbers of every plot of the report (``plots.csv``), which :meth:`report` writes.

        >>> import flowsieve as fs, tempfile
        >>> exp = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2)
        >>> res = exp.run(tempfile.mkdtemp() + "/out")
        >>> "y_unit" in res.plots().to_polars().columns
        True
        """
        return Table(self.path / "plots.csv")

    def rows(self) -> list[dict[str, str]]:
        """The rows of the summary, without any other library.

        >>> import flowsieve as fs, tempfile
        >>> exp = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2)
        >>> res = exp.run(tempfile.mkdtemp() + "/out")
        >>> sorted({row["scheme"] for row in res.rows()})
        ['dctcp', 'pias']
        """
        with self.summary().path.open(newline="") as file:
            return list(csv.DictReader(file))

    def data(self, x: str | None = None) -> dict[str, Any]:
        """Conclusions, statistics by point and class, claims and findings, as ``flowsieve report --json`` has them.

        >>> import flowsieve as fs, tempfile
        >>> exp = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2)
        >>> res = exp.run(tempfile.mkdtemp() + "/out")
        >>> res.data()["points"][0]["classes"][-1]["flows"]
        80
        """
        data: dict[str, Any] = json.loads(self._raw.data(x))
        return data

    def conclusions(self) -> list[str]:
        """The answers of the result, one sentence for each question.

        >>> import flowsieve as fs, tempfile
        >>> exp = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2)
        >>> res = exp.run(tempfile.mkdtemp() + "/out")
        >>> "pias's mean FCT" in res.conclusions()[0]
        True
        """
        return [str(sentence) for sentence in self.data()["conclusions"]]

    def claims(self) -> list[dict[str, Any]]:
        """The claims of a paper, each with the measured value and the verdict.

        >>> import flowsieve as fs, tempfile
        >>> exp = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2)
        >>> res = exp.run(tempfile.mkdtemp() + "/out")
        >>> res.claims()
        []
        """
        claims: list[dict[str, Any]] = self.data()["claims"]
        return claims

    def compare(self, value: str | None = None, baseline: str | None = None, vary: str | None = None) -> Comparison:
        """Two schemes over the same flows, paired by seed, with intervals; or two values of the swept setting ``vary``.

        Without values each is compared with the first.

        >>> import flowsieve as fs, tempfile
        >>> exp = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2)
        >>> res = exp.run(tempfile.mkdtemp() + "/out")
        >>> print(res.compare("pias", "dctcp"))  # doctest: +ELLIPSIS
        pias / dctcp: FCT over the same flows, paired by seed...
        """
        data, text = self._raw.compare(value, baseline, vary)
        return Comparison(json.loads(data), text)

    def doctor(self) -> Findings:
        """Problems of the result.

        >>> import flowsieve as fs, tempfile
        >>> exp = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2)
        >>> res = exp.run(tempfile.mkdtemp() + "/out")
        >>> len(res.doctor()) > 0
        True
        """
        data, text = self._raw.doctor()
        return Findings(json.loads(data)["findings"], text)

    def report(self, x: str | None = None) -> Path:
        """Writes ``report.html`` and ``plots.csv``, and returns the page's path. ``x`` is the swept setting on the x axis.

        >>> import flowsieve as fs, tempfile
        >>> exp = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2)
        >>> res = exp.run(tempfile.mkdtemp() + "/out")
        >>> res.report().name
        'report.html'
        """
        return Path(self._raw.report(x))

    def export(self, x: str | None = None, y: str | None = None, class_: str | None = None) -> str:
        """Statistics as tidy CSV, as ``flowsieve export`` writes them.

        >>> import flowsieve as fs, tempfile
        >>> exp = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2)
        >>> res = exp.run(tempfile.mkdtemp() + "/out")
        >>> res.export(y="mean fct", class_="all").splitlines()[0].split(",")[0]
        'case'
        """
        return self._raw.export(x, y, class_)

    def __str__(self) -> str:
        return self._raw.table()

    def __repr__(self) -> str:
        return f"Result({str(self.path)!r}): {self.title}"

    def _repr_html_(self) -> str:
        return preformatted(self._raw.table())


def preformatted(text: str) -> str:
    """A text of the command, for a notebook."""
    return f"<pre>{html.escape(text)}</pre>"
