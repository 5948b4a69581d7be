"""The results that the tests look at, made by the command that FLOWSIEVE names."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from browser import Broken, Page, Stalled, opened

ROOT = Path(__file__).resolve().parents[2]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Makes a test again in which the browser stalled, twice at most."""
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    for stalls_left in (2, 1, 0):
        try:
            pyfuncitem.obj(**arguments)
            return True
        except Stalled:
            if not stalls_left:
                raise


@pytest.fixture(scope="session")
def flowsieve():
    """The path of the command."""
    command = os.environ.get("FLOWSIEVE", "")
    if not command:
        pytest.skip("the environment names no FLOWSIEVE, the built command that makes results")
    if not os.access(command, os.X_OK):
        pytest.skip(f"{command} is not built; `cargo build --locked --profile ci -p flowsieve` builds it")
    return Path(command).resolve()


@pytest.fixture(scope="session")
def made(flowsieve, tmp_path_factory):
    """Runs an experiment, and says where its result is."""

    def run(experiment: str | Path, *options: str) -> Path:
        folder = tmp_path_factory.mktemp("made")
        out = folder / "results" / Path(experiment).stem
        command = [flowsieve, "run", str(experiment), "--out", str(out), *options]
        done = subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 0, done.stderr
        return out

    return run


@pytest.fixture(scope="session")
def quickstart(made):
    """The quickstart with fewer flows."""
    return made("quickstart", "--set", "flows=600", "--seeds", "3")


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Iterator[Page]:
    """A browser with an empty profile, for the tests of a module."""
    with ExitStack() as stack:
        try:
            page = stack.enter_context(opened(tmp_path_factory.mktemp("profile")))
        except Broken as why:
            pytest.skip(f"no page was opened: {why}")
        yield page


@pytest.fixture(scope="session")
def playground():
    """The page of the playground, where it is built."""
    page = os.environ.get("PLAYGROUND", "")
    if not page:
        pytest.skip("the environment names no PLAYGROUND, the page that `make playground` builds")
    if not Path(page).is_file():
        pytest.skip(f"{page} is not built: see what scripts/playground.sh said")
    return Path(page).resolve()
