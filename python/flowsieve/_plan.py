"""What an experiment would run."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flowsieve import _flowsieve, _show
from flowsieve._folders import PathLike
from flowsieve._naming import naming
from flowsieve._scheme import refuse_elsewhere
from flowsieve._words import in_python

if TYPE_CHECKING:
    from flowsieve._result import Result


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run of a plan: a point with a seed."""

    key: str
    """The name of its part: a hash of all that its result depends on."""
    point: int
    """Its point, as an index among those of the plan."""
    seed: int
    packet_hops: float
    """About how many packet-hops it takes."""
    memory_bytes: int
    """About how much memory it takes at most."""


class Plan:
    """What an experiment would run; nothing is run yet.

    >>> import flowsieve as fs
    >>> plan = fs.Experiment.builtin("quickstart").set(flows=10, seeds=2).plan()
    >>> len(plan), len(plan.points)
    (12, 6)
    >>> plan.shard("1/3") & plan.shard("2/3")
    set()
    """

    def __init__(
        self,
        raw: _flowsieve.Plan,
        *,
        keep: object = None,
        calls: Mapping[str, object] | None = None,
    ) -> None:
        self._raw = raw
        # The callables that its runs need, which are in this process alone.
        self._calls = calls or {}
        # What has to live as long.
        self._keep = keep
        listing = json.loads(raw.json())
        self.hash: str = listing["plan"]
        """Names the plan: equal on all machines with the same experiment and program."""
        self.versions: dict[str, str] = listing["versions"]
        """What would make the runs, ``model`` among it."""
        self.title: str = listing["title"]
        self.points: list[str] = listing["points"]
        """Scheme, load and swept settings of each point, in words."""
        self.runs: list[Run] = [Run(**run) for run in listing["runs"]]
        """The runs in the order in which they start."""
        self.packet_hops: float = listing["packet_hops"]
        self.warnings: list[str] = [in_python(warning) for warning in listing["warnings"]]

    def shard(self, shard: str) -> set[str]:
        """The keys of a share of the runs by their cost, such as ``"3/40"``: the same on every machine.

        >>> import flowsieve as fs
        >>> plan = fs.Experiment.builtin("quickstart").set(flows=10, seeds=2).plan()
        >>> len(plan.shard("1/2") | plan.shard("2/2")) == len(plan)
        True
        """
        with naming(None, shard=shard):
            return set(self._raw.shard(shard))

    def pack(self, path: PathLike, *, result: Result | None = None, replace: bool = False) -> Path:
        """Writes the experiment with every file that it names as a bundle, for other machines. With its ``result`` the bundle has
        digests of that, which ``flowsieve verify`` proves.

        A file that is there already is replaced with ``replace=True`` alone.

        >>> import flowsieve as fs, tempfile
        >>> fs.Experiment.builtin("quickstart").plan().pack(tempfile.mkdtemp() + "/quickstart.flowsieve").name
        'quickstart.flowsieve'
        """
        refuse_elsewhere("pack", self._calls)
        self._raw.pack(os.fspath(path), replace, None if result is None else str(result.path))
        return Path(path)

    def __len__(self) -> int:
        return len(self.runs)

    def __str__(self) -> str:
        return in_python(self._raw.text())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _show.preformatted(str(self))
