"""The command: what it writes, warns of and refuses."""

import os
import random

import pytest

from flowsieve_forest.command import main

HEADER = "start_s,src,dst,bytes,feature:gap_us,feature:port"


@pytest.fixture
def trace(tmp_path):
    """200 flows, latest first; the port tells the size but for a tenth."""
    draw = random.Random(3)
    rows = []
    for number in range(200):
        port = draw.randrange(3)
        rows.append(f"{number / 1000},{number % 4},5,{100 ** (port + 1) + draw.randrange(10)},{draw.randrange(99)},{port}")
    return write(tmp_path, [HEADER, "# a comment", *reversed(rows)])


def write(folder, lines):
    path = folder / "trace.csv"
    path.write_text("".join(line + "\n" for line in lines))
    return path


def test_train__writes_a_forest(trace, tmp_path, capsys):
    out = tmp_path / "forest.fsf"
    options = ["train", str(trace), "--out", str(out), "--trees", "3", "--depth", "4", "--seed", "5"]
    assert main(options) == 0
    assert out.read_bytes().startswith(b"FSFOREST\x01\x00\x00\x00\x00\x04\x02\x00")
    said = capsys.readouterr()
    assert said.out.endswith("bytes, trained on 160 of 200 flows\n") and said.err == ""
    first = out.read_bytes()
    assert main([*options, "--replace"]) == 0 and out.read_bytes() == first


def test_out__replaces_nothing_unasked_and_no_other_than_regular_files(trace, tmp_path, capsys):
    out, fifo = tmp_path / "forest.fsf", tmp_path / "fifo"
    out.write_text("kept")
    os.mkfifo(fifo)
    assert main(["train", str(trace), "--out", str(out)]) == 2
    assert main(["bounds", str(trace), "--out", str(trace)]) == 2
    assert main(["train", str(trace), "--out", str(fifo), "--replace"]) == 2
    assert out.read_text() == "kept" and trace.read_text().startswith(HEADER) and fifo.is_fifo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fifo", "forest.fsf", "trace.csv"]
    (tmp_path / "any").touch()
    assert main(["train", str(trace), "--out", str(out), "--replace"]) == 0
    assert out.stat().st_mode == (tmp_path / "any").stat().st_mode
    assert capsys.readouterr().err.count("; expected a new name") == 3


def test_bounds__writes_the_flows_that_were_not_trained_on(trace, tmp_path, capsys):
    out = tmp_path / "list.csv"
    assert main(["bounds", str(trace), "--out", str(out), "--trees", "3", "--beta", "0.9"]) == 0
    lines = out.read_text().splitlines()
    assert lines[0] == HEADER + ",lower,upper,predicted" and len(lines) == 41
    # The first 160 by time were trained on; rows keep the order of the trace.
    starts = [float(line.split(",")[0]) for line in lines[1:]]
    assert starts == sorted(starts, reverse=True) and min(starts) == 0.16
    for line in lines[1:]:
        fields = line.split(",")
        lower, upper, predicted = map(int, fields[-3:])
        assert lower <= predicted <= upper
    # What was written is a list itself, and its bounds are replaced.
    again = tmp_path / "again.csv"
    assert main(["bounds", str(out), "--out", str(again), "--flows", "all", "--share", "0.5"]) == 0
    assert again.read_text().splitlines()[0] == lines[0]
    assert "warning: " in capsys.readouterr().err


def test_warnings__poor_traces(tmp_path, capsys):
    path = write(tmp_path, [HEADER, *(f"{number},0,1,700,{number},80" for number in range(20))])
    assert main(["train", str(path), "--out", str(tmp_path / "forest.fsf")]) == 0
    warned = capsys.readouterr().err
    assert "trace.csv: 16 flows to train on; with fewer than 100 predictions are poor" in warned
    assert "all flows to train on have 700 bytes" in warned
    assert "feature port is 80 for all flows" in warned and "gap_us" not in warned


@pytest.mark.parametrize(
    "row,expected",
    [
        ("0,0,1,700,x,80", "trace.csv:3:11: feature:gap_us is `x`; expected a whole number from 0 to 18446744073709551615"),
        ("0,0,1,700,5,-80", "trace.csv:3:13: feature:port is `-80`; expected a whole number from 0"),
        ("0,0,1,700,5,1.5", "trace.csv:3:13: feature:port is `1.5`"),
        ("0,0,1,700,5,", "trace.csv:3:13: feature:port is ``"),
        ("0,0,1,700,5,18446744073709551616", "trace.csv:3:13: feature:port is"),
        ("0,0,1,0,5,80", "trace.csv:3:7: bytes is `0`; expected a whole number from 1"),
        ("soon,0,1,700,5,80", "trace.csv:3:1: start_s is `soon`; expected decimal seconds"),
        ("nan,0,1,700,5,80", "trace.csv:3:1: start_s is `nan`"),
        ("1e999999,0,1,700,5,80", "trace.csv:3:1: start_s is `1e999999`"),
        ("0,0,1,700,5", "trace.csv:3: columns: 5; expected 6"),
    ],
)
def test_train__rows_that_are_not_numbers(tmp_path, capsys, row, expected):
    path = write(tmp_path, [HEADER, "0,0,1,700,5,80", row])
    assert main(["train", str(path), "--out", str(tmp_path / "forest.fsf")]) == 2
    assert expected in capsys.readouterr().err
    assert not (tmp_path / "forest.fsf").exists()


@pytest.mark.parametrize(
    "lines,options,expected",
    [
        ([], [], "trace.csv: no flows"),
        (["0,0,1,700"], [], "trace.csv:1: no column `start_s`"),
        (["start_s,src,dst,bytes", "0,0,1,7"], [], "trace.csv:1: no column `feature:NAME`"),
        ([HEADER + ",port", "0,0,1,7,1,2,3"], [], "trace.csv:1: unknown column `port`"),
        ([HEADER + ",bytes", "0,0,1,7,1,2,3"], [], "trace.csv:1: column `bytes` comes twice"),
        ([HEADER, "0,0,1,7,1,2"], ["--features", "port,src"], "trace.csv:1: no column `feature:src`; features of this"),
        ([HEADER, "0,0,1,7,1,2"], ["--features", "port,port"], "names one twice"),
        ([HEADER, "0,0,1,7,1,2"], ["--beta", "0.9"], "a forest file has only the bounds of --beta 1"),
    ],
)
def test_train__lists_that_it_cannot_take(tmp_path, capsys, lines, options, expected):
    path = write(tmp_path, lines)
    assert main(["train", str(path), "--out", str(tmp_path / "forest.fsf"), *options]) == 2
    assert expected in capsys.readouterr().err


def test_train__a_trace_that_is_not_there(tmp_path, capsys):
    assert main(["train", str(tmp_path / "none.csv"), "--out", "forest.fsf"]) == 2
    assert "none.csv: cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize("options", [["--depth", "65"], ["--share", "0"], ["--beta", "1.1"], ["--seed", "-1"], ["--trees", "x"]])
def test_train__options_out_of_range(tmp_path, options):
    with pytest.raises(SystemExit) as stopped:
        main(["train", "trace.csv", "--out", "forest.fsf", *options])
    assert stopped.value.code == 2
