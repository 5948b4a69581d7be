"""The examples of docs/python.md, executed one after the other as a reader would."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "python.md"


def test_page__every_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    assert len(blocks) >= 6
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    said = capsys.readouterr().out
    assert "web-search\n" in said and "18 runs of 6 points" in said
    assert "pias / dctcp" in said
    assert (tmp_path / "fig7.pdf").stat().st_size > 2_000 and (tmp_path / "fig9.svg").is_file()
