"""What the tests of clusters share."""

from __future__ import annotations

import os
from pathlib import Path

# Whatever Ray has left in this home: nodes and driver of a test are of one mind.
os.environ["RAY_AUTH_MODE"] = "disabled"


def files(folder: Path) -> dict[str, bytes]:
    """The bytes of every file of a result but ``run.json``, by path."""
    found = (path for path in Path(folder).rglob("*") if path.is_file() and path.name != "run.json")
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}
