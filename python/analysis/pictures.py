"""Draws the pictures of the documents, docs/images/, and says which are stale and where a document quotes other output
than the command prints.

    pictures.py FLOWSIEVE RESULTS      (scripts/pictures.sh, that is `make pictures`, calls it)

docs/images/sources.json lists each picture and each such document with what makes it and two digests of its inputs:

- `runs`: the keys of the runs that it shows. A key is made of every setting of a run and of the model's number.
- `drawn`: what the program draws of the same experiment at the scale `smoke`. It changes with the look of the report,
  of tables or of figures, and takes two seconds.

For a frame of the playground `drawn` is of the page's own files. The browser and its fonts are no input: another version may draw letters a little differently.
"""

import fcntl
import hashlib
import html
import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import browser
import pypdfium2
from browser import Page
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images"
SOURCES = IMAGES / "sources.json"

# The experiment of the guide, so that its pictures show the numbers of its text.
EXPERIMENT = "experiments/quickstart.toml"
# The terminal: columns and lines, and the colours of the command's escape codes.
COLUMNS, LINES = 80, 38
COLOURS = {"31": "#e06c75", "32": "#98c379", "1": "#ffffff", "2": "#8a919e"}


@dataclass(frozen=True)
class View:
    """Windows of the report, next to each other, each with one part of the page at its top."""

    size: tuple[int, int]
    style: str
    parts: tuple[str, ...]


@dataclass(frozen=True)
class Sheets:
    """Sheets of the printed report, next to each other, by number from 0."""

    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Terminal:
    """The first lines that `flowsieve report` prints on a terminal."""

    size: tuple[int, int]


@dataclass(frozen=True)
class Export:
    """What `flowsieve export` writes with these options."""

    options: tuple[str, ...]


@dataclass(frozen=True)
class Frame:
    """The playground, set to what its address says, at an instant of its runs in us, down to a part of the page."""

    address: str
    at: float
    size: tuple[int, int]


PICTURES = {
    "playground.png": Frame("a=fifo&b=pias&traffic=three&buffer=300", 4325.0, (1200, 760)),
    "quickstart.svg": Export(("--what", "figure", "--class", "0-100KB", "--columns", "2")),
    "dark.png": View((1200, 800), "dark", ("#fct",)),
    "narrow.png": View((400, 800), "light", ("body", "#results", "#fct")),
    "print.png": Sheets((1, 2)),
    "terminal.png": Terminal((780, 810)),
    "figure.svg": Export(("--what", "figure", "--y", "p99 slowdown", "--class", "0-100KB")),
    "by-size.svg": Export(("--what", "figure", "--x", "size", "--columns", "2")),
}

# A picture that scripts/worth.py draws, of runs of an hour.
BY_HAND = ["what-sizes-are-worth.svg"]

# The documents with a block of what `flowsieve report` prints of that experiment. It begins with the first answer.
QUOTING = ["README.md", "docs/guide/first-steps.md"]


Picture = View | Sheets | Terminal | Export | Frame

# The playground's own experiment of a frame, and what the page is made of.
LESSON, PARTS = "experiments/three-flows.toml", ("*.html", "*.css", "*.js")


def made_by(picture: Picture) -> str:
    """What makes a picture, for readers of the list."""
    match picture:
        case View((width, height), style, parts):
            return f"report.html of {EXPERIMENT}, {width} x {height}, {style}, from {', '.join(parts)}"
        case Sheets(numbers):
            return f"report.html of {EXPERIMENT}, printed, sheets {', '.join(str(number + 1) for number in numbers)}"
        case Terminal((width, height)):
            return f"flowsieve report of {EXPERIMENT}, {COLUMNS} columns, {LINES} lines, {width} x {height}"
        case Export(options):
            return f"flowsieve export of {EXPERIMENT} {' '.join(options)}"
        case Frame(address, at, (width, height)):
            return f"playground/index.html#{address} at {at:g} us, {width} x {height}"


def command(*arguments: str | Path) -> bytes:
    """What a command prints. If it fails, its messages are printed, and this program ends."""
    done = subprocess.run([str(argument) for argument in arguments], cwd=ROOT, capture_output=True)
    if done.returncode:
        raise SystemExit(f"{done.args}: status {done.returncode}\n{done.stderr.decode(errors='replace')}")
    return done.stdout


def on_terminal(*arguments: str | Path) -> str:
    """What a command prints on a terminal, with colours."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | {"TERM": "xterm-256color"}
    process = subprocess.Popen([str(argument) for argument in arguments], cwd=ROOT, stdout=its, env=environment)
    os.close(its)
    shown = b""
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:  # Linux says so when the last writer has closed the terminal.
        pass
    os.close(ours)
    if process.wait() != 0:
        raise subprocess.CalledProcessError(process.returncode, process.args)
    return "\n".join(shown.decode().replace("\r", "").splitlines()[:LINES])


def printed(flowsieve: Path, result: Path) -> str:
    """What `flowsieve report` prints, but for the path at its end."""
    return command(flowsieve, "report", result).decode().split("\nReport: ")[0]


# Staleness


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def sources(flowsieve: Path) -> dict[str, dict[str, str]]:
    """Each picture with what makes it and the digests of its inputs, as this program would draw it."""

    def runs(experiment: str) -> str:
        plan = json.loads(command(flowsieve, "plan", experiment, "--json"))
        return digest("\n".join(run["key"] for run in plan["runs"]).encode())

    both = {Frame: runs(LESSON), None: runs(EXPERIMENT)}
    with tempfile.TemporaryDirectory() as scratch:
        small = Path(scratch) / "small"
        command(flowsieve, "run", EXPERIMENT, "--scale", "smoke", "--seeds", "3", "--out", small)

        def drawn(picture: Picture) -> bytes:
            match picture:
                case View() | Sheets():
                    # Another commit is no other look.
                    return re.sub(rb"commit (unknown|[0-9a-f]{40}\+?)", b"commit", (small / "report.html").read_bytes())
                case Terminal():
                    return on_terminal(flowsieve, "report", small).encode()
                case Export(options):
                    return command(flowsieve, "export", small, *options)
                case Frame():
                    parts = sorted(part for kind in PARTS for part in (ROOT / "playground").glob(kind))
                    return b"".join(part.read_bytes() for part in parts)

        entries = {f"docs/images/{name}": (made_by(picture), drawn(picture)) for name, picture in PICTURES.items()}
        text = printed(flowsieve, small).encode()
        entries |= {name: (f"flowsieve report of {EXPERIMENT}, quoted", text) for name in QUOTING}
    frames = {f"docs/images/{name}" for name, picture in PICTURES.items() if isinstance(picture, Frame)}
    return {
        name: {"made by": how, "runs": both[Frame if name in frames else None], "drawn": digest(drawn)}
        for name, (how, drawn) in entries.items()
    }


def stale(listed: dict[str, dict[str, str]], now: dict[str, dict[str, str]]) -> list[str]:
    """A line for each picture with other inputs than those that are listed, and for each that is in one list alone."""
    lines = []
    for name in sorted(listed.keys() | now.keys()):
        if name not in now:
            lines.append(f"{name} is listed in sources.json, and nothing makes it")
        elif name not in listed:
            lines.append(f"{name} is not listed in sources.json")
        else:
            changed = [key for key in now[name] if listed[name].get(key) != now[name][key]]
            if changed:
                lines.append(f"{name} is stale: other {', '.join(changed)}")
    return lines


def misquoted(document: str, text: str) -> list[str]:
    """The lines of a document's blocks of output that are not, in this order, lines of what is printed."""
    left = text.splitlines()
    wrong = []
    blocks, quoting = 0, False
    for line in document.splitlines():
        if line.strip() and not line.startswith("    "):
            quoting = False
        elif not quoting and re.match(r"    (At load|FCT in) ", line):
            blocks, quoting = blocks + 1, True
        line = line.removeprefix("    ")
        if not quoting or line.strip() in ("", "…") or line.startswith("Report: "):
            continue
        if line in left:
            left = left[left.index(line) + 1 :]
        else:
            wrong.append(line)
    return wrong if blocks else ["(no block of output)"]


# Drawing


def terminal_page(text: str) -> str:
    """What a terminal shows, as a page."""
    text = re.sub(r"\x1b\[0?m|\x1b\[39m|\x1b\[22m", "</span>", html.escape(text))
    text = re.sub(r"\x1b\[(\d+)m", lambda code: f'<span style="color:{COLOURS.get(code[1], "inherit")}">', text)
    style = "background:#1e222a;color:#c8ccd4;font:15px/1.35 monospace;margin:0;padding:16px 20px"
    return f'<meta charset="utf-8"><body style="{style}"><pre style="margin:0">{text}</pre>'


def side_by_side(pictures: list[Image.Image]) -> Image.Image:
    gap = 20
    width = sum(picture.width for picture in pictures) + gap * (len(pictures) - 1)
    together = Image.new("RGB", (width, max(picture.height for picture in pictures)), "#bbbbbb")
    left = 0
    for picture in pictures:
        together.paste(picture, (left, 0))
        left += picture.width + gap
    return together


class Drawing:
    """Draws pictures of one result."""

    def __init__(self, flowsieve: Path, result: Path, page: Page, scratch: Path) -> None:
        self.flowsieve, self.result, self.page, self.scratch = flowsieve, result, page, scratch

    def draw(self, name: str, picture: Picture) -> None:
        path = IMAGES / name
        match picture:
            case View(size, style, parts):
                self.save([self.seen(self.result / "report.html", size, style, part) for part in parts], path)
            case Sheets(numbers):
                self.save(self.printed(numbers), path)
            case Terminal(size):
                shown = self.scratch / "terminal.html"
                shown.write_text(terminal_page(on_terminal(self.flowsieve, "report", self.result)), encoding="utf-8")
                self.save([self.seen(shown, size, "dark", "body")], path)
            case Export(options):
                path.write_bytes(command(self.flowsieve, "export", self.result, *options))
            case Frame(address, at, size):
                self.save([self.frame(address, at, size)], path)

    def frame(self, address: str, at: float, size: tuple[int, int]) -> Image.Image:
        shot = self.scratch / "shot.png"
        self.page.size(*size)
        self.page.style("light")
        self.page.open(Path(os.environ["PLAYGROUND"]), f"#{address}")
        self.page.driver.set_script_timeout(60)
        self.page.driver.execute_async_script(
            """const done = arguments[1];
            const look = () => document.querySelector("#table table") ? (play(false), now = arguments[0], draw(), done()) : setTimeout(look, 20);
            look();""",
            at,
        )
        self.page.picture(shot)
        with Image.open(shot) as image:
            return image.copy()

    def seen(self, path: Path, size: tuple[int, int], style: str, part: str) -> Image.Image:
        shot = self.scratch / "shot.png"
        self.page.size(*size)
        self.page.style(style)
        self.page.open(path)
        self.page.scroll_through()
        self.page.run("document.querySelector(arguments[0]).scrollIntoView()", part)
        self.page.picture(shot)
        with Image.open(shot) as image:
            return image.copy()

    def printed(self, numbers: tuple[int, ...]) -> list[Image.Image]:
        paper = self.scratch / "report.pdf"
        self.page.size(1200, 900)
        self.page.style("light")
        self.page.open(self.result / "report.html")
        self.page.scroll_through()
        self.page.print(paper)
        document = pypdfium2.PdfDocument(paper)
        sheets = [document[number].render(scale=0.9).to_pil() for number in numbers]
        document.close()
        return sheets

    @staticmethod
    def save(pictures: list[Image.Image], path: Path) -> None:
        """In 128 colours, which take a fifth of the bytes. The rare ones are kept: they tell the schemes apart."""
        colours = side_by_side(pictures).convert("RGB").quantize(128, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        colours.save(path, optimize=True)


def patiently(draw: Callable[[], None]) -> None:
    """Draws again if the browser stalled, twice at most."""
    for stalls_left in (2, 1, 0):
        try:
            return draw()
        except browser.Stalled:
            if not stalls_left:
                raise


def main(flowsieve: Path, results: Path) -> None:
    result = results / Path(EXPERIMENT).stem
    print(f"{EXPERIMENT}, about a minute on two cores; runs of an earlier call are used again", flush=True)
    command(flowsieve, "run", EXPERIMENT, "--out", result, "--replace")
    for name in QUOTING:
        wrong = misquoted((ROOT / name).read_text(encoding="utf-8"), printed(flowsieve, result))
        if wrong:
            raise SystemExit("\n".join([f"{name} quotes other lines than `flowsieve report {result}` prints:", *wrong]))
    with tempfile.TemporaryDirectory() as scratch, browser.opened(Path(scratch) / "profile") as page:
        drawing = Drawing(flowsieve, result, page, Path(scratch))
        for name, picture in PICTURES.items():
            patiently(lambda: drawing.draw(name, picture))
            print((IMAGES / name).relative_to(ROOT), flush=True)
    for path in IMAGES.iterdir():
        if path.name not in [*PICTURES, *BY_HAND] and path != SOURCES:
            path.unlink()
    # Last, so that a call that failed leaves the list of the pictures that were there.
    SOURCES.write_text(json.dumps(sources(flowsieve), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*(Path(argument).resolve() for argument in sys.argv[1:]))
