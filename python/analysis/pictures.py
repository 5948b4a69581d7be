"""Makes the pictures of the documentation from a result; scripts/pictures.sh calls it.

    pictures.py RESULT TERMINAL.txt FOLDER
"""

import html
import re
import sys
import tempfile
from pathlib import Path

import browser
import pypdfium2
from PIL import Image

# What the escape codes of the command's colours look like.
COLOURS = {"31": "#e06c75", "32": "#98c379", "1": "#ffffff", "2": "#8a919e"}
# Lines of the terminal, and pixels about the size of its text.
LINES = 38
TERMINAL = (780, 810)


def terminal(text: str) -> str:
    """What a terminal shows, as a page."""
    text = html.escape("\n".join(text.replace("\r", "").splitlines()[:LINES]))
    text = re.sub(r"\x1b\[0?m|\x1b\[39m|\x1b\[22m", "</span>", text)
    text = re.sub(r"\x1b\[(\d+)m", lambda code: f'<span style="color:{COLOURS.get(code[1], "inherit")}">', text)
    style = "background:#1e222a;color:#c8ccd4;font:15px/1.35 monospace;margin:0;padding:16px 20px"
    return f'<meta charset="utf-8"><body style="{style}"><pre style="margin:0">{text}</pre>'


def save(picture: Image.Image, path: Path) -> None:
    """In 128 colours, which a page of letters and lines has hardly more of, and a fifth of the bytes."""
    picture.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)


def beside(pictures: list[Image.Image]) -> Image.Image:
    gap = 20
    width = sum(picture.width for picture in pictures) + gap * (len(pictures) - 1)
    together = Image.new("RGB", (width, max(picture.height for picture in pictures)), "#bbbbbb")
    left = 0
    for picture in pictures:
        together.paste(picture, (left, 0))
        left += picture.width + gap
    return together


def main(result: Path, shown: Path, folder: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch, browser.opened(Path(scratch) / "profile") as page:
        shot, paper, lines = (Path(scratch) / name for name in ["shot.png", "report.pdf", "terminal.html"])

        def seen(size: tuple[int, int], style: str, part: str, path: Path = result / "report.html") -> Image.Image:
            """A window of that size, with this part of the page at its top."""
            page.size(*size)
            page.style(style)
            page.open(path)
            page.scroll_through()
            page.run("document.querySelector(arguments[0]).scrollIntoView()", part)
            page.picture(shot)
            return Image.open(shot).copy()

        lines.write_text(terminal(shown.read_text(encoding="utf-8")), encoding="utf-8")
        save(seen(TERMINAL, "dark", "body", lines), folder / "terminal.png")
        save(seen((1200, 1400), "light", "body"), folder / "report.png")
        save(seen((1200, 800), "dark", "#fct"), folder / "dark.png")
        save(beside([seen((400, 800), "light", part) for part in ["body", "#results", "#fct"]]), folder / "narrow.png")
        page.size(1200, 900)
        page.print(paper)
        document = pypdfium2.PdfDocument(paper)
        save(beside([document[at].render(scale=0.9).to_pil() for at in [1, 2]]), folder / "print.png")
        document.close()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
