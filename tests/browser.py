"""A real browser for tests of pages: Debian's chromium, headless, driven by selenium.

A folder whose tests look at pages has `from browser import browser` in its conftest.py. What a page asked the
network for and what it wrote on its console can be read back, so that a test can insist on neither.
"""

from __future__ import annotations

import atexit
import json
import shutil
from functools import cache
from typing import Any

import pytest

OPTIONS = (
    "--headless=new",
    "--no-sandbox",  # containers run tests as root, and chromium refuses its sandbox there
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--window-size=1200,900",
)


@pytest.fixture
def browser() -> Any:
    """A selenium webdriver on an empty page, with nothing left in its logs."""
    driver = _driver()
    driver.get("about:blank")
    driver.get_log("browser")
    driver.get_log("performance")
    return driver


def console_errors(driver: Any) -> list[str]:
    """What pages have complained about since this was last asked."""
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]


def requested_urls(driver: Any) -> list[str]:
    """Every address that pages have asked for since this was last asked."""
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]


@cache
def _driver() -> Any:
    """One browser for the tests of all folders: it takes seconds to start."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed (extra dev)")
    binary, driver_binary = shutil.which("chromium"), shutil.which("chromedriver")
    if binary is None or driver_binary is None:
        pytest.skip("there is no chromium with chromedriver; on Debian: apt-get install chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for option in OPTIONS:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver_binary))
    atexit.register(driver.quit)
    driver.set_page_load_timeout(60)
    return driver
