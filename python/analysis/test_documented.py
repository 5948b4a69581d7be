"""The examples of docs/guide/figures.md are executed as they stand there; what they compute is what the command says."""

import contextlib
import csv
import io
import json
import os
import re
import shutil
import subprocess

import duckdb
import pypdfium2
import pytest
from conftest import ROOT

PAGE = (ROOT / "docs/guide/figures.md").read_text()


def block(section: str, language: str) -> str:
    """The one block in that language of a section."""
    text = re.search(rf"^## {section}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)[1]
    [found] = re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)
    return found


def test_block__are_all_executed_here():
    """Each example has a test."""
    assert re.findall(r"^```(\w+)$", PAGE, re.M) == ["python", "python", "sql", "r", "sh", "latex"]


@pytest.fixture
def here(quickstart, flowsieve, tmp_path, monkeypatch):
    """A folder as after `flowsieve run quickstart`, in which examples leave what they write."""
    (tmp_path / "results").mkdir()
    (tmp_path / "results/quickstart").symlink_to(quickstart)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/flowsieve").symlink_to(flowsieve)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def summary(quickstart):
    """The rows of summary.csv by scheme, load and size class."""
    with (quickstart / "summary.csv").open() as file:
        return {(row["scheme"], float(row["load"]), row["size_class"]): row for row in csv.DictReader(file)}


def same(value: float, row: dict[str, str], column: str) -> bool:
    """Whether a value is that of the file, which writes ratios with six digits."""
    return value == pytest.approx(float(row[column]), rel=1e-5 if "ratio" in column else 1e-12)


def python(section: str) -> dict[str, object]:
    names: dict[str, object] = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(block(section, "python"), section, "exec"), names)
    assert printed.getvalue().strip()
    return names


def external(arguments: list[str]) -> str:
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_polars__has_the_small_flows_of_the_summary(here, summary):
    table = python("polars")["table"]
    assert table.height == 6
    for row in table.iter_rows(named=True):
        expected = summary[row["scheme"], row["load"], "0-100KB"]
        columns = {"mean": "fct_mean_us", "p99": "fct_p99_us", "mean_ratio": "fct_mean_ratio", "p99_ratio": "fct_p99_ratio"}
        for ours, theirs in columns.items():
            assert same(row[ours], expected, theirs), (row, theirs)


def test_pandas__has_the_slowdowns_of_the_summary(here, summary):
    table = python("pandas")["table"]
    assert len(table) == 18
    for (load, size_class, scheme), row in table.iterrows():
        for column in ["mean", "p50", "p95", "p99"]:
            assert same(row[column], summary[scheme, load, size_class], f"slowdown_{column}"), (load, size_class, scheme, column)


def test_duckdb__pairs_flows_as_compare_does(here, quickstart):
    rows = duckdb.sql(block("DuckDB", "sql")).fetchall()
    compared = json.loads(external(["flowsieve", "compare", str(quickstart), "pfabric", "dctcp", "--json"]))
    expected = {}
    for point in compared[0]["points"]:
        for size_class in point["classes"]:
            by_flow = size_class["by_flow"]
            expected[point["load"], size_class["class"]] = (by_flow["pairs"], by_flow["faster"], by_flow["ratio"]["value"])
    assert len(rows) == 6
    for load, size_class, *values in rows:
        assert values == pytest.approx(expected[load, size_class], rel=1e-12), (load, size_class)


def test_r__has_the_percentiles_of_the_summary(here, summary):
    if not shutil.which("Rscript"):
        pytest.skip("R (Rscript) is not installed: its example was not executed")
    (here / "example.R").write_text(block("R", "r") + "write.csv(format(table, digits = 15), 'table.csv', row.names = FALSE)\n")
    printed = external(["Rscript", "--vanilla", "example.R"])
    assert "p99" in printed
    with (here / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["scheme"].strip() for row in rows] == ["dctcp", "pfabric", "pias"]
    for row in rows:
        expected = summary[row["scheme"].strip(), 0.7, "0-100KB"]
        for column in ["p50", "p99"]:
            assert float(row[column]) == pytest.approx(float(expected[f"slowdown_{column}"]), rel=1e-12)
    assert len(pypdfium2.PdfDocument(here / "slowdown.pdf")) == 1


def typeset(here, name, latex):
    """The words of a page of LaTeX with pgfplots."""
    if not shutil.which("pdflatex") or not shutil.which("kpsewhich"):
        pytest.skip("LaTeX (pdflatex) is not installed: what pgfplots draws was not tested")
    if subprocess.run(["kpsewhich", "pgfplots.sty"], stdout=subprocess.DEVNULL).returncode:
        pytest.skip("the LaTeX package pgfplots is not installed: what it draws was not tested")
    (here / f"{name}.tex").write_text(latex)
    external(["pdflatex", "-interaction=nonstopmode", "-halt-on-error", f"{name}.tex"])
    [page] = pypdfium2.PdfDocument(here / f"{name}.pdf")
    return page.get_textpage().get_text_range().split()


@pytest.mark.parametrize("of", [["--columns", "2"], ["--x", "size", "--columns", "2"], ["--class", "all", "--at", "load=0.7"], ["--y", "utilisation"]])
def test_pgfplots__draws_each_figure_that_is_exported(here, of):
    figure = external(["flowsieve", "export", "results/quickstart", "--what", "figure", "--format", "latex", *of])
    head = "\\documentclass[twocolumn]{article}\n\\usepackage{pgfplots}\\pgfplotsset{compat=1.16}\n\\begin{document}\n"
    words = typeset(here, "figure", head + figure + "\\end{document}\n")
    assert {"dctcp", "pias", "pfabric", "Figure"} <= set(words), words


def test_pgfplots__draws_the_means_of_the_summary(here, summary):
    external(["sh", "-ec", block("pgfplots", "sh")])
    words = typeset(here, "example", block("pgfplots", "latex"))
    # The labels of the points, and the legend.
    means = {f"{float(row['fct_mean_us']):.0f}" for key, row in summary.items() if key[2] == "0-100KB"}
    assert means | {"dctcp", "pias", "pfabric"} <= set(words), words
