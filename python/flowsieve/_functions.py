"""Whether callables of schemes are functions of their arguments: results are kept, and are the same with several jobs, only then."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from flowsieve import _source
from flowsieve._findings import Finding
from flowsieve._flowsieve import FlowStart
from flowsieve._scheme import Scheme

_FLOWS = 100
"""Flows that a tagger is asked about."""
_PERIODS = 10
"""Times that a controller is asked."""
_REMEDY = "random numbers from random.Random(seed), made where the callable is made; give a class if it remembers something"


def unsure(schemes: Mapping[str, Scheme], rows: Iterable[Mapping[str, Any]]) -> list[Finding]:
    """Asks each callable twice about the first of these flows: where its answers differ, and what it raises."""
    flows = list(islice(rows, _FLOWS))
    found = []
    for scheme in schemes.values():
        asked: dict[str, Sequence[tuple[str, tuple[Any, ...]]]] = {
            "own_tagger": [_start(flow, scheme.knows_size) for flow in flows],
            "own_controller": [_ended(flows[nth::_PERIODS], nth) for nth in range(_PERIODS)],
        }
        for key, questions in asked.items():
            if key in scheme.settings:
                found += _of_one(scheme.calls[scheme.settings[key]], questions, f"scheme {scheme.name}")
    return found


def _of_one(function: Callable[..., Any], questions: Sequence[tuple[str, tuple[Any, ...]]], at: str) -> list[Finding]:
    name = _source.name_of(function)
    try:
        # A class begins anew for each host or run.
        first, second = (function() if isinstance(function, type) else function for _ in range(2))
        answers = [[repr(each(*arguments)) for _, arguments in questions] for each in (first, second)]
    except Exception as error:
        return [Finding("wrong", f"{name} raises {type(error).__name__}: {error}", at=at)]
    for (what, _), one, other in zip(questions, *answers):
        if one != other:
            text = f"{name} is no function of its arguments: {what} it answers {one[:80]}, and asked again {other[:80]}"
            return [Finding("wrong", f"{text}; the same run gives other results each time it is made", at=at, remedy=_REMEDY)]
    return []


def _start(row: Mapping[str, Any], knows_size: bool) -> tuple[str, tuple[FlowStart]]:
    """A flow of a list, or of a result."""
    source, destination = int(row["src"]), int(row["dst"])
    start = float(row["start_s"]) if "start_s" in row else row["start_ps"] / 1e12
    deadline = row.get("deadline_s") if "start_s" in row else row.get("deadline_ps")
    due = None if deadline in (None, "") else float(deadline) if "start_s" in row else start + deadline / 1e12
    coflow = row.get("coflow")
    flow = FlowStart(
        source,
        destination,
        class_=int(row.get("class") or row.get("traffic_class") or 0),
        size=int(row["bytes"]) if knows_size else None,
        start=start,
        deadline=due,
        coflow=None if coflow in (None, "") else int(coflow),
    )
    return f"for a flow from host {source} to {destination} at {start * 1e6:.3f} us", (flow,)


def _ended(rows: Iterable[Mapping[str, Any]], nth: int) -> tuple[str, tuple[list[int], float]]:
    now = (nth + 1) * 1e-3
    return f"at {now * 1e3:.0f} ms", ([int(row["bytes"]) for row in rows], now)
