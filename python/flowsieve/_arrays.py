"""Arrays as settings: of numpy, Arrow, polars and pandas, lists and ranges; checked, and written to files where the experiment takes one."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flowsieve import _flowsieve
from flowsieve._folders import Folder
from flowsieve.errors import ExperimentError

MOST_BYTES = 2**53
"""Whole numbers up to here are exact in every format and library."""

_COLUMNS = ("size_bytes", "cdf")


def plain(value: Any) -> Any:
    """An array as a list, a scalar of numpy as a number; anything else as it is."""
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(value, method) and not isinstance(value, (str, bytes, Mapping)):
            return getattr(value, method)()
    return list(value) if isinstance(value, range) else value


def is_array(value: Any) -> bool:
    """Whether it is an array of a library, a range, or a list of numbers: a list of texts makes a sweep."""
    if isinstance(value, (list, tuple)):
        return bool(value) and any(_is_number(each) for each in value)
    if isinstance(value, (str, bytes, Mapping)) or is_table(value):
        return False
    # A scalar of numpy has a shape, too: an empty one.
    return isinstance(value, range) or (hasattr(value, "__len__") or hasattr(value, "shape") and value.shape != ()) and (
        any(hasattr(value, method) for method in ("to_pylist", "to_list", "tolist"))
    )


def is_table(value: Any) -> bool:
    """Whether it has columns: a DataFrame, a table of Arrow, or a dict of lists."""
    if isinstance(value, Mapping):
        return any(isinstance(each, (list, tuple, range)) or is_array(each) for each in value.values())
    return not isinstance(value, type) and (hasattr(value, "column_names") or hasattr(value, "columns"))


def is_list_of_flows(value: Any) -> bool:
    """Whether it is a table, or the list of :class:`flowsieve.Flows`."""
    return is_table(value) or hasattr(value, "__arrow_c_stream__") and hasattr(value, "path")


def is_file_of(name: str, value: Any) -> bool:
    """Whether the setting is given an array that has to be in a file."""
    if isinstance(value, (list, tuple)) and not value:
        return True
    is_pairs = name == "cdf" and isinstance(value, (list, tuple)) and not _texts(value)
    return is_array(value) or is_table(value) or is_pairs


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, complex)) or hasattr(value, "dtype") or value is None


def _items(name: str, values: Any) -> list[Any]:
    shape = getattr(values, "shape", None)
    if isinstance(shape, tuple) and len(shape) != 1:
        raise ExperimentError(f"{name} has the shape {shape}; expected one dimension", expected="one dimension", key=name)
    dtype = getattr(values, "dtype", getattr(values, "type", None))
    found = plain(values)
    if not isinstance(found, Sequence) or isinstance(found, (str, bytes)):
        raise TypeError(f"{name} is of the type {type(values).__name__}; expected an array or a list of numbers")
    if not found:
        raise ExperimentError(f"{name} is empty; expected at least one value", expected="at least one value", kind="empty", key=name)
    if dtype is not None and str(dtype) in ("bool", "Boolean"):
        raise TypeError(f"{name} is of the type {dtype}; expected numbers")
    return list(found)


def numbers(name: str, values: Any) -> list[float]:
    """Finite numbers."""
    return [float(_number(name, at, value)) for at, value in enumerate(_items(name, values))]


def whole_bytes(name: str, values: Any) -> list[int]:
    """Sizes in bytes, 1 to 2**53: whole numbers, also as floats."""
    return [_bytes(name, at, value) for at, value in enumerate(_items(name, values))]


def _bytes(name: str, at: int, value: Any) -> int:
    number = _number(name, at, value)
    if isinstance(number, float) and number != int(number):
        raise _wrong(name, at, value, "a whole number of bytes")
    if not 1 <= number <= MOST_BYTES:
        raise _wrong(name, at, value, "1 to 2**53 bytes")
    return int(number)


def _number(name: str, at: int, value: Any) -> int | float:
    if isinstance(value, (list, tuple)):
        raise ExperimentError(f"{name}[{at}] is a list; expected one dimension", expected="one dimension", key=name)
    if isinstance(value, bool) or not (isinstance(value, float) or hasattr(value, "__index__") or hasattr(value, "dtype")):
        if value is None:
            raise _wrong(name, at, value, "a number")
        raise TypeError(f"{name}[{at}] is of the type {type(value).__name__}; expected a number")
    number: int | float = plain(value)
    if not isinstance(number, (int, float)):
        number = operator.index(number)
    if number != number or number in (float("inf"), float("-inf")):
        raise _wrong(name, at, value, "a finite number")
    return number


def _wrong(name: str, at: int, value: Any, expected: str) -> ExperimentError:
    return ExperimentError(f"{name}[{at}] = {value}; expected {expected}", expected=expected, kind="value", key=name)


def _sizes_file(name: str, values: Any, folder: Folder) -> Path:
    """Measured sizes, as a file that lives as long as the folder."""
    path = folder.path / f"{name}.csv"
    packed = _packed(values)
    _flowsieve.write_sizes(str(path), array("q", whole_bytes(name, values)).tobytes() if packed is None else packed)
    return path


def _packed(values: Any) -> bytes | None:
    """Sizes of an array or a range as 64-bit integers, if all are right: one by one is slow, but says which are not."""
    if isinstance(values, (list, tuple)):
        return None
    try:
        import numpy
    except ModuleNotFoundError:
        return None
    if isinstance(values, numpy.ma.MaskedArray):
        return None
    found = numpy.asarray(values)
    if found.dtype.kind not in "iuf" or found.ndim != 1 or not found.size or not 1 <= found.min() <= found.max() <= MOST_BYTES:
        return None
    whole = found.astype(numpy.int64)
    return whole.tobytes() if (whole == found).all() else None


def _cdf_file(name: str, values: Any, folder: Folder) -> Path:
    """A distribution of sizes, as a file: a table with ``size_bytes`` and ``cdf``, or an array with two columns."""
    pairs = _pairs(name, values)
    if not pairs:
        raise ExperimentError(f"{name} is empty; expected at least one row", expected="at least one row", kind="empty", key=name)
    sizes = whole_bytes(name, [size for size, _ in pairs])
    shares = [_number(name, at, share) for at, (_, share) in enumerate(pairs)]
    for at, share in enumerate(shares):
        if not 0 <= share <= 1:
            raise _wrong(name, at, share, "a share, 0 to 1")
        if at > 0 and share < shares[at - 1]:
            raise _wrong(name, at, share, f"a share that is not below the one before, {shares[at - 1]}")
        if at > 0 and sizes[at] < sizes[at - 1]:
            raise _wrong(name, at, sizes[at], f"a size that is not below the one before, {sizes[at - 1]}")
    path = folder.path / f"{name}.csv"
    path.write_text("size_bytes,cdf\n" + "".join(f"{size},{share!r}\n" for size, share in zip(sizes, shares)))
    return path


def _pairs(name: str, values: Any) -> list[tuple[Any, Any]]:
    if is_table(values):
        columns = [str(each) for each in getattr(values, "column_names", getattr(values, "columns", values))]
        missing = [each for each in _COLUMNS if each not in columns]
        if missing:
            expected = " and ".join(_COLUMNS)
            raise ExperimentError(f"{name} has no column {', '.join(missing)}; expected {expected}", expected=expected, key=name)
        size, share = (plain(values[each]) for each in _COLUMNS)
        if len(size) != len(share):
            raise ExperimentError(f"{name}: the columns differ in length: size_bytes {len(size)}, cdf {len(share)}", key=name)
        return list(zip(size, share))
    rows = plain(values)
    if not isinstance(rows, Sequence) or isinstance(rows, (str, bytes)):
        raise TypeError(f"{name} is of the type {type(values).__name__}; expected a table or an array with two columns")
    if not all(isinstance(row, (list, tuple)) and len(row) == 2 for row in rows):
        shape = getattr(values, "shape", None)
        said = f" has the shape {shape}" if shape is not None else " has a row that is no pair"
        raise ExperimentError(f"{name}{said}; expected two columns: size in bytes, and share", expected="two columns", key=name)
    return [(row[0], row[1]) for row in rows]


def path_or(name: str, value: Any, folder: Folder) -> Any:
    """What a file's setting is given: the value as it is, or the path of a file in the folder with the array that it is."""
    if not is_file_of(name, value):
        return value
    if name == "cdf":
        return _cdf_file(name, value, folder)
    if is_table(value):
        raise TypeError(f"{name} is a table; expected one of its columns, or cdf= for a distribution")
    return _sizes_file(name, value, folder)


def _texts(value: Sequence[Any]) -> bool:
    return all(isinstance(each, (str, Path)) for each in value)


def setting(name: str, value: Any) -> Any:
    """The value of any other setting: arrays as lists; sizes in bytes, such as thresholds, are checked."""
    if name in ("thresholds", "host_thresholds", "initial_thresholds", "size_classes") and is_array(value):
        # A file's sizes have units.
        return [f"{each}B" for each in whole_bytes(name, value)]
    made = plain(value)
    if isinstance(made, list) and any(isinstance(each, (list, tuple)) for each in made):
        raise ExperimentError(f"{name} has a list in its list; expected one dimension", expected="one dimension", key=name)
    if isinstance(made, (list, tuple)) and not made:
        raise ExperimentError(f"{name} is empty; expected at least one value", expected="at least one value", kind="empty", key=name)
    return made
