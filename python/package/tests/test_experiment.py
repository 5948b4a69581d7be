"""Experiments from Python: the same plans, results and errors as those of the command."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import flowsieve as fs
import numpy as np
import pytest
from conftest import SMALL, files
from hypothesis import given, settings
from hypothesis import strategies as st


def command(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "flowsieve", *map(str, arguments)]
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)


def test_run__gives_the_bytes_of_the_command(small: fs.Experiment, result: fs.Result, tmp_path: Path) -> None:
    (tmp_path / "experiment.toml").write_text(small.text)
    done = command("run", "experiment.toml", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert files(tmp_path / "out") == files(result.path)
    # The same words in other lines: advice is in those of the surface that shows it.
    said, shown = (" ".join(text.split()) for text in (done.stdout, str(result)))
    assert shown.replace("try seeds=", "try --seeds ") in said


def test_set__is_what_the_command_line_changes(tmp_path: Path) -> None:
    exp = fs.Experiment.builtin("quickstart").set(
        {"schemes.pias.queues": 4}, load=[0.5, 0.7], scheme=["pias"], sizes="uniform(1KB, 2KB)", flows=np.int64(30), seeds=2
    )
    said = ["schemes.pias.queues=4", "load=0.5,0.7", "scheme=pias", 'sizes="uniform(1KB, 2KB)"', "flows=30"]
    assert exp.changes == said
    arguments = [word for change in said for word in ("--set", change)]
    done = command("plan", "quickstart", *arguments, "--seeds", 2, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["plan"] == exp.plan().hash
    assert fs.Experiment.builtin("nos2/fig06").set(scale="smoke").plan().packet_hops > 0


def test_fabric__is_what_init_writes(tmp_path: Path) -> None:
    done = command("init", "--fabric", "100-400", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    written = (tmp_path / "leaf-spine-100-400.toml").read_text(encoding="utf-8")
    assert fs.fabric("100-400").text == fs.fabric("leaf-spine-100-400").text == written
    with pytest.raises(fs.ExperimentError, match="there is no fabric '10-40'; expected '100-400' or '25-100' or"):
        fs.fabric("10-40")


def test_plan__says_what_would_run(small: fs.Experiment) -> None:
    plan = small.plan()
    assert len(plan) == 8 and len(plan.points) == 4
    assert {run.seed for run in plan.runs} == {1, 2}
    assert all(run.packet_hops > 0 and run.memory_bytes > 10_000_000 for run in plan.runs)
    shards = [plan.shard(f"{number}/3") for number in (1, 2, 3)]
    assert sum(map(len, shards)) == 8 and set().union(*shards) == {run.key for run in plan.runs}
    assert "8 runs of 4 points" in str(plan) and "8 runs of 4 points" in plan._repr_html_()
    for wrong in ("0/40", "41/40", "3/0", "x"):
        with pytest.raises(fs.ExperimentError, match="shard"):
            plan.shard(wrong)


def test_keys__do_not_depend_on_where_files_are(tmp_path: Path) -> None:
    keys = []
    for name in ("one", "another/place"):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        (folder / "sizes.csv").write_text("size_bytes,cdf\n1000,0.5\n20000,1\n")
        exp = fs.Experiment.from_dict(
            {**SMALL, "workload": {"cdf": Path("sizes.csv"), "flows": 10}}, folder=folder
        )
        keys.append([run.key for run in exp.plan().runs])
        bundle = exp.pack(folder / "x.flowsieve")
        keys.append([run.key for run in fs.Experiment.from_file(bundle).plan().runs])
    assert keys[0] == keys[1] == keys[2] == keys[3]


def test_from_dict__errors_have_their_place() -> None:
    wrong = {**SMALL, "workload": {"sizes": "web-serch", "flows": 40}}
    with pytest.raises(fs.ExperimentError) as caught:
        fs.Experiment.from_dict(wrong, name="mine.toml").plan()
    error = caught.value
    assert (error.kind, error.file, error.key, error.nearest) == ("name", "mine.toml", "sizes", "web-search")
    text = fs.Experiment.from_dict(wrong).text.splitlines()
    assert error.line is not None and "web-serch" in text[error.line - 1]
    assert "did you mean `web-search`?" in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert (again.kind, again.key, again.nearest) == ("name", "sizes", "web-search")
    with pytest.raises(fs.ExperimentError) as caught:
        fs.Experiment.from_dict({**SMALL, "sweep": {"lod": [0.5]}}).plan()
    assert (caught.value.kind, caught.value.key, caught.value.nearest) == ("name", "lod", "load")


@pytest.mark.parametrize(
    ("load", "said"),
    [
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (None, "`workload.load` is None"),
        (1j, "`workload.load` is of the type complex"),
        (2**70, "beyond 64 bits"),
        (object(), "of the type object"),
        ([[0.5]], "load"),
    ],
)
def test_from_dict__values_that_no_experiment_has(load: object, said: str) -> None:
    with pytest.raises(fs.ExperimentError, match=said):
        fs.Experiment.from_dict({**SMALL, "workload": {"load": load}, "sweep": {"scheme": "pias"}}).plan()


def test_whole_numbers__are_those_of_numpy_too_and_nothing_else(small: fs.Experiment, tmp_path: Path) -> None:
    assert small.set(seeds=np.int64(1)).changes == small.set(seeds=1).changes  # type: ignore[arg-type]
    for wrong in [0, -1, 2.7, True, "5", [1, 2], 10**30]:
        with pytest.raises(fs.ExperimentError, match="seeds=.*; expected a whole number of at least 1") as error:
            small.set(seeds=wrong)  # type: ignore[arg-type]
        assert error.value.expected == "a whole number of at least 1"
        with pytest.raises(fs.ExperimentError, match="jobs="):
            small.run(tmp_path / "out", jobs=wrong)  # type: ignore[arg-type]
    with pytest.raises(fs.ExperimentError, match="queues=-1"):
        fs.thresholds(workload="web-search", queues=-1)
    assert fs.thresholds(workload="web-search", load=np.float32(0.5), queues=2, method="pias")  # type: ignore[arg-type]


def test_set__texts_keep_their_commas(small: fs.Experiment, tmp_path: Path) -> None:
    for name in ["my, sizes.csv", "other.csv"]:
        (tmp_path / name).write_text("size_bytes,cdf\n1000,0.5\n20000,1\n")
    exp = fs.Experiment.from_dict({**SMALL, "workload": {"flows": 20, "cdf": str(tmp_path / "other.csv")}})
    cdfs = [str(tmp_path / "my, sizes.csv"), str(tmp_path / "other.csv")]
    assert len(exp.set(cdf=cdfs, load=0.5, scheme="pias").plan()) == 2 * SMALL["run"]["seeds"]


def test_from_dict__a_list_in_itself_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    deep: dict[str, object] = {}
    deep["a"] = deep
    for wrong in (endless, deep):
        with pytest.raises(fs.ExperimentError, match="too deep"):
            fs.Experiment.from_dict({"workload": wrong})
    with pytest.raises(fs.ExperimentError, match="a key that is not a text"):
        fs.Experiment.from_dict({"workload": {1: 2}})


def test_from_dict__numpy_and_paths_are_taken(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("size_bytes,cdf\n1000,0.5\n20000,1\n")
    exp = fs.Experiment.from_dict(
        {
            "topology": {"kind": "single-switch", "hosts": np.int32(4)},
            "workload": {"cdf": tmp_path / "c.csv", "flows": np.uint16(10)},
            "sweep": {"load": np.array([0.25, 0.5]), "scheme": ("dctcp",)},
        }
    )
    assert [point.split(", load ")[1] for point in exp.plan().points] == ["0.25", "0.5"]


texts = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20)
values = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=150)
@given(st.dictionaries(texts.filter(lambda name: name not in ("workload", "schemes", "report")), values, max_size=5))
def test_text__is_the_dict_again(given_dict: dict[str, object]) -> None:
    tomllib = pytest.importorskip("tomllib")

    def plain(value: object) -> object:
        if isinstance(value, dict):
            return {key: plain(inner) for key, inner in value.items()}
        return [plain(inner) for inner in value] if isinstance(value, list) else value

    assert tomllib.loads(fs.Experiment.from_dict(given_dict).text) == plain(given_dict)


@settings(max_examples=60)
@given(st.dictionaries(texts, values, max_size=3), st.dictionaries(texts, values, max_size=2))
def test_plan__of_anything_is_refused_and_never_a_panic(given_dict: dict[str, object], changes: dict[str, object]) -> None:
    with pytest.raises((fs.ExperimentError, TypeError)):
        fs.Experiment.from_dict(given_dict).set(changes).plan()


def test_run__progress_is_told_and_its_exception_ends_the_runs(small: fs.Experiment, tmp_path: Path) -> None:
    heard: list[tuple[int, int]] = []
    small.run(tmp_path / "a", jobs=1, progress=lambda finished, runs, *_: heard.append((finished, runs)))
    assert heard[-1] == (8, 8)

    def fail(finished: int, *_: object) -> None:
        if finished >= 2:
            raise ZeroDivisionError("mine")

    many = small.set(seeds=400)
    with pytest.raises(ZeroDivisionError, match="mine"):
        many.run(tmp_path / "b", jobs=1, progress=fail)
    kept = len(list((tmp_path / "b" / "parts").iterdir()))
    assert 2 <= kept < 1600 and not (tmp_path / "b" / "manifest.json").exists()


LONG = """
import flowsieve as fs, sys
# Minutes of work, and a line once some of it is done.
exp = fs.Experiment.builtin("quickstart").set(scheme="dctcp", load=0.7, flows=400_000, seeds=1)
lines = ["in the middle"]
def show(finished, runs, share, *_):
    if share > 0 and lines:
        print(lines.pop(), flush=True)
try:
    exp.run(sys.argv[1], jobs=1, progress=show)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_run__ctrl_c_is_heard_in_the_middle_of_a_run(tmp_path: Path) -> None:
    script = tmp_path / "long.py"
    script.write_text(LONG)
    process = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "in the middle\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.read() == "interrupted\n"
    assert process.wait() == 0
    assert list((tmp_path / "out" / "parts").iterdir()) == [], "nothing half-made is left"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_run__leaves_no_thread_so_that_forks_are_safe(small: fs.Experiment, tmp_path: Path) -> None:
    small.run(tmp_path / "before", jobs=2)
    if Path("/proc/self/task").is_dir():
        names = [(path / "comm").read_text() for path in Path("/proc/self/task").iterdir()]
        assert not any("flowsieve" in name for name in names)
    child = os.fork()
    if child == 0:
        try:
            small.run(tmp_path / "after", jobs=2)
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert files(tmp_path / "before") == files(tmp_path / "after")


def test_run__folders_that_are_taken_or_hold_something_else(
    small: fs.Experiment, result: fs.Result, tmp_path: Path
) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(fs.ResultError, match="holds other files"):
        small.run(tmp_path)
    with pytest.raises(fs.ResultError, match="would be replaced"):
        small.set(load=0.3).run(result.path)
    with pytest.raises(fs.ResultError):
        fs.Result(tmp_path / "nowhere")


def test_join__of_shards(small: fs.Experiment, result: fs.Result, tmp_path: Path) -> None:
    plan = small.plan()
    folders = [tmp_path / str(number) for number in (1, 2, 3)]
    for number, folder in enumerate(folders, start=1):
        made = small.run_parts(plan.shard(f"{number}/3"), folder)
        assert made == len(plan.shard(f"{number}/3"))
    with pytest.raises(fs.ExperimentError, match="runs are missing"):
        small.join(tmp_path / "joined", folders[:2])
    part = small.join(tmp_path / "part", folders[:2], partial=True)
    assert any("runs are missing" in finding["text"] for finding in part.doctor().data)
    assert files(small.join(tmp_path / "joined", folders).path) == files(result.path)


ENDS = """
import flowsieve as fs, os, sys, threading, time
# Minutes of work.
exp = fs.Experiment.builtin("quickstart").set(scheme="dctcp", load=0.7, flows=400_000, seeds=1)
runs = threading.Thread(target=exp.run, args=(sys.argv[1],), daemon=True)
runs.start()
# This thread goes on: it sees the run begin, and then a hundred turns.
while not os.path.isdir(sys.argv[1] + "/parts"):
    time.sleep(0.01)
for _ in range(100):
    time.sleep(0.001)
print("ends during the run" if runs.is_alive() else "the run is over", flush=True)
"""


def test_run__other_threads_go_on_and_the_interpreter_may_end_meanwhile(tmp_path: Path) -> None:
    script = tmp_path / "ends.py"
    script.write_text(ENDS)
    done = subprocess.run([sys.executable, str(script), str(tmp_path / "out")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "ends during the run\n"), done.stderr
