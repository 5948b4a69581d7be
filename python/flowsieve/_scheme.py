"""Schemes of one's own, with a tagger and a controller in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flowsieve import _arrays, _source
from flowsieve.errors import ExperimentError, SweepError

CODE = ("own_tagger", "own_controller")
_BEGINNINGS = (0, "0s", "0ms", "0us", "0ns", "0ps")


class Scheme:
    """A scheme whose hosts demote flows by thresholds, with a tagger and a controller of your own.

    ``base`` is the scheme that it changes: ``"pias"``, or another whose hosts demote flows by bytes sent. ``settings`` are
    settings of it, such as ``queues=4``.

    ``tagger`` is one of these:

    - thresholds in bytes, one less than the queues;
    - a list of ``(time, thresholds)``: the first time is 0, and each row holds from its time on;
    - a callable, called for each flow that starts with a :class:`FlowStart`. It returns a priority (0 is the highest),
      thresholds for this flow, or None for the thresholds in force. ``flow.size`` is None without ``knows_size=True``.

    ``controller`` is called every ``period`` of simulated time (default: 10ms) with the sizes of the flows that ended since
    the last call, and the time in seconds. It returns thresholds for all hosts, or None. They arrive after ``delay``
    (default: 1ms).

    A callable that is a class is instantiated: a tagger for each host, a controller for each run. Times are texts with a unit,
    or seconds. A callable must return the same for the same arguments: runs are made on several threads, and finished runs are
    kept. See docs/guide/python.md.

    >>> import flowsieve as fs
    >>> def by_size(flow):
    ...     return 0 if flow.size < 100_000 else 7
    >>> mine = fs.Scheme("mine", tagger=by_size, knows_size=True)
    >>> exp = fs.Experiment("quickstart").set(scheme=["pias", mine], load=0.5, flows=20, seeds=1)
    >>> exp.plan().points
    ['pias, load 0.5', 'mine, load 0.5']
    """

    def __init__(
        self,
        name: str,
        base: str = "pias",
        *,
        tagger: Any = None,
        controller: Callable[[list[int], float], Any] | type[Any] | None = None,
        period: str | float | None = None,
        delay: str | float | None = None,
        knows_size: bool = False,
        **settings: Any,
    ) -> None:
        if not isinstance(name, str) or not isinstance(base, str):
            raise TypeError(f"name={name!r}, base={base!r}; expected two texts")
        self.name = name
        """Its name in results."""
        self.calls: dict[str, Callable[..., Any]] = {}
        """Its callables, by the names that results have for them."""
        self.settings: dict[str, Any] = {"base": base, **settings}
        """Its settings, as in a file."""
        self.knows_size: bool = knows_size
        """Whether its tagger is told sizes."""
        if callable(tagger):
            self._give("tagger", own_tagger=self._named(tagger))
            if knows_size:
                self._give("knows_size", own_tagger_knows="sizes")
        elif knows_size:
            raise TypeError("knows_size=True without a callable as the tagger; expected tagger=... with it")
        elif tagger is not None:
            self._give_table(tagger)
        if controller is None and (period is not None or delay is not None):
            raise TypeError("period or delay without a controller; expected controller=... with it")
        if controller is not None:
            if not callable(controller):
                raise TypeError(f"controller is of the type {type(controller).__name__}; expected a callable")
            self._give("controller", own_controller=self._named(controller))
            if period is not None:
                self._give("period", controller_period=_time("period", period))
            if delay is not None:
                self._give("delay", controller_delay=_time("delay", delay))

    def _give(self, parameter: str, **setting: Any) -> None:
        for key in setting.keys() & self.settings.keys():
            raise TypeError(f"{parameter} and {key}; expected one of the two")
        self.settings |= setting

    def _now(self) -> Scheme:
        """The same with the names that its callables have by their code of now: it, or what it refers to, may have changed."""
        now = {name: _source.identity(function) for name, function in self.calls.items()}
        if all(name == old for old, name in now.items()):
            return self
        other = object.__new__(Scheme)
        other.name, other.knows_size = self.name, self.knows_size
        other.calls = {now[old]: function for old, function in self.calls.items()}
        other.settings = {key: now.get(value, value) if key in CODE else value for key, value in self.settings.items()}
        return other

    def _named(self, function: Callable[..., Any]) -> str:
        name = _source.identity(function)
        self.calls[name] = function
        return name

    def _give_table(self, tagger: Any) -> None:
        rows = _arrays.plain(tagger)
        if not isinstance(rows, Sequence) or isinstance(rows, (str, bytes)):
            raise TypeError(f"tagger is of the type {type(tagger).__name__}; expected thresholds, (time, thresholds) or a callable")
        if not rows or not isinstance(rows[0], (list, tuple)):
            return self._give("tagger", thresholds=_sizes("tagger", tagger))
        if not all(isinstance(row, (list, tuple)) and len(row) == 2 for row in rows):
            raise ExperimentError("tagger has a row that is no pair; expected (time, thresholds)", key="tagger")
        if rows[0][0] not in _BEGINNINGS:
            raise ExperimentError(f"tagger[0] begins at {rows[0][0]!r}; expected 0", expected="0", key="tagger")
        times = [_time(f"tagger[{at}]", time) for at, (time, _) in enumerate(rows)]
        sizes = [_sizes(f"tagger[{at}]", row) for at, (_, row) in enumerate(rows)]
        self._give("tagger", thresholds=sizes[0])
        if len(rows) > 1:
            later = [" ".join([time, *row]) for time, row in zip(times[1:], sizes[1:])]
            self._give("tagger", later_thresholds=later)

    def __repr__(self) -> str:
        return f"Scheme({self.name!r}, {', '.join(f'{key}={value!r}' for key, value in self.settings.items())})"


def _sizes(name: str, values: Any) -> list[str]:
    return [f"{each}B" for each in _arrays.whole_bytes(name, values)]


def _time(name: str, value: Any) -> str:
    """A time with a unit; numbers are seconds."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} is of the type {type(value).__name__}; expected seconds, or a text such as '10ms'")
    seconds = float(value)
    if not 0 <= seconds <= 864_000:
        expected = "0 to 864000 seconds"
        raise ExperimentError(f"{name} = {value}; expected {expected}", expected=expected, key=name)
    return f"{round(seconds * 1e12)}ps"


def split(schemes: Any) -> tuple[Any, dict[str, Scheme]]:
    """A list of schemes with names instead of those of one's own, and these by name."""
    listed = [schemes] if isinstance(schemes, Scheme) else schemes
    if not isinstance(listed, (list, tuple)):
        return schemes, {}
    own: dict[str, Scheme] = {}
    for each in listed:
        if isinstance(each, Scheme) and own.setdefault(each.name, each) is not each:
            raise ExperimentError(f"two schemes are called {each.name!r}; expected different names", key="schemes")
    return [each.name if isinstance(each, Scheme) else each for each in listed], own


def refuse_elsewhere(what: str, calls: Mapping[str, object]) -> None:
    """Refuses to let another process make runs that call Python: it does not have the callables."""
    if calls:
        raise SweepError(f"{what}: runs call {', '.join(calls)}, which this process alone has; expected exp.run(...)")
