"""The predictions of the reproduction are made again: each row of forests.csv gives the list that is committed."""

import csv
import os
import subprocess
from pathlib import Path

import pytest

from flowsieve_forest.command import main

PREDICTIONS = Path(__file__).resolve().parents[2] / "papers/qclimb/predictions"
ROWS = list(csv.DictReader((PREDICTIONS / "forests.csv").read_text().splitlines()))
FOREST = ["trained_on", "calibration", "depth", "trees"]
#: Bytes of all lists together: they are kept in the repository, and in the program.
MOST_BYTES = 4_000_000


def test_predictions__each_list_has_one_row_and_all_stay_small():
    files = [path for path in PREDICTIONS.iterdir() if path.name != "forests.csv"]
    assert sorted(path.name for path in files) == sorted(row["file"] for row in ROWS)
    assert sum(path.stat().st_size for path in files) <= MOST_BYTES


@pytest.fixture(scope="session")
def stand_in(tmp_path_factory):
    """Writes a stand-in once, with the built command."""
    command = os.environ.get("FLOWSIEVE", "")
    if not command:
        pytest.skip("the environment names no FLOWSIEVE, the built command that writes the stand-ins")
    if not os.access(command, os.X_OK):
        pytest.skip(f"{command} is not built; `cargo build --locked --profile ci -p flowsieve` builds it")
    folder = tmp_path_factory.mktemp("stand-ins")

    def write(name: str, calibration: str) -> Path:
        path = folder / f"{name}-{calibration}.csv"
        if not path.exists():
            arguments = [command, "flows", name, "--set", f"calibration={calibration}"]
            path.write_bytes(subprocess.run(arguments, check=True, stdout=subprocess.PIPE).stdout)
        return path

    return write


@pytest.fixture(scope="session")
def forest(stand_in, tmp_path_factory):
    """Trains a forest once, as a row says."""
    folder = tmp_path_factory.mktemp("forests")

    def train(row: dict[str, str]) -> Path:
        path = folder / "-".join(row[name] for name in FOREST)
        if not path.exists():
            trace = stand_in(row["trained_on"], row["calibration"])
            options = ["--trees", row["trees"], "--depth", row["depth"], "--seed", "1", "--share", "0.8"]
            jobs = ["--jobs", str(os.cpu_count() or 1)]
            assert main(["train", str(trace), "--out", str(path), *options, *jobs]) == 0
        return path

    return train


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["file"])
def test_apply__makes_the_committed_list_again(stand_in, forest, tmp_path, row):
    trace, out = stand_in(row["predicts"], row["calibration"]), tmp_path / row["file"]
    assert main(["apply", str(forest(row)), str(trace), "--out", str(out), "--brief", "--from", "0.8"]) == 0
    assert out.read_bytes() == (PREDICTIONS / row["file"]).read_bytes()
