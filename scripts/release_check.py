#!/usr/bin/env python3
"""Compares what is to be published with its tag: the version, and with a folder the names of the files in it.

scripts/release_check.py TAG [FOLDER]
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLATFORMS = ("manylinux_*_x86_64", "manylinux_*_aarch64", "macosx_*_x86_64", "macosx_*_arm64")


def version() -> str:
    """The version of every crate, and so of the package."""
    with (ROOT / "Cargo.toml").open("rb") as file:
        return str(tomllib.load(file)["workspace"]["package"]["version"])


def problems(tag: str, folder: Path | None) -> list[str]:
    """What is wrong, a sentence each."""
    here = version()
    found = []
    if tag != f"v{here}":
        found.append(f"the tag {tag} is not v{here}, the version in Cargo.toml")
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    if cited is not None and cited[1].strip("\"'") != here:
        found.append(f"CITATION.cff has the version {cited[1]}; expected {here}")
    if folder is None:
        return found
    if not folder.is_dir():
        return [*found, f"{folder} is not a folder"]
    expected = {f"flowsieve-{here}.tar.gz": re.escape(f"flowsieve-{here}.tar.gz")}
    for platform in PLATFORMS:
        name = f"flowsieve-{here}-cp310-abi3-{platform}.whl"
        expected[name] = re.escape(name).replace(r"\*", r"\d+_\d+")
    names = sorted(path.name for path in folder.iterdir())
    for name, pattern in expected.items():
        matching = [each for each in names if re.fullmatch(pattern, each)]
        if len(matching) != 1:
            found.append(f"{folder} has {len(matching)} files {name}; expected one")
        names = [each for each in names if each not in matching]
    return [*found, *(f"{folder}/{name} is not meant to be published" for name in names)]


def main() -> int:
    if len(sys.argv) not in (2, 3):
        print("usage: scripts/release_check.py TAG [FOLDER]", file=sys.stderr)
        return 2
    found = problems(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) == 3 else None)
    for problem in found:
        print(f"release_check: {problem}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
