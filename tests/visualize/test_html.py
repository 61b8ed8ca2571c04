from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from drawn_sentences import CAT, HEBREW, HOSTILE, LONG, PICKED, SENTENCES, sentences
from hypothesis import given, settings

from browser import console_errors, requested_urls
from fake_model import SomeFrames
from spansrl.structures import Argument, Document, Proposition, Sentence, Span
from spansrl.visualize import STYLE, document_html, fragment_html, sentence_html

SVG = "{http://www.w3.org/2000/svg}"


def images(html: str) -> dict[str, ElementTree.Element]:
    """The images of a fragment by the class of their width; fails if the markup is not well formed."""
    root = ElementTree.fromstring(html)
    return {name: image for image in root for name in image.get("class", "").split()}


def words_of(image: ElementTree.Element) -> list[str]:
    texts = [text for text in image.iter(f"{SVG}text") if text.get("class") == "word"]
    return [word.text or "" for text in texts for word in text]


def titles_of(image: ElementTree.Element) -> set[str]:
    return {title.text or "" for title in image.iter(f"{SVG}title")}


def test_a_sentence_has_an_image_for_each_width_and_one_for_all_if_it_is_short():
    assert len(set(images(sentence_html(LONG)).values())) == 3
    short = images(sentence_html(PICKED))
    assert set(short) == {"srl-w0", "srl-w1", "srl-w2"}
    assert len(set(short.values())) == 1


def test_on_a_phone_every_part_of_a_bar_has_its_label_and_no_row_is_empty():
    image = images(sentence_html(LONG))["srl-w0"]
    for row in (group for group in image.iter(f"{SVG}g") if "row" in group.get("class", "").split()):
        bars = [group for group in row if group.find(f"{SVG}rect") is not None]
        labels = [group for group in row if group.find(f"{SVG}text") is not None]
        assert len(bars) == len(labels) > 0


def test_hovering_shows_sense_meaning_and_probabilities():
    arg = Argument("ARG1", Span(0, 1), prob=0.934, meaning="thing kept")
    sent = Sentence(
        ("It", "stayed"),
        (Proposition(1, (arg,), sense="stay.01", type="verb", prob=0.9999, sense_prob=0.5),),
    )
    assert titles_of(images(sentence_html(sent))["srl-w0"]) == {
        "ARG1 of stay.01: thing kept · 93%",
        "stay.01 · verb · predicate: 99% · sense: 50%",
    }


class Frames(SomeFrames):
    def definition(self, sense):
        return {"chase.01": "follow"}.get(sense)

    def meaning(self, sense, role):
        return {("chase.01", "ARG1"): "thing followed"}.get((sense, role))


def test_frames_provide_missing_meanings():
    titles = titles_of(images(sentence_html(CAT, frames=Frames()))["srl-w2"])
    assert {"chase.01: follow", "ARG1 of chase.01: thing followed", "ARG0 of chase.01"} <= titles
    own = replace(CAT.props[0], args=(Argument("ARG1", Span(4, 6), meaning="victim"),))
    assert "ARG1 of chase.01: victim" in sentence_html(replace(CAT, props=(own,)), frames=Frames())


def test_right_to_left_text_runs_right_to_left():
    assert sentence_html(HEBREW).startswith('<div class="srl" dir="rtl">')
    assert sentence_html(CAT).startswith('<div class="srl" dir="ltr">')


@pytest.mark.parametrize("name", SENTENCES)
def test_fragments_have_only_our_own_elements_and_no_style_or_script(name):
    root = ElementTree.fromstring(sentence_html(SENTENCES[name]))
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {"div", "svg", "rect", "text", "tspan", "g", "title"}
    assert not {"style", "onclick", "href"} & {key for element in root.iter() for key in element.attrib}


@settings(deadline=None, max_examples=40)
@given(sentences())
def test_any_sentence_makes_a_well_formed_fragment_with_its_words(sent):
    html = sentence_html(sent)
    html.encode("utf-8")
    assert len(words_of(images(html)["srl-w2"])) == len(sent)


def test_a_page_is_whole_and_its_title_is_escaped():
    page = document_html([CAT, HOSTILE], title="<&\x00>")
    assert page.startswith("<!doctype html>\n")
    assert "<title>&lt;&amp;␀&gt;</title>" in page
    assert page.count("<style>") == 1
    assert page.count('<div class="srl"') == 2
    assert not re.search(r"url\(|@import|<script|href|src=", page)


def test_a_style_cannot_be_ended_from_within():
    assert "</" not in STYLE
    assert fragment_html([HOSTILE]).count("</style>") == 1


def test_notebooks_show_sentences_and_documents():
    assert CAT._repr_html_() == fragment_html([CAT])
    document = Document("", (CAT, PICKED))
    assert document._repr_html_() == fragment_html([CAT, PICKED])


LAYOUT = """
const box = element => element.getBoundingClientRect();
return [...document.querySelectorAll(".srl")].map(picture => {
  const image = [...picture.children].find(image => box(image).width > 0);
  return {
    images: [...picture.children].filter(image => box(image).width > 0).length,
    overflow: picture.scrollWidth - picture.clientWidth,
    right: box(image).right,
    texts: [...image.querySelectorAll("tspan, .label")].map(text => box(text).right),
  };
});
"""


@pytest.mark.parametrize("width", [390, 700, 1200])
def test_in_a_browser_one_image_is_shown_and_nothing_is_cut_off(browser, tmp_path, width):
    page = tmp_path / "page.html"
    page.write_text(document_html(SENTENCES.values()), encoding="utf-8")
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False},
    )
    try:
        browser.get(page.as_uri())
        pictures = browser.execute_script(LAYOUT)
        sideways = browser.execute_script("return document.documentElement.scrollWidth - innerWidth")
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert len(pictures) == len(SENTENCES)
    assert sideways <= 0
    for picture in pictures:
        assert picture["images"] == 1
        assert picture["overflow"] <= 0
        assert all(right <= picture["right"] + 1 for right in picture["texts"])
    assert console_errors(browser) == []
    assert all(url.startswith(("file:", "data:")) for url in requested_urls(browser))


def test_in_a_browser_hostile_words_are_words_and_copying_copies_words(browser, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(document_html([HOSTILE, CAT]), encoding="utf-8")
    browser.get(page.as_uri())
    assert browser.execute_script("return document.scripts.length") == 0
    first, second = browser.find_elements("css selector", ".srl")
    assert "<script>alert(1)</script>" in first.get_attribute("textContent")
    copied = browser.execute_script(
        "getSelection().selectAllChildren(arguments[0]); return getSelection().toString()", second
    )
    assert "ARG0" not in copied
    assert copied.split()[:3] == ["The", "cat", "that"]


def test_in_a_browser_dark_follows_the_reader_and_the_page_may_overrule(browser, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(document_html([CAT]), encoding="utf-8")
    browser.get(page.as_uri())
    ground = "return getComputedStyle(document.querySelector('.srl')).backgroundColor"

    def prefer(value: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": value}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    try:
        prefer("light")
        light = browser.execute_script(ground)
        prefer("dark")
        dark = browser.execute_script(ground)
        browser.execute_script("document.documentElement.dataset.theme = 'light'")
        overruled = browser.execute_script(ground)
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert light == "rgb(255, 255, 255)" == overruled
    assert dark == "rgb(24, 26, 31)"


def test_in_a_browser_pointing_at_a_bar_fades_the_other_propositions(browser, tmp_path):
    actions = pytest.importorskip("selenium.webdriver", reason="selenium is not installed (extra dev)")
    page = tmp_path / "page.html"
    page.write_text(document_html([CAT]), encoding="utf-8")
    browser.get(page.as_uri())
    bar = browser.find_element("css selector", ".srl-w2 .p1 .arg0 .hit")
    actions.ActionChains(browser).move_to_element(bar).perform()
    opacity = """
        document.getAnimations().forEach(animation => animation.finish());
        return getComputedStyle(document.querySelector(arguments[0])).opacity"""
    assert browser.execute_script(opacity, ".srl-w2 .p0") == "0.25"
    assert browser.execute_script(opacity, ".srl-w2 .p1") == "1"
