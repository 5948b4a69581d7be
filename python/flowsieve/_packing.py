"""Experiments with files of arrays: what they run has stable names for these files, so that keys and results do not depend on the
temporary folder that holds them."""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flowsieve import _flowsieve

_LIST, _TEXT = "bundle.json", "experiment.toml"


def name_of(path: Path) -> str:
    """A file's name after its content, next to its own."""
    return f"{path.stem}-{_flowsieve.digest(str(path))[:16]}{path.suffix}"


def relative(path: Path, folder: str) -> str:
    """The path from an experiment's folder on."""
    return os.path.relpath(os.path.realpath(path), os.path.realpath(folder))


def is_bundle(path: Path) -> bool:
    """Whether a file begins as bundles do."""
    try:
        with path.open("rb") as file:
            return file.read(len(_LIST)) == _LIST.encode()
    except OSError:
        return False


def listed(path: Path) -> dict[str, Any]:
    """What a bundle says of itself."""
    with tarfile.open(path, "r:") as bundle:
        described: dict[str, Any] = json.loads(_content(bundle, _LIST))
    return described


def unpacked(path: Path, folder: Path) -> tuple[str, str, dict[str, Any]]:
    """Puts a bundle's files into a folder; gives its text, the folder of its paths, and what it says of itself."""
    with tarfile.open(path, "r:") as bundle:
        described: dict[str, Any] = json.loads(_content(bundle, _LIST))
        # Paths that lead up stay within the folder.
        above = max((Path(each["path"]).parts.count("..") for each in described["files"]), default=0)
        inner = folder.joinpath("files", *map(str, range(above)))
        inner.mkdir(parents=True)
        for each in described["files"]:
            target = Path(os.path.normpath(inner / each["path"]))
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(_content(bundle, each["blake3"]))
        return _content(bundle, _TEXT).decode(), str(inner), described


def rename(path: Path, names: Mapping[str, str]) -> None:
    """Renames files of a bundle everywhere in it."""
    with tarfile.open(path, "r:") as bundle:
        content = [(member.name, _content(bundle, member.name)) for member in bundle.getmembers()]
    described = json.loads(content[0][1])
    for each in described["files"]:
        each["path"] = names.get(each["path"], each["path"])
    described["sets"] = [_renamed(each, names) for each in described["sets"]]
    described["files"].sort(key=lambda each: each["path"])
    content[0] = (_LIST, json.dumps(described).encode())
    content[1] = (_TEXT, _renamed(content[1][1].decode(), names).encode())
    with tarfile.open(path, "w:", format=tarfile.USTAR_FORMAT) as bundle:
        for name, each in content:
            member = tarfile.TarInfo(name)
            member.size = len(each)
            member.mode = 0o644
            bundle.addfile(member, io.BytesIO(each))


def _renamed(text: str, names: Mapping[str, str]) -> str:
    for old, new in names.items():
        text = text.replace(old, new)
    return text


def _content(bundle: tarfile.TarFile, name: str) -> bytes:
    file = bundle.extractfile(name)
    assert file is not None, "a bundle holds files alone"
    return file.read()
