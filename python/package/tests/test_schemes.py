"""Schemes with a tagger and a controller in Python."""

from __future__ import annotations

import functools
import json
import os
import signal
import threading
import time
import traceback
from pathlib import Path
from typing import Any

import flowsieve as fs
import numpy as np
import pytest
from conftest import files

THRESHOLDS = [20_000, 100_000, 1_000_000]


def rack(*schemes: Any, **settings: Any) -> fs.Experiment:
    exp = fs.Experiment(
        topology={"kind": "single-switch", "hosts": 6},
        workload={"sizes": "web-search", "flows": 60, "load": 0.7},
        schemes=list(schemes),
    )
    return exp.set(settings) if settings else exp


def pias(**settings: Any) -> fs.Experiment:
    return rack("pias").set({"schemes.pias.queues": 4, "schemes.pias.thresholds": THRESHOLDS, **settings})


def columns(res: fs.Result, scheme: str) -> dict[str, list[Any]]:
    """The flows of a scheme, without its name and number."""
    rows = [row for row in res.flows() if row["scheme"] == scheme]
    return {name: [row[name] for row in rows] for name in rows[0] if name not in ("scheme", "point")}


def left_in(folder: Path) -> list[Path]:
    """The files of a folder, but for its lock."""
    return [path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(".lock")]


def by_pias(flow: fs.FlowStart) -> list[int]:
    return THRESHOLDS


def by_size(flow: fs.FlowStart) -> int:
    assert flow.size is not None
    return int(np.searchsorted(THRESHOLDS, flow.size))


@pytest.mark.parametrize(
    "tagger", [THRESHOLDS, np.array(THRESHOLDS), [(0, THRESHOLDS)], by_pias, lambda flow: np.array(THRESHOLDS, float)]
)
def test_tagger__pias_again_has_the_bytes_of_pias(tagger: Any, tmp_path: Path) -> None:
    # Under the name of the built-in scheme's variant, so that the files could differ by numbers alone.
    own = rack(fs.Scheme("mine", queues=4, tagger=tagger)).run(tmp_path / "own")
    built_in = rack(fs.Scheme("mine", queues=4, thresholds=[f"{each}B" for each in THRESHOLDS])).run(tmp_path / "built-in")
    assert (tmp_path / "own/flows.parquet").read_bytes() == (tmp_path / "built-in/flows.parquet").read_bytes()
    assert columns(own, "mine") == columns(pias().run(), "pias")


def test_tagger__by_time() -> None:
    late = [(0, [1, 2, 3]), ("5ms", THRESHOLDS)]
    assert columns(rack(fs.Scheme("mine", queues=4, tagger=late)).run(), "mine") != columns(pias().run(), "pias")
    # Before the first flow's second packet.
    soon = [(0, [1, 2, 3]), (1e-12, THRESHOLDS)]
    exp = rack(fs.Scheme("mine", queues=4, tagger=soon))
    assert columns(exp.run(), "mine") == columns(pias().run(), "pias")
    assert fs.Experiment.from_text(exp.to_toml()).plan().runs == exp.plan().runs, "no callable: the file has it all"


def test_tagger__knows_what_the_scheme_says() -> None:
    seen: list[fs.FlowStart] = []

    def note(flow: fs.FlowStart) -> None:
        seen.append(flow)

    flows = rack(fs.Scheme("mine", tagger=note)).run().flows()
    assert len(seen) == 60 and all(flow.size is None for flow in seen)
    seen.clear()
    rack(fs.Scheme("mine", tagger=note, knows_size=True)).run()
    rows = sorted((round(row["start_ps"] / 1e3), row["src"], row["dst"], row["bytes"]) for row in flows)
    assert sorted((round(each.start * 1e9), each.source, each.destination, each.size) for each in seen) == rows
    assert seen[0].deadline is None and seen[0].coflow is None and seen[0].class_ == 0 and "size=" in repr(seen[0])


def test_tagger__a_priority_for_the_whole_flow() -> None:
    res = rack("pias", fs.Scheme("mine", queues=4, tagger=by_size, knows_size=True)).run()
    infos = {info["name"]: info for info in res.experiment["schemes"]}
    assert infos["mine"]["knows"] == "flow sizes" and "does not hold" in infos["mine"]["summary"]
    assert "test_schemes.by_size (Python, code " in infos["mine"]["summary"]
    assert infos["pias"]["knows"] == "nothing"
    endless = [10**15] * 3
    taggers: list[Any] = [lambda flow: 0, lambda flow: endless, lambda flow: 3]
    first, unreached, last = (columns(rack(fs.Scheme("mine", queues=4, tagger=each)).run(), "mine") for each in taggers)
    assert first == unreached != last


class Percentiles:
    """AWAFS's thresholds at one host: percentiles, by nearest rank, of what ended in a window of two periods."""

    def __init__(self) -> None:
        self.before: list[int] = []

    def __call__(self, sizes: list[int], now: float) -> list[int] | None:
        ranked = sorted(self.before + sizes)
        self.before = sizes
        if not ranked:
            return None
        found = [0]
        for tenth in range(1, 8):
            found.append(max(ranked[-(-tenth * len(ranked) // 10) - 1], found[-1] + 1))
        # AWAFS demotes at the threshold, PIAS beyond it.
        return [size - 1 for size in found[1:]]


def test_controller__awafs_again_has_its_flow_times() -> None:
    # One host sends, so that its own thresholds are those of all.
    flows = {
        "start_s": [30e-6 * at for at in range(60)],
        "src": [0] * 60,
        "dst": [1 + at % 5 for at in range(60)],
        "bytes": [1_000 + (at * 7_919) % 90_000 for at in range(60)],
    }
    mine = fs.Scheme("mine", controller=Percentiles, period="200us", delay=0, tagger=[7_000 * each - 1 for each in range(1, 8)])
    exp = fs.Experiment(topology={"kind": "single-switch", "hosts": 6}, workload={"flows": flows}, schemes=["awafs", mine])
    exp = exp.set({"schemes.awafs.place_of_thresholds": "host", "schemes.awafs.update_period": "200us"})
    res = exp.set({"schemes.awafs.update_window": "400us"}).run()
    assert columns(res, "mine") == columns(res, "awafs")
    silent = fs.Scheme("mine", tagger=[7_000 * each - 1 for each in range(1, 8)])
    still = fs.Experiment(topology={"kind": "single-switch", "hosts": 6}, workload={"flows": flows}, schemes=[silent]).run()
    assert columns(still, "mine") != columns(res, "mine"), "thresholds matter here"


def test_runs__do_not_depend_on_threads(tmp_path: Path) -> None:
    def halves(sizes: list[int], now: float) -> list[float] | None:
        return list(np.quantile(sizes, [0.25, 0.5, 0.75])) if sizes else None

    mine = fs.Scheme("mine", queues=4, tagger=by_size, knows_size=True)
    other = fs.Scheme("other", queues=4, controller=halves, period=1e-3, delay="10us")
    exp = rack("pias", mine, other).set(seeds=3)
    exp.run(tmp_path / "one", jobs=1)
    exp.run(tmp_path / "two", jobs=2)
    assert files(tmp_path / "one") == files(tmp_path / "two")
    run = json.loads((tmp_path / "two/run.json").read_text())
    calls = {each["name"].split(" ")[0].rsplit(".", 1)[1]: each for each in run["calls"]}
    assert calls["by_size"]["calls"] == 180 and calls["by_size"]["seconds"] > 0 and calls["halves"]["calls"] > 3
    assert "calls" not in json.loads((pias().run(tmp_path / "none").path / "run.json").read_text())


def test_runs__of_changed_code_are_made_again(tmp_path: Path) -> None:
    def scheme(priority: int) -> fs.Scheme:
        return fs.Scheme("mine", tagger=lambda flow: priority)

    def key(of: fs.Scheme) -> str:
        return rack(of).plan().runs[0].key

    assert key(scheme(1)) == key(scheme(1)) != key(scheme(2))
    assert key(fs.Scheme("mine", tagger=functools.partial(max, 1))) == key(fs.Scheme("mine", tagger=functools.partial(max, 1)))
    assert key(fs.Scheme("mine", tagger=functools.partial(max, 1))) != key(fs.Scheme("mine", tagger=functools.partial(max, 2)))
    globals()["THRESHOLDS"], kept = [1, 2, 3], THRESHOLDS
    try:
        changed = key(fs.Scheme("mine", queues=4, tagger=by_pias))
    finally:
        globals()["THRESHOLDS"] = kept
    assert changed != key(fs.Scheme("mine", queues=4, tagger=by_pias))
    # Without Python nothing of the others' keys changes.
    assert rack("pias").plan().runs[0].key == rack("pias", scheme(1)).plan().runs[0].key


def test_to_toml__says_what_it_lacks(tmp_path: Path) -> None:
    exp = rack("pias", fs.Scheme("mine", tagger=by_size, knows_size=True)).set(load=[0.5, 0.7])
    text = exp.to_toml()
    assert text.startswith("# This file does not hold the Python code of test_schemes.by_size (Python, code ")
    with pytest.raises(fs.ExperimentError, match="the experiment file alone cannot be run") as error:
        fs.Experiment.from_text(text).plan()
    assert error.value.key == "own_tagger"
    assert any("cannot reproduce" in finding.text for finding in exp.check())
    with pytest.raises(fs.SweepError, match="pack: runs call test_schemes.by_size"):
        exp.pack(tmp_path / "x.flowsieve")
    with pytest.raises(fs.SweepError, match="sweep: runs call .*expected exp.run"):
        fs.sweep(exp, tmp_path / "out")
    assert not (tmp_path / "out").exists() and not (tmp_path / "x.flowsieve").exists()


def test_experiment__arrays_and_changes_keep_the_callables() -> None:
    exp = fs.Experiment("quickstart").set(scheme=["pias", fs.Scheme("mine", tagger=by_size, knows_size=True, queues=4)])
    exp = exp.set(sizes=np.array([1_000, 50_000, 2_000_000]), flows=20, load=0.5, seeds=1)
    assert exp.plan().points == ["pias, load 0.5", "mine, load 0.5"]
    assert {row["scheme"] for row in exp.run().flows()} == {"pias", "mine"}
    assert len(exp.flows()) if hasattr(fs.Flows, "__len__") else exp.flows()


def test_tagger__that_raises_stops_the_run(tmp_path: Path) -> None:
    def wrong(flow: fs.FlowStart) -> int:
        raise LookupError("no such host\nand more")

    with pytest.raises(fs.SimulationError, match=r"seed 1: the tagger .*wrong .* raised LookupError: no such host$") as error:
        rack(fs.Scheme("mine", tagger=wrong)).run(tmp_path / "out", jobs=1)
    assert isinstance(error.value.__cause__, LookupError)
    assert "in wrong" in "".join(traceback.format_exception(error.value.__cause__))
    assert left_in(tmp_path / "out") == []


def test_controller__that_raises_stops_the_run() -> None:
    def wrong(sizes: list[int], now: float) -> None:
        raise ZeroDivisionError

    with pytest.raises(fs.SimulationError, match="the controller .* raised ZeroDivisionError") as error:
        rack(fs.Scheme("mine", controller=wrong, period="100us")).run()
    assert isinstance(error.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("x", "returned 'x'; expected a priority"),
        (True, "returned True; expected a priority"),
        (-1, "returned -1; expected a priority"),
        (1.5, "returned 1.5; expected a priority"),
        (10**30, "expected a priority"),
        (4, "returned priority 4; expected 0 to 3, for 4 queues"),
        ({1: 2}, "expected a priority"),
        ([1, float("nan")], "numbers, 0 to 10\\^15 bytes"),
        ([-1], "numbers, 0 to 10\\^15 bytes"),
        ([10**18], "numbers, 0 to 10\\^15 bytes"),
        ([None], "numbers, 0 to 10\\^15 bytes"),
        ([3, 2], "thresholds that fall from 3 to 2"),
        ([1, 2, 3, 4], "4 thresholds; expected at most 3, for 4 queues"),
        (iter(int, 1), "no more thresholds than there are queues"),
        (np.zeros((2, 2)), "numbers, 0 to 10\\^15 bytes"),
    ],
)
def test_tagger__wrong_answers_in_one_line(answer: Any, said: str) -> None:
    with pytest.raises(fs.SimulationError, match=said) as error:
        rack(fs.Scheme("mine", queues=4, tagger=lambda flow: answer)).run()
    assert "\n" not in str(error.value) and "the tagger" in str(error.value) and error.value.__cause__ is None


def test_scheme__wrong_arguments() -> None:
    for given, said in [
        ({"tagger": 7}, "tagger is of the type int"),
        ({"tagger": []}, "tagger is empty"),
        ({"tagger": [1.5]}, "tagger\\[0\\] = 1.5; expected a whole number of bytes"),
        ({"tagger": [(1, [1])]}, "tagger\\[0\\] begins at 1; expected 0"),
        ({"tagger": [(0, [1]), (float("nan"), [2])]}, "tagger\\[1\\] = nan"),
        ({"tagger": [(0, [1]), (1,)]}, "no pair"),
        ({"tagger": [1], "thresholds": ["2B"]}, "tagger and thresholds; expected one of the two"),
        ({"controller": by_pias, "period": 1, "controller_period": 1}, "period and controller_period"),
        ({"controller": 7}, "controller is of the type int"),
        ({"period": "1ms"}, "expected controller"),
        ({"knows_size": True}, "knows_size=True without"),
        ({"controller": by_pias, "period": None, "delay": -1}, "delay = -1"),
    ]:
        with pytest.raises((TypeError, fs.ExperimentError), match=said):
            fs.Scheme("mine", **given)  # type: ignore[arg-type]
    with pytest.raises(fs.ExperimentError, match="two schemes are called 'mine'"):
        rack(fs.Scheme("mine", tagger=by_size), fs.Scheme("mine", tagger=by_pias))
    with pytest.raises(fs.ExperimentError, match="3 sizes for 4 queues"):
        rack(fs.Scheme("mine", queues=4, tagger=[1, 2])).plan()
    with pytest.raises(fs.ExperimentError, match="`own_tagger` has no effect on `mine`"):
        rack(fs.Scheme("mine", base="dctcp", tagger=by_size)).plan()


def test_scheme__is_not_for_a_program() -> None:
    class Mine(fs.Experiment):
        class _module:  # what the module is for experiments of a program, which is not needed to refuse
            open = of_text = staticmethod(lambda *_: object())

    with pytest.raises(TypeError, match="a program of your own cannot call Python"):
        Mine(topology={"kind": "single-switch", "hosts": 6}, schemes=[fs.Scheme("mine", tagger=by_size)])


def test_run__ctrl_c_ends_a_callable_that_does_not_return(tmp_path: Path) -> None:
    # Where the tests run in the background, a shell may have had the signal ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    begun = threading.Event()

    def endless(flow: fs.FlowStart) -> int:
        begun.set()
        while True:
            time.sleep(0.001)

    def interrupt() -> None:
        begun.wait()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        rack(fs.Scheme("mine", tagger=endless)).run(tmp_path / "out")
    assert left_in(tmp_path / "out") == []
