"""The page in a real browser: typing, keys, filters, files, links, injection, failing servers, phones."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
from pathlib import Path
from threading import Thread
from urllib.parse import quote
from xml.etree import ElementTree

import fake
import pytest

import spansrl
from browser import console_errors, requested_urls
from serving import wait_until
from spansrl.inference.loading import shipped_model
from spansrl.inference.pipeline import run_to_end
from spansrl.inventory import PROPBANK, FrameIndex
from spansrl.inventory.frame_files import Roleset
from spansrl.inventory.frame_index import MODIFIERS
from spansrl.server.app import STATIC
from spansrl.server.labeling import Options
from spansrl.structures import Argument, Proposition, Span

TEXT = "The cat chased a mouse. It rained."
LONG = "Yesterday the very old museum in the city center purchased the famous painting of the harbor."
INJECTION = '<img src=x onerror="document.title=1"><script>document.title=2</script></textarea><b>landed</b>.'
HERO = (  # the text of the pictures in docs/images, which docs/write_pictures.py makes
    "Ann sold her old car to a neighbor last week because she had bought a new one. "
    "The company's decision to close the library surprised everyone."
)
QUOTES = 'He said "hi" \\ and it\'s $HOME `ls` 😀, so it rained.'
FRAMES = FrameIndex.of(
    [
        Roleset("purchase.01", "buy", {"0": "buyer", "1": "thing bought", "2": "seller"}, [("v", "purchas")]),
        Roleset("purchase.02", "get a grip", {"0": "holder"}, [("v", "purchas")]),
    ]
)
# The showcase: what the examples must look like.
EXPECTED = {
    "sell.01": {
        "ARG0": "Ann",
        "ARG1": "her old car",
        "ARG2": "to a neighbor",
        "ARGM-TMP": "last week",
        "ARGM-CAU": "because she had bought a new one",
    },
    "buy.01": {"ARG0": "she", "ARG1": "a new one"},
    "collapse.01": {
        "ARG1": "The bridge",
        "ARGM-MNR": "quietly",
        "ARGM-TMP": "during the night",
        "ARGM-CAU": "because nobody had repaired it",
    },
    "repair.01": {"ARG0": "nobody", "ARG1": "it"},
    "ask.02": {"ARG0": "I", "ARG2": "the waiter", "ARG1": "to bring us the bill"},
    "bring.01": {"ARG0": "the waiter", "ARG2": "us", "ARG1": "the bill"},
    "decide.01": {"ARG0": "The company's", "ARG1": "to close the library"},
    "surprise.01": {"ARG0": "The company's decision to close the library", "ARG1": "everyone"},
    "destroy.01": {"ARG1": "of the city", "ARG0": "by the Romans"},
    "deny.01": {"ARG0": "The minister", "ARG1": "that the government had known about the leak"},
    "know.01": {"ARG0": "the government", "ARG1": "about the leak"},
    "discover.01": {
        "ARG0": "Scientists at the university",
        "ARG1": "a new species of frog",
        "ARGM-LOC": "in Peru",
        "ARGM-TMP": "last week",
    },
}


@pytest.fixture
def page(client, browser):
    """The page of a server, in a browser."""
    return Page(client, browser)


@pytest.fixture
def framed(pipeline, monkeypatch):
    """Let the pipeline return meanings, modifiers, several types, and probabilities from 0.2 to 0.9."""
    plain = fake.proposition

    def proposition(sent, index):
        if sent.tokens[index] == "used":
            return Proposition(index, (), "use", "use.03", type="auxiliary", prob=0.9)
        if sent.tokens[index] != "purchased":
            return plain(sent, index)
        args = (
            Argument("ARGM-TMP", Span(0, 1), 0.2, "time"),
            Argument("ARG0", Span(1, index), 0.9, "buyer"),
            Argument("ARG1", Span(index + 1, len(sent) - 1), 0.7, "thing bought"),
        )
        return Proposition(index, args, "purchas", "purchase.01", type="verb", prob=0.9, sense_prob=0.8)

    monkeypatch.setattr(fake, "proposition", proposition)
    pipeline.inventory = FRAMES


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

    def script(self, code: str, *arguments):
        return self.browser.execute_script(code, *arguments)

    def type(self, text: str) -> None:
        self.script("const area = document.getElementById('text'); area.focus(); area.select()")
        self.browser.execute_cdp_cmd("Input.insertText", {"text": text})  # send_keys has no emoji

    def label(self, text: str, status: str) -> None:
        self.type(text)
        self.status(status)

    def keys(self, *keys: str) -> None:
        self.browser.switch_to.active_element.send_keys(*keys)

    def status(self, text: str) -> None:
        wait_until(lambda: self.text("#status") == text)

    def error(self, text: str) -> None:
        wait_until(lambda: self.text("#error") == text)

    def focused(self):
        return self.browser.switch_to.active_element

    def choose(self, kind: str, what: str) -> None:
        """Choose from the menu Download (kind save) or Copy (kind copy)."""
        button = self.one(f"[data-{kind}={what}]")
        self.script("arguments[0].closest('details').open = true", button)
        button.click()

    def copied(self, what: str) -> str:
        """Copy something; headless browsers have no clipboard to look at."""
        self.script(
            "window.copied = []; navigator.clipboard.writeText = async (text) => { copied.push(text) }"
        )
        self.choose("copy", what)
        wait_until(lambda: self.script("return copied.length"))
        return self.script("return copied[0]")

    def saved(self, what: str) -> tuple[str, str]:
        """Save a file; return its name and its content, PNG as a data URL."""
        self.script(
            "window.saved = null; URL.createObjectURL = (blob) => { window.blob = blob; return '#' };"
            "HTMLAnchorElement.prototype.click = async function () {"
            "  const reader = new FileReader();"
            "  reader.onload = () => { window.saved = [this.download, reader.result] };"
            "  if (blob.type === 'image/png') reader.readAsDataURL(blob); else reader.readAsText(blob) }"
        )
        self.choose("save", what)
        wait_until(lambda: self.script("return window.saved"))
        return tuple(self.script("return window.saved"))

    def emulate(self, *, width: int = 390, scheme: str = "light") -> None:
        metrics = {"width": width, "height": 844, "deviceScaleFactor": 2, "mobile": True}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)

    def brightness(self) -> int:
        background = self.script("return getComputedStyle(document.body).backgroundColor")
        return sum(map(int, re.findall(r"\d+", background)[:3]))


@pytest.fixture
def phone(page):
    """The page on a phone."""
    page.emulate()
    yield page
    page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_the_page_opens_with_a_labeled_example(page):
    wait_until(lambda: page.all("#sentences .sentence"))
    assert "sold" in page.one("#text").get_attribute("value")
    assert page.one("#examples button[aria-pressed=true]").text == "A sale"
    assert "#" not in page.browser.current_url
    assert console_errors(page.browser) == []


def test_text_is_labeled_while_it_is_typed(page):
    page.label(TEXT, "2 sentences, 2 predicates.")
    first, second = page.all("#sentences .sentence")
    assert "chas.01" in first.text
    assert "rain.01" in second.text
    assert console_errors(page.browser) == []


def test_quick_typing_makes_one_request_and_late_answers_are_ignored(page, pipeline):
    wait_until(lambda: page.all("#sentences .sentence"))
    before = len(pipeline.calls)
    pipeline.may_go.clear()
    page.type("She waited.")
    wait_until(lambda: len(pipeline.calls) > before)
    for text in ("She", "She walked", "She walked and talked."):
        page.type(text)
    pipeline.may_go.set()
    page.status("1 sentence, 2 predicates.")
    labeled = [text for call in pipeline.calls[before:] for text in call]
    assert "She walked" not in labeled
    assert "walk.01" in page.text("#sentences")


def test_the_page_asks_no_other_host(page):
    page.label(TEXT, "2 sentences, 2 predicates.")
    page.browser.get(page.client.url + "/docs")
    wait_until(lambda: page.all(".endpoint"))
    asked = [url for url in requested_urls(page.browser) if not url.startswith("about:")]
    assert asked
    assert all(url.startswith(page.client.url) for url in asked), asked


def test_each_span_has_one_label_with_its_meaning_and_its_role(page, framed):
    page.label(LONG, "1 sentence, 1 predicate.")
    labels = [mark.text.split("\n") for mark in page.all(".picture .mark")]
    names = [label[0] for label in labels]
    assert sorted(names) == ["buyer", "purchase.01", "thing bought", "time"]
    codes = [code.text for code in page.all(".picture .code")]
    assert sorted(codes) == ["A0", "A1", "TMP 20%"]


def test_modifiers_are_dashed_and_unlikely_spans_are_faint(page, framed):
    page.label(LONG, "1 sentence, 1 predicate.")
    time, buyer = page.one(".mark.time .bar"), page.one(".mark.arg0 .bar")
    assert time.value_of_css_property("stroke-dasharray") != "none"
    assert buyer.value_of_css_property("stroke-dasharray") == "none"
    assert float(time.value_of_css_property("stroke-opacity")) < 0.5
    assert float(buyer.value_of_css_property("stroke-opacity")) == 1
    assert "20%" in page.text(".mark.time")


def test_bars_are_exactly_below_their_words(page, framed):
    page.label(LONG, "1 sentence, 1 predicate.")
    found = page.script(
        "const box = (selector) => document.querySelector(selector).getBoundingClientRect();"
        "const token = (k) => box(`[data-token='${k}']`), bar = box('.mark.arg0 .bar');"
        "return [token(1).left, token(8).right, bar.left, bar.right]"
    )
    assert abs(found[0] - found[2]) < 4
    assert abs(found[1] - found[3]) < 4


def test_labels_of_one_picture_never_overlap(phone, framed):
    words = "Yesterday he purchased it. She wanted, needed, liked, loved, owned and used it. " + LONG
    phone.open("#text=" + quote(words))
    wait_until(lambda: phone.all(".mark"))
    boxes = phone.script(
        "return [...document.querySelectorAll('.picture .name, .picture .code')].filter((t) => t.textContent)"
        ".map((t) => t.getBoundingClientRect()).map((b) => [b.left, b.top + 3, b.right, b.bottom - 3])"
    )
    assert len(boxes) > 10
    overlaps = [
        (one, other)
        for k, one in enumerate(boxes)
        for other in boxes[:k]
        if one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
    ]
    assert overlaps == []


def test_a_label_moves_to_the_right_if_it_still_begins_under_its_bar(page, framed):
    page.label("Today museums purchased paintings.", "1 sentence, 1 predicate.")
    boxes = page.script(
        "const box = (part) => part.getBoundingClientRect();"
        "const parts = (mark) => ['.bar', '.name'].map((part) => box(mark.querySelector(part)));"
        "return [...document.querySelectorAll('.mark')].map(parts)"
        ".map(([bar, name]) => [bar.left, bar.right, name.left, name.top])"
    )
    assert len({round(top) for *_, top in boxes}) == 1
    assert any(name > left + 4 for left, _, name, _ in boxes)
    assert all(left - 4 < name < right for left, right, name, _ in boxes)


def test_predicates_are_read_in_plain_english(page, framed):
    page.label(LONG, "1 sentence, 1 predicate.")
    assert page.text(".readings li") == (
        "Yesterday (time?) the very old museum in the city center (buyer) purchased "
        "the famous painting of the harbor (thing bought) purchase.01 buy"
    )


def test_a_card_explains_an_argument(page, framed):
    page.label(LONG, "1 sentence, 1 predicate.")
    page.one(".mark.arg1").click()
    wait_until(lambda: page.one("#card").is_displayed())
    assert page.text("#card-title") == "the famous painting of the harbor"
    card = page.text("#card-body")
    for fact in ("ARG1", "thing bought", "70%", "purchase.01", "80%", "seller", "get a grip"):
        assert fact in card
    page.one("#card-close").click()
    assert not page.one("#card").is_displayed()


def test_a_card_opens_and_closes_by_keyboard_and_gives_the_focus_back(page, framed):
    keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
    page.label(LONG, "1 sentence, 1 predicate.")
    page.script("document.getElementById('tab-pictures').focus()")
    for _ in range(10):
        page.keys(keys.TAB)
        if page.focused().get_attribute("role") == "button":
            break
    spoken = page.focused().get_attribute("aria-label")
    assert spoken == "Yesterday: time, ARGM-TMP of purchased, 20%"
    page.keys(keys.ARROW_RIGHT)
    assert page.focused().get_attribute("aria-label").startswith("the very old museum")
    page.keys(keys.HOME)
    page.keys(keys.ENTER)
    wait_until(lambda: page.one("#card").is_displayed())
    assert page.script("return document.getElementById('card').contains(document.activeElement)")
    page.keys(keys.ESCAPE)
    wait_until(lambda: not page.one("#card").is_displayed())
    assert page.focused().get_attribute("aria-label") == spoken


def test_auxiliaries_are_hidden_until_they_are_switched_on(page, framed):
    page.label("He used to walk. It rained.", "2 sentences, 1 predicate.")
    page.one("#filters summary").click()
    page.one("input[value=auxiliary]").click()
    page.status("2 sentences, 2 predicates.")
    assert "use.03" in page.text(".readings")


def test_predicates_are_found_by_word(page):
    page.label(TEXT, "2 sentences, 2 predicates.")
    page.one("#filters summary").click()
    page.one("#find").send_keys("rain")
    page.status("2 sentences, 1 predicate, 1 hidden.")
    assert [mark.text for mark in page.all(".mark.predicate")] == ["rain.01"]


def test_the_slider_hides_what_is_unlikely(page, framed, pipeline):
    page.label(LONG, "1 sentence, 1 predicate.")
    before = len(pipeline.calls)
    page.one("#filters summary").click()
    page.script(
        "const slider = document.getElementById('min'); slider.value = 0.3;"
        "slider.dispatchEvent(new Event('input', { bubbles: true }))"
    )
    assert page.text("#min-shown") == "30%"
    assert not page.all(".mark.time")
    assert page.all(".mark.arg0")
    assert len(pipeline.calls) == before


def test_arguments_below_the_models_own_limits_are_shown_on_request(page, framed, pipeline):
    pipeline.least = 0.3
    page.label(LONG, "1 sentence, 1 predicate. Show 1 unlikely argument")
    assert not page.all(".mark.time")
    page.one("#unlikely").click()
    assert page.all(".mark.time")
    assert page.text("#min-shown") == "0%"
    page.one("#min-own").click()
    assert not page.all(".mark.time")
    assert page.text("#min-shown") == "the model's own"


def test_the_legend_has_the_colors_of_the_pictures(page, framed):
    page.label(LONG, "1 sentence, 1 predicate.")
    names = [item.text for item in page.all("#legend li")]
    assert names == [
        "predicate",
        "ARG0",
        "ARG1",
        "time",
        "probability below 50%",
        "Select a bar for details.",
    ]
    for group in ("predicate", "arg0", "arg1", "time"):
        shown = [page.one(f"{where} .{group} .bar") for where in ("#legend", "#sentences")]
        assert len({bar.value_of_css_property("stroke") for bar in shown}) == 1


def test_the_table_has_one_row_per_argument(page):
    page.label("😀 Zoë chased a  mouse.", "1 sentence, 1 predicate.")
    page.one("#tab-table").click()
    rows = page.all("#table tbody tr")
    assert [[cell.text for cell in row.find_elements("css selector", "td")] for row in rows] == [
        ["1", "chased", "chas.01", "verb", "ARG0", "😀 Zoë", "0.50"],
        ["1", "chased", "chas.01", "verb", "ARG1", "a mouse.", "0.50"],
    ]


def test_the_table_has_all_pieces_of_a_predicate(page):
    page.label("They picked it up", "1 sentence, 1 predicate.")
    page.one("#tab-table").click()
    cells = [row.find_elements("css selector", "td")[1].text for row in page.all("#table tbody tr")]
    assert cells == ["picked up"] * 2


def test_the_json_is_the_servers_answer(page):
    page.label(TEXT, "2 sentences, 2 predicates.")
    expected = page.client.label(text=TEXT).json["results"][0]
    page.one("#tab-json").click()
    assert json.loads(page.text("#json")) == expected
    assert json.loads(page.copied("json")) == expected
    name, content = page.saved("json")
    assert (name, json.loads(content)) == ("spansrl.json", expected)
    assert json.dumps(["The", "cat", "chased", "a", "mouse", "."], separators=(",", ":")) in content


def test_the_csv_can_be_read_back(page):
    page.label('Zoë said "no, never", then waited.', "1 sentence, 1 predicate.")
    name, content = page.saved("csv")
    assert name == "spansrl.csv"
    first, second = csv.DictReader(content.splitlines())
    assert (first["role"], first["words"]) == ("ARG0", 'Zoë said "no, never", then')
    assert second["words"] == "."


def test_the_svg_is_a_complete_picture_for_light_and_dark(page, framed):
    page.label(LONG + " It rained.", "2 sentences, 2 predicates.")
    name, content = page.saved("svg")
    root = ElementTree.fromstring(content)
    elements = list(root.iter("{http://www.w3.org/2000/svg}text"))
    texts = ["".join(text.itertext()) for text in elements]
    assert name == "spansrl.svg"
    assert all(text.get("textLength") for text in elements if text.text), "wider with other fonts"
    for words in ("museum", "buyer", "thing bought", "purchase.01", "rained"):
        assert words in texts
    style = root.findtext("{http://www.w3.org/2000/svg}style")
    assert "prefers-color-scheme: dark" in style
    assert "var(" not in content
    assert len(re.findall(r"#[0-9a-f]{6}", style)) > 40


def test_the_png_is_an_image_with_the_colors_of_the_roles(page, framed):
    page.label(LONG, "1 sentence, 1 predicate.")
    name, content = page.saved("png")
    assert name == "spansrl.png"
    width, height, colors = page.browser.execute_async_script(
        """
        const [content, done] = arguments;
        const bytes = Uint8Array.from(atob(content.split(",")[1]), (letter) => letter.charCodeAt(0));
        createImageBitmap(new Blob([bytes], { type: "image/png" })).then((image) => {
          const pen = new OffscreenCanvas(image.width, image.height).getContext("2d");
          pen.drawImage(image, 0, 0);
          const data = pen.getImageData(0, 0, image.width, image.height).data;
          const colors = new Set();
          for (let k = 0; k < data.length; k += 4) colors.add(data.slice(k, k + 3).join());
          done([image.width, image.height, [...colors]]);
        });
        """,
        content,
    )
    assert width > 600
    assert height > 100
    assert {"0,114,178", "230,159,0", "255,255,255"} <= set(colors)


def test_copied_python_code_runs(page, capsys):
    page.label(QUOTES, "1 sentence, 1 predicate.")
    code = page.copied("python")
    assert re.search(r"srl\((\".*\"), predicates=", code)
    exec(code, {})
    assert "rain.01" in capsys.readouterr().out


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_copied_curl_command_labels_the_text(page, pipeline):
    page.label(QUOTES, "1 sentence, 1 predicate.")
    command = page.copied("curl")
    assert "min_prob" not in command
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, check=True, timeout=30)
    (result,) = json.loads(done.stdout)["results"]
    assert result["text"] == QUOTES
    assert pipeline.predicates[-1] == ("verb", "noun", "adjective")


def test_the_link_holds_the_text_and_the_settings(page):
    text = "It rained & poured, 100% sure #1 + 😀"
    page.label(text, "1 sentence, 2 predicates.")
    page.one("#filters summary").click()
    page.one("input[value=noun]").click()
    page.one("#find").send_keys("rain")
    link = page.copied("link")
    assert link.startswith(page.client.url + "/#text=")
    page.open(link.removeprefix(page.client.url + "/"))
    page.status("1 sentence, 1 predicate, 1 hidden.")
    assert page.one("#text").get_attribute("value") == text
    assert [box.is_selected() for box in page.all("input[name=types]")] == [True, False, True, False]
    assert page.one("#find").get_attribute("value") == "rain"
    page.browser.refresh()
    page.status("1 sentence, 1 predicate, 1 hidden.")


@pytest.mark.parametrize("way", ["typed", "link"])
def test_text_is_never_taken_for_html(page, way):
    if way == "typed":
        page.type(INJECTION)
    else:
        page.open("#text=" + quote(INJECTION))
    wait_until(lambda: "predicate" in page.text("#status") and "onerror" in page.text("#sentences"))
    for tab in ("pictures", "table", "json"):
        page.one(f"#tab-{tab}").click()
        assert tab == "table" or "onerror" in page.text(f"#{tab}")
        assert not page.all(f"#{tab} img, #{tab} script, #{tab} b")
    assert page.browser.title == "spansrl: who did what to whom"
    assert console_errors(page.browser) == []


def test_an_error_of_the_server_is_shown_and_goes_away(page):
    page.type("poison")
    wait_until(lambda: page.text("#error").startswith("The server reports an error"))
    assert not page.one("#results").is_displayed()
    page.label(TEXT, "2 sentences, 2 predicates.")
    assert not page.one("#error").is_displayed()


def test_a_busy_server_is_asked_again(serve, browser, pipeline):
    with serve(wait_seconds=1e-6) as client:
        page = Page(client, browser)
        wait_until(lambda: page.all("#sentences .sentence"))
        pipeline.may_go.clear()
        others = [Thread(target=client.label, kwargs={"text": "It rained. " * 15}) for _ in range(3)]
        for other in others:
            other.start()
        wait_until(lambda: client.label(text=TEXT * 5).status == 429)
        page.type(TEXT * 5)
        wait_until(lambda: re.fullmatch(r"The server is busy. Trying again in \d+ s.", page.text("#error")))
        pipeline.may_go.set()
        page.status("10 sentences, 10 predicates.")
        assert not page.one("#error").is_displayed()
        for other in others:
            other.join()


def test_a_server_that_is_not_ready_is_asked_again_after_its_own_delay(page):
    wait_until(lambda: page.all("#sentences .sentence"))
    page.client.state._is_loaded = False
    page.type(TEXT)
    wait_until(lambda: page.text("#error").endswith("Trying again in 1 s."))
    assert "The server is not ready" in page.text("#error")


def test_a_text_that_is_too_long_is_explained(serve, browser):
    with serve(text_chars=20) as client:
        page = Page(client, browser)
        page.type(TEXT)
        wait_until(lambda: "34 characters" in page.text("#error"))
        assert page.text("#error").startswith("The text is too long")
        assert "Trying again" not in page.text("#error")


def test_a_text_in_another_language_gets_a_note_that_goes_away(page):
    page.type("Der Hund hat den Briefträger gebissen und ist dann weggelaufen.")
    wait_until(lambda: "does not look like English" in page.text("#warning"))
    page.label(TEXT, "2 sentences, 2 predicates.")
    assert not page.one("#warning").is_displayed()


def test_an_empty_text_is_not_sent(page, pipeline):
    wait_until(lambda: page.all("#sentences .sentence"))
    before = len(pipeline.calls)
    page.one("#clear").click()
    page.status("Type a sentence, or pick an example.")
    assert not page.one("#results").is_displayed()
    assert page.focused().get_attribute("id") == "text"
    assert len(pipeline.calls) == before


def test_a_server_that_is_gone_is_reported(serve, browser):
    with serve() as client:
        page = Page(client, browser)
    page.type(TEXT)
    page.error("The server cannot be reached. Is it still running? Trying again in 5 s.")


def test_every_example_is_one_click(page):
    for button in page.all("#examples button"):
        button.click()
        text = button.get_attribute("title")
        assert page.one("#text").get_attribute("value") == text
        assert button.get_attribute("aria-pressed") == "true"
    wait_until(lambda: "predicate" in page.text("#status"))


@pytest.mark.skipif(not shipped_model().is_dir(), reason="no model in the package")
def test_the_shipped_model_labels_the_examples_correctly():
    source = (STATIC / "examples.js").read_text(encoding="utf-8")
    texts = re.findall(r'text: "(.*)" }', source)
    found = {
        prop.sense: {arg.role: sent.text_of(arg) for arg in prop.args}
        for document in spansrl.load().pipe(texts)
        for sent in document.sentences
        for prop in sent.props
    }
    for sense, roles in EXPECTED.items():
        assert found.get(sense) == roles, sense


@pytest.mark.skipif(not shipped_model().is_dir(), reason="no model in the package")
def test_the_card_ranks_the_other_senses_by_probability():
    options = Options(explain=True)
    (sent,) = run_to_end(options.steps(srl := spansrl.load(), list(srl.sentences("They called her."))))
    (prop,) = json.loads(options.render(sent, srl)["sentences"])["props"]
    probs = [other["prob"] for other in prop["alternatives"] if "prob" in other]
    assert len(probs) >= 2
    assert probs == sorted(probs, reverse=True)
    assert sum(probs) + prop["sense_prob"] == pytest.approx(1, abs=0.01)


@pytest.mark.skipif(not shipped_model().is_dir(), reason="no model in the package")
def test_the_picture_in_the_documentation_is_what_the_shipped_model_returns():
    root = ElementTree.parse(Path(__file__).parents[2] / "docs" / "images" / "hero.svg").getroot()
    shown = {"word": [], "name": [], "code": []}
    for text in root.iter("{http://www.w3.org/2000/svg}text"):
        shown[text.get("class").split()[0]].append(text.text or "")
    props = [prop for prop in spansrl.load()(HERO).props if prop.type != "auxiliary"]
    args = [arg for prop in props for arg in prop.args]
    assert "".join(shown["word"]) == HERO.replace(" ", "")
    assert len(shown["name"]) == len(props) + len(args)
    assert {prop.sense for prop in props} <= set(shown["name"])
    for arg in args:
        assert any(name in arg.meaning for name in shown["name"]), arg


def test_tabs_are_moved_by_arrow_keys(page):
    keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
    page.label(TEXT, "2 sentences, 2 predicates.")
    page.script("document.getElementById('tab-pictures').focus()")
    page.keys(keys.ARROW_RIGHT)
    assert page.one("#table").is_displayed()
    page.keys(keys.ARROW_LEFT, keys.ARROW_LEFT)
    assert page.one("#json").is_displayed()
    assert not page.one("#table").is_displayed()


def test_the_theme_follows_the_system_until_it_is_chosen(page):
    media = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    try:
        page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        assert page.brightness() < 384
        page.one("#theme").click()
        assert page.brightness() > 384
        page.browser.refresh()
        assert page.brightness() > 384
    finally:
        page.script("localStorage.clear()")
        page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_every_control_and_mark_has_a_name(page, framed):
    page.label(LONG, "1 sentence, 1 predicate.")
    page.script("for (const box of document.querySelectorAll('details')) box.open = true")
    controls = page.all("button, input, textarea, summary, a, .mark[role=button]")
    unnamed = [
        control.get_attribute("outerHTML")
        for control in controls
        if control.is_displayed() and not control.accessible_name
    ]
    assert len(controls) > 25
    assert unnamed == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["#text=" + quote("x" * 90 + "ed it, " + TEXT + LONG + "x" * 90), "docs"])
def test_on_a_phone_nothing_is_wider_than_the_screen(phone, framed, scheme, path):
    phone.emulate(width=360, scheme=scheme)
    phone.browser.get(phone.client.url + "/" + path)
    wait_until(lambda: phone.all(".sentence, .endpoint"))
    assert phone.script("return document.documentElement.scrollWidth") <= 360
    assert (phone.brightness() > 384) == (scheme == "light")


def test_on_a_phone_every_fragment_of_a_bar_has_a_label_and_no_row_is_empty(phone, framed):
    phone.open("#text=" + quote(LONG))
    wait_until(lambda: phone.all(".mark"))
    marks = phone.all(".mark")
    assert len(marks) > 4, "the sentence fits on one line"
    assert all(mark.text.strip() for mark in marks)
    continued = [mark.text for mark in marks if mark.text.startswith("…")]
    assert continued
    assert any("of purchase.01" in mark.text for mark in marks)
    height, rows = phone.script(
        "const picture = document.querySelector('.picture');"
        "return [picture.height.baseVal.value, document.querySelectorAll('.thread').length]"
    )
    assert height < 60 * (rows + len({mark.location["y"] for mark in marks}))


def test_on_a_phone_the_card_is_at_the_bottom_and_controls_are_large_enough(phone, framed):
    phone.open("#text=" + quote(LONG))
    wait_until(lambda: phone.all(".mark"))
    small = phone.script(
        "return [...document.querySelectorAll('button, summary, .mark[role=button] .hit')]"
        ".filter((b) => b.checkVisibility())"
        ".filter((b) => b.getBoundingClientRect().height < 24).map((b) => b.outerHTML)"
    )
    assert small == []
    phone.script(
        "document.querySelector('.mark.arg0').dispatchEvent(new MouseEvent('click', { bubbles: true }))"
    )
    wait_until(lambda: phone.one("#card").is_displayed())
    box = phone.script("return document.getElementById('card').getBoundingClientRect().toJSON()")
    assert (box["left"], box["right"]) == (0, 390)
    assert abs(box["bottom"] - 844) < 1


def test_roles_have_the_colors_of_the_other_pictures(page):
    roles = [
        f"{prefix}{role}" for prefix in ("", "R-", "C-") for role in ("ARG0", "A1", "ARG5", "ARGA", "AA")
    ]
    roles += [f"ARGM-{name}" for name in (*MODIFIERS, "XYZ")]
    found = page.browser.execute_async_script(
        "const [roles, done] = arguments;"
        "import('/static/roles.js').then(({ groupOf }) => done(roles.map(groupOf)))",
        roles,
    )
    assert found == [PROPBANK.group(role) for role in roles]


def test_long_descriptions_of_roles_are_shortened_for_labels(page):
    meanings = {
        "thing bought": "thing bought",
        "agent, attacker": "attacker",
        "repairer, agent": "repairer",
        "agent, causer": "agent",
        "wait-er (not waiter, that's the other sense)": "wait-er",
        "benefactive or destination brought-for, brought-to,": "benefactive",
        "entity in motion / 'comer'": "entity in motion",
        "(first) thing(s) being united": "thing being united",
        "(": "(",
    }
    found = page.browser.execute_async_script(
        "const [meanings, done] = arguments;"
        "import('/static/roles.js').then(({ shortened }) => done(meanings.map(shortened)))",
        list(meanings),
    )
    assert found == list(meanings.values())


def test_the_documentation_shows_every_endpoint_and_schema(client, browser):
    browser.get(client.url + "/docs")
    wait_until(lambda: browser.find_elements("css selector", ".endpoint"))
    api = client.get("/openapi.json").json
    shown = [title.text for title in browser.find_elements("css selector", ".endpoint h2 code")]
    assert shown == [*api["paths"], *api["components"]["schemas"]]
    assert console_errors(browser) == []


def test_statements_are_a_table_and_a_file(page, framed):
    page.label(LONG, "1 sentence, 1 predicate.")
    page.one("#tab-statements").click()
    wait_until(lambda: "the famous painting" in page.text("#statements"))
    name, content = page.saved("statements")
    assert name == "statements.csv"
    assert "relation" in content
