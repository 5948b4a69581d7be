"""The pictures of the documents are those that the program draws today. `make pictures` draws them."""

import json
import re

import pictures
import pytest
from pictures import BY_HAND, IMAGES, PICTURES, ROOT, SOURCES

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def listed() -> dict[str, dict[str, str]]:
    return json.loads(SOURCES.read_text(encoding="utf-8"))


def test_pictures__have_the_inputs_that_the_program_has_today(flowsieve):
    stale = pictures.stale(listed(), pictures.sources(flowsieve))
    assert not stale, "\n".join([*stale, "run `make pictures`"])


def test_quotes__are_lines_of_the_output_in_its_order():
    output = "At load 0.5 a\n  b\n\nFCT in us\nrow 1\nrow 2"
    block = "It prints\n\n    At load 0.5 a\n      b\n\n    FCT in us\n    row 2\n    …\n    Report: x\n\nand then\n\n    other"
    assert pictures.misquoted(block, output) == []
    assert pictures.misquoted(block.replace("row 2", "row 3"), output) == ["row 3"]
    assert pictures.misquoted(block.replace("row 2", "row 2\n    row 1"), output) == ["row 1"]
    assert pictures.misquoted("nothing", output) == ["(no block of output)"]


@pytest.mark.parametrize("key", ["made by", "runs", "drawn"])
def test_pictures__with_another_input_are_stale(key):
    now = listed()
    now["docs/images/dark.png"][key] += "x"
    assert pictures.stale(listed(), now) == [f"docs/images/dark.png is stale: other {key}"]


def test_pictures__that_are_new_or_gone_are_named():
    now = listed()
    now["docs/images/new.png"] = now.pop("docs/images/dark.png")
    assert pictures.stale(listed(), now) == [
        "docs/images/dark.png is listed in sources.json, and nothing makes it",
        "docs/images/new.png is not listed in sources.json",
    ]


def test_pictures__are_the_files_of_the_folder_and_each_is_shown():
    drawn = {*PICTURES, *BY_HAND}
    assert {path.name for path in IMAGES.iterdir()} == drawn | {SOURCES.name}
    shown = set()
    for document in DOCUMENTS:
        for target in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", document.read_text(encoding="utf-8")):
            shown.add((document.parent / target).resolve())
    assert shown == {IMAGES / name for name in drawn}, "a picture that no target makes, or one that no document shows"
