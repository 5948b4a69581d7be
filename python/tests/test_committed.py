"""The forests of the reproduction are made again: each row of forests.csv gives the file that is committed."""

import csv
import os
import struct
import subprocess
from pathlib import Path

import pytest
from blake3 import blake3

from flowsieve_forest import forest_file
from flowsieve_forest.command import main
from tests import golden
from tests.committed import difference, pinned

FORESTS = Path(__file__).resolve().parents[2] / "experiments/qclimb/forests"
ROWS = list(csv.DictReader((FORESTS / "forests.csv").read_text().splitlines()))


@pytest.fixture(scope="session")
def stand_in(tmp_path_factory):
    """Writes a stand-in once, with the built command."""
    command = os.environ.get("FLOWSIEVE", "")
    if not command:
        pytest.skip("the environment names no FLOWSIEVE, the built command that writes the stand-ins")
    if not os.access(command, os.X_OK):
        pytest.skip(f"{command} is not built; `cargo build --locked --profile ci -p flowsieve` builds it")
    folder = tmp_path_factory.mktemp("stand-ins")

    def write(name: str, calibration: str, seed: str) -> Path:
        path = folder / f"{name}-{calibration}-{seed}.csv"
        if not path.exists():
            arguments = [command, "forest", "trace", name, "--calibration", calibration, "--seed", seed]
            path.write_bytes(subprocess.run(arguments, check=True, stdout=subprocess.PIPE).stdout)
        return path

    return write


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["file"])
def test_train__makes_the_committed_forest_again(stand_in, tmp_path, row):
    trace = stand_in(row["stand_in"], row["calibration"], row["seed"])
    out = tmp_path / row["file"]
    options = ["--trees", row["trees"], "--depth", row["depth"], "--seed", "1", "--share", "0.8"]
    jobs = ["--jobs", str(os.cpu_count() or 1)]
    assert main(["train", str(trace), "--out", str(out), *options, *jobs]) == 0
    assert difference(out.read_bytes(), (FORESTS / row["file"]).read_bytes(), exact=pinned()) is None


def changed(at: int, new: bytes) -> bytes:
    """A small forest with other bytes from there, and the checksum that fits them."""
    small = golden.DATA / "forest-all.fsf"
    body = bytearray(small.read_bytes()[: -forest_file.CHECKSUM])
    body[at : at + len(new)] = new
    return bytes(body) + blake3(body).digest()


def places() -> dict[str, int]:
    """Where things stand in the small forest: its libraries, and its first tree's nodes and leaves."""
    encoded = (golden.DATA / "forest-all.fsf").read_bytes()
    libraries = encoded.index(b"flowsieve_forest ")
    tree = libraries + encoded[libraries - 1]
    (nodes,) = struct.unpack_from("<I", encoded, tree)
    return {"libraries": libraries, "nodes": tree + 4, "leaves": tree + 4 + nodes * forest_file.NODE.itemsize}


@pytest.mark.parametrize(
    "place,offset,expected",
    [
        ("nodes", 0, "tree 0: nodes"),  # the threshold of the first split
        ("nodes", 4, "tree 0: nodes"),  # the feature of the first split
        ("leaves", 0, "tree 0: leaves"),  # the flows of the first leaf
        ("leaves", 4, "tree 0: leaves"),  # its smallest size, a lower bound
        ("leaves", 12, "tree 0: leaves"),  # its largest, an upper bound
        ("leaves", 20, "tree 0: leaves"),  # its mean
    ],
)
@pytest.mark.parametrize("exact", [True, False])
def test_difference__says_what_is_other(place, offset, expected, exact):
    small = changed(0, b"")
    at = places()[place] + offset
    other = changed(at, bytes([small[at] ^ 1]))
    assert difference(other, small, exact) == expected
    assert difference(small, small, exact) is None


def test_difference__of_the_libraries_counts_to_the_byte_alone():
    small = changed(0, b"")
    at = places()["libraries"]
    other = changed(at, b"F")
    assert difference(other, small, exact=False) is None
    assert difference(other, small, exact=True) == f"byte {at}: libraries or checksum"


def test_difference__of_seed_and_features():
    small = changed(0, b"")
    assert difference(changed(32, b"\x09"), small, exact=False) == "header"
    assert difference(changed(forest_file.HEADER.size + 1, b"S"), small, exact=False) == "features"


def test_difference__fewer_trees():
    in_bag, all_flows = ((golden.DATA / f"forest-{name}.fsf").read_bytes() for name in ("in-bag", "all"))
    assert difference(in_bag, all_flows, exact=False) == "header"
    with pytest.raises(ValueError, match="bytes; expected"):
        difference(all_flows + b"\0", all_flows, exact=False)
