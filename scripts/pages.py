#!/usr/bin/env python3
"""Writes the page of `flowsieve reproduce` as one HTML file with its figures in it, and its claims as CSV, a row each.

    scripts/pages.py PAPER.md FOLDER      (scripts/pages.sh, that is `make pages`, calls it)

It reads the Markdown that the command writes: headings, paragraphs, lists, tables, code, links and figures.
"""

import base64
import csv
import html
import re
import sys
from pathlib import Path

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 80rem; margin: 2rem auto; padding: 0 1rem; color: #1b1f24 }
table { border-collapse: collapse; display: block; overflow-x: auto; font-size: .875rem }
td, th { border: 1px solid #c9d0d8; padding: .25rem .5rem; vertical-align: top; text-align: left }
th, code, pre { background: #eef1f4 }
pre { padding: .5rem; overflow-x: auto }
img { max-width: 100% }
li > p { margin: .25rem 0 }
"""
VERDICT = re.compile(
    "(?:agrees|disagrees|same direction|weaker|other direction|not (?:resolved|judged|tested here|measured))"
    "(?: at this length)?"
)
SEEDS = re.compile(r"\(after (\d+) seeds|^not judged: (\d+) seed")
COLUMNS = ["claim", "figure", "where", "what", "claimed", "measured", "on Linux", "seeds", "verdict", "why"]
ITEM = re.compile(r"(?:[-*]|\d+\.) +")


def cells(line):
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def slug(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def inline(text, folder):
    """A line of text: code, figures, links and emphasis."""
    kept = []

    def keep(value):
        kept.append(value)
        return f"\0{len(kept) - 1}\0"

    def figure(found):
        data = base64.b64encode((folder / found[2]).read_bytes()).decode()
        return keep(f'<img alt="{html.escape(found[1])}" src="data:image/svg+xml;base64,{data}">')

    text = re.sub(r"`([^`]*)`", lambda found: keep(f"<code>{html.escape(found[1])}</code>"), text)
    text = re.sub(r"!\[([^\]]*)\]\(([^)]+\.svg)\)", figure, text)
    text = html.escape(text, quote=False)
    # Links of the papers' texts to other documents lead nowhere from here: their words stay.
    text = re.sub(r"\[([^\]]*)\]\((#[^)]*|https?://[^)]*)\)", r'<a href="\2">\1</a>', text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\*\*(\S(?:[^*]*\S)?)\*\*", r"<strong>\1</strong>", text)
    text = re.sub(r"\*(\S(?:[^*]*\S)?)\*", r"<em>\1</em>", text)
    while "\0" in text:
        text = re.sub("\0(\\d+)\0", lambda found: kept[int(found[1])], text)
    return text


def blocks(lines, folder):
    """Yields the HTML of each block."""

    def line_at(number):
        return lines[number].rstrip() if number < len(lines) else ""

    at = 0
    while at < len(lines):
        line, start = lines[at], at
        at += 1
        if not line.strip():
            continue
        if heading := re.match(r"(#+) (.*)", line):
            level = len(heading[1])
            yield f'<h{level} id="{slug(heading[2])}">{inline(heading[2], folder)}</h{level}>'
        elif line.startswith("|"):
            while at < len(lines) and lines[at].startswith("|"):
                at += 1
            head, _, *rows = lines[start:at]
            yield "<table><thead>" + row(head, "th", folder) + "</thead><tbody>"
            yield from (row(line, "td", folder) for line in rows)
            yield "</tbody></table>"
        elif line.startswith("    "):
            while at < len(lines) and lines[at].startswith("    "):
                at += 1
            yield "<pre>" + html.escape("\n".join(line[4:] for line in lines[start:at])) + "</pre>"
        elif mark := ITEM.match(line):
            # Lines of an item are indented as far as its text; an empty line is its own if such a line follows.
            deep = " " * (2 if line[0] in "-*" else len(mark[0]))
            inner = [line[mark.end():]]
            while line_at(at).startswith(deep) or not line_at(at) and line_at(at + 1).startswith(deep):
                inner.append(lines[at].removeprefix(deep))
                at += 1
            tag = "ul" if line[0] in "-*" else "ol"
            before = next((line for line in reversed(lines[:start]) if line.strip() and not line.startswith("  ")), "")
            after = next((line for line in lines[at:] if line.strip()), "")
            yield (f"<{tag}>" if not ITEM.match(before) else "") + "<li>"
            yield from blocks(inner, folder)
            yield "</li>" + (f"</{tag}>" if not ITEM.match(after) else "")
        else:
            while line_at(at) and not ITEM.match(line_at(at)) and not line_at(at).startswith(("#", "|")):
                at += 1
            yield "<p>" + inline(" ".join(line.strip() for line in lines[start:at]), folder) + "</p>"


def row(line, tag, folder):
    return "<tr>" + "".join(f"<{tag}>{inline(cell, folder)}</{tag}>" for cell in cells(line)) + "</tr>"


def claims(lines):
    """Yields a row for each claim of the tables of figures."""
    figure, names = "", []
    for line in lines:
        if found := re.match(r"## ([\w-]+): ", line):
            figure = found[1]
        if not line.startswith("|"):
            names = []
        elif not names:
            names = cells(line)
        elif figure and names[0] == "claim" and names[-1] == "verdict" and not line.startswith("| ---"):
            values = dict(zip(names, cells(line), strict=True))
            said = VERDICT.match(values["verdict"])
            why = values["verdict"][said.end():].lstrip(":; ")
            seeds = SEEDS.search(values["verdict"])
            values |= {"figure": figure, "seeds": seeds[1] or seeds[2] if seeds else "", "verdict": said[0], "why": why}
            yield [values.get(name, "") for name in COLUMNS]


def main(page, folder):
    page, folder = Path(page), Path(folder)
    lines = page.read_text(encoding="utf-8").splitlines()
    body = "\n".join(blocks(lines, page.parent))
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{page.stem}</title><style>{STYLE}</style>\n'
    (folder / f"{page.stem}.html").write_text(f"{head}<body>\n{body}\n</body></html>\n", encoding="utf-8")
    rows = list(claims(lines))
    with (folder / f"{page.stem}.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])
    print(f"{folder / page.stem}.html and .csv: {len(rows)} claims and readings")


if __name__ == "__main__":
    main(*sys.argv[1:])
