"""Flow lists with recorded features, as CSV.

A row is `start_s,src,dst,bytes` and any of `class`, `deadline_s`, `coflow`, `lower`, `upper`, `predicted` and
`feature:NAME`, whose values are whole numbers. The header is needed, because it names the features; `#` starts a comment line.
"""

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import TextIO

import numpy as np

from flowsieve_forest import InputError

REQUIRED = ["start_s", "src", "dst", "bytes"]
OPTIONAL = ["deadline_s", "coflow", "class", "lower", "upper", "predicted"]
FEATURE = "feature:"
MOST = 2**64 - 1


@dataclass
class FlowList:
    """The flows of a list in the order of its rows; numbers of 64 bits without sign."""

    path: str
    header: list[str]
    rows: list[list[str]]
    start_ps: np.ndarray
    sizes: np.ndarray
    features: dict[str, np.ndarray]

    def by_time(self) -> np.ndarray:
        """The rows' numbers in the order of their starts; flows that start together keep theirs."""
        return np.argsort(self.start_ps, kind="stable")

    def matrix(self, names: list[str]) -> np.ndarray:
        """A row for each flow, a column for each of these features."""
        for name in names:
            if name not in self.features:
                known = ", ".join(self.features) or "none"
                raise InputError(f"{self.path}:1: no column `{FEATURE}{name}`; features of this list: {known}")
        return np.column_stack([self.features[name] for name in names])


def read(path: str) -> FlowList:
    """The flows of a file."""
    try:
        with open(path, encoding="utf-8") as file:
            return parse(path, file)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error


def parse(path: str, lines) -> FlowList:
    """The flows of lines, which errors call `path`."""
    header, rows, numbers = None, [], []
    for line_number, line in enumerate(lines, 1):
        fields = line.strip().split(",")
        if fields == [""] or line.startswith("#"):
            continue
        fields = [field.strip() for field in fields]
        if header is None:
            header = fields
            _check(f"{path}:{line_number}", header)
            continue
        if len(fields) != len(header):
            raise InputError(f"{path}:{line_number}: columns: {len(fields)}; expected {len(header)}")
        try:
            numbers.append([_number(name, field) for name, field in zip(header, fields)])
        except ValueError:
            raise _wrong(path, line_number, line, header) from None
        rows.append(fields)
    if not rows:
        raise InputError(f"{path}: no flows; expected a header with `feature:NAME` columns and a row for each flow")
    columns = dict(zip(header, zip(*numbers)))
    features = {name.removeprefix(FEATURE): name for name in header if name.startswith(FEATURE)}
    return FlowList(
        path=path,
        header=header,
        rows=rows,
        start_ps=np.array(columns["start_s"], dtype=np.uint64),
        sizes=np.array(columns["bytes"], dtype=np.uint64),
        features={name: np.array(columns[column], dtype=np.uint64) for name, column in features.items()},
    )


def write(
    file: TextIO, flows: FlowList, chosen: np.ndarray, columns: dict[str, np.ndarray], brief: bool = False
) -> None:
    """Writes the chosen rows into a file, in the order of columns that Flowsieve writes; `columns` have a value for each of
    the rows and replace what the list had. `brief`: these alone, and the sizes."""
    order = ["bytes", *columns] if brief else [*REQUIRED, *OPTIONAL, *(FEATURE + name for name in flows.features)]
    names = [name for name in order if name in columns or name in flows.header]
    of_list = {name: number for number, name in enumerate(flows.header)}
    file.write(",".join(names) + "\n")
    for position, row in enumerate(chosen):
        fields = [columns[name][position] if name in columns else flows.rows[row][of_list[name]] for name in names]
        if not brief:
            fields[0] = _seconds(int(flows.start_ps[row]))
        file.write(",".join(map(str, fields)) + "\n")
    file.flush()


def _seconds(ps: int) -> str:
    """With as many decimals as they need."""
    seconds, rest = divmod(ps, 10**12)
    return f"{seconds}.{rest:012}".rstrip("0").rstrip(".")


def _check(place: str, header: list[str]) -> None:
    for name in REQUIRED:
        if name not in header:
            raise InputError(f"{place}: no column `{name}`; expected a header `{','.join(REQUIRED)},{FEATURE}NAME,...`")
    for number, name in enumerate(header):
        if name in header[:number]:
            raise InputError(f"{place}: column `{name}` comes twice")
        if name not in REQUIRED + OPTIONAL and not name.removeprefix(FEATURE) != name:
            raise InputError(f"{place}: unknown column `{name}`; expected one of {', '.join(OPTIONAL)}, {FEATURE}NAME")


def _number(name: str, field: str) -> int | None:
    """A field that training reads; ValueError where it is not a number of its range."""
    if name.startswith(FEATURE) or name == "bytes":
        # int() would take signs, blanks and underscores, too.
        if not (field.isascii() and field.isdigit()):
            raise ValueError
        number = int(field)
        if number > MOST or (name == "bytes" and number == 0):
            raise ValueError
        return number
    if name == "start_s":
        try:
            start = (Decimal(field) * 10**12).to_integral_value(ROUND_HALF_UP)
            if not 0 <= start <= MOST:
                raise ValueError
        except ArithmeticError:
            # No number, or one whose exponent already is too large to be kept.
            raise ValueError from None
        return int(start)
    return None


def _wrong(path: str, line_number: int, line: str, header: list[str]) -> InputError:
    """The error of the first field of a line that is no number."""
    column = 1
    for name, field in zip(header, line.rstrip("\n").split(",")):
        try:
            _number(name, field.strip())
        except ValueError:
            expected = {"start_s": "decimal seconds from 0", "bytes": f"a whole number from 1 to {MOST}"}
            wanted = expected.get(name, f"a whole number from 0 to {MOST}")
            return InputError(f"{path}:{line_number}:{column}: {name} is `{field.strip()}`; expected {wanted}")
        column += len(field) + 1
    return InputError(f"{path}:{line_number}: not a row of this list")
