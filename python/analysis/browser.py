"""A headless Chromium that opens one page at a time, and says what the page did."""

import base64
import json
import shutil
import time
from contextlib import contextmanager
from pathlib import Path

from selenium import webdriver
from selenium.common.exceptions import TimeoutException, WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

# Nothing is asked of the network, by the browser itself neither.
QUIET = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    # An invisible window is drawn nevertheless: without these, some starts give no animation frame.
    "--disable-renderer-backgrounding",
    "--disable-backgrounding-occluded-windows",
    "--disable-background-timer-throttling",
]
# A4 upright, in inches: a page that wants its sheets to lie has to say so.
PAPER = {"paperWidth": 8.27, "paperHeight": 11.69}


def found() -> tuple[str, str] | None:
    """The browser and its driver, where both are there."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


class Stalled(Exception):
    """The browser draws no frames, though the page answers: it does so now and then, until a page is opened anew."""


class Broken(Exception):
    """There is a browser, but it does not start: damaged, or not the driver's version."""


class Page:
    """One page in the browser, at a width and height in CSS pixels."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def size(self, width: int, height: int) -> None:
        # Not the window, which has a least width.
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def style(self, scheme: str) -> None:
        """`light` or `dark`, as the reader's system would ask for."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def open(self, path: Path, fragment: str = "") -> None:
        """Opens a page anew, also where only what is after its `#` is another."""
        if fragment:
            self.driver.get("about:blank")
        self.driver.get(path.resolve().as_uri() + fragment)

    def run(self, script: str, *arguments: object) -> object:
        return self.driver.execute_script(script, *arguments)

    def scroll_through(self) -> None:
        """Shows every part of the page once, as a reader would."""
        try:
            self._scroll_through()
        except TimeoutException:
            if self._draws_frames():
                raise
            raise Stalled from None

    def _draws_frames(self) -> bool:
        """Whether a frame comes within some seconds; if the page hangs, there is no answer, and that is its own error."""
        return self.driver.execute_async_script(
            """const done = arguments[arguments.length - 1];
            setTimeout(() => done(false), 5000);
            requestAnimationFrame(() => done(true));"""
        )

    def _scroll_through(self) -> None:
        self.driver.set_script_timeout(30)
        self.driver.execute_async_script(
            """const done = arguments[arguments.length - 1];
            const frames = (count) => new Promise((after) => {
              const next = () => count-- ? requestAnimationFrame(next) : after();
              next();
            });
            (async () => {
              for (let at = 0; at < document.documentElement.scrollHeight; at += innerHeight) {
                scrollTo(0, at);
                await frames(2);
              }
              scrollTo(0, 0);
              await frames(3);
              done();
            })();"""
        )

    def picture(self, path: Path, whole: bool = False) -> None:
        options = {"captureBeyondViewport": whole}
        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", options)
        path.write_bytes(base64.b64decode(shot["data"]))

    def print(self, path: Path) -> None:
        """As the reader's browser prints it: the page says how its sheets lie."""
        options = {"preferCSSPageSize": True, "printBackground": False, **PAPER}
        path.write_bytes(base64.b64decode(self.driver.execute_cdp_cmd("Page.printToPDF", options)["data"]))

    def saved(self, folder: Path, button: WebElement) -> Path:
        """Clicks what saves a file, and gives the file once it is whole."""
        self.driver.execute_cdp_cmd("Page.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})
        before = set(folder.iterdir())
        # A click where nothing lies above it.
        self.run("arguments[0].dispatchEvent(new MouseEvent('click', { bubbles: true }))", button)
        for _ in range(200):
            # Chrome takes the name with an empty file, writes beside it, and moves the whole one over the empty one.
            new = [path for path in set(folder.iterdir()) - before if path.suffix != ".crdownload" and path.stat().st_size > 0]
            if new:
                return new[0]
            time.sleep(0.05)
        raise TimeoutError("nothing was saved within ten seconds")

    def forget(self) -> None:
        """Forgets what was said and asked for until now."""
        self.complaints()
        self.requests()

    def complaints(self) -> list[str]:
        """What the console has had to say since the last time: errors and warnings."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """The addresses that were asked for since the last time."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [message["params"] for message in messages if message["method"] == "Network.requestWillBeSent"]
        return [request["request"]["url"] for request in sent]

    def find(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)


@contextmanager
def opened(profile: Path):
    """A browser with an empty profile, which ends with the block."""
    both = found()
    if both is None:
        raise FileNotFoundError("chromium and chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = both[0]
    for argument in [*QUIET, f"--user-data-dir={profile}"]:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    # With the driver named, selenium looks for none.
    try:
        driver = webdriver.Chrome(options=options, service=Service(executable_path=both[1]))
    except WebDriverException as error:
        raise Broken(f"{both[0]} does not start: {error.msg}") from error
    try:
        yield Page(driver)
    finally:
        driver.quit()
