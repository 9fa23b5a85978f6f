"""Debian's chromium, for tests of pages."""

import functools
import http.server
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.servers import LOOPBACK

PAGE_SECONDS = 60


class Browser:
    """Debian's chromium; its calls block."""

    def __init__(self, folder: Path) -> None:
        webdriver = pytest.importorskip("selenium.webdriver", reason="pip install selenium")
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for flag in (
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={folder}",
            "--hide-scrollbars",
        ):
            options.add_argument(flag)
        service = webdriver.ChromeService(shutil.which("chromedriver"))
        self.driver = webdriver.Chrome(options=options, service=service)
        self.driver.set_page_load_timeout(PAGE_SECONDS)

    def text(self, selector: str) -> str:
        found: str = self.driver.find_element("css selector", selector).text
        return found

    def until(self, selector: str, words: str) -> None:
        self._wait(lambda: words in self.text(selector))

    def ask(self, script: str) -> Any:
        """Return what a script finds out about the page; what is empty or false is asked for again."""
        return self._wait(lambda: self.driver.execute_script(script))

    def _wait(self, question: Callable[[], Any]) -> Any:
        from selenium.common.exceptions import WebDriverException
        from selenium.webdriver.support.wait import WebDriverWait

        # While a page loads anew there is no element, or an old one, or the loading interrupts the question.
        wait = WebDriverWait(self.driver, PAGE_SECONDS, poll_frequency=0.05, ignored_exceptions=(WebDriverException,))
        return wait.until(lambda _: question())

    def pretend(self, zone: str, scheme: str) -> None:
        """To be in a time zone, and of a user who likes that scheme."""
        self.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": zone})
        liked = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", liked)

    def press(self, *keys: str) -> None:
        """Keys, one after the other, wherever the focus is."""
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    def focused(self) -> str:
        """What a screen reader calls it."""
        return str(self.driver.switch_to.active_element.get_attribute("aria-label"))

    def click(self, selector: str) -> None:
        self.driver.find_element("css selector", selector).click()


@contextmanager
def open_browser(folder: Path) -> Iterator[Browser]:
    """A browser with a profile of its own; the test is skipped where none is installed."""
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        pytest.skip("chromium is not installed (apt: chromium chromium-driver)")
    browser = Browser(folder)
    try:
        yield browser
    finally:
        browser.driver.quit()


class _QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The files of a folder on the loopback, by the address of their index."""
    handler = functools.partial(_QuietHandler, directory=folder)
    with http.server.ThreadingHTTPServer((LOOPBACK, 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://{LOOPBACK}:{server.server_port}/index.html"
        finally:
            server.shutdown()
            thread.join()
