"""The wheel in an environment of its own, what it shares with the tests' build, and builds that lack a compiler."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BACKEND = "import sys; sys.path.insert(0, 'python/backend'); import flowsieve_backend as b; print(b.get_requires_for_build_wheel())"


def wheel() -> Path:
    """The wheel that scripts/package.sh built."""
    path = os.environ.get("FLOWSIEVE_WHEEL")
    if path is None:
        pytest.skip("FLOWSIEVE_WHEEL is not set: scripts/package.sh sets it")
    return Path(path)


def test_wheel__brings_a_command_that_works_without_anything_else() -> None:
    done = subprocess.run([ROOT / "scripts" / "try_wheel.sh", wheel()], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    version, title = done.stdout.splitlines()
    assert re.fullmatch(r"flowsieve \d+\.\d+\.\d+ \(([0-9a-f]{12}\+?|unknown)\)", version) and title.startswith("Web search")


def test_try_wheel__says_what_is_no_wheel(tmp_path: Path) -> None:
    done = subprocess.run([ROOT / "scripts" / "try_wheel.sh", tmp_path / "*.whl"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "is not one wheel; expected the path of a file" in done.stderr


def features(*arguments: str) -> set[str]:
    """The packages of a build with their features, as cargo lists them."""
    words = ["cargo", "tree", "--locked", "--offline", "--prefix", "none", "--format", "{p} {f}", *arguments]
    said = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {line.removesuffix(" (*)").strip() for line in said.splitlines()}


def test_features__are_those_of_the_workspace() -> None:
    alone = features("--package", "flowsieve-python", "--edges", "normal,build")
    shared = features("--workspace", "--edges", "normal,build,dev")
    assert alone - shared == set(), "the wheel compiles these anew after cargo test: turn the same features on"


def tool(folder: Path, name: str, says: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{says}\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ({}, r"there is no cargo: install Rust 1\.\d+ or later \(https://rustup\.rs\)"),
        ({"cargo": ""}, "there is no rustc: install Rust"),
        ({"cargo": "", "rustc": "echo rustc 1.99.0"}, "there is no C compiler `cc`"),
        ({"cargo": "", "cc": "", "rustc": "echo 'rustc 1.70.1 (90c541806 2023-05-31)'"}, r"Rust 1\.70\.1 is too old: run `rustup update stable`"),
        ({"cargo": "", "cc": "", "rustc": "echo 'no default toolchain' >&2; exit 1"}, "`rustc --version` fails: no default toolchain"),
    ],
)
def test_backend__names_what_is_missing_in_one_line(tools: dict[str, str], said: str, tmp_path: Path) -> None:
    for name, does in tools.items():
        tool(tmp_path / "bin", name, does)
    environment = {**os.environ, "PATH": str(tmp_path / "bin")}
    done = subprocess.run([sys.executable, "-c", BACKEND], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stdout == "" and len(done.stderr.splitlines()) == 1
    assert re.match("flowsieve is compiled here, and .*" + said, done.stderr), done.stderr


def test_backend__needs_nothing_more_where_all_is_there(tmp_path: Path) -> None:
    for name, does in {"cargo": "", "cc": "", "rustc": "echo rustc 1.99.0"}.items():
        tool(tmp_path / "bin", name, does)
    environment = {**os.environ, "PATH": str(tmp_path / "bin")}
    done = subprocess.run([sys.executable, "-c", BACKEND], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


def test_pip__shows_the_line(tmp_path: Path) -> None:
    tool(tmp_path / "bin", "cargo", "")
    tool(tmp_path / "bin", "cc", "")
    tool(tmp_path / "bin", "rustc", "echo rustc 1.70.0")
    words = [sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-deps", "--no-index", "--target", tmp_path / "to", ROOT]
    environment = {**os.environ, "PATH": str(tmp_path / "bin")}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and not (tmp_path / "to").exists()
    assert "Rust 1.70.0 is too old: run `rustup update stable`" in done.stderr and "Traceback" not in done.stderr
