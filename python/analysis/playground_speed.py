"""Measures the playground: first picture, frames with many packets, memory, and quickstart's points next to the command.

    FLOWSIEVE=… PLAYGROUND=… python playground_speed.py

Figures are of this machine at this moment, so no test asks for them. They are in notes/performance-command.md.
"""

import os
import subprocess
import tempfile
import time
from pathlib import Path

import browser
from test_playground import opened, wait

ROOT = Path(__file__).resolve().parents[2]
# Long lines and senders without windows: tens of thousands of packets at once.
MANY = """[topology]
kind = "single-switch"
hosts = 8
link_delay = "5ms"
[workload]
sizes = "fixed(6MB)"
load = 0.9
flows = 40
[sweep]
scheme = ["fcfs", "ps"]
[run]
seeds = 1
"""
FIRST = "document.querySelector('#answer').textContent.startsWith('Play') || document.querySelector('#seeds').textContent"
UNDER_WAY = "sides.reduce((sum, side) => sum + side.flights.at(now).length + side.waiting.at(now).length, 0)"
FRAMES = """const done = arguments[1];
const begin = performance.now();
let frames = 0;
document.querySelector("#speed").value = 30;
now = arguments[0];
play(true);
const count = () => (++frames, performance.now() - begin < 4000 ? requestAnimationFrame(count) : done((1000 * frames) / (performance.now() - begin)));
requestAnimationFrame(count);"""
POINTS = """const done = arguments[1];
(async () => {
  const plan = await pictures.ask("plan", { text: arguments[0] });
  const begin = performance.now();
  for (let point = 0; point < plan.points.length; point++) await pictures.ask("run", { point, seed: plan.runs[0][1] });
  done([plan.points.length, (performance.now() - begin) / 1000]);
})();"""


def heap(page) -> float:
    """Of the page's script after a collection, in MB."""
    page.driver.execute_cdp_cmd("Performance.enable", {})
    page.driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
    metrics = page.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return next(of["value"] for of in metrics if of["name"] == "JSHeapUsedSize") / 1e6


def main() -> None:
    built = Path(os.environ["PLAYGROUND"])
    with tempfile.TemporaryDirectory() as scratch, browser.opened(Path(scratch) / "profile") as page:
        page.driver.set_script_timeout(300)
        for _ in range(3):
            begin = time.monotonic()
            page.open(built, "#load=0.7")
            wait(page, FIRST)
            print(f"first picture after {time.monotonic() - begin:.2f} s")
        opened(page, built, traffic="three")
        page.run("document.querySelector('#toml').value = arguments[0]; document.querySelector('#use').click()", MANY)
        wait(page, "!document.querySelector('#answer').textContent.startsWith('Simulating')")
        for packets in (10_000, 60_000):
            at = page.run(
                f"for (now = 0; now < last(); now += last() / 2000) if ({UNDER_WAY} >= arguments[0]) return now; return now;", packets
            )
            print(f"{packets:,} packets: {page.driver.execute_async_script(FRAMES, at):.0f} frames a second")
        before = heap(page)
        page.run("play(false); for (now = 0; now < last(); now += last() / 600) for (const side of sides) side.draw(now, speed());")
        print(f"memory of the script: {before:.0f} MB, after 600 frames {heap(page):.0f} MB")
        points, here = page.driver.execute_async_script(POINTS, (ROOT / "experiments/quickstart.toml").read_text())
        begin = time.monotonic()
        run = [os.environ["FLOWSIEVE"], "run", ROOT / "experiments/quickstart.toml", "--seeds", "1", "--jobs", "1", "--out", Path(scratch) / "result"]
        subprocess.run(run, check=True, capture_output=True)
        there = time.monotonic() - begin
        print(f"quickstart's {points} points: {here:.1f} s in the browser, {there:.1f} s by the command, {here / there:.1f} times")


main()
