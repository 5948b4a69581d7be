"""The command: what it writes, warns of and refuses."""

import json
import os
import random

import pytest

from flowsieve_forest.command import main
from tests import golden

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
    assert lines[0] == "start_s,src,dst,bytes,lower,upper,predicted,feature:gap_us,feature:port" and len(lines) == 41
    # The first 160 by time were trained on; rows keep the order of the trace.
    starts = [float(line.split(",")[0]) for line in lines[1:]]
    assert starts == sorted(starts, reverse=True) and min(starts) == 0.16
    for line in lines[1:]:
        fields = line.split(",")
        lower, upper, predicted = map(int, fields[4:7])
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


@pytest.fixture
def golden_trace(tmp_path):
    """A flow a second with the features of the small forests, each as large as their upper bound for it."""
    _, *rows = (golden.DATA / "forest-rows.csv").read_text().splitlines()
    lines = ["start_s,src,dst,bytes," + ",".join(f"feature:{name}" for name in golden.FEATURES)]
    for second, row in enumerate(rows):
        fields = row.split(",")
        lines.append(f"{second},0,1,{fields[7]}," + ",".join(fields[:6]))
    return write(tmp_path, lines), [row.split(",") for row in rows]


def test_apply__writes_what_the_trainer_says(golden_trace, tmp_path, capsys):
    trace, rows = golden_trace
    forest, out = str(golden.DATA / "forest-all.fsf"), tmp_path / "out.csv"
    assert main(["apply", forest, str(trace), "--out", str(out), "--from", "0"]) == 0
    header, *found = out.read_text().splitlines()
    assert header.startswith("start_s,src,dst,bytes,lower,upper,predicted,feature:start_us,")
    assert found == [f"{nth},0,1,{','.join([row[7], *row[6:9], *row[:6]])}" for nth, row in enumerate(rows)]
    # The last fifth, and of it what `predictions` reads.
    assert main(["apply", forest, str(trace), "--out", str(out), "--replace", "--brief"]) == 0
    last = rows[int(0.8 * len(rows) + 0.5) :]
    assert out.read_text().splitlines() == ["bytes,lower,upper,predicted"] + [",".join([row[7], *row[6:9]]) for row in last]
    assert capsys.readouterr().out.endswith(f"{out}: {len(last)} flows\n")
    # Its bounds are replaced, and rows are in the order of their starts.
    head, *body = trace.read_text().splitlines()
    other = write(tmp_path, [f"{head},predicted", *(f"{row},7" for row in reversed(body))])
    assert main(["apply", forest, str(other), "--out", str(out), "--replace", "--from", "0"]) == 0
    assert out.read_text().splitlines() == [header, *found]


def test_report__of_the_upper_bounds_themselves(golden_trace, capsys):
    trace, rows = golden_trace
    arguments = ["report", str(golden.DATA / "forest-all.fsf"), str(trace), "--from", "0"]
    assert main(arguments) == 0
    table = capsys.readouterr().out.splitlines()
    assert table[0].split()[:4] == ["class", "flows", "bounded", "%"] and table[4].split()[:3] == ["all", str(len(rows)), "100.00"]
    assert main([*arguments, "--json"]) == 0
    every = json.loads(capsys.readouterr().out)[-1]
    assert (every["class"], every["flows"], every["bounded"]) == ("all", len(rows), len(rows))
    assert every["mean_upper"] == every["mean_size"]


@pytest.mark.parametrize(
    "arguments,expected",
    [
        (["report", "cut.fsf", "trace.csv"], "cut.fsf: byte 100: the file is cut short"),
        (["report", "no.fsf", "trace.csv"], "no.fsf: No such file"),
        (["report", "forest-all.fsf", "plain.csv", "--from", "0"], "plain.csv:1: no column `feature:start_us`; features of this list: none"),
        (["apply", "forest-all.fsf", "no.csv", "--out", "x"], "no.csv: cannot be read"),
        (["apply", "forest-all.fsf", "trace.csv", "--out", "trace.csv"], "already exists"),
        (["apply", "forest-all.fsf", "trace.csv", "--out", "x", "--from", "0.999"], "none of 124 flows is left; expected a smaller"),
    ],
)
def test_apply_and_report__refuse_with_the_file(golden_trace, tmp_path, monkeypatch, capsys, arguments, expected):
    monkeypatch.chdir(tmp_path)
    whole = (golden.DATA / "forest-all.fsf").read_bytes()
    (tmp_path / "forest-all.fsf").write_bytes(whole)
    (tmp_path / "cut.fsf").write_bytes(whole[:100])
    (tmp_path / "plain.csv").write_text("start_s,src,dst,bytes\n0,0,1,1000\n")
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert expected in said.err and said.err.count("\n") == 1 and said.out == ""


@pytest.mark.parametrize("share", ["1", "-0.1", "x", "nan"])
def test_from__out_of_range(share, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["report", "forest.fsf", "trace.csv", "--from", share])
    assert stopped.value.code == 2 and "from 0 to below 1" in capsys.readouterr().err
