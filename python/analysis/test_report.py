"""A result's report in a browser: drawn, quiet, narrow, dark, on paper, and with a title that means harm."""

import json
import math
from ctypes import byref, c_uint
from collections import Counter
from pathlib import Path

import browser
import pypdfium2
import pytest
from pypdfium2 import raw
from browser import Page

NARROW = (400, 800)
WIDE = (1200, 900)
# The least width of a sheet's margin: 12 mm less what letters reach over their place, in points.
MARGIN = 33.0


if browser.found() is None:
    why = "no browser (chromium and chromedriver, which `scripts/setup.sh test` installs as root): no report was opened"
    pytest.skip(why, allow_module_level=True)


def test_browser__that_is_damaged_is_told_from_a_report_that_is(monkeypatch, tmp_path):
    monkeypatch.setattr(browser, "found", lambda: ("/bin/false", "/bin/false"))
    with pytest.raises(browser.Broken, match="/bin/false does not start"), browser.opened(tmp_path):
        pass


@pytest.fixture
def show(page):
    """Opens a report anew, at a size and in a style."""

    def opened(result: Path, size: tuple[int, int] = WIDE, style: str = "light") -> Page:
        page.size(*size)
        page.style(style)
        page.forget()
        page.open(result / "report.html")
        page.scroll_through()
        return page

    return opened


# A title of 500 characters: markup, quotes, control characters, directions, and a word that nothing breaks.
HARM = """<script>window.harm=1</script><img src=x onerror="window.harm=2">"'&amp;</title></script><!-- """
CONTROLS = "\x07\x1b[31m\x7f\x85\u202eback\u2066\u200f "
TITLE = (HARM + CONTROLS).ljust(500, "W")
LONG_NAME = "a-variant-with-a-name-as-long-as-names-may-be-".ljust(64, "x")


@pytest.fixture(scope="module")
def harmful(made, tmp_path_factory):
    """A result in which every text that a file can choose is hostile: its title, a scheme's name, a claim's words."""
    text = json.dumps(TITLE).replace("\x7f", "\\u007f")
    file = tmp_path_factory.mktemp("harmful") / "harmful.toml"
    file.write_text(f"""
title = {text}

[topology]
kind = "single-switch"
hosts = 4

[workload]
sizes = "web-search"
flows = 60

[sweep]
load = [0.3, 0.5]
ecn_threshold = ["20pkt", "65pkt"]
scheme = ["dctcp", "pias", "{LONG_NAME}"]

[run]
seeds = 2

[schemes.{LONG_NAME}]
base = "pias"
queues = 2
thresholds = ["100KB"]

[[claims]]
id = "harm-1"
where = {text}
metric = "mean fct"
scheme = "pias"
baseline = "dctcp"
claimed = "lower"
note = {text}
""")
    return made(file)


@pytest.fixture(params=["quickstart", "harmful"])
def result(request):
    return request.getfixturevalue(request.param)


def choices(page: Page):
    """Each size class, then each load, chosen one after the other."""
    for choice in ["class", "at"]:
        for button in page.find(f'[data-choice="{choice}"]:not([hidden]) button'):
            # A click where no bar lies above it.
            page.run("arguments[0].click()", button)
            page.scroll_through()
            yield button.text


def test_page__asks_for_nothing_and_complains_of_nothing(show, result):
    page = show(result)
    for _ in choices(page):
        pass
    assert page.complaints() == []
    asked = page.requests()
    assert asked[0] == (result / "report.html").resolve().as_uri()
    assert all(address.startswith(("data:", "blob:")) for address in asked[1:]), asked[1:]


def test_plots__are_drawn_under_every_choice(show, quickstart):
    page = show(quickstart)
    seen = 0
    for choice in choices(page):
        plots = page.run(
            """return [...document.querySelectorAll(".plot")].filter((plot) => plot.offsetParent).map((plot) => {
              const marks = [...plot.querySelectorAll("g > :is(path, circle, rect)")].map((mark) => mark.getBoundingClientRect());
              return [plot.clientWidth > 200, marks.filter((box) => box.width > 0 && box.height > 0).length];
            });"""
        )
        assert len(plots) >= 14 and all(wide and marks >= 2 for wide, marks in plots), (choice, plots)
        seen += len(plots)
    assert seen > 60


def test_choices__are_in_the_address(show, quickstart):
    page = show(quickstart)
    state = """return [decodeURIComponent(location.hash), ...[...document.querySelectorAll("[aria-pressed=true]")].map((one) => one.textContent)];"""
    # What is asked for first: small flows, at the highest load.
    assert page.run(state) == ["", "0-100KB", "0.7"]
    page.run("document.querySelector('[data-choice=class] button:nth-of-type(3)').click()")
    assert page.run(state) == ["#at=0.7&class=>10MB", ">10MB", "0.7"]
    page.open(quickstart / "report.html", "#at=0.5&class=%3E10MB")
    assert page.run(state)[1:] == [">10MB", "0.5"]
    page.open(quickstart / "report.html", "#at=0.9&class=none&case=%00")
    assert page.run(state)[1:] == ["0-100KB", "0.7"]


def test_first_screen__has_the_answer_the_picture_and_four_sentences(show, quickstart):
    page = show(quickstart, (1400, 900))
    parts = page.run(
        """const bottom = (part) => part.getBoundingClientRect().bottom;
        const answers = document.querySelector(".answers"), shown = (part) => part.checkVisibility();
        const plots = [...answers.querySelectorAll(".plot")].filter(shown);
        const ticks = plots.map((plot) => [...plot.querySelectorAll("text")].map((text) => text.textContent).filter((text) => !isNaN(text)).join(" "));
        return { answer: answers.querySelector("h2").textContent, lowest: Math.max(...plots.map(bottom)), plots: plots.length, scales: new Set(ticks).size,
          sentences: [...answers.querySelectorAll(":scope > ul > li")].map((item) => [item.textContent, bottom(item)]),
          before: answers.previousElementSibling?.className };"""
    )
    assert parts["answer"].startswith("At load 0.7 ") and "mean FCT of flows of 0-100KB" in parts["answer"]
    # One scale: small, middle, large flows, and all of them.
    assert (parts["plots"], parts["scales"]) == (4, 1)
    assert 1 <= len(parts["sentences"]) <= 4 and max(bottom for _, bottom in parts["sentences"]) <= 900, parts
    assert not any("`" in sentence or " 0.0 %" in sentence for sentence, _ in parts["sentences"])
    assert parts["before"] in (None, "warnings")


# The right edges of all that is shown, but for what scrolls or is clipped in itself.
WIDER = """
  document.querySelectorAll("details").forEach((part) => part.open = true);
  const inside = ".scroll *, pre *, svg *, .plot *";
  const parts = [...document.querySelectorAll("body *")].filter((part) => part.offsetParent && !part.matches(inside));
  return parts.filter((part) => part.getBoundingClientRect().right > innerWidth + 0.5)
    .map((part) => part.outerHTML.slice(0, 80));"""


@pytest.mark.parametrize("size", [NARROW, WIDE])
def test_page__is_no_wider_than_its_window(show, result, size):
    page = show(result, size)
    for choice in choices(page):
        assert page.run(WIDER) == [], choice
        assert page.run("return document.documentElement.scrollWidth") <= size[0], choice


def test_narrow__tables_scroll_in_themselves(show, result):
    page = show(result, NARROW)
    tables = page.run(
        """return [...document.querySelectorAll("table")].filter((table) => table.offsetParent).map((table) => {
          const around = table.closest(".scroll");
          if (!around) return [table.outerHTML.slice(0, 80), 0, "not in .scroll"];
          around.scrollLeft = 1e6;
          const reached = around.scrollLeft + around.clientWidth >= table.offsetWidth - 1;
          const by_hand = getComputedStyle(around).overflowX === "auto";
          return [around.clientWidth, table.offsetWidth, reached && by_hand ? "reached" : "cut"];
        });"""
    )
    assert len(tables) >= 5
    assert {state for _, _, state in tables} == {"reached"}, tables
    assert any(wide > around for around, wide, _ in tables), "nothing to scroll: the test shows nothing"


@pytest.mark.parametrize("size", [NARROW, WIDE])
def test_tables__say_that_they_scroll_where_they_do(show, quickstart, size):
    page = show(quickstart, size)
    page.run("document.querySelectorAll('details').forEach((part) => part.open = true);")
    page.scroll_through()
    boxes = page.run(
        """return [...document.querySelectorAll(".scroll, pre")].filter((box) => box.offsetParent).map((box) => {
          const hint = getComputedStyle(box, "::before").content;
          return { scrolls: box.scrollWidth > box.clientWidth + 1, says: hint.includes("Scroll sideways"), focus: box.tabIndex, label: box.ariaLabel };
        });"""
    )
    for box in boxes:
        assert box["says"] == box["scrolls"] == (box["focus"] == 0) == bool(box["label"]), box
    assert len(boxes) >= 5 and any(box["scrolls"] for box in boxes) >= (size == NARROW)


def test_plots__ratios_have_plain_ticks_around_one(show, quickstart):
    page = show(quickstart)
    ticks = page.run(
        """return [...document.querySelectorAll("#fct figure:not([hidden]) .plot")]
          .filter((plot) => plot.textContent.includes("ratio to"))
          .map((plot) => [...plot.querySelectorAll('text[text-anchor="end"]')].map((text) => text.textContent));"""
    )
    assert len(ticks) == 2
    for words in ticks:
        numbers = [float(word) for word in words]
        assert 1.0 in numbers and abs(sum(number < 1 for number in numbers) - sum(number > 1 for number in numbers)) <= 1, words


def test_one_load__has_bars_with_intervals(show, made):
    result = made("quickstart", "--set", "flows=200", "--set", "load=0.6", "--seeds", "3")
    page = show(result)
    # Small flows are too few for an interval of their p99.
    page.open(result / "report.html", "#class=all")
    plots = page.run(
        """return [...document.querySelectorAll("#fct figure:not([hidden]) .plot")].map((plot) => {
          const bars = [...plot.querySelectorAll("g > rect")];
          const boxes = bars.map((bar) => bar.getBoundingClientRect());
          return { bars: boxes.map((box) => [box.left, box.right, box.top, box.bottom]), ratio: plot.textContent.includes("ratio to"),
            intervals: bars.filter((bar) => bar.parentElement.querySelector("path")).length };
        });"""
    )
    assert len(plots) == 4
    for plot in plots:
        assert len(plot["bars"]) == 3, plot
        # No two overlap, and those of a ratio may go up and down from 1.
        spans = sorted((left, right) for left, right, _, _ in plot["bars"])
        assert all(one[1] <= other[0] for one, other in zip(spans, spans[1:])), plot
        assert plot["intervals"] == (2 if plot["ratio"] else 3), plot


AXE = Path(__file__).parent / "node_modules/axe-core/axe.min.js"


def serious(page: Page) -> list:
    """The violations that axe calls serious or critical."""
    page.run(AXE.read_text() + "; window.axe = axe;")
    page.driver.set_script_timeout(120)
    found = page.driver.execute_async_script(
        """const done = arguments[arguments.length - 1];
        axe.run(document, { resultTypes: ["violations"] }).then((found) => done({ rules: found.passes.length,
          worst: found.violations.filter((one) => ["serious", "critical"].includes(one.impact))
            .map((one) => [one.id, one.impact, one.nodes.length, one.nodes.slice(0, 4).map((node) => [node.target.join(" "), node.failureSummary])]) }),
          (error) => done({ rules: 0, worst: String(error) }));"""
    )
    assert found["rules"] > 15, found
    return found["worst"]


@pytest.mark.skipif(not AXE.exists(), reason="no axe-core, which `scripts/npm.sh python/analysis` installs")
@pytest.mark.parametrize("style", ["light", "dark"])
@pytest.mark.parametrize("size", [NARROW, WIDE])
def test_axe__finds_nothing_serious(show, result, size, style):
    page = show(result, size, style)
    page.run("document.querySelectorAll('details').forEach((part) => part.open = true);")
    worst = serious(page)
    assert worst == [], json.dumps(worst, indent=1)


def test_narrow__is_readable(show, quickstart):
    """No letters below 11 pixels, and what a plot says lies within it."""
    page = show(quickstart, NARROW)
    small, beyond = page.run(
        """const shown = (part) => part.checkVisibility() && part.textContent.trim();
        const texts = [...document.querySelectorAll("body :is(p, li, td, th, small, span, button, h1, h2, figcaption, text)")].filter(shown);
        // A drawing is scaled to its place.
        const pixels = (text) => parseFloat(getComputedStyle(text).fontSize) * (text.closest("svg")?.getScreenCTM().a ?? 1);
        const small = texts.filter((text) => pixels(text) < 11).map((text) => text.textContent);
        const beyond = texts.filter((text) => text.closest(".plot")).filter((text) => {
          const [box, plot] = [text.getBoundingClientRect(), text.closest(".plot").getBoundingClientRect()];
          return box.left < plot.left - 1 || box.right > plot.right + 1;
        }).map((text) => text.textContent);
        return [small, beyond];"""
    )
    assert (small, beyond) == ([], [])


# The least contrast of letters with the page behind them, by WCAG 2's formula, of the page's text and of the plots'.
CONTRAST = """
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255)
      .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (part) => {
    for (let at = part; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (!/, 0\\)$/.test(colour)) return colour;
    }
  };
  const contrast = (letters, page) => {
    const [one, other] = [light(letters), light(page)].sort((a, b) => a - b);
    return (other + 0.05) / (one + 0.05);
  };
  const own = (part) => [...part.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  const parts = [...document.querySelectorAll("body *")].filter((part) => own(part) && part.checkVisibility());
  const least = (inPlots) => Math.min(...parts.filter((part) => Boolean(part.closest("svg")) === inPlots)
    .map((part) => contrast(getComputedStyle(part)[inPlots ? "fill" : "color"], behind(part))));
  return { background: light(getComputedStyle(document.body).backgroundColor), page: least(false), plots: least(true) };"""


def test_dark__letters_stand_out_and_plots_follow(show, quickstart):
    """Grey, which stands for what is uncertain, does so too, and the plots' letters."""
    page = show(quickstart)
    light = page.run(CONTRAST)
    # As when the reader's system turns dark in the evening.
    page.style("dark")
    page.scroll_through()
    turned = page.run(CONTRAST)
    opened = show(quickstart, style="dark").run(CONTRAST)
    assert light["background"] > 0.9 and turned["background"] < 0.05, (light, turned)
    for style in [light, turned, opened]:
        assert style["page"] > 4.5 and style["plots"] > 4.5, (light, turned, opened)
    assert turned == opened


def sheets(path: Path) -> list[dict]:
    """What stands on each sheet: its size, its text, and where its letters are."""
    found = []
    document = pypdfium2.PdfDocument(path)
    for sheet in document:
        text = sheet.get_textpage()
        letters = text.get_text_range()
        boxes = [text.get_charbox(at) for at in range(text.count_chars())]
        found.append({
            "size": sheet.get_size(),
            "text": letters,
            "left": min((box[0] for box in boxes if box[2] > box[0]), default=math.inf),
            "right": max((box[2] for box in boxes if box[2] > box[0]), default=0.0),
            "colours": {colour(text, at) for at, box in enumerate(boxes) if box[2] > box[0]},
            "pixels": sheet.render(scale=0.5, grayscale=True).to_pil().tobytes(),
        })
        text.close()
        sheet.close()
    document.close()
    return found


def colour(text: pypdfium2.PdfTextPage, at: int) -> tuple[int, ...]:
    parts = [c_uint() for _ in range(4)]
    assert raw.FPDFText_GetFillColor(text, at, *map(byref, parts))
    return tuple(part.value for part in parts[:3])


def squeezed(text: str) -> str:
    """Without what a line's end adds or takes."""
    return "".join(letter for letter in text if letter.isprintable() and not letter.isspace() and letter not in "-\u00ad\u2010")


def test_print__has_every_plot_and_every_cell(show, quickstart, tmp_path):
    page = show(quickstart)
    page.print(tmp_path / "report.pdf")
    printed = sheets(tmp_path / "report.pdf")
    text = squeezed("".join(sheet["text"] for sheet in printed))
    shown = page.run(
        """const texts = (selector) => [...document.querySelectorAll(selector)]
          .filter((part) => part.checkVisibility()).map((part) => part.textContent);
        return { plots: [...document.querySelectorAll(".plot")].filter((part) => part.checkVisibility()).length,
          axes: texts('.plot text[transform*="rotate"]'), captions: texts("figcaption"), cells: texts("td, th, caption") };"""
    )
    assert shown["plots"] == len(shown["axes"]) >= 10
    for axis, times in Counter(shown["axes"]).items():
        assert text.count(squeezed(axis)) >= times, axis
    for part in shown["captions"] + shown["cells"]:
        assert squeezed(part).lower() in text.lower(), part
    # What is uncertain is as grey as on the page.
    assert (0x73, 0x73, 0x73) in set().union(*(sheet["colours"] for sheet in printed))


def test_print__cuts_no_line_of_the_experiment(show, result, tmp_path):
    page = show(result)
    page.print(tmp_path / "report.pdf")
    printed = sheets(tmp_path / "report.pdf")
    text = squeezed("".join(sheet["text"] for sheet in printed))
    assert squeezed(page.run("return document.querySelector('#experiment pre').textContent")) in text


def test_print__is_within_landscape_sheets(show, result, tmp_path):
    page = show(result)
    page.print(tmp_path / "report.pdf")
    for number, sheet in enumerate(sheets(tmp_path / "report.pdf"), 1):
        width, height = sheet["size"]
        assert width > height, number
        assert sheet["left"] >= MARGIN and sheet["right"] <= width - MARGIN, (number, sheet["left"], sheet["right"], width)


def test_print__is_the_same_from_a_dark_page(show, quickstart, tmp_path):
    for style in ["light", "dark"]:
        show(quickstart, style=style).print(tmp_path / f"{style}.pdf")
    light, dark = (sheets(tmp_path / f"{style}.pdf") for style in ["light", "dark"])
    assert [sheet["pixels"] for sheet in light] == [sheet["pixels"] for sheet in dark]


def test_title__that_means_harm_is_shown_and_does_none(show, harmful):
    page = show(harmful)
    for _ in choices(page):
        pass
    assert page.run("return window.harm === undefined")
    assert page.find("h1 *") == [] and page.find("#claims img") == []
    title, claim = page.run("return [document.querySelector('h1').textContent, document.querySelector('#claims td').textContent]")
    assert title == claim == TITLE
    # The direction that it turns is its own: nothing after it is turned.
    assert page.run("return getComputedStyle(document.querySelector('.facts')).direction") == "ltr"
