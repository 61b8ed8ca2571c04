from __future__ import annotations

from xml.etree import ElementTree

import pytest
from drawn_sentences import CAT, HEBREW, HOSTILE, LONG, SENTENCES, prop, sentence, sentences
from hypothesis import given, settings
from hypothesis import strategies as st

from fake_model import SomeFrames
from spansrl.structures import Argument, Proposition, Span
from spansrl.visualize import sentence_svg
from spansrl.visualize.printable import visible
from spansrl.visualize.svg import LEGEND

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str, kind: str) -> list[ElementTree.Element]:
    root = ElementTree.fromstring(svg)
    found = [text for text in root.iter(f"{SVG}text") if kind in text.get("class", "").split()]
    return [word for text in found for word in text] if kind == "word" else found


def place(element: ElementTree.Element, key: str) -> float:
    return float(element.get(key, "nan"))


@pytest.mark.parametrize("name", SENTENCES)
def test_every_picture_is_well_formed_and_has_all_words(name):
    sent = SENTENCES[name]
    svg = sentence_svg(sent, width=5000)
    assert [text.text or "" for text in texts(svg, "word")] == [visible(token) for token in sent.tokens]
    assert "script" not in {element.tag.removeprefix(SVG) for element in ElementTree.fromstring(svg).iter()}


@settings(deadline=None, max_examples=60)
@given(sentences(), st.integers(0, 500))
def test_nothing_is_outside_the_picture_and_the_picture_is_no_wider_than_asked(sent, width):
    svg = sentence_svg(sent, width=width)
    svg.encode("utf-8")
    root = ElementTree.fromstring(svg)
    across, down = place(root, "width"), place(root, "height")
    assert across <= max(width, 160) + 1
    for box in (box for box in root.iter(f"{SVG}rect") if box.get("class") != "paper"):
        assert place(box, "x") >= 0
        assert place(box, "x") + place(box, "width") <= across
        assert place(box, "y") + place(box, "height") <= down


def test_bars_begin_and_end_where_their_words_do():
    svg = sentence_svg(CAT)
    words = texts(svg, "word")
    bars = {}
    for group in ElementTree.fromstring(svg).iter(f"{SVG}g"):
        if group[0].tag == f"{SVG}title" and group[1].tag == f"{SVG}rect":
            bars[group.get("class"), group[0].text] = group[1]
    bar = bars["arg0", "ARG0 of sleep.01"]
    assert place(bar, "x") == place(words[0], "x")
    last = words[5]
    assert place(bar, "x") + place(bar, "width") == pytest.approx(
        place(last, "x") + place(last, "textLength"), abs=0.2
    )


def test_long_sentences_wrap_and_later_parts_say_whose_they_are():
    svg = sentence_svg(LONG, width=420)
    assert (
        len([text for text in ElementTree.fromstring(svg).iter(f"{SVG}text") if text.get("class") == "word"])
        > 1
    )
    assert "ARG0 of postpone.01" in {text.text for text in texts(svg, "label")}


def test_hovering_tells_what_frames_know():
    class Frames(SomeFrames):
        def definition(self, sense):
            return "rest"

        def meaning(self, sense, role):
            return "who rests"

    svg = sentence_svg(CAT, frames=Frames())
    assert "<title>ARG0 of sleep.01: who rests</title>" in svg
    assert "ARG0 who rests" in {text.text for text in texts(svg, "label")}


def test_improbable_arguments_are_faint_and_show_their_probability():
    def drawn(prob: float) -> str:
        args = (Argument("ARG1", Span(2, 4), prob=prob),)
        return sentence_svg(sentence("we saw a dog", Proposition(1, args, sense="see.01")))

    assert 'class="arg1 faint"' in drawn(0.12)
    assert "ARG1 12%" in {text.text for text in texts(drawn(0.12), "label")}
    assert 'faint"' not in drawn(0.9)


def test_a_legend_explains_dashed_and_faint_bars():
    assert [text.text for text in texts(sentence_svg(CAT), "note")] == [LEGEND]
    assert texts(sentence_svg(sentence("It rained ~.", prop(1, "rain.01"))), "note") == []


def test_meanings_that_do_not_fit_a_label_are_listed():
    args = (Argument("ARG0", Span(0, 1), meaning="a very long description"), Argument("ARG1", Span(2, 4)))
    svg = sentence_svg(sentence("we saw a dog", Proposition(1, args, sense="see.01")))
    assert "see.01: ARG0 a very long description" in {text.text for text in texts(svg, "note")}


def test_right_to_left_text_runs_from_the_right():
    words = texts(sentence_svg(HEBREW), "word")
    assert [word.get("text-anchor") for word in words] == ["end"] * 3
    assert place(words[0], "x") > place(words[1], "x") > place(words[2], "x")


def test_words_are_escaped_and_control_characters_made_visible():
    svg = sentence_svg(HOSTILE)
    assert "<script>" not in svg
    assert "␛[31mred" in svg


def test_a_word_longer_than_the_line_is_cut():
    words = [word.text for word in texts(sentence_svg(SENTENCES["long word"], width=300), "word")]
    assert words[0] == "see"
    assert words[1].startswith("https://example.org/aaa")
    assert words[1].endswith("…")
