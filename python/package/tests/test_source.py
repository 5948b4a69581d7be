"""The identity of callables: of the code that runs, and whether it is a function of its arguments; experiments and results as
bytes."""

from __future__ import annotations

import collections
import copy
import enum
import functools
import importlib
import multiprocessing
import os
import pickle
import random
import subprocess
import sys
import threading
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import flowsieve as fs
import numpy as np
import pytest
from conftest import files
from flowsieve._source import identity


def rack(*schemes: Any) -> fs.Experiment:
    return fs.Experiment(
        topology={"kind": "single-switch", "hosts": 6},
        workload={"sizes": "web-search", "flows": 60, "load": 0.7},
        schemes=list(schemes),
        run={"seeds": 1},
    )


def keys(tagger: Any) -> list[str]:
    return [run.key for run in rack(fs.Scheme("mine", tagger=tagger)).plan().runs]


def first(flow: fs.FlowStart) -> int:
    return 0


def last(flow: fs.FlowStart) -> int:
    return 7


def holding(value: Any) -> Callable[[fs.FlowStart], Any]:
    return lambda flow: value


class Host:
    def __init__(self, number: int) -> None:
        self.number = number

    def __call__(self, flow: fs.FlowStart) -> int:
        return 7 if flow.source == self.number else 0

    def tag(self, flow: fs.FlowStart) -> int:
        return self(flow)


class Slotted:
    __slots__ = ("__hidden",)

    def __init__(self, number: int) -> None:
        self.__hidden = number

    def __call__(self, flow: fs.FlowStart) -> int:
        return self.__hidden


@dataclass
class Given:
    number: int

    def __call__(self, flow: fs.FlowStart) -> int:
        return self.number


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Seeded(random.Random):
    def __call__(self, flow: fs.FlowStart) -> int:
        return self.getrandbits(2)


one, other = (lambda flow: 0 if int(flow.start * 1e9) % 2 else 7), (lambda flow: 7 if flow.source == 0 else 0)
shared, equal = [1], [1]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (one, other),
        (holding(0), holding(3)),
        (functools.partial(max, 1), functools.partial(max, 2)),
        (Host(0), Host(3)),
        (Host(0).tag, Host(3).tag),
        (Slotted(0), Slotted(3)),
        (Given(0), Given(3)),
        (Seeded(0), Seeded(3)),
        (holding(Colour.RED), holding(Colour.BLUE)),
        (holding(random.Random(0)), holding(random.Random(3))),
        (holding(collections.deque([first])), holding(collections.deque([last]))),
        (holding({"a": first}), holding({"a": last})),
        (holding({first}), holding({last})),
        ({"a": 0}.get, {"a": 3}.get),
        (functools.lru_cache(first), functools.lru_cache(last)),
        (holding((shared, equal, shared)), holding((shared, equal, equal))),
        (holding(np.arange(5)), holding(np.arange(1, 6))),
        (holding(np.array([first])), holding(np.array([last]))),
        (holding(0), holding(False)),
        (holding("0"), holding(b"0")),
    ],
)
def test_identity__tells_apart_what_behaves_otherwise(a: Any, b: Any) -> None:
    assert identity(a) != identity(b)
    assert "code of this session" not in identity(a) + identity(b)
    assert identity(a) == identity(a)


@pytest.mark.parametrize("made", [threading.Lock(), (n for n in ()), eval, open])
def test_identity__of_what_cannot_be_followed_is_of_the_session(made: Any) -> None:
    assert "code of this session" in identity(holding(made)) or "code of this session" in identity(lambda flow: eval("0"))
    assert "code of this session" in identity(lambda flow: not_yet_defined(flow))  # type: ignore[name-defined]  # noqa: F821


def test_identity__leaves_out_names_of_files_and_numbers_of_lines() -> None:
    def of(text: str, file: str) -> str:
        known: dict[str, Any] = {"__name__": "mine"}
        exec(compile(text, file, "exec"), known)
        return identity(known["tag"])

    text = "def tag(flow):\n    return 7 if flow.source in {'a', 'b', 'c'} else inner(flow)\ndef inner(flow):\n    return 0\n"
    assert of(text, "a.py") == of("\n\n" + text.replace("\n    return 0", "\n\n    return 0"), "b.py")
    assert of(text, "a.py") != of(text.replace("return 0", "return 1"), "a.py")


def test_identity__is_the_same_in_each_process(tmp_path: Path) -> None:
    text = (
        "from flowsieve._source import identity\n"
        "class C:\n    tags = {'a', 'b', 'c', 'd'}\n    def __call__(self, flow): return flow.size in self.tags\n"
        "print(identity(C()), identity(lambda flow: flow.size in {'x', 'y', 'z'}))\n"
    )
    (tmp_path / "script.py").write_text(text)
    said = {
        subprocess.run(
            [sys.executable, str(tmp_path / "script.py")],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(said) == 1 and "this session" not in said.pop()


def module(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """A module of the user's, read from its file now."""
    (folder / "of_mine.py").write_text(text)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    importlib.invalidate_caches()
    return importlib.reload(sys.modules["of_mine"]) if "of_mine" in sys.modules else importlib.import_module("of_mine")


def test_runs__of_a_reloaded_helper_are_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    helper = module(tmp_path, "def level(flow):\n    return 0\n", monkeypatch)

    def tagger(flow: fs.FlowStart) -> Any:
        return helper.level(flow)

    scheme = fs.Scheme("mine", tagger=tagger)
    exp = rack(scheme)
    key = exp.plan().runs[0].key
    # The file alone is not what runs.
    (tmp_path / "of_mine.py").write_text("def level(flow):\n    return 7777\n")
    assert exp.plan().runs[0].key == key == keys(tagger)[0]
    helper = module(tmp_path, "def level(flow):\n    return 7 if flow.source == 0 else 0\n", monkeypatch)
    assert exp.plan().runs[0].key != key, "the scheme is older, and calls the new code"
    assert exp.plan().runs[0].key == keys(tagger)[0]
    del sys.modules["of_mine"]


def test_runs__in_one_folder_are_those_of_their_own_code(tmp_path: Path) -> None:
    def mean(tagger: Any, out: Path) -> float:
        summary = rack(fs.Scheme("mine", tagger=tagger)).run(out, replace=True).summary()
        return next(float(row["fct_mean_us"]) for row in summary)

    alone = [mean(tagger, tmp_path / str(nth)) for nth, tagger in enumerate((one, other))]
    together = [mean(tagger, tmp_path / "both") for tagger in (one, other)]
    assert together == alone and alone[0] != alone[1]


def test_doctor__says_where_a_tagger_is_no_function() -> None:
    def drawn(flow: fs.FlowStart) -> int:
        return random.randrange(8)

    exp = rack(fs.Scheme("mine", tagger=drawn))
    wrong = next(finding for finding in exp.check() if finding.severity == "wrong")
    assert "drawn is no function of its arguments: for a flow from host " in wrong.text and "random.Random(seed)" in wrong.remedy
    found = exp.run().doctor()
    assert found[0].text.split(":")[0] == wrong.text.split(":")[0] and str(found[0]) in str(found)
    counter = iter(range(10**6))
    assert any("asked again" in finding.text for finding in rack(fs.Scheme("mine", tagger=lambda flow: next(counter) % 8)).check())


class Remembers:
    """What it remembers is of one host."""

    def __init__(self) -> None:
        self.random = random.Random(1)
        self.flows = 0

    def __call__(self, flow: fs.FlowStart) -> int:
        self.flows += 1
        return self.random.randrange(8) if self.flows % 2 else 0


def test_doctor__accepts_functions_and_classes_that_begin_anew() -> None:
    for scheme in (
        fs.Scheme("mine", tagger=Remembers),
        fs.Scheme("mine", tagger=lambda flow: 0 if flow.size < 100_000 else 7, knows_size=True),
        fs.Scheme("mine", tagger=lambda flow: None if flow.deadline is None else 0),
        fs.Scheme("mine", controller=lambda sizes, now: [sum(sizes)], queues=4),
    ):
        assert not [each for each in rack(scheme).check() if "function of its arguments" in each.text]
    controller = fs.Scheme("mine", queues=4, controller=lambda sizes, now: [random.randrange(10**6)])
    assert any("is no function of its arguments: at 1 ms" in each.text for each in rack(controller).check())


def test_flow_start__by_hand() -> None:
    flow = fs.FlowStart(0, 3, size=50_000)
    assert (flow.source, flow.destination, flow.size, flow.start, flow.deadline, flow.class_) == (0, 3, 50_000, 0.0, None, 0)


def _keys_of(exp: fs.Experiment) -> list[str]:
    return [run.key for run in exp.plan().runs]


def test_experiment__is_pickled_with_its_files_and_callables(tmp_path: Path) -> None:
    (tmp_path / "sizes.csv").write_text("size_bytes,cdf\n1000,0.5\n100000,1\n")
    text = rack("pias").set(flows=20).to_toml().replace('sizes = "web-search"', 'cdf = "sizes.csv"')
    for exp in (
        fs.Experiment("quickstart").set(flows=20, load=[0.5, 0.6], seeds=2),
        fs.Experiment("quickstart").set(scale="smoke"),
        rack("pias", fs.Scheme("mine", tagger=first)),
        rack("pias").set(sizes=np.array([1_000, 50_000])),
        fs.Experiment.from_text(text, folder=tmp_path),
    ):
        for other in (pickle.loads(pickle.dumps(exp)), copy.deepcopy(exp), copy.copy(exp)):
            assert _keys_of(other) == _keys_of(exp)
            assert _keys_of(other.set(seeds=3)) == _keys_of(exp.set(seeds=3))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(_keys_of, [rack("pias", fs.Scheme("mine", tagger=first))])[0] == _keys_of(rack("pias", fs.Scheme("mine", tagger=first)))


def test_result__is_pickled_as_its_folder_or_with_it(tmp_path: Path) -> None:
    kept = rack("pias").run(tmp_path / "out")
    assert pickle.loads(pickle.dumps(kept)).path == kept.path
    temporary = rack("pias").run()
    raw, content = pickle.dumps(temporary), files(temporary.path)
    del temporary
    again = pickle.loads(raw)
    assert again.is_temporary and files(again.path) == content
    for other in (again, copy.deepcopy(again)):
        assert {**other.data(), "folder": ""} == {**kept.data(), "folder": ""}
