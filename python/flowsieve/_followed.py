"""One flow, followed packet by packet: as data, as text, and drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flowsieve._folders import PathLike, path_of
from flowsieve.errors import ResultError


class FollowedFlow:
    """The timeline of a flow in the first seed of each point: behind what its packets waited, hop by hop.

    ``print`` shows the text of ``flowsieve run --follow-flow``, a notebook the drawing. ``data`` is what ``--json`` says: a dict for
    each point.

    >>> import flowsieve as fs
    >>> res = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme=["dctcp", "pias"], seeds=1).run()
    >>> followed = res.flow(17)
    >>> [each["run"] for each in followed.data]
    ['dctcp, load 0.5, seed 1', 'pias, load 0.5, seed 1']
    >>> str(followed).splitlines()[0].startswith("Flow 17 under dctcp")
    True
    """

    def __init__(self, data: list[dict[str, Any]], *, said: str, svg: str) -> None:
        self.data = data
        self.text = said
        self.svg = svg

    def save(self, path: PathLike, *, replace: bool = False) -> Path:
        """Writes the drawing as SVG, and returns the path. A file that is there is replaced with ``replace=True``.

        >>> import flowsieve as fs, tempfile
        >>> res = fs.Experiment.builtin("quickstart").set(flows=40, load=0.5, scheme="dctcp", seeds=1).run()
        >>> res.flow("slowest").save(tempfile.mkdtemp() + "/flow.svg").name
        'flow.svg'
        """
        target = Path(path_of("path", path))
        try:
            with target.open("w" if replace else "x", encoding="utf-8") as file:
                file.write(self.svg)
        except FileExistsError:
            raise ResultError(f"{target}: it exists already; expected another name, or replace=True") from None
        except OSError as error:
            raise ResultError(f"{target}: cannot be written: {error}") from error
        return target

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"FollowedFlow: {', '.join(str(each['flow']) + ' under ' + each['run'] for each in self.data)}"

    def _repr_svg_(self) -> str:
        return self.svg
