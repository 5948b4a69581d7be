#!/usr/bin/env python3
"""How long a report takes to load in a headless Chromium: report_load.py report.html [times]

Prints for each time, in ms from the start of navigation, when the page was parsed, loaded and first painted, and when the
plots in view were drawn. At load the page is scrolled to its first plot.
"""
import fcntl, json, os, pathlib, subprocess, sys, tempfile, time

DRAWN = """(() => {
  const inView = [...document.querySelectorAll(".plot")].filter(p => p.offsetParent && p.getBoundingClientRect().top < innerHeight);
  if (!inView.length || inView.some(p => !p.querySelector("svg.main-svg"))) return null;
  const page = performance.getEntriesByType("navigation")[0], paint = performance.getEntriesByName("first-contentful-paint")[0];
  if (!page.loadEventEnd || !paint) return null;
  return [page.domInteractive, page.loadEventEnd, paint.startTime, window.drawnAt];
})()"""
# Notes the last instant at which something was drawn into a plot.
WATCH = """addEventListener("DOMContentLoaded", () => document.querySelectorAll(".plot").forEach(p =>
  new MutationObserver(() => window.drawnAt = performance.now()).observe(p, { childList: true, subtree: true })));
addEventListener("load", () => [...document.querySelectorAll(".plot")].find(p => p.offsetParent).scrollIntoView());"""


def measure(url):
    with tempfile.TemporaryDirectory() as profile:
        # Above 9, so that none is in the way of the 3 and 4 of the browser.
        to_browser, ours, from_browser, theirs = (fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in [*os.pipe(), *os.pipe()])
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
                 "--disable-background-networking", "--disable-component-update", "--window-size=1200,1600",
                 f"--user-data-dir={profile}", "--remote-debugging-pipe"]
        # The browser reads commands from descriptor 3 and answers on 4.
        browser = subprocess.Popen(["chromium", *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=[3, 4],
                                   preexec_fn=lambda: (os.dup2(to_browser, 3), os.dup2(theirs, 4)))
        os.close(to_browser), os.close(theirs)
        answers, number = os.fdopen(from_browser, "rb"), 0

        def call(method, session=None, **params):
            nonlocal number
            number += 1
            message = {"id": number, "method": method, "params": params} | ({"sessionId": session} if session else {})
            os.write(ours, json.dumps(message).encode() + b"\0")
            while True:
                text = b""
                while not text.endswith(b"\0"):
                    text += answers.read(1) or sys.exit("the browser has gone")
                answer = json.loads(text[:-1])
                if answer.get("id") == number:
                    return answer["result"]

        target = call("Target.createTarget", url="about:blank")["targetId"]
        session = call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        call("Page.enable", session)
        call("Page.addScriptToEvaluateOnNewDocument", session, source=WATCH)
        call("Page.navigate", session, url=url)
        found = None
        for _ in range(300):
            time.sleep(0.1)
            found = call("Runtime.evaluate", session, expression=DRAWN, returnByValue=True)["result"].get("value")
            if found:
                break
        call("Browser.close")
        browser.wait()
        return found


for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 5):
    found = measure(pathlib.Path(sys.argv[1]).resolve().as_uri())
    print(" ".join(f"{what} {at:.0f}" for what, at in zip(["parsed", "loaded", "painted", "drawn"], found or sys.exit("not drawn in 30 s"))))
