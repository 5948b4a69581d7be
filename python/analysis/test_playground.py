"""The playground in a browser: the command's numbers, every choice, hostile texts, narrow and dark, by keyboard alone."""

import csv
import io
import json
import re
import subprocess
from itertools import product
from pathlib import Path
from urllib.parse import urlencode

import browser
import pytest
from selenium.webdriver.common.keys import Keys
from test_report import AXE, NARROW, WIDE, serious

ROOT = Path(__file__).resolve().parents[2]
PAGE = "playground/index.html"

if browser.found() is None:
    pytest.skip("no browser (chromium and chromedriver): the playground was not opened", allow_module_level=True)


def wait(page, until: str, *arguments: object):
    """Waits for a condition of the page; a page that stays as it is fails the test."""
    return page.driver.execute_async_script(
        f"""const done = arguments[arguments.length - 1];
        const look = () => {{ const found = ({until}); found ? done(found) : setTimeout(look, 20); }};
        look();""",
        *arguments,
    )


def opened(page, playground, size=WIDE, style="light", **choices):
    """Opens it with these choices, and waits for what it has to say in the end."""
    page.driver.set_script_timeout(120)
    page.size(*size)
    page.style(style)
    page.forget()
    page.open(playground, f"#{urlencode(choices)}")
    wait(page, "document.querySelector('#seeds').textContent.match(/(\\d+) of \\1 seed/) || document.querySelector('#answer').textContent.startsWith('This')")
    return page


def said(page) -> str:
    return page.run("return document.querySelector('#answer').textContent")


def given(page, text: str) -> str:
    """Runs a text of one's own, and returns what is said first."""
    page.run("document.querySelector('#toml').value = arguments[0]; document.querySelector('#use').click()", text)
    wait(page, "!document.querySelector('#answer').textContent.startsWith('Simulating')")
    return said(page)


HEAD = """title = "Own"
[topology]
kind = "single-switch"
hosts = 8
{topology}
[workload]
{workload}
[network]
{network}
[sweep]
scheme = {schemes}
[run]
seed = 3
seeds = 1
{run}
"""


def own(schemes, workload='sizes = "web-search"\nload = 0.6\nflows = 120', network="", topology="", run=""):
    return HEAD.format(schemes=json.dumps(schemes), workload=workload, network=network, topology=topology, run=run)


EXPERIMENTS = {
    "all hosts": own(["dctcp", "pias", "pfabric", "qc-las", "awafs", "nos2", "homa", "sieve"]),
    "links that lose": own(["dctcp", "homa"], topology='[[topology.link]]\nbetween = ["host0", "switch0"]\nloss = 0.01'),
    "small buffers": own(["dctcp", "pias"], network='buffer = "30KB"\necn_threshold = "15KB"'),
    "a link that fails": own(["dctcp", "pias"], network='load_balancing = "spray"').replace(
        'kind = "single-switch"\nhosts = 8', 'kind = "leaf-spine"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nreconvergence = "1ms"'
    )
    + '[[event]]\nat = "3ms"\nlink = "leaf0-spine1"\ndown = true\n[[event]]\nat = "9ms"\nlink = "leaf0-spine1"\ndown = false\n',
    "incast": own(["dctcp", "pfabric"], workload='pattern = "incast"\nfan_in = 7\nsizes = "fixed(60KB)"\nload = 0.5\nflows = 140'),
    "coflows": own(
        ["pcoflow-ecn", "sincronia", "aalo"],
        workload='coflows = "built-in:/shuffles.txt"\ncoflow_hosts = "random"\ngenerated_coflows = 30\nmost_flows = 12\nflow_cap = "1MB"\nload = 0.6',
    ),
    "three flows": (ROOT / "experiments/three-flows.toml").read_text().replace('"three-flows.csv"', '"built-in:/three-flows.csv"'),
    "closed loops": own(["dctcp", "nos2"], workload='sizes = "fb-hadoop"\narrivals = "closed-loop"\noutstanding = 3\nflows = 300'),
    "predicted sizes": own(["qclimb", "qc-srpt"], network='[transport]\nbounds = "law"'),
    "one flow at 100 Gbit/s": own(
        ["dctcp", "sieve"], workload='sizes = "fixed(3MB)"\nload = 0.1\nflows = 1', topology='host_link = "100Gbps"'
    ),
}


# Some eight seconds of a browser.
LONG = own(["dctcp", "pias"], workload='sizes = "web-search"\nload = 0.5\nflows = 6_000')


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_run__every_fct_is_the_commands(page, playground, flowsieve, tmp_path, name):
    """Ten experiments in the page's worker and by the command, flow by flow, to the picosecond."""
    opened(page, playground, traffic="three", a="fifo", b="dctcp")
    text = EXPERIMENTS[name]
    here = page.driver.execute_async_script(
        """const done = arguments[arguments.length - 1];
        (async () => {
          await pictures.ready;
          const plan = await pictures.ask("plan", { text: arguments[0] });
          if (plan.error) return done({ error: plan.error });
          const found = {};
          for (const [point, seed] of plan.runs) {
            const traced = await pictures.ask("trace", { point, seed, rows: 1000 });
            const { error, flows } = await pictures.ask("run", { point, seed });
            if (error ?? traced.error) return done({ error: error ?? traced.error });
            found[plan.points[point].scheme] = [flows.map((flow) => flow[2]), traced.flows.map((flow) => flow[2])];
          }
          done(found);
        })();""",
        text,
    )
    (tmp_path / "own.toml").write_text(text)
    run = [flowsieve, "run", "own.toml", "--out", "result"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = subprocess.run([flowsieve, "export", "result", "--what", "flows"], cwd=tmp_path, capture_output=True, text=True, check=True)
    there = {}
    for row in csv.DictReader(io.StringIO(rows.stdout)):
        there.setdefault(row["scheme"], []).append(int(row["fct_ps"]) if row["fct_ps"] else None)
    assert {scheme: flows for scheme, (flows, _) in here.items()} == there
    # A trace changes nothing.
    assert all(flows == traced for flows, traced in here.values())


def test_page__is_whole_and_asks_for_nothing(page, playground):
    opened(page, playground)
    assert page.complaints() == []
    assert all(address.startswith(("file:", "data:", "blob:")) for address in page.requests())
    assert "PIAS" in said(page) and "5 seeds" in said(page)
    # The command's numbers: what may be taken along gives the table.
    assert page.run("return document.querySelector('#toml').value.includes('seeds = 5')")


def test_choices__each_scheme_runs_with_every_slider_at_both_ends(page, playground):
    """Planned alone: what a scheme does not read is not in its text, which the engine would refuse."""
    opened(page, playground)
    refused = page.driver.execute_async_script(
        """const done = arguments[arguments.length - 1];
        (async () => {
          const refused = [];
          const ends = (at) => Object.fromEntries(CHOICES.map(([name, , of]) => [name, Array.isArray(of[0]) ? of.at(at)[0] : of[at === 0 ? 0 : 1]]));
          for (const traffic of Object.keys(TRAFFIC)) for (const scheme of Object.keys(SCHEMES)) {
            if (SCHEMES[scheme].coflows && !TRAFFIC[traffic].coflows) continue;
            for (const at of [0, -1]) {
              Object.assign(state, ends(at), { traffic, a: scheme, b: at === 0 ? scheme : "dctcp" });
              const plan = await pictures.ask("plan", { text: experiment(false) });
              if (plan.error) refused.push([traffic, scheme, at, plan.error]);
            }
          }
          done(refused);
        })();"""
    )
    assert refused == []


@pytest.mark.parametrize("load", ["0.1", "0.99"])
def test_load__at_its_ends_is_answered(page, playground, load):
    opened(page, playground, load=load)
    assert said(page).startswith("The mean FCT"), said(page)


def test_text__that_is_no_experiment_or_too_large_is_a_sentence(page, playground, tmp_path):
    opened(page, playground)
    for text, says in [
        ("", "This does not run"),
        ("not a text of ours", "This does not run"),
        ('[topology]\nkind = "ring"', "ring"),
        (own(["my-scheme"]), "my-scheme"),
        (own(["dctcp"], workload='list = "mine.csv"'), "mine.csv"),
        (own(["dctcp", "pias"], workload='sizes = "web-search"\nload = 0.5\nflows = 1_000_000'), "at home: flowsieve run mine.toml"),
        ("x = 1\n" * 200_000, "too long"),
    ]:
        assert says in given(page, text), says
    # It goes on to work.
    assert given(page, own(["dctcp", "homa"])).startswith(("Play", "The mean"))
    assert page.complaints() == []


def answered(page, text: str) -> list[list[str]]:
    """The table of a text of one's own, when all of its seeds are in it."""
    given(page, text)
    wait(page, "document.querySelector('#seeds').textContent.match(/(\\d+) of \\1 seed/)")
    return page.run("return [...document.querySelectorAll('#table tr')].map((row) => [...row.cells].map((cell) => cell.textContent))")


def test_answer__of_ones_own_text_has_its_names_and_compares_what_is_alike(page, playground):
    opened(page, playground, traffic="three")
    # Names are the text's, also where the page has schemes of these names.
    table = answered(page, own(["fifo", "constructor"]) + '[schemes.fifo]\nbase = "pias"\n[schemes.constructor]\nbase = "dctcp"\n')
    assert [cell.split(",")[0] for cell in table[0][1:3]] == ["fifo", "constructor"]
    # A few flows of several seeds are not the same flows.
    few = own(["dctcp", "pias"], workload='sizes = "web-search"\nload = 0.6\nflows = 5').replace("seeds = 1", "seeds = 3")
    assert answered(page, few)[1][0] == "up to 100 KB"
    # Flows without a coflow are no coflow.
    mixed = own(["dctcp", "pias"], workload='sizes = "fb-hadoop"\nload = 0.3\nqueries = 20\nquery_servers = 4\nquery_client = 0\nquery_sizes = "fixed(20KB)"')
    assert [row[0] for row in answered(page, mixed)[1:]] == ["all coflows"]
    assert float(page.run("return document.querySelectorAll('#table td')[1].textContent").replace(",", "")) < 1_000
    # A long list would hold the page up.
    given(page, own(["dctcp", "pias"], workload='sizes = "fixed(100B)"\nload = 0.3\nflows = 3000'))
    listed = page.run("return [document.querySelectorAll('#flows button').length, document.querySelector('#flows').textContent]")
    assert listed[0] == 500 and listed[1].endswith("The first 500 of 3,000 flows.")
    # More points than two are said.
    given(page, own(["dctcp", "pias", "homa"]))
    assert "first two of 3 points" in page.run("return document.querySelector('#warnings').textContent")


def test_window__flows_keep_their_numbers(page, playground):
    opened(page, playground, traffic="three")
    given(page, own(["dctcp", "pias"], workload='sizes = "web-search"\nload = 0.5', run='measure = "window"\nwindow = ["1ms", "3ms"]'))
    first = page.run("return Number(document.querySelector('#flows button').dataset.flow)")
    assert first > 0
    page.run("follow(arguments[0]); now = last(); draw();", first)
    assert " 0 packets sent" not in page.run("return document.querySelector('#said-0').textContent")


def test_refusal__leaves_no_picture_of_what_was_before(page, playground):
    opened(page, playground, traffic="three", a="fifo", b="pias")
    assert "flow level" in given(page, own(["dctcp", "ps"], run='fidelity = "flow"'))
    assert page.run("return [sides.length, document.querySelectorAll('#flows tr').length]") == [0, 0]


def test_choices__coflow_schemes_give_way_where_there_are_no_coflows(page, playground):
    opened(page, playground, a="pcoflow-ecn", traffic="three", load="abc")
    assert page.run("return [state.a, state.load]") == ["dctcp", "0.7"]
    assert said(page).startswith("The flow of 20 KB")


def test_module__that_is_damaged_is_a_sentence(page, playground, tmp_path):
    damaged = tmp_path / "damaged.html"
    text = playground.read_text()
    at = text.index('id="module">') + 2000
    damaged.write_text(text[:at] + "AAAA" + text[at + 4 :])
    page.open(damaged)
    wait(page, "document.querySelector('#answer').textContent.startsWith('The simulator does not')")


def test_engine__that_stops_is_opened_anew(page, playground):
    opened(page, playground)
    answers = page.driver.execute_async_script(
        """const done = arguments[arguments.length - 1];
        (async () => {
          const stopped = await pictures.ask("trace", { point: 0, seed: 1, rows: -1, });
          pictures.worker.postMessage({ id: -1, what: "plan", text: null });
          await pictures.ready;
          done([stopped.error ?? null, (await pictures.ask("plan", { text: experiment(false) })).error ?? null]);
        })();"""
    )
    assert answers[1] is None, answers


LESSON = sorted((ROOT / "docs/learn").glob("*.md"))
LINKS = [(page, link) for page in LESSON for link in re.findall(r"index\.html#(\S+)", page.read_text())]


@pytest.mark.parametrize("lesson,link", LINKS, ids=[f"{page.stem} {link}" for page, link in LINKS])
def test_lesson__shows_what_it_says(page, playground, lesson, link):
    """Each link sets what it names, and one of the page's numbers is the lesson's."""
    choices = dict(part.split("=") for part in link.split("&"))
    opened(page, playground, **choices)
    assert page.run("return arguments[0].every(([name, value]) => state[name] === value)", list(choices.items()))
    rows = page.run("return [...document.querySelectorAll('#table tr')].map((row) => [...row.cells].map((cell) => cell.textContent))")
    text = " ".join(lesson.read_text().split())
    if choices.get("traffic") == "three":
        assert any(cell in text for row in rows[2:] for cell in row[1:3]), rows
    elif "is not told" not in said(page):
        assert re.search(r"\d+ %", said(page))[0] in text, said(page)


def test_lesson__has_five_pages_that_lead_to_each_other():
    assert len(LESSON) == 5
    assert all(after.name in page.read_text() for page, after in zip(LESSON, LESSON[1:]))
    lengths = [len(page.read_text().split()) for page in LESSON]
    assert max(lengths) <= 420 and sum(lengths) <= 2000, lengths


def test_run__that_takes_long_is_given_up_for_the_next_choice(page, playground):
    """The next choice does not wait for the end of a run: it gets another worker."""
    opened(page, playground, traffic="three", a="fifo", b="dctcp")
    page.run("window.earlier = pictures.worker")
    page.run("document.querySelector('#toml').value = arguments[0]; document.querySelector('#use').click()", LONG)
    wait(page, "document.querySelector('#answer').textContent.includes('about')")
    given(page, own(["dctcp", "homa"]))
    assert page.run("return pictures.worker !== window.earlier")
    assert page.run("return document.querySelector('#name-1').textContent") == "homa"


def test_pictures__move_and_steps_go_to_what_happens_next(page, playground):
    opened(page, playground, a="fifo", b="pias", traffic="three", buffer="300")
    wait(page, "now > 4000 || playing")
    before, after = page.run("play(false); const before = now; step('times'); return [before, now];")
    assert after > before
    events = page.run("return sides.flatMap(({ trace }) => [...trace.times]).filter((time) => time > arguments[0]).reduce((one, other) => Math.min(one, other))", before)
    assert after == pytest.approx(events)
    # The followed flow: what is told of it ends with the engine's FCT.
    page.run("follow(2); now = last(); draw();")
    left, right = page.run("return [0, 1].map((at) => document.querySelector(`#said-${at}`).textContent)")
    assert "20 KB: 2,703 us;" in left and "waits for a timer once" in left, left
    assert "20 KB: 57.9 us;" in right and "timer" not in right, right


def test_keyboard__reaches_everything_in_order(page, playground):
    opened(page, playground, traffic="three", a="fifo", b="dctcp")
    reached = set()
    for _ in range(60):
        page.driver.switch_to.active_element.send_keys(Keys.TAB)
        reached.add(page.run("const at = document.activeElement; return at.id || at.dataset.flow || at.tagName"))
    wanted = page.run("return [...document.querySelectorAll('select, input, button, textarea')].filter((one) => !one.disabled).map((one) => one.id || one.dataset.flow)")
    assert set(wanted) <= reached, set(wanted) - reached


@pytest.mark.skipif(not AXE.exists(), reason="no axe-core, which `scripts/npm.sh python/analysis` installs")
@pytest.mark.parametrize("size,style", list(product([NARROW, (1400, 900)], ["light", "dark"])))
def test_axe__finds_nothing_serious(page, playground, size, style):
    opened(page, playground, size, style, traffic="three", a="fifo", b="pias")
    assert serious(page) == []
    # Nothing is wider than the screen.
    assert page.run("return document.documentElement.scrollWidth <= innerWidth")


def test_memory__does_not_grow_with_the_frames(page, playground):
    """Ten minutes of frames, as fast as they can be drawn: what is drawn at the end takes no more than at the beginning."""
    opened(page, playground, a="dctcp", b="pias")
    grown = page.driver.execute_async_script(
        """const done = arguments[arguments.length - 1];
        play(false);
        const round = () => { for (now = 0; now < last(); now += last() / 300) for (const side of sides) side.draw(now, speed()); };
        const most = () => Math.max(...sides.flatMap((side) => [side.flights.inside.length, side.waiting.inside.length, side.drawn.length]));
        round();
        const before = most();
        for (let nth = 0; nth < 5; nth++) round();
        done([before, most()]);"""
    )
    assert grown[1] <= grown[0]


def test_browser__without_workers_is_told_so(page, playground, tmp_path):
    bare = tmp_path / "bare.html"
    bare.write_text(playground.read_text().replace("<script>//", "<script>delete window.Worker; window.Worker = undefined;//", 1))
    page.open(bare)
    assert "cannot run in it" in said(page)
