"""Renew the pictures of the documentation from the program: `make docs`. Those of the page need chromium."""

from __future__ import annotations

import base64
import io
import shutil
import sys
from pathlib import Path
from urllib.parse import quote

from PIL import Image

import spansrl

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
WIDTH, HEIGHT = 940, 960


def write_page_pictures() -> None:
    """The page with a text: as a downloaded SVG, and as screenshots."""
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "server")]
    from test_page import HERO, Page

    from browser import _driver
    from serving import serving, wait_until

    with serving(spansrl.load) as client:
        wait_until(lambda: client.get("/readyz").status == 200)
        browser = _driver()
        page = Page(client, browser)
        metrics = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        for scheme in ("light", "dark"):
            media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
            page.open("#text=" + quote(HERO))
            wait_until(lambda: len(page.all(".sentence")) == 2)
            page.script("document.body.style.fontFamily = 'Arial'")  # not every system-ui looks good
            shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": False})
            image = Image.open(io.BytesIO(base64.b64decode(shot["data"])))
            image.quantize(128).save(IMAGES / f"page-{scheme}.png", optimize=True)
        (IMAGES / "hero.svg").write_text(page.saved("svg")[1] + "\n", encoding="utf-8")


if __name__ == "__main__":
    if shutil.which("chromedriver"):
        write_page_pictures()
    else:
        print("no chromedriver, so docs/images is as before; on Debian: apt-get install chromium-driver")
