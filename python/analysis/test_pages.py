"""The pages that `make pages` writes hold what `flowsieve reproduce` prints."""

import csv
import re
import subprocess
import sys

import pytest
from pictures import ROOT

FIGURE = '<svg xmlns="http://www.w3.org/2000/svg"/>'
PAGE = """# paper

All `a < b` of *one* [paper](gone.md), **in** [short](#fig1-a-figure).

- agrees: 1
- one

  | a | b |
  | --- | --- |
  | 1 | 2 |

## fig1: A figure

![A figure](figures/paper-fig1.svg)

| claim | where | what | claimed | measured | verdict |
| --- | --- | --- | ---: | ---: | --- |
| paper-1 | Fig 1 | mean FCT, a / b | lower | −9 % (−12 to −7) | disagrees at this length: a at load 0.5 (after 5 seeds); it waits |

| load | scheme | mean FCT (µs) |
| --- | --- | ---: |
| 0.5 | a | 10 |
"""


@pytest.fixture
def written(tmp_path):
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "paper-fig1.svg").write_text(FIGURE)
    (tmp_path / "paper.md").write_text(PAGE)
    subprocess.run([sys.executable, ROOT / "scripts" / "pages.py", tmp_path / "paper.md", tmp_path], check=True)
    return tmp_path


def test_page__is_one_file_with_its_figures(written):
    page = (written / "paper.html").read_text()
    assert "<p>All <code>a &lt; b</code> of <em>one</em> paper, <strong>in</strong>" in page
    assert '<a href="#fig1-a-figure">short</a>' in page and '<h2 id="fig1-a-figure">' in page
    assert re.search(r'<img alt="A figure" src="data:image/svg\+xml;base64,\w+', page) and "figures/" not in page
    assert page.count("<ul>") == page.count("</ul>") == 1 and page.count("<li>") == 2 and page.count("<table>") == 3


def test_rows__have_the_verdict_apart_from_its_cause(written):
    with (written / "paper.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows == [{
        "claim": "paper-1", "figure": "fig1", "where": "Fig 1", "what": "mean FCT, a / b", "claimed": "lower",
        "measured": "−9 % (−12 to −7)", "on Linux": "", "seeds": "5", "verdict": "disagrees at this length",
        "why": "a at load 0.5 (after 5 seeds); it waits"}]


def test_paper__is_written_from_the_kept_measurements(flowsieve, tmp_path):
    environment = {"FLOWSIEVE": str(flowsieve), "CARGO_TARGET_DIR": str(tmp_path), "PATH": "/usr/bin:/bin"}
    subprocess.run([ROOT / "scripts" / "pages.sh", "nos2"], check=True, env=environment)
    with (tmp_path / "pages" / "nos2.csv").open(newline="") as file:
        verdicts = {row["claim"]: row["verdict"] for row in csv.DictReader(file)}
    assert verdicts["nos2-05"] == "agrees" and verdicts["nos2-06"] == "disagrees"
    assert "<svg" not in (tmp_path / "pages" / "nos2.html").read_text()
