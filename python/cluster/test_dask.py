"""The backend that docs/guide/big-sweeps.md shows as one of one's own, as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import flowsieve as fs
import pytest
from conftest import files

distributed = pytest.importorskip("distributed")
PAGE = Path(__file__).parents[2] / "docs" / "guide" / "big-sweeps.md"



def test_page__its_backend_gives_the_bytes_of_a_local_run(tmp_path: Path) -> None:
    block = re.search(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    assert block is not None and block.group(1).count("\n") <= 60
    names: dict[str, object] = {"__name__": "page"}
    exec(compile(block.group(1), str(PAGE), "exec"), names)
    exp = fs.Experiment.builtin("quickstart").set(flows=40, load=[0.5, 0.7], scheme=["dctcp", "pias"], seeds=2)
    # In this process: nothing listens.
    client = distributed.Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None)
    try:
        swept = fs.sweep(exp, tmp_path / "swept", on=names["Dask"](client))  # type: ignore[operator]
    finally:
        client.close()
    assert files(swept.path) == files(exp.run(tmp_path / "whole").path)
