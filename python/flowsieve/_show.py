"""Tables for reading: as text, and as HTML for notebooks; a value and its interval share a cell."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

Rows = Sequence[Mapping[str, Any]]

ROWS = 10
"""Rows of a table that are shown."""

_WIDTH = 110
_CELL_WIDTH = 60
_COLUMNS = 14
_CUT = "…"
_NOTHING = "–"
_CELL = "text-align:{side};padding:0.2em 0.6em"


def merged(names: Sequence[str]) -> list[str]:
    """The columns without the ends of intervals, which stand with their values."""
    every = set(names)
    return [name for name in names if not any(name == f"{other}{end}" for other in every for end in ("_low", "_high"))]


def number(value: Any) -> str:
    """A value for reading: four digits of a fraction, all of a whole number, and no more of a dict than that it is one."""
    if value is None:
        return _NOTHING
    if isinstance(value, Mapping):
        return f"{{{_CUT}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(number, value))}]"
    if not isinstance(value, float):
        return str(value)
    if value != value or value in (float("inf"), float("-inf")):
        return str(value)
    if abs(value) >= 1000:
        return f"{value:.0f}"
    short = f"{value:.4g}"
    return f"{value:.2e}" if "e" in short else short


def cell(row: Mapping[str, Any], name: str) -> str:
    """A value with its interval, if it has one."""
    low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
    shown = number(row[name])
    return shown if low is None or high is None else f"{shown} ({number(low)}–{number(high)})"


def _is_number(rows: Rows, name: str) -> bool:
    return all(row[name] is None or isinstance(row[name], (int, float)) for row in rows)


def text(heading: str, names: Sequence[str], rows: Rows, length: int) -> str:
    """A heading, then the first rows, aligned; columns and rows that do not fit are counted."""
    names = merged(names)
    lines = [""] * (len(rows) + 1)
    shown = 0
    for name in names:
        cells = [name, *(_short(cell(row, name)) for row in rows)]
        width = max(map(len, cells))
        if shown and len(lines[0]) + 2 + width > _WIDTH:
            break
        right = _is_number(rows, name)
        gap = "  " if shown else ""
        lines = [line + gap + (each.rjust(width) if right else each.ljust(width)) for line, each in zip(lines, cells)]
        shown += 1
    left = [f"{length - len(rows)} more rows"] if length > len(rows) else []
    left += [f"more columns: {_some(names[shown:])}"] if shown < len(names) else []
    said = [heading, *(line.rstrip() for line in lines), *([f"{_CUT} {'; '.join(left)}"] if left else [])]
    return "\n".join(said)


def _short(text: str) -> str:
    return text if len(text) <= _CELL_WIDTH else text[: _CELL_WIDTH - 1] + _CUT


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} others" if len(names) > 3 else "")


def table(names: Sequence[str], rows: Rows, length: int, caption: str = "") -> str:
    """The first rows as a table of HTML."""
    names = merged(names)
    cut = len(names) > _COLUMNS
    columns = names[:_COLUMNS]
    sides = {name: "right" if _is_number(rows, name) else "left" for name in columns}
    heads = [f'<th scope="col" style="{_CELL.format(side=sides[name])}">{html.escape(name)}</th>' for name in columns]
    body = []
    for row in rows:
        cells = [f'<td style="{_CELL.format(side=sides[name])}">{html.escape(cell(row, name))}</td>' for name in columns]
        body.append(f"<tr>{''.join(cells)}{f'<td>{_CUT}</td>' if cut else ''}</tr>")
    left = [f"{length - len(rows)} more rows"] if length > len(rows) else []
    left += [f"more columns: {_some(names[_COLUMNS:])}"] if cut else []
    after = f"<p>{html.escape(_CUT + ' ' + '; '.join(left))}</p>" if left else ""
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return (
        f'<div style="overflow-x:auto"><table>{title}<thead><tr>{"".join(heads)}{"<th></th>" if cut else ""}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>{after}"
    )


def sentences(every: Sequence[str]) -> str:
    """Sentences as a list of HTML."""
    return "<ul>" + "".join(f"<li>{html.escape(sentence)}</li>" for sentence in every) + "</ul>" if every else ""


def preformatted(text: str) -> str:
    """A text of the command, for a notebook."""
    return f"<pre>{html.escape(text)}</pre>"
