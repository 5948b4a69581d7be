"""Tables: nothing is read before it is used, and then by the library that you choose."""

from __future__ import annotations

import importlib.util
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from flowsieve import _columns, _flowsieve, _show
from flowsieve._columns import FRACTION, TEXT, WHOLE
from flowsieve._folders import PathLike
from flowsieve._missing import library
from flowsieve.errors import ResultError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

_BATCH = 1 << 16


class Table:
    """A table of a result. Nothing is read before it is used.

    It is a stream of Arrow (``__arrow_c_stream__``), which polars, pyarrow, pandas and DuckDB take as it is. As a sequence it has
    rows as dicts: numbers are numbers, and None where there is nothing.

    >>> import flowsieve as fs
    >>> res = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2).run()
    >>> table = res.summary()
    >>> len(table), table[0]["scheme"], [row["load"] for row in table[-2:]]
    (8, 'dctcp', [0.5, 0.5])
    >>> print(table)  # doctest: +ELLIPSIS
    summary.csv: 8 rows, 83 columns
    scheme  load  size_class  flows  unfinished ...
    """

    def __init__(self, name: str, shown: Sequence[str] | None = None, *, keep: object = None) -> None:
        self._name = name
        self._shown = shown
        # What has to be there as long as the table: the folder of its file.
        self._keep = keep

    @property
    def path(self) -> Path | None:
        """Its file, if it is one.

        >>> import flowsieve as fs
        >>> fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, seeds=1).run().summary().path.name
        'summary.csv'
        """
        return None

    @property
    def columns(self) -> list[str]:
        """The names of its columns.

        >>> import flowsieve as fs
        >>> fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, seeds=1).run().summary().columns[:3]
        ['point', 'scheme', 'load']
        """
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def __iter__(self) -> Iterator[dict[str, Any]]:
        raise NotImplementedError

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...

    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(index, slice):
            at = range(len(self))[index]
            some = list(islice(self._between(min(at, default=0), max(at, default=-1) + 1), None, None, abs(at.step)))
            return some if at.step > 0 else some[::-1]
        place = operator.index(index)
        place += len(self) if place < 0 else 0
        found = list(self._between(place, place + 1)) if place >= 0 else []
        if not found:
            raise IndexError(f"{self._name}: there is no row {index} among {len(self)}")
        return found[0]

    def _between(self, first: int, end: int) -> Iterator[dict[str, Any]]:
        """Rows from a first one up to another."""
        return islice(self, first, end)

    def __bool__(self) -> bool:
        return True

    def head(self, rows: int = _show.ROWS) -> list[dict[str, Any]]:
        """The first rows, as dicts.

        >>> import flowsieve as fs
        >>> fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, seeds=1).run().flows().head(2)[1]["flow"]
        1
        """
        return list(self._between(0, rows))

    def lazy(self) -> polars.LazyFrame:
        """A ``polars.LazyFrame``: of a large table only what a query needs is read.

        >>> import flowsieve as fs, polars as pl
        >>> res = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2).run()
        >>> res.flows().lazy().select(pl.len()).collect().item()
        160
        """
        return self.to_polars().lazy()

    def to_polars(self) -> polars.DataFrame:
        """A ``polars.DataFrame``.

        >>> import flowsieve as fs
        >>> res = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2).run()
        >>> res.flows().to_polars().height
        160
        """
        raise NotImplementedError

    def to_pandas(self) -> pandas.DataFrame:
        """A ``pandas.DataFrame``.

        >>> import flowsieve as fs
        >>> res = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2).run()
        >>> len(res.flows().to_pandas())
        160
        """
        raise NotImplementedError

    def to_arrow(self) -> pyarrow.Table:
        """A ``pyarrow.Table``.

        >>> import flowsieve as fs
        >>> res = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2).run()
        >>> res.flows().to_arrow().num_rows
        160
        """
        raise NotImplementedError

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        # Who takes a stream has one of the two, as a rule.
        made = self.to_arrow() if _is_there("pyarrow") else self.to_polars()
        stream: object = made.__arrow_c_stream__(requested_schema)
        return stream

    def _heading(self) -> str:
        rows = len(self)
        return f"{self._name}: {rows} row{'' if rows == 1 else 's'}, {len(self.columns)} columns"

    def _order(self) -> list[str]:
        """The columns as they are shown: first those that are asked for most."""
        names = self.columns
        first = [name for name in self._shown or () if name in names]
        return first + [name for name in names if name not in first]

    def __repr__(self) -> str:
        try:
            return _show.text(self._heading(), self._order(), self.head(), len(self))
        except ModuleNotFoundError as error:
            return f"{self._name}: {error}"

    def _html_of_shown(self) -> str:
        """The columns that are asked for most, and no others."""
        shown = [name for name in self.columns if name in _with_ends(self._shown or self.columns)]
        return _show.table([name for name in self._order() if name in shown], self.head(), len(self), self._heading())

    def _repr_html_(self) -> str:
        try:
            return _show.table(self._order(), self.head(), len(self), self._heading())
        except ModuleNotFoundError as error:
            return _show.preformatted(f"{self._name}: {error}")


def _with_ends(names: Sequence[str]) -> set[str]:
    return {f"{name}{end}" for name in names for end in ("", "_low", "_high")}


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ValueError:
        return False


class _FileTable(Table):
    """A table of a file that exists."""

    def __init__(self, path: PathLike, shown: Sequence[str] | None = None, *, keep: object = None) -> None:
        self._path = existing(path)
        super().__init__(self._path.name, shown, keep=keep)

    @property
    def path(self) -> Path:
        return self._path


class ParquetTable(_FileTable):
    """A Parquet file."""

    def _reader(self) -> Any:
        """A library that reads rows: pyarrow, or else polars."""
        return library("pyarrow.parquet") if _is_there("pyarrow") else None

    @property
    def columns(self) -> list[str]:
        arrow = self._reader()
        if arrow is not None:
            return list(map(str, arrow.read_schema(existing(self.path)).names))
        return list(self.lazy().collect_schema().names())

    def __len__(self) -> int:
        arrow = self._reader()
        if arrow is not None:
            return int(arrow.read_metadata(existing(self.path)).num_rows)
        return int(self.lazy().select(library("polars").len()).collect().item())

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self._between(0, sys.maxsize)

    def _between(self, first: int, end: int) -> Iterator[dict[str, Any]]:
        arrow = self._reader()
        if arrow is not None:
            file = arrow.ParquetFile(existing(self.path))
            ends = list(accumulate(file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)))
            groups = [group for group, after in enumerate(ends) if after > first]
            at = ends[groups[0]] - file.metadata.row_group(groups[0]).num_rows if groups else 0
            for some in file.iter_batches(batch_size=_BATCH, row_groups=groups):
                if at >= end:
                    return
                yield from some.slice(max(0, first - at), max(0, end - max(at, first))).to_pylist()
                at += some.num_rows
            return
        frame = self.lazy()
        for start in range(first, min(end, len(self)), _BATCH):
            yield from frame.slice(start, min(_BATCH, end - start)).collect().to_dicts()

    def lazy(self) -> polars.LazyFrame:
        pl = library("polars")
        path = existing(self.path)
        if getattr(self._keep, "is_temporary", False):
            return _lazy_and_kept(pl, path, self._keep)
        made: polars.LazyFrame = pl.scan_parquet(path)
        return made

    def to_polars(self) -> polars.DataFrame:
        made: polars.DataFrame = library("polars").read_parquet(existing(self.path))
        return made

    def to_pandas(self) -> pandas.DataFrame:
        made: pandas.DataFrame = library("pandas").read_parquet(existing(self.path))
        return made

    def to_arrow(self) -> pyarrow.Table:
        made: pyarrow.Table = library("pyarrow.parquet").read_table(existing(self.path))
        return made

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return _flowsieve.arrow_stream(existing(self.path))


def _lazy_and_kept(pl: Any, path: Path, keep: object) -> polars.LazyFrame:
    """A scan that keeps the result whose temporary folder holds the file."""

    def read(columns: list[str] | None, predicate: Any, rows: int | None, batch: int | None) -> Iterator[Any]:
        assert keep is not None
        frame = pl.scan_parquet(path)
        frame = frame if rows is None else frame.head(rows)
        frame = frame if predicate is None else frame.filter(predicate)
        yield (frame if columns is None else frame.select(columns)).collect()

    made: polars.LazyFrame = library("polars.io.plugins").register_io_source(read, schema=pl.read_parquet_schema(path))
    return made


class CsvTable(_FileTable):
    """A CSV file, with the types of its columns."""

    def __init__(self, path: PathLike, shown: Sequence[str] | None = None, *, keep: object = None) -> None:
        super().__init__(path, shown, keep=keep)
        self._known: dict[str, str] | None = None

    @property
    def _kinds(self) -> dict[str, str]:
        if self._known is None:
            self._known = _columns.kinds_of(existing(self.path))
        return self._known

    @property
    def columns(self) -> list[str]:
        return _columns.names_of(existing(self.path))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return _columns.rows_of(existing(self.path), self._kinds)

    def to_polars(self) -> polars.DataFrame:
        pl = library("polars")
        types = {WHOLE: pl.Int64, FRACTION: pl.Float64, TEXT: pl.String}
        made: polars.DataFrame = pl.read_csv(existing(self.path), schema={name: types[kind] for name, kind in self._kinds.items()})
        return made

    def to_pandas(self) -> pandas.DataFrame:
        types = {WHOLE: "Int64", FRACTION: "float64", TEXT: "str"}
        kinds = {name: types[kind] for name, kind in self._kinds.items()}
        made: pandas.DataFrame = library("pandas").read_csv(existing(self.path), dtype=kinds, keep_default_na=False, na_values=[""])
        return made

    def to_arrow(self) -> pyarrow.Table:
        pa, csv = library("pyarrow"), library("pyarrow.csv")
        types = {WHOLE: pa.int64(), FRACTION: pa.float64(), TEXT: pa.string()}
        kinds = {name: types[kind] for name, kind in self._kinds.items()}
        options = csv.ConvertOptions(column_types=kinds, null_values=[""], strings_can_be_null=True)
        made: pyarrow.Table = csv.read_csv(existing(self.path), convert_options=options)
        return made


class RowsTable(Table):
    """Rows that are computed when they are first used."""

    def __init__(
        self,
        name: str,
        kinds: Mapping[str, str],
        *,
        rows: Callable[[], list[dict[str, Any]]],
        shown: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, shown)
        self._kinds = dict(kinds)
        self._make = rows
        self._made: list[dict[str, Any]] | None = None

    @property
    def _all(self) -> list[dict[str, Any]]:
        if self._made is None:
            self._made = self._make()
        return self._made

    @property
    def columns(self) -> list[str]:
        return list(self._kinds)

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter([dict(row) for row in self._all])

    def _values(self) -> dict[str, list[Any]]:
        return {name: [row[name] for row in self._all] for name in self._kinds}

    def to_polars(self) -> polars.DataFrame:
        pl = library("polars")
        types = {WHOLE: pl.Int64, FRACTION: pl.Float64, TEXT: pl.String}
        made: polars.DataFrame = pl.DataFrame(self._values(), schema={name: types[kind] for name, kind in self._kinds.items()})
        return made

    def to_pandas(self) -> pandas.DataFrame:
        pd = library("pandas")
        types = {WHOLE: "Int64", FRACTION: "float64", TEXT: "object"}
        values = self._values().items()
        made: pandas.DataFrame = pd.DataFrame({name: pd.Series(each, dtype=types[self._kinds[name]]) for name, each in values})
        return made

    def to_arrow(self) -> pyarrow.Table:
        pa = library("pyarrow")
        types = {WHOLE: pa.int64(), FRACTION: pa.float64(), TEXT: pa.string()}
        made: pyarrow.Table = pa.table({name: pa.array(each, types[self._kinds[name]]) for name, each in self._values().items()})
        return made


class ListTable(list[dict[str, Any]], Table):
    """Rows that are there, also as the list that they are. Cells may be lists and dicts."""

    def __init__(self, name: str, rows: Iterable[Mapping[str, Any]], shown: Sequence[str] | None = None) -> None:
        rows = list(rows)
        names = dict.fromkeys(name for row in rows for name in row)
        list.__init__(self, ({name: row.get(name) for name in names} for row in rows))
        Table.__init__(self, name, shown)

    @property
    def columns(self) -> list[str]:
        return list(self[0]) if self else []

    def __bool__(self) -> bool:
        return len(self) > 0

    # What a list is, but for its looks.
    def __repr__(self) -> str:
        return Table.__repr__(self)

    def to_polars(self) -> polars.DataFrame:
        made: polars.DataFrame = library("polars").DataFrame(list(self), infer_schema_length=None)
        return made

    def to_pandas(self) -> pandas.DataFrame:
        made: pandas.DataFrame = library("pandas").DataFrame(list(self))
        return made

    def to_arrow(self) -> pyarrow.Table:
        made: pyarrow.Table = library("pyarrow").Table.from_pylist(list(self))
        return made


def existing(path: PathLike) -> Path:
    """The path of a file that is there."""
    path = Path(path)
    if path.is_file():
        return path
    if not path.parent.is_dir():
        raise ResultError(f"{path.parent}: the folder is gone; expected it as long as its tables are used")
    raise ResultError(f"{path}: there is no such table in this result")
