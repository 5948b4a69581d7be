"""Builds the package for pip, pipx and uv: maturin's hooks, after a look at what a build needs.

maturin alone would download a compiler where cargo is missing, and leave an old compiler to the errors of crates.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import maturin

Settings = Mapping[str, Any]

_AGAIN = "then repeat this command in a new terminal"


def _wanted() -> str:
    """The oldest compiler that builds every crate."""
    found = re.search(r'^rust-version = "([\d.]+)"', Path("Cargo.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None, "Cargo.toml says which compiler it needs"
    return found[1]


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def _check() -> str:
    """The compiler's version. Ends the build with one line where a tool is missing or too old."""
    wanted = _wanted()
    for tool in ("cargo", "rustc"):
        if shutil.which(tool) is None:
            sys.exit(f"flowsieve is compiled here, and there is no {tool}: install Rust {wanted} or later (https://rustup.rs), {_AGAIN}")
    if shutil.which("cc") is None:
        sys.exit(f"flowsieve is compiled here, and there is no C compiler `cc`: install one (Debian: gcc libc6-dev), {_AGAIN}")
    done = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=False)
    said = re.match(r"rustc (\d+\.\d+(?:\.\d+)?)", done.stdout)
    if said is None:
        why = (done.stderr.strip() or done.stdout.strip() or f"status {done.returncode}").splitlines()[0]
        sys.exit(f"flowsieve is compiled here, and `rustc --version` fails: {why}")
    if _numbers(said[1]) < _numbers(wanted):
        sys.exit(f"flowsieve is compiled here, and Rust {said[1]} is too old: run `rustup update stable` (wanted: {wanted} or later)")
    return said[1]


def get_requires_for_build_wheel(config_settings: Settings | None = None) -> list[str]:
    _check()
    return maturin.get_requires_for_build_wheel(config_settings)


def get_requires_for_build_sdist(config_settings: Settings | None = None) -> list[str]:
    _check()
    return maturin.get_requires_for_build_sdist(config_settings)


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Settings | None = None) -> str:
    # Without isolation this hook is the first.
    _check()
    return maturin.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


def build_wheel(wheel_directory: str, config_settings: Settings | None = None, metadata_directory: str | None = None) -> str:
    _announce(_check())
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory: str, config_settings: Settings | None = None, metadata_directory: str | None = None) -> str:
    _announce(_check())
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory: str, config_settings: Settings | None = None) -> str:
    _check()
    return maturin.build_sdist(sdist_directory, config_settings)


get_requires_for_build_editable = get_requires_for_build_wheel
prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def _announce(version: str) -> None:
    # pip shows it with -v.
    print(f"flowsieve is compiled with Rust {version}: some ten minutes of processor time (docs/guide/first-steps.md)", flush=True)
