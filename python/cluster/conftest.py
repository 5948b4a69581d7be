"""What the tests of clusters share."""

from __future__ import annotations

from pathlib import Path


def files(folder: Path) -> dict[str, bytes]:
    """The bytes of every file of a result but ``run.json``, by path."""
    found = (path for path in Path(folder).rglob("*") if path.is_file() and path.name != "run.json")
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}
