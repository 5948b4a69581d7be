"""The protocol of a way to spread runs: three methods."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Program:
    """A program, by what its results depend on."""

    version: str
    model: int
    digest: str
    """BLAKE3 of the extension module."""

    def __str__(self) -> str:
        return f"flowsieve {self.version}, model {self.model}, {self.digest[:12]}"


@dataclass(frozen=True)
class Bundle:
    """An experiment with every file that it names, and the program that its workers need."""

    path: Path
    """The bundle, on the driver's disk."""
    digest: str
    """BLAKE3 of its bytes: what it is called on other machines."""
    plan: str
    """The hash of its plan."""
    program: Program
    """The program that makes the runs."""


@dataclass(frozen=True)
class Task:
    """Runs that are made one after the other, in one place."""

    keys: tuple[str, ...]
    packet_hops: float
    """About how many packet-hops they take."""
    memory_bytes: int
    """About how much memory one of them takes at most."""
    tries: int = 0
    """How often they have been lost."""


@dataclass(frozen=True)
class Made:
    """A run that has been made: its part."""

    key: str
    archive: bytes | None
    """The part as an archive; None where it is in the folder of parts that all share."""


class Lost(Exception):
    """Runs whose machine or process is gone, or whose answer cannot be read. They are made again elsewhere."""


class Backend(Protocol):
    """The place where runs are made. ``submit`` returns futures of parts; runs that fail with :class:`Lost` are submitted
    again."""

    @property
    def parts(self) -> Path | None:
        """A folder that the driver and all workers share, into which parts go; None where parts travel as archives."""

    @property
    def shards(self) -> int | None:
        """Into how many tasks all runs are cut beforehand; None where they are handed out one after the other."""

    def open(self, bundle: Bundle) -> None:
        """Gets ready for the runs of a bundle; what travels once, travels now."""

    def slots(self) -> int:
        """How many tasks it can work on at once; it may change meanwhile."""
        ...

    def submit(self, bundle: Bundle, task: Task) -> Future[list[Made]]:
        """Begins to make the runs of a task."""
        ...

    def told(self) -> Iterable[str]:
        """News for the user since the last call: a cluster without free nodes, a lost node. It is called after each round
        of submissions.
        """
        ...

    def close(self) -> None:
        """Ends everything that it began. Unfinished runs are dropped."""
