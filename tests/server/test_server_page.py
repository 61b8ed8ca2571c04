"""The page in a real browser: typing, clicking, keys, links, attempts to inject, and servers that fail."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from browser import console_errors, requested_urls
from serving import wait_until

TEXT = "The cat chased a mouse. It rained."
INJECTION = '<img src=x onerror="document.title=1"><script>document.title=2</script></textarea><b>landed</b>.'


@pytest.fixture
def page(client, browser):
    """The page of a server, in a browser."""
    return Page(client, browser)


class Page:
    """What a person does with the page and sees on it."""

    def __init__(self, client, browser) -> None:
        self.client = client
        self.browser = browser
        self.open()

    def open(self, hash: str = "") -> None:
        self.browser.get("about:blank")
        self.browser.get(self.client.url + "/" + hash)
        wait_until(lambda: self.all("#examples button"))

    def one(self, selector: str):
        return self.browser.find_element("css selector", selector)

    def all(self, selector: str):
        return self.browser.find_elements("css selector", selector)

    def text(self, selector: str) -> str:
        return self.one(selector).text

    def type(self, text: str) -> None:
        self.one("#text").clear()
        self.one("#text").click()
        self.browser.execute_cdp_cmd("Input.insertText", {"text": text})  # send_keys knows no emoji

    def keys(self, *keys: str) -> None:
        self.browser.switch_to.active_element.send_keys(*keys)

    def status(self, text: str) -> None:
        wait_until(lambda: self.text("#status") == text)

    def error(self, text: str) -> None:
        wait_until(lambda: self.text("#error") == text)

    def copied(self) -> list[str]:
        return self.browser.execute_script("return window.copied")

    def catch_copies(self) -> None:
        """Headless browsers have no clipboard to look at."""
        self.browser.execute_script(
            "window.copied = []; navigator.clipboard.writeText = async (text) => { window.copied.push(text) }"
        )


def test_typing_and_clicking_shows_pictures(page):
    page.type(TEXT)
    page.one("#go").click()
    page.status("2 sentences, 2 predicates.")
    first, second = page.all("#pictures .srl")
    assert "chased" in first.text
    assert "chas.01" in first.text
    assert "rain.01" in second.text
    assert console_errors(page.browser) == []


def test_the_page_asks_no_other_host(page):
    page.type(TEXT)
    page.one("#go").click()
    page.status("2 sentences, 2 predicates.")
    page.browser.get(page.client.url + "/docs")
    wait_until(lambda: page.all(".door"))
    asked = [url for url in requested_urls(page.browser) if not url.startswith("about:")]
    assert asked
    assert all(url.startswith(page.client.url) for url in asked), asked


def test_pictures_have_their_style_under_the_strict_policy(page):
    page.open("#text=" + quote(TEXT))
    page.status("2 sentences, 2 predicates.")
    mark = page.one("#pictures .srl-predicate")
    assert mark.value_of_css_property("background-color") not in ("rgba(0, 0, 0, 0)", "")


def test_the_keyboard_is_enough(page):
    keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
    assert page.browser.switch_to.active_element.get_attribute("id") == "text"
    page.keys("It rained.")
    page.keys(keys.CONTROL, keys.ENTER)
    page.status("1 sentence, 1 predicate.")
    order = []
    for _ in range(10):
        page.keys(keys.TAB)
        focused = page.browser.switch_to.active_element
        order.append(focused.get_attribute("id") or focused.get_attribute("value") or focused.text)
    assert order[4:] == ["verb", "noun", "adjective", "auxiliary", "link", "go"]
    page.keys(keys.TAB)
    assert page.browser.switch_to.active_element.get_attribute("id") == "tab-pictures"
    page.keys(keys.ARROW_RIGHT)
    assert page.one("#table").is_displayed()
    page.keys(keys.ARROW_LEFT, keys.ARROW_LEFT)
    assert page.one("#json").is_displayed()
    assert not page.one("#table").is_displayed()


def test_an_example_is_one_click(page):
    page.all("#examples button")[0].click()
    wait_until(lambda: "sentence" in page.text("#status"))
    assert "museum" in page.one("#text").get_attribute("value")


def test_predicate_types_are_switches(page, pipeline):
    page.type(TEXT)
    page.one("#go").click()
    page.status("2 sentences, 2 predicates.")
    page.one("input[value=verb]").click()
    page.status("2 sentences, 0 predicates.")
    assert pipeline.predicates[-1] == ("noun", "adjective", "auxiliary")
    for kind in ("noun", "adjective", "auxiliary"):
        page.one(f"input[value={kind}]").click()
    page.error("Switch on at least one kind of predicate.")


def test_the_table_has_a_row_an_argument_and_can_be_copied(page):
    page.type("😀 Zoë chased a  mouse.")
    page.one("#go").click()
    page.status("1 sentence, 1 predicate.")
    page.one("#tab-table").click()
    rows = page.all("#table tbody tr")
    assert [[cell.text for cell in row.find_elements("css selector", "td")] for row in rows] == [
        ["1", "chased", "chas.01", "verb", "ARG0", "😀 Zoë", "0.50"],
        ["1", "chased", "chas.01", "verb", "ARG1", "a mouse.", "0.50"],
    ]
    page.catch_copies()
    page.one("#copy").click()
    page.status("Table copied.")
    (copied,) = page.copied()
    assert copied.splitlines()[1] == "1\tchased\tchas.01\tverb\tARG0\t\t😀 Zoë\t0.50"


def test_the_table_has_all_pieces_of_a_predicate(page):
    page.type("They picked it up")
    page.one("#go").click()
    page.status("1 sentence, 1 predicate.")
    page.one("#tab-table").click()
    rows = page.all("#table tbody tr")
    assert [[cell.text for cell in row.find_elements("css selector", "td")][1] for row in rows] == [
        "picked up"
    ] * 2


def test_the_json_is_the_servers_and_can_be_copied(page):
    page.type(TEXT)
    page.one("#go").click()
    page.status("2 sentences, 2 predicates.")
    page.one("#tab-json").click()
    page.catch_copies()
    page.one("#copy").click()
    page.status("JSON copied.")
    expected = page.client.label(text=TEXT).json["results"][0]
    assert json.loads(page.copied()[0]) == json.loads(page.text("#json")) == expected


def test_the_link_holds_the_text_and_the_types(page):
    page.type("It rained & poured, 100% sure #1 + 😀")
    page.one("input[value=noun]").click()
    page.catch_copies()
    page.one("#link").click()
    page.status("Link copied.")
    (link,) = page.copied()
    assert link.startswith(page.client.url + "/#text=")
    page.open(link.removeprefix(page.client.url + "/"))
    page.status("1 sentence, 2 predicates.")
    assert page.one("#text").get_attribute("value") == "It rained & poured, 100% sure #1 + 😀"
    assert [box.is_selected() for box in page.all("input[name=types]")] == [True, False, True, True]


def test_after_labelling_the_address_is_the_link(page):
    page.type(TEXT)
    page.one("#go").click()
    page.status("2 sentences, 2 predicates.")
    page.browser.refresh()
    page.status("2 sentences, 2 predicates.")
    assert page.one("#text").get_attribute("value") == TEXT


@pytest.mark.parametrize("way", ["typed", "link"])
def test_text_is_never_taken_for_html(page, way):
    if way == "typed":
        page.type(INJECTION)
        page.one("#go").click()
    else:
        page.open("#text=" + quote(INJECTION))
    wait_until(lambda: "sentence" in page.text("#status"))
    for tab in ("pictures", "table", "json"):
        page.one(f"#tab-{tab}").click()
        assert "onerror" in page.text(f"#{tab}")
        assert not page.all(f"#{tab} img, #{tab} script, #{tab} b")
    assert page.browser.title == "spansrl: who did what to whom"
    assert console_errors(page.browser) == []


def test_an_error_of_the_server_is_shown_and_goes_away(page):
    page.type("poison")
    page.one("#go").click()
    page.error("The server says: labelling failed; the server's log says why.")
    assert not page.one("#results").is_displayed()
    page.type(TEXT)
    page.one("#go").click()
    page.status("2 sentences, 2 predicates.")
    assert not page.one("#error").is_displayed()


def test_a_refusal_says_when_to_try_again(page):
    page.client.service.finish()
    page.type(TEXT)
    page.one("#go").click()
    page.error("The server says: the server is shutting down; try again. Try again in 5 s.")


def test_a_text_that_is_too_long_is_explained(serve, browser):
    with serve(text_chars=20) as client:
        page = Page(client, browser)
        page.type(TEXT)
        page.one("#go").click()
        page.error("The server says: item 1 has 34 characters; send at most 20.")


def test_no_text_is_asked_for(page):
    page.one("#go").click()
    page.error("Write a text first.")
    assert page.browser.switch_to.active_element.get_attribute("id") == "text"


def test_a_server_that_has_gone_is_told(serve, browser):
    with serve() as client:
        page = Page(client, browser)
    page.type(TEXT)
    page.one("#go").click()
    page.error("The server cannot be reached. Is it still running?")


def test_while_it_is_busy_the_page_says_so_and_can_be_stopped(page, pipeline):
    keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
    pipeline.may_go.clear()
    page.type(TEXT)
    page.one("#go").click()
    page.status("Labelling …")
    assert page.text("#go") == "Stop"
    page.keys(keys.ESCAPE)
    page.status("Stopped.")
    assert page.text("#go") == "Label"
    pipeline.may_go.set()
    page.one("#go").click()
    page.status("2 sentences, 2 predicates.")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/#text=" + quote(TEXT * 3), "/docs"])
def test_on_a_phone_nothing_is_wider_than_the_screen(client, browser, scheme, path):
    metrics = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    try:
        browser.get(client.url + path)
        wait_until(lambda: browser.find_elements("css selector", ".srl, .door"))
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 360
        background = "return getComputedStyle(document.body).backgroundColor"
        brightness = sum(map(int, browser.execute_script(background)[4:-1].split(",")[:3]))
        assert (brightness > 384) == (scheme == "light")
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_the_documentation_shows_every_door_and_schema(client, browser):
    browser.get(client.url + "/docs")
    wait_until(lambda: browser.find_elements("css selector", ".door"))
    api = client.get("/openapi.json").json
    shown = [title.text for title in browser.find_elements("css selector", ".door h2 code")]
    assert shown == [*api["paths"], *api["components"]["schemas"]]
    assert console_errors(browser) == []
