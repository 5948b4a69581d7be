"""Results: a folder, its tables, and what follows from them."""

from __future__ import annotations

import html
import io
import json
import os
import re
import shutil
import tarfile
import tempfile
import warnings
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowsieve import _findings, _flowsieve, _functions, _show
from flowsieve._compare import Comparison, value_name
from flowsieve._findings import Findings
from flowsieve._folders import Folder, PathLike, path_of
from flowsieve._followed import FollowedFlow
from flowsieve._given import given, takes
from flowsieve._options import CompareOptions, ExportOptions, ReportOptions
from flowsieve._scheme import Scheme
from flowsieve._table import CsvTable, ParquetTable, Table
from flowsieve._words import in_python
from flowsieve.errors import ExperimentError, ResultError

if TYPE_CHECKING:
    from typing_extensions import Unpack

_MANIFEST = "manifest.json"
_STATISTICS = ("fct_mean_us", "fct_p99_us", "slowdown_mean", "slowdown_p99")


class Result:
    """A finished result: the folder that ``flowsieve run`` leaves.

    >>> import flowsieve as fs, tempfile
    >>> exp = fs.Experiment.builtin("quickstart").set(flows=50, load=0.5, scheme=["dctcp", "pias"], seeds=2)
    >>> res = exp.run(tempfile.mkdtemp() + "/out")
    >>> [point["scheme"] for point in fs.Result(res.path).data()["points"]]
    ['dctcp', 'pias']
    """

    def __init__(
        self,
        path: PathLike | _flowsieve.Outcome,
        *,
        _keep: Folder | None = None,
        _own: Mapping[str, Scheme] | None = None,
    ) -> None:
        self._outcome = path if isinstance(path, _flowsieve.Outcome) else _opened(path_of("path", path))
        self._keep = _keep
        self._own = _own or {}
        manifest = self.path / _MANIFEST
        self._seen = _state(manifest)
        self._digest = _flowsieve.digest(str(manifest))

    @property
    def path(self) -> Path:
        """Its folder. That of a run without a folder is removed with the result: :meth:`save` keeps it.

        >>> import flowsieve as fs, tempfile
        >>> exp = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2)
        >>> exp.run(tempfile.mkdtemp() + "/out").path.name
        'out'
        """
        return Path(self._outcome.path)

    @property
    def is_temporary(self) -> bool:
        """Whether its folder is removed with it.

        >>> import flowsieve as fs
        >>> fs.Experiment.builtin("quickstart").set(flows=20, load=0.5, scheme="dctcp", seeds=1).run().is_temporary
        True
        """
        return self._keep is not None

    @property
    def _raw(self) -> _flowsieve.Outcome:
        """The result, if its folder still holds it."""
        manifest = self.path / _MANIFEST
        try:
            state = _state(manifest)
        except FileNotFoundError:
            raise ResultError(f"{self.path}: the result's folder is gone; expected it as long as the result is used") from None
        if state != self._seen:
            if _flowsieve.digest(str(manifest)) != self._digest:
                raise ResultError(
                    f"{self.path}: another result was written there since this one was opened; expected to open it again: "
                    f"flowsieve.Result({str(self.path)!r})"
                )
            self._seen = state
        return self._outcome

    @property
    def experiment(self) -> dict[str, Any]:
        """The experiment as in the manifest: title, text, changes, versions, schemes, points with all settings.

        >>> import flowsieve as fs
        >>> res = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2).run()
        >>> res.experiment["points"][1]["settings"]["workload.flows"]
        '40'
        """
        described: dict[str, Any] = json.loads(self._outcome.experiment())
        return described

    @property
    def title(self) -> str:
        """The experiment's title."""
        return str(self.experiment["title"])

    def save(self, folder: PathLike, *, replace: bool = False) -> Result:
        """Copies the result to a folder, and gives the one there. A folder that holds something is replaced with ``replace=True``.

        >>> import flowsieve as fs, tempfile
        >>> res = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme="dctcp", seeds=1).run()
        >>> res.save(tempfile.mkdtemp() + "/kept").path.name
        'kept'
        """
        target = Path(os.path.abspath(path_of("folder", folder)))
        source = Path(os.path.abspath(self._raw.path))
        if target == source or source in target.parents or target in source.parents:
            raise ResultError(f"{target}: expected a folder apart from the result's own, {source}")
        if not replace and target.exists() and not (target.is_dir() and not any(target.iterdir())):
            raise ResultError(f"{target}: it holds something already; expected another folder, or replace=True")
        if replace and target.exists() and not (target / _MANIFEST).is_file():
            raise ResultError(f"{target}: it holds something else than a result, which is never replaced")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            # The folder is whole or absent.
            with tempfile.TemporaryDirectory(prefix=".flowsieve-", dir=target.parent) as near:
                whole = shutil.copytree(source, Path(near) / "new")
                if target.exists():
                    os.replace(target, Path(near) / "old")
                os.replace(whole, target)
        except OSError as error:
            raise ResultError(f"{target}: cannot be written: {error}") from error
        return Result(target, _own=self._own)

    def __reduce__(self) -> tuple[Any, ...]:
        """The folder's path, or its content where the folder goes with the result."""
        if self._keep is None:
            return _unpickled, (os.path.abspath(self._raw.path), None, self._own)
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:") as archive:
            archive.add(self._raw.path, arcname=".")
        return _unpickled, (None, packed.getvalue(), self._own)

    def _file(self, name: str) -> Path:
        return Path(self._raw.path) / name

    def flows(self) -> Table:
        """A row for each flow (``flows.parquet``).

        >>> import flowsieve as fs
        >>> res = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2).run()
        >>> "slowdown" in res.flows().columns
        True
        """
        return ParquetTable(self._file("flows.parquet"), keep=self)

    def coflows(self) -> Table:
        """A row for each coflow (``coflows.parquet``), if there are any.

        >>> import flowsieve as fs
        >>> exp = fs.Experiment.builtin("quickstart").set(pattern="incast", fan_in=4, flows=40, load=0.5, scheme="dctcp", seeds=1)
        >>> len(exp.run().coflows())
        10
        """
        return ParquetTable(self._file("coflows.parquet"), keep=self)

    def series(self) -> Table:
        """Series over time (``series.parquet``).

        >>> import flowsieve as fs
        >>> res = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2).run()
        >>> "flows under way" in {row["series"] for row in res.series()}
        True
        """
        return ParquetTable(self._file("series.parquet"), keep=self)

    def summary(self) -> Table:
        """Statistics by point and size class (``summary.csv``), with intervals over seeds.

        >>> import flowsieve as fs
        >>> res = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2).run()
        >>> row = next(row for row in res.summary() if row["size_class"] == "all")
        >>> row["fct_mean_us_low"] < row["fct_mean_us"] < row["fct_mean_us_high"]
        True
        """
        table = self._file("summary.csv")
        axes = self.experiment["points"][:1]
        swept = [re.sub("[^A-Za-z0-9]", "_", axis["key"]) for point in axes for axis in point["axes"]]
        shown = ["scheme", "load", *swept, "size_class", "flows", "unfinished", *_STATISTICS]
        return CsvTable(table, shown, keep=self)

    def plots(self) -> Table:
        """The numbers of every plot of the report (``plots.csv``), which :meth:`report` writes.

        >>> import flowsieve as fs
        >>> res = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2).run()
        >>> "y_unit" in res.plots().columns
        True
        """
        return CsvTable(self._file("plots.csv"), ("plot", "class", "series", "x", "y"), keep=self)

    def rows(self) -> list[dict[str, Any]]:
        """The rows of the summary as dicts: numbers are numbers, and None where there is nothing.

        >>> import flowsieve as fs
        >>> res = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2).run()
        >>> [row["load"] for row in res.rows() if row["size_class"] == "all"]
        [0.5, 0.5]
        """
        return list(self.summary())

    @takes(ReportOptions)
    def data(self, **options: Unpack[ReportOptions]) -> dict[str, Any]:
        """Conclusions, statistics by point and class, claims and findings, as ``flowsieve report --json`` has them.

        >>> import flowsieve as fs
        >>> res = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2).run()
        >>> res.data()["points"][0]["classes"][-1]["flows"]
        80
        """
        with given(ReportOptions, options, "x") as words:
            data: dict[str, Any] = json.loads(self._raw.data(words))
        return data

    def conclusions(self) -> list[str]:
        """The answers of the result, one sentence for each question.

        >>> import flowsieve as fs
        >>> res = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2).run()
        >>> "pias's mean FCT" in res.conclusions()[0]
        True
        """
        return [in_python(sentence) for sentence in self.data()["conclusions"]]

    def claims(self) -> list[dict[str, Any]]:
        """The claims of a paper, each with the measured value and the verdict.

        >>> import flowsieve as fs
        >>> fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, seeds=1).run().claims()
        []
        """
        claims: list[dict[str, Any]] = self.data().get("claims", [])
        return claims

    @takes(CompareOptions)
    def compare(
        self, value: str | float | None = None, baseline: str | float | None = None, **options: Unpack[CompareOptions]
    ) -> Comparison:
        """Two schemes over the same flows, paired by seed, with intervals; or two values of the swept setting ``vary``.

        Without values each is compared with the first. Values may be numbers, in bytes, bits a second or seconds: 30_000 finds
        ``30KB``.

        >>> import flowsieve as fs
        >>> exp = fs.Experiment.builtin("quickstart").set({"ecn_threshold": ["30KB", "60KB"]}, flows=40, load=0.5, scheme="dctcp")
        >>> print(exp.run().compare(60_000, 30_000, vary="ecn_threshold"))  # doctest: +ELLIPSIS
        ecn_threshold = 60KB / 30KB: FCT over the same flows, paired by seed...
        """
        raw = self._raw
        experiment, vary = self.experiment, options.get("vary")
        names = [value_name(experiment, "value", value, vary), value_name(experiment, "baseline", baseline, vary)]
        if (value is None) != (baseline is None):
            raise TypeError(f"value={value!r}, baseline={baseline!r}; expected both, or neither to compare each with the first")
        with given(CompareOptions, options, "vary", value=names[0], baseline=names[1]) as words:
            data, text = raw.compare(names[0], names[1], words)
        return Comparison(json.loads(data), text)

    def doctor(self) -> Findings:
        """What looks wrong: a sequence of :class:`Finding`. Callables of the schemes of this session are asked twice about the
        first flows, to see whether they are functions of their arguments.

        >>> import flowsieve as fs
        >>> res = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2).run()
        >>> any("send more flows" in finding.remedy for finding in res.doctor())
        True
        """
        data, text = self._raw.doctor()
        of_own = _functions.unsure(self._own, self.flows()) if self._own else []
        return _findings.of_result(json.loads(data)["findings"], text, of_own)

    def flow(self, which: str | int) -> FollowedFlow:
        """Follows a flow through the first seed of each point, which is made again for it: by its number, or ``"slowest"`` or
        ``"p99"`` by slowdown, optionally of a size class.

        >>> import flowsieve as fs
        >>> res = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=1).run()
        >>> res.flow("p99:0-100KB").svg[:4]
        '<svg'
        """
        calls = {name: function for scheme in self._own.values() for name, function in scheme.calls.items()}
        data, text, svg = self._raw.flow(str(which), calls)
        return FollowedFlow(json.loads(data), said=text, svg=svg)

    @takes(ReportOptions)
    def report(self, *, show: bool = False, **options: Unpack[ReportOptions]) -> Path:
        """Writes ``report.html`` and ``plots.csv``, and returns the page's path. ``show=True`` opens it in a browser.

        >>> import flowsieve as fs
        >>> res = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2).run()
        >>> res.report().name
        'report.html'
        """
        with given(ReportOptions, options, "x") as words:
            page = Path(self._raw.report(words))
        if show and not webbrowser.open(page.resolve().as_uri()):
            warnings.warn(f"no browser was found; the report is {page}", stacklevel=2)
        return page

    @takes(ExportOptions)
    def export(self, **options: Unpack[ExportOptions]) -> str:
        """Tables, figures or flows as text, as ``flowsieve export`` writes them. Without options: statistics as tidy CSV.

        >>> import flowsieve as fs
        >>> res = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2).run()
        >>> res.export(y="mean fct", class_="all").splitlines()[0].split(",")[0]
        'case'
        >>> res.export(what="figure", class_="0-100KB")[:4]
        '<svg'
        """
        if options.get("format") == "pdf":
            raise ExperimentError("format is 'pdf', which is no text; expected export_bytes(format=\"pdf\")", key="format")
        return self.export_bytes(**options).decode()

    @takes(ExportOptions)
    def export_bytes(self, **options: Unpack[ExportOptions]) -> bytes:
        """The same as bytes, for a file; a PDF is no text.

        >>> import flowsieve as fs
        >>> res = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2).run()
        >>> res.export_bytes(what="figure", format="pdf")[:5]
        b'%PDF-'
        """
        with given(ExportOptions, options) as words:
            return self._raw.export(words)

    def __str__(self) -> str:
        return in_python(self._raw.table())

    def __repr__(self) -> str:
        return f"Result({str(self.path)!r}): {self.title}"

    def _repr_html_(self) -> str:
        heading = f"<p><b>{html.escape(self.title)}</b></p>"
        return heading + _show.sentences(self.conclusions()) + self.summary()._html_of_shown()


def _state(path: Path) -> tuple[int, int, int]:
    state = path.stat()
    return state.st_ino, state.st_mtime_ns, state.st_size


def _unpickled(path: str | None, packed: bytes | None, own: Mapping[str, Scheme]) -> Result:
    if path is not None:
        return Result(path, _own=own)
    kept = Folder()
    with tarfile.open(fileobj=io.BytesIO(packed or b""), mode="r:") as archive:
        archive.extractall(kept.path / "result")
    return Result(kept.path / "result", _keep=kept, _own=own)


def _opened(path: str) -> _flowsieve.Outcome:
    try:
        return _flowsieve.Outcome.open(path)
    except ResultError as error:
        written = _version_of(Path(path) / _MANIFEST)
        here = _flowsieve.program()[0]
        if written is None or written == here:
            raise
        raise ResultError(f"{error}; it was written by flowsieve {written}, and this is flowsieve {here}") from None


def _version_of(manifest: Path) -> str | None:
    """The version of the program that wrote a manifest, if it says so."""
    try:
        return str(json.loads(manifest.read_text())["experiment"]["versions"]["flowsieve"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
