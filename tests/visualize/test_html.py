from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser

import pytest
from drawn_sentences import CAT, HEBREW, HOSTILE, LONG, NESTED, PICKED, SENTENCES, prop, sentence, sentences
from hypothesis import given, settings

from browser import console_errors, requested_urls
from spansrl.structures import Argument, Document, Proposition, Sentence, Span
from spansrl.visualize import STYLE, document_html, fragment_html, sentence_html
from spansrl.visualize.characters import visible


@dataclass
class Picture(HTMLParser):
    """What is in a fragment: columns with their word and cells; fails if an element is not closed."""

    html: str
    words: list[str] = field(default_factory=list)
    cells: list[list[dict[str, str]]] = field(default_factory=list)
    tags: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    open: list[tuple[str, set[str]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        classes = set(values.get("class", "").split())
        self.tags.add(tag)
        self.attributes |= set(values)
        self.open.append((tag, classes))
        if "srl-w" in classes:
            self.words.append("")
            self.cells.append([])
        elif "srl-m" in classes or tag == "i":
            self.cells[-1].append({"class": values.get("class", ""), "title": values.get("title", "")})

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        classes = self.open[-1][1]
        if "srl-t" in classes:
            self.words[-1] += data
        elif "srl-l" in classes:
            self.cells[-1][-1]["label"] = data


def test_every_word_is_a_column_and_every_proposition_a_row():
    picture = Picture(sentence_html(CAT))
    assert tuple(picture.words) == CAT.tokens
    assert {len(cells) for cells in picture.cells} == {2}
    labels = [[cells[row].get("label", "") for cells in picture.cells] for row in (0, 1)]
    assert labels == [
        ["ARG0", "", "R-ARG0", "chase.01", "ARG1", "", "", "", ""],
        ["ARG0", "", "", "", "", "", "sleep.01", "ARGM-TMP", ""],
    ]


def test_a_bar_begins_and_ends_at_the_span_of_its_argument():
    row = [cells[1]["class"] for cells in Picture(sentence_html(CAT)).cells]
    assert row[0] == "srl-m srl-arg0 srl-1 srl-b"
    assert row[1:5] == ["srl-m srl-arg0 srl-1"] * 4
    assert row[5] == "srl-m srl-arg0 srl-1 srl-e"
    assert row[7:] == ["srl-m srl-time srl-1 srl-b srl-e", ""]


def test_pieces_of_a_verb_and_overlapping_arguments_are_shown():
    picked = Picture(sentence_html(PICKED))
    assert [cells[0].get("label") for cells in picked.cells] == ["ARG0", "pick.04", "ARG1", "C-V"]
    nested = Picture(sentence_html(NESTED))
    assert [[cell.get("label") for cell in cells] for cells in nested.cells] == [
        ["ARG0", None],
        ["see.01", None],
        ["ARG1", "ARG2"],
        [None, None],
    ]


def test_words_without_a_space_between_them_stand_together():
    assert '<bdi class="srl-t">yesterday</bdi>' in sentence_html(CAT)
    html = sentence_html(sentence("do ~n't go"))
    assert html.index('class="srl-g"') < html.index(">do<")
    assert 'class="srl-w"><bdi class="srl-t">do<' in html
    assert 'class="srl-w srl-s"><bdi class="srl-t">n\'t<'.replace("'", "&#x27;", 1) in html


def test_in_long_sentences_propositions_side_by_side_share_a_row():
    later = prop(20, "x.01", ("ARG1", 21, 22))
    long = sentence(" ".join(["committee"] * 30), prop(0, "y.01", ("ARG1", 1, 2)), later)
    assert {len(cells) for cells in Picture(sentence_html(long)).cells} == {1}
    assert {len(cells) for cells in Picture(sentence_html(LONG)).cells} == {3}


def test_a_long_bar_repeats_its_label_for_who_reads_and_not_for_who_listens():
    html = sentence_html(
        sentence(" ".join(["word"] * 60), Proposition(0, (Argument("ARG1", Span(1, 60)),), sense="a.01"))
    )
    assert html.count('<span class="srl-l">ARG1</span>') == 1
    assert 5 < html.count('<span class="srl-l" aria-hidden="true">ARG1</span>') < 14


def test_hovering_tells_sense_meaning_and_probabilities():
    arg = Argument("ARG1", Span(0, 1), prob=0.934, meaning="thing kept")
    sent = Sentence(
        ("It", "stayed"),
        (Proposition(1, (arg,), sense="stay.01", type="verb", prob=0.9999, sense_prob=0.5),),
    )
    titles = [cells[0]["title"] for cells in Picture(sentence_html(sent)).cells]
    assert titles == ["ARG1 of stay.01: thing kept · 93%", "stay.01 · verb · predicate: 99% · sense: 50%"]


class Frames:
    def definition(self, sense):
        return {"chase.01": "follow"}.get(sense)

    def meaning(self, sense, role):
        return {("chase.01", "ARG1"): "thing followed"}.get((sense, role))


def test_frames_tell_what_arguments_do_not():
    titles = {cells[0]["title"] for cells in Picture(sentence_html(CAT, frames=Frames())).cells}
    assert {"chase.01: follow", "ARG1 of chase.01: thing followed", "ARG0 of chase.01"} <= titles
    own = replace(CAT.props[0], args=(Argument("ARG1", Span(4, 6), meaning="victim"),))
    assert "ARG1 of chase.01: victim" in sentence_html(replace(CAT, props=(own,)), frames=Frames())


def test_right_to_left_text_runs_right_to_left():
    assert sentence_html(HEBREW).startswith('<div class="srl" dir="rtl">')
    assert sentence_html(CAT).startswith('<div class="srl" dir="ltr">')


@pytest.mark.parametrize("name", SENTENCES)
def test_fragments_hold_only_our_own_elements_and_no_style_or_script(name):
    sent = SENTENCES[name]
    picture = Picture(sentence_html(sent))
    assert picture.words == [visible(token) for token in sent.tokens]
    assert picture.tags <= {"div", "span", "bdi", "i"}
    assert picture.attributes <= {"class", "dir", "title", "aria-hidden"}


@settings(deadline=None, max_examples=60)
@given(sentences())
def test_any_sentence_makes_a_whole_fragment_with_its_words_and_labels(sent):
    html = sentence_html(sent)
    html.encode("utf-8")
    picture = Picture(html)
    assert picture.words == [visible(token) for token in sent.tokens]
    assert len({len(cells) for cells in picture.cells}) == 1
    labels = sorted(cell["label"] for cells in picture.cells for cell in cells if cell.get("label"))
    assert set(labels) >= {arg.role for prop in sent.props for arg in prop.args}


def test_a_page_is_whole_and_its_title_is_escaped():
    page = document_html([CAT, HOSTILE], title="<&\x00>")
    assert page.startswith("<!doctype html>\n")
    assert "<title>&lt;&amp;␀&gt;</title>" in page
    assert page.count("<style>") == 1
    assert page.count('<div class="srl"') == 2
    assert not re.search(r"https?:|url\(|@import|<script", page)


def test_a_style_cannot_be_ended_from_within():
    assert "</" not in STYLE
    assert fragment_html([HOSTILE]).count("</style>") == 1


def test_notebooks_show_sentences_and_documents():
    assert CAT._repr_html_() == fragment_html([CAT])
    document = Document("", (CAT, PICKED))
    assert document._repr_html_() == fragment_html([CAT, PICKED])


LAYOUT = """
const box = element => element.getBoundingClientRect();
return [...document.querySelectorAll(".srl")].map(picture => ({
  left: box(picture).left, right: box(picture).right,
  overflow: picture.scrollWidth - picture.clientWidth,
  words: [...picture.querySelectorAll(".srl-w")].map(column => {
    const word = box(column.firstElementChild);
    return {left: word.left, right: word.right, bottom: word.bottom,
      bars: [...column.querySelectorAll(".srl-m")].map(
        bar => ({left: box(bar).left, right: box(bar).right, top: box(bar).top}))};
  }),
  labels: [...picture.querySelectorAll(".srl-l")].map(label => {
    const range = document.createRange();
    range.selectNodeContents(label);
    const number = [...label.parentElement.classList].find(name => /^srl-\\d+$/.test(name));
    const group = [...label.parentElement.classList][1];
    const bars = [...picture.querySelectorAll(`.${number}.${group}`)].map(box).filter(
      bar => Math.abs(bar.top - box(label.parentElement).top) < 1);
    return {left: box(range).left, right: box(range).right,
      barLeft: Math.min(...bars.map(bar => bar.left)), barRight: Math.max(...bars.map(bar => bar.right))};
  }),
}));
"""


@pytest.mark.parametrize("width", [360, 1200])
def test_in_a_browser_bars_lie_under_their_words_and_labels_on_their_bars(browser, tmp_path, width):
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
        assert picture["overflow"] <= 0
        for word in picture["words"]:
            for bar in word["bars"]:
                assert bar["top"] >= word["bottom"]
                assert bar["left"] <= word["left"] + 3
                assert bar["right"] >= word["right"] - 3
        for label in picture["labels"]:
            assert label["barLeft"] - 1 <= label["left"]
            assert label["right"] <= label["barRight"] + 1
    assert console_errors(browser) == []
    assert all(url.startswith(("file:", "data:")) for url in requested_urls(browser))


def test_in_a_browser_hostile_words_are_words_and_copying_copies_words(browser, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(document_html([HOSTILE, CAT]), encoding="utf-8")
    browser.get(page.as_uri())
    assert browser.execute_script("return document.scripts.length") == 0
    first, second = browser.find_elements("css selector", ".srl")
    assert "<script>alert(1)</script>" in first.text
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
    bar = browser.find_element("css selector", ".srl-1.srl-arg0")
    actions.ActionChains(browser).move_to_element(bar).perform()
    opacity = """
        document.getAnimations().forEach(animation => animation.finish());
        return getComputedStyle(document.querySelector(arguments[0])).opacity"""
    assert browser.execute_script(opacity, ".srl-0.srl-predicate") == "0.25"
    assert browser.execute_script(opacity, ".srl-1.srl-predicate") == "1"
