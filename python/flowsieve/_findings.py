"""What looks wrong, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, overload

from flowsieve import _show
from flowsieve._words import in_python


@dataclass(frozen=True)
class Finding:
    """Something that looks wrong in an experiment or a result, or a cause of what was measured.

    >>> import flowsieve as fs
    >>> res = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=1).run()
    >>> [finding.remedy for finding in res.doctor() if "one seed" in finding.text]
    ['run with seeds=3 or more']
    """

    severity: str
    """``wrong``, ``careful`` or ``note``."""
    text: str
    """What was found."""
    _: KW_ONLY
    at: str = ""
    """Where, in words."""
    points: tuple[int, ...] = ()
    """The points that it is about, by their indices; none where it is about all or was found before there were any."""
    remedy: str = ""
    """What to do about it, if that is known."""
    is_cause: bool = False
    """Whether it says where time or packets went, and not what is wrong."""

    def __str__(self) -> str:
        at = f" ({self.at})" if self.at else ""
        return f"{self.severity}: {self.text}{at}" + (f"\n  → {self.remedy}" if self.remedy else "")


class Findings(Sequence[Finding]):
    """Causes, then what looks wrong, what matters most first: each a :class:`Finding`.

    ``print`` shows the command's text, and ``data`` is the list of ``flowsieve doctor --json``.

    >>> import flowsieve as fs
    >>> res = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=2).run()
    >>> found = res.doctor()
    >>> found[0].is_cause, found[0].severity
    (True, 'note')
    """

    def __init__(self, every: Sequence[Finding], *, data: list[dict[str, Any]], said: str) -> None:
        self._every = tuple(every)
        self.data = data
        self._said = said

    @overload
    def __getitem__(self, index: int) -> Finding: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Finding, ...]: ...

    def __getitem__(self, index: int | slice) -> Finding | tuple[Finding, ...]:
        return self._every[index]

    def __len__(self) -> int:
        return len(self._every)

    def __str__(self) -> str:
        return self._said

    __repr__ = __str__

    def _repr_html_(self) -> str:
        names = ("severity", "text", "at", "remedy")
        rows = [{name: getattr(finding, name) for name in names} for finding in self._every]
        return _show.table(names, rows, len(rows)) if rows else _show.preformatted(self._said)


def of_result(data: list[dict[str, Any]], said: str, more: Sequence[Finding] = ()) -> Findings:
    """What ``flowsieve doctor`` found, and more."""
    every = [
        Finding(
            each["severity"],
            in_python(each["text"]),
            at=each["at"],
            points=tuple(each["points"]),
            remedy=in_python(each["remedy"]),
            is_cause=each["is_cause"],
        )
        for each in data
    ]
    data = [vars(finding) for finding in more] + data
    return Findings([*more, *every], data=data, said="\n".join([*map(str, more), in_python(said)]))


def of_experiment(every: Sequence[Finding]) -> Findings:
    """What was found before anything is run."""
    said = "\n".join(map(str, every)) if every else "nothing looks wrong"
    return Findings(every, data=[vars(finding) for finding in every], said=said)
