from __future__ import annotations

from xml.etree import ElementTree

import pytest
from drawn_sentences import CAT, HEBREW, HOSTILE, LONG, SENTENCES, sentences
from hypothesis import given, settings
from hypothesis import strategies as st

from spansrl.visualize import sentence_svg
from spansrl.visualize.characters import visible

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str, kind: str) -> list[ElementTree.Element]:
    root = ElementTree.fromstring(svg)
    return [text for text in root.iter(f"{SVG}text") if kind in text.get("class", "").split()]


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
    bars = {
        (group.get("class"), group[0].text): group[1] for group in ElementTree.fromstring(svg).iter(f"{SVG}g")
    }
    bar = bars["arg0", "ARG0 of sleep.01"]
    assert place(bar, "x") == place(words[0], "x")
    last = words[5]
    assert place(bar, "x") + place(bar, "width") == pytest.approx(
        place(last, "x") + place(last, "textLength"), abs=0.2
    )


def test_long_sentences_wrap_and_later_parts_say_whose_they_are():
    svg = sentence_svg(LONG, width=420)
    heights = {place(word, "y") for word in texts(svg, "word")}
    assert len(heights) > 1
    assert "ARG0 of decide.01" in {text.text for text in texts(svg, "label")}


def test_hovering_tells_what_frames_know():
    class Frames:
        def definition(self, sense):
            return "rest"

        def meaning(self, sense, role):
            return "who rests"

    assert "<title>ARG0 of sleep.01: who rests</title>" in sentence_svg(CAT, frames=Frames())


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
