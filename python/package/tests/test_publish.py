"""The workflow that publishes, dry: its commands as far as they run here, and the source distribution that it makes.

What this leaves out is said at the head of .github/workflows/publish.yml.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
WORKFLOW = ROOT / ".github" / "workflows" / "publish.yml"
MATURIN = Path(sys.executable).with_name("maturin")
JOBS: dict[str, Any] = yaml.safe_load(WORKFLOW.read_text())["jobs"]
with (ROOT / "Cargo.toml").open("rb") as cargo:
    VERSION = tomllib.load(cargo)["workspace"]["package"]["version"]


def steps(job: str, action: str) -> list[dict[str, Any]]:
    """The steps of a job with this action."""
    return [step for step in JOBS[job]["steps"] if step.get("uses", "").startswith(action)]


def run(job: str, folder: Path, tag: str = f"v{VERSION}") -> list[subprocess.CompletedProcess[str]]:
    """The commands of a job, in a folder that looks like the clone, with a `dist` of its own."""
    for name in ("scripts", "Cargo.toml", "CITATION.cff"):
        if not (folder / name).exists():
            (folder / name).symlink_to(ROOT / name)
    commands = [step["run"] for step in JOBS[job]["steps"] if "run" in step]
    assert commands, f"the job {job} has a command"
    environment = {**os.environ, "GITHUB_REF_NAME": tag}
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]
    return [subprocess.run([*words, each], cwd=folder, env=environment, capture_output=True, text=True, check=False) for each in commands]


def maturin(job: str, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """The one command of maturin in a job, with its files in the folder."""
    (step,) = steps(job, "PyO3/maturin-action@")
    given = step["with"]
    arguments = [str(folder) if word == "dist" else word for word in shlex.split(given["args"])]
    assert str(folder) in arguments
    words = [str(MATURIN), given["command"], *arguments, *more]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, made by the workflow's command."""
    folder = tmp_path_factory.mktemp("sdist")
    done = maturin("sdist", folder)
    assert done.returncode == 0, done.stderr
    (path,) = folder.iterdir()
    return path


def released(folder: Path, sdist: Path) -> Path:
    """A `dist` with every file of a release. What only the runners build is an empty file here."""
    dist = folder / "dist"
    dist.mkdir()
    shutil.copy(sdist, dist)
    for platform in ("manylinux_2_28_x86_64", "manylinux_2_28_aarch64", "macosx_10_12_x86_64", "macosx_11_0_arm64"):
        (dist / f"flowsieve-{VERSION}-cp310-abi3-{platform}.whl").touch()
    return dist


def test_workflow__runs_for_tags_and_may_publish_in_one_job_alone() -> None:
    workflow = yaml.safe_load(WORKFLOW.read_text())
    # YAML 1.1 reads the key `on` as true.
    assert workflow[True] == {"push": {"tags": ["v*"]}} and workflow["permissions"] == {"contents": "read"}
    assert {name for name, job in JOBS.items() if "id-token" in job.get("permissions", {})} == {"publish"}
    assert {name for name, job in JOBS.items() if "contents" in job.get("permissions", {}) and job["permissions"]["contents"] == "write"} == {"release"}
    assert JOBS["publish"]["environment"] == "pypi" and JOBS["publish"]["needs"] == ["sdist", "wheels"]
    assert set(JOBS["release"]["needs"]) == set(JOBS) - {"publish", "release"}
    assert "secrets." not in WORKFLOW.read_text()
    used = [step["uses"] for job in JOBS.values() for step in job["steps"] if "uses" in step]
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v1)", name) for name in used), used


def test_workflow__builds_with_the_maturin_and_for_the_processors_that_are_checked() -> None:
    pinned = re.search(r"^maturin==(\S+)", (ROOT / "python" / "package" / "requirements.txt").read_text(), re.MULTILINE)
    assert pinned is not None
    for job in ("sdist", "wheels"):
        (step,) = steps(job, "PyO3/maturin-action@")
        assert step["with"]["maturin-version"] == f"v{pinned[1]}"
    targets = {each["target"] for each in JOBS["wheels"]["strategy"]["matrix"]["include"]}
    assert targets == {"x86_64", "aarch64", "x86_64-apple-darwin", "aarch64-apple-darwin"}
    assert len(JOBS["binaries"]["strategy"]["matrix"]["include"]) == len(targets)
    uploads = [step["with"]["path"] for job in ("sdist", "wheels") for step in steps(job, "actions/upload-artifact@")]
    downloads = [step["with"]["path"] for step in steps("publish", "actions/download-artifact@")]
    assert uploads == ["dist", "dist"] and downloads == ["dist"]
    # What PyPI gets is not the command.
    (pattern,) = [step["with"]["pattern"] for step in steps("publish", "actions/download-artifact@")]
    names = ["sdist", *(f"wheel-{target}" for target in targets), "binary-x86_64-linux"]
    assert [name for name in names if not fnmatch(name, pattern)] == ["binary-x86_64-linux"]


def test_wheels__maturin_accepts_the_options(tmp_path: Path) -> None:
    # With --help nothing is built, and a wrong option is an error all the same.
    assert maturin("wheels", tmp_path, "--help").returncode == 0
    assert maturin("wheels", tmp_path, "--no-such-option", "--help").returncode != 0


def test_wheels__commands_run_with_a_wheel(tmp_path: Path) -> None:
    wheel = os.environ.get("FLOWSIEVE_WHEEL")
    if wheel is None:
        pytest.skip("FLOWSIEVE_WHEEL is not set: scripts/package.sh sets it")
    (tmp_path / "dist").mkdir()
    shutil.copy(wheel, tmp_path / "dist")
    for done in run("wheels", tmp_path):
        assert done.returncode == 0 and f"flowsieve {VERSION}" in done.stdout, done.stderr


def test_publish__commands_pass_with_every_file_of_the_tag(tmp_path: Path, sdist: Path) -> None:
    assert [done.returncode for done in run("sdist", tmp_path)] == [0]
    released(tmp_path, sdist)
    assert [(done.returncode, done.stderr) for done in run("publish", tmp_path)] == [(0, "")]


def test_publish__another_tag_or_other_files_are_refused(tmp_path: Path, sdist: Path) -> None:
    (done,) = run("sdist", tmp_path, "v9.9.9")
    assert done.returncode == 1 and done.stderr == f"release_check: the tag v9.9.9 is not v{VERSION}, the version in Cargo.toml\n"
    dist = released(tmp_path, sdist)
    wheel = next(dist.glob("*aarch64.whl"))
    wheel.rename(dist / wheel.name.replace(VERSION, "9.9.9"))
    (done,) = run("publish", tmp_path)
    assert done.returncode == 1 and "has 0 files" in done.stderr and "9.9.9" in done.stderr
    assert f"dist/{wheel.name.replace(VERSION, '9.9.9')} is not meant to be published" in done.stderr
    shutil.rmtree(dist)
    (done,) = run("publish", tmp_path)
    assert done.returncode == 1 and "dist is not a folder" in done.stderr


def compiled_from() -> set[str]:
    """The files of the repository that the wheel was compiled from, as cargo noted them, from its root."""
    wheel = os.environ.get("FLOWSIEVE_WHEEL")
    if wheel is None:
        pytest.skip("FLOWSIEVE_WHEEL is not set: scripts/package.sh sets it")
    (noted,) = Path(wheel).parents[1].glob("ci/lib_flowsieve.d")
    # Blanks in names are escaped.
    paths = [Path(path.replace("\\ ", " ")) for path in re.split(r"(?<!\\)\s+", noted.read_text().split(": ", 1)[1].strip())]
    paths = [Path(os.path.normpath(path)) for path in paths]
    inside = [path.relative_to(ROOT) for path in paths if path.is_relative_to(ROOT) and not path.is_dir()]
    return {str(path) for path in inside if path.parts[0] not in ("target", ".git")}


def test_sdist__has_every_file_of_the_build(sdist: Path) -> None:
    """A whole build of it takes minutes, so that this compares names: everything that the wheel was compiled from is in it."""
    with tarfile.open(sdist) as archive:
        packed = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    needed = compiled_from()
    assert {"Cargo.lock", "docs/reference/metrics.md", "crates/python/src/lib.rs", "experiments/quickstart.toml"} <= needed
    assert needed - packed == set()
    assert {"Cargo.lock", "pyproject.toml", "LICENSE", "README.md", "python/backend/flowsieve_backend.py", "python/flowsieve/py.typed"} <= packed


def test_sdist__is_locked_and_resolves_offline(sdist: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    folder = tmp_path / f"flowsieve-{VERSION}"
    assert (folder / "Cargo.lock").read_bytes() == (ROOT / "Cargo.lock").read_bytes()
    words = ["cargo", "metadata", "--locked", "--offline", "--format-version", "1"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # The hooks that pip calls are those of the package.
    code = "import sys; sys.path.insert(0, 'python/backend'); import flowsieve_backend as b; print(b.prepare_metadata_for_build_wheel(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=folder, capture_output=True, text=True, check=False, env=_with_maturin())
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == f"flowsieve-{VERSION}.dist-info", done.stderr
    assert "flowsieve=flowsieve._command:main" in (tmp_path / f"flowsieve-{VERSION}.dist-info" / "entry_points.txt").read_text().replace(" ", "")


def _with_maturin() -> dict[str, str]:
    return {**os.environ, "PATH": f"{MATURIN.parent}{os.pathsep}{os.environ['PATH']}"}
