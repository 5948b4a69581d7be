#!/usr/bin/env python3
"""Copies docs/ to target/book-src for mdBook: links that leave docs/ lead to the repository, and the headings and links
of docs/README.md become the table of contents. Fails if a page is not in it."""

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS, SOURCE = ROOT / "docs", ROOT / "target" / "book-src"
REPOSITORY = re.search(r'^repository = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]
LINK = re.compile(r"\]\(([^)\s]+)\)")


def page(path):
    """The text of a page with the links of the book."""

    def link(found):
        target, mark, anchor = found[1].partition("#")
        there = (path.parent / target).resolve()
        if "://" in target or not target or there.is_relative_to(DOCS):
            return found[0]
        kind = "tree" if there.is_dir() else "blob"
        return f"]({REPOSITORY}/{kind}/main/{there.relative_to(ROOT)}{mark}{anchor})"

    # A heading may name a key such as [schemes.<name>], which is no HTML.
    text = re.sub(r"(?m)^(#+ .*)<(\w+)>", r"\1&lt;\2&gt;", path.read_text())
    return LINK.sub(link, text)


def contents():
    """SUMMARY.md: parts are the headings of docs/README.md, chapters the pages that it links to."""
    lines, seen = ["# Summary", "", "[Documentation](README.md)"], {DOCS / "README.md"}
    for part in (DOCS / "README.md").read_text().split("\n## ")[1:]:
        lines += ["", f"# {part.splitlines()[0]}", ""]
        for target in re.findall(r"\]\(([^)#\s]+\.md)\)", part):
            there = DOCS / target
            if there not in seen and there.resolve().is_relative_to(DOCS):
                title = there.read_text().splitlines()[0].removeprefix("# ")
                lines.append(f"- [{title}]({target})")
                seen.add(there)
    return "\n".join(lines) + "\n", seen


def main():
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.copytree(DOCS, SOURCE)
    text, seen = contents()
    missing = sorted(str(path.relative_to(ROOT)) for path in set(DOCS.rglob("*.md")) - seen)
    if missing:
        sys.exit(f"book: docs/README.md does not link to {', '.join(missing)}")
    (SOURCE / "SUMMARY.md").write_text(text)
    for path in seen:
        (SOURCE / path.relative_to(DOCS)).write_text(page(path))


main()
