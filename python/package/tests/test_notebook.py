"""What a notebook shows, run by Jupyter's kernel without a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import flowsieve as fs
import nbclient
import nbformat
import pytest


def _shown(cells: list[str], folder: Path) -> list[dict[str, Any]]:
    """The last output of each cell."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    ran = nbclient.execute(notebook, cwd=str(folder), kernel_name="python3")
    return [dict(cell.outputs[-1].data) for cell in ran.cells]


def test_notebook__shows_figures_experiments_and_tables(
    result: fs.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR"):
        monkeypatch.setenv(folder, str(tmp_path / folder))
    figure, experiment, wrong, schemes, completed = _shown(
        [
            f"import flowsieve as fs\nfs.plot.fct_by_load(fs.Result({str(result.path)!r}), size_class='0-100kb')",
            "exp = fs.Experiment('quickstart').set(load=0.5)\nexp",
            "exp.set(sizes='web-serch')",
            "fs.list_schemes()",
            "from IPython.core.completer import provisionalcompleter\n"
            "with provisionalcompleter():\n"
            "    found = [each.text for each in get_ipython().Completer.completions('exp.set(load', 12)]\n"
            "found",
        ],
        tmp_path,
    )
    assert len(figure["image/png"]) > 10_000
    assert "9 runs of 3 points" in experiment["text/html"] and "load = [0.5]" in experiment["text/html"]
    assert "did you mean `web-search`" in wrong["text/html"] and "<details>" in wrong["text/html"]
    assert "<table>" in schemes["text/html"] and "SIGCOMM" in schemes["text/html"]
    assert "'load='" in completed["text/plain"] and "'load_balancing='" in completed["text/plain"]
