"""What it means that a forest file is made again.

On the platform and with the versions that committed files were made on they are the same bytes. Elsewhere they have the same
header, features, splits and leaves, so they say the same bounds; the texts of their libraries and their checksums may differ.
"""

import platform
import struct
import tomllib
from pathlib import Path

import numpy as np
import sklearn

from flowsieve_forest import forest_file


def pinned() -> bool:
    """Whether this is the platform, with the versions, that the committed files were made on."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    versions = [f"numpy=={np.__version__}", f"scikit-learn=={sklearn.__version__}"]
    on = (platform.system(), platform.machine()) == ("Linux", "x86_64")
    return on and all(version in project["dependencies"] for version in versions)


def parts(encoded: bytes) -> dict[str, object]:
    """What a file says, by what it is, but for its length, its libraries and its checksum."""
    header = forest_file.HEADER.unpack_from(encoded)
    at = forest_file.HEADER.size
    texts = []
    for _ in range(2 * header[4] + 1):
        texts.append(encoded[at + 1 : at + 1 + encoded[at]])
        at += 1 + encoded[at]
    # The texts before the libraries are names and units.
    found = {"header": header[:5] + header[6:], "features": texts[:-1]}
    for tree in range(header[6]):
        (count,) = struct.unpack_from("<I", encoded, at)
        nodes = np.frombuffer(encoded, forest_file.NODE, count, at + 4)
        at += 4 + nodes.nbytes
        leaves = np.frombuffer(encoded, forest_file.LEAF_RECORD, int((nodes["threshold"] == forest_file.LEAF).sum()), at)
        at += leaves.nbytes
        found |= {f"tree {tree}: nodes": nodes.tolist(), f"tree {tree}: leaves": leaves.tolist()}
    if at != len(encoded) - forest_file.CHECKSUM:
        raise ValueError(f"{len(encoded)} bytes; expected {at + forest_file.CHECKSUM}")
    return found


def difference(made: bytes, committed: bytes, exact: bool) -> str | None:
    """The first difference of a file from a committed one; none where it was made again. `exact`: to the byte."""
    ours, theirs = parts(made), parts(committed)
    for name, part in theirs.items():
        if ours.get(name) != part:
            return name
    if exact and made != committed:
        at = next((at for at, pair in enumerate(zip(made, committed)) if pair[0] != pair[1]), len(committed))
        return f"byte {at}: libraries or checksum"
    return None
