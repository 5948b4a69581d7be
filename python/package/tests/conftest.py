"""What the tests of the package share: a small experiment, its result, and the bytes of a folder."""

from __future__ import annotations

from pathlib import Path

import flowsieve as fs
import hypothesis
import pytest

# The same cases each time; `make test-random` draws new ones with `--hypothesis-profile=new --hypothesis-seed=SEED`.
hypothesis.settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
hypothesis.settings.register_profile("new", database=None, deadline=None)
hypothesis.settings.load_profile("fixed")

SMALL = {
    "title": "Eight hosts",
    "topology": {"kind": "single-switch", "hosts": 8},
    "workload": {"sizes": "web-search", "flows": 40},
    "sweep": {"load": [0.5, 0.8], "scheme": ["dctcp", "pias"]},
    "run": {"seeds": 2},
}


def files(folder: Path) -> dict[str, bytes]:
    """The bytes of every file of a result but ``run.json``, by path."""
    found = (path for path in Path(folder).rglob("*") if path.is_file() and path.name != "run.json")
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.fixture(scope="session")
def small() -> fs.Experiment:
    return fs.Experiment.from_dict(SMALL)


@pytest.fixture(scope="session")
def result(small: fs.Experiment, tmp_path_factory: pytest.TempPathFactory) -> fs.Result:
    return small.run(tmp_path_factory.mktemp("results") / "small")
