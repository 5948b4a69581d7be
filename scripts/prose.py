#!/usr/bin/env python3
"""Checks the documents against the rules of CONTRIBUTING.md, Plain English: length of pages, lines, paragraphs and
sentences, words to avoid, and reading ease; and how many pages and words docs/ has. Prints each fault as
`file:line: fault`, and a table with `--table`.

    scripts/prose.py [--table] [FILE ...]

Without files it reads every document of the project.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE, LINE, PARAGRAPH, SENTENCE, MEAN, EASE = 2000, 120, 90, 40, 18.0, 50.0  # words, columns, words, words, words, Flesch
PAGES, WORDS = 80, 126_500  # of docs/ as a whole
AVOID = ["whoever", "nobody", "somebody", "so many", "of which", "beside", "it is so that", "what there is of"]
AVOID = re.compile(r"\b(" + "|".join(AVOID) + r")\b", re.IGNORECASE)
# The pages of papers stay short: every claim is on the pages that `make pages` writes.
PAPER, PAPER_PAGE = re.compile(r"docs/reproduce/(awafs|homa|lab|nos2|pcoflow|qclimb|qcluster|sieve)\.md"), 1500
# As long as the paper's claims ask for, and with a line a finding.
FINDINGS = re.compile(r"papers/\w+/checks\.md")
EASY = re.compile(r"docs/(guide|operate)/")
SHORT = re.compile(r"\b(Figs?|Secs?|Eqs?|vs|e\.g|i\.e|al|cf|approx|No)\.")  # dots that end no sentence
MARKUP = [(r"!?\[([^\]]*)\]\([^)]*\)", r"\1"), (r"``[^`]*``|`[^`]*`", "x"), (r"<[^>]*>", " "), (r"[*_]{1,2}(\S[^*_]*)[*_]{1,2}", r"\1")]
ITEM = re.compile(r"\s*([-*+]|\d+\.)\s+")


def paragraphs(text):
    """Yields (line, words) of each paragraph and list item; code, tables, headings and quotes of output are no prose."""
    fenced, start, lines = False, 0, []
    for number, line in enumerate(text.splitlines() + [""], 1):
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        apart = fence or fenced or not line.strip() or re.match(r"\s*(#|\||>|<!--)|    |\[\w+\]: ", line) and not lines
        item = ITEM.match(line)
        if lines and (apart or item):
            yield start, " ".join(lines)
            lines = []
        if not apart:
            start = start if lines else number
            lines.append(line[item.end():] if item else line.strip())


def plain(paragraph):
    for pattern, instead in MARKUP:
        paragraph = re.sub(pattern, instead, paragraph)
    return SHORT.sub(r"\1", paragraph)


def length(text):
    """The words of a page, its tables and code included."""
    return len(re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL).split())


def words(text):
    return re.findall(r"[A-Za-z0-9][\w'’.,/%+-]*", text)


def syllables(word):
    groups = re.findall(r"[aeiouy]+", word.lower())
    return max(1, len(groups) - (word.lower().endswith("e") and not word.lower().endswith("le") and len(groups) > 1))


def check(path, name):
    text, faults, lengths, sounds = path.read_text(), [], [], 0
    findings = FINDINGS.match(name)
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        fenced ^= line.startswith("```")
        if len(line) > LINE and not line.startswith("|") and not fenced and not findings:
            faults.append((number, f"{len(line)} columns, at most {LINE}"))
    total = length(text)
    most = PAPER_PAGE if PAPER.match(name) else PAGE
    if total > most and not findings:
        faults.append((1, f"{total} words, at most {most}"))
    for number, paragraph in paragraphs(text):
        prose = plain(paragraph)
        count = len(words(prose))
        if count > PARAGRAPH:
            faults.append((number, f"a paragraph of {count} words, at most {PARAGRAPH}"))
        faults += [(number, f"avoid \"{found[0]}\"") for found in AVOID.finditer(prose)]
        for sentence in re.split(r"(?<=[.!?])[)\"”]?\s+", prose):
            found = words(sentence)
            if len(found) > SENTENCE:
                faults.append((number, f"a sentence of {len(found)} words, at most {SENTENCE}: {' '.join(found[:6])} ..."))
            if found:
                lengths.append(len(found))
                sounds += sum(map(syllables, found))
    mean = sum(lengths) / max(1, len(lengths))
    ease = 206.835 - 1.015 * mean - 84.6 * sounds / max(1, sum(lengths))
    if mean > MEAN:
        faults.append((1, f"{mean:.1f} words in the mean sentence, at most {MEAN:g}"))
    if EASY.match(name) and ease < EASE:
        faults.append((1, f"a reading ease of {ease:.0f}, at least {EASE:g}"))
    return total, mean, ease, faults


def documents():
    """Every document. Folders of tools and builds hold documents of others."""
    folders = ["crates", "crosscheck", "docs", "experiments", "fuzz", "notes", "papers"]
    paths = [*ROOT.glob("*.md"), *(path for folder in folders for path in (ROOT / folder).rglob("*.md"))]
    return sorted(path for path in paths if "target" not in path.parts)


def whole():
    """How many pages and words docs/ has, tables and code included, and what is too many."""
    texts = [path.read_text() for path in (ROOT / "docs").rglob("*.md")]
    count = sum(length(text) for text in texts)
    faults = []
    if len(texts) > PAGES:
        faults.append(f"docs: {len(texts)} pages, at most {PAGES}: add to a page, or move notes of measurements to notes/")
    if count > WORDS:
        faults.append(f"docs: {count:,} words, at most {WORDS:,}")
    return len(texts), count, faults


def main(arguments):
    table = "--table" in arguments
    files = [Path(name).resolve() for name in arguments if name != "--table"]
    pages, count, faults = whole() if not files else (0, 0, [])
    print(*faults, sep="\n", end="\n" if faults else "")
    wrong = len(faults)
    files = files or documents()
    for path in files:
        name = path.relative_to(ROOT).as_posix()
        total, mean, ease, faults = check(path, name)
        if table:
            print(f"{name:44} {total:6} words {mean:6.1f} a sentence {ease:6.0f} ease {len(faults):4} faults")
        else:
            for number, fault in sorted(faults):
                print(f"{name}:{number}: {fault}")
        wrong += len(faults)
    if pages:
        print(f"docs: {pages} pages with {count:,} words")
    print(f"{len(files)} documents, {wrong} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
