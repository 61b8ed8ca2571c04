from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spansrl.visualize.printable import advance, columns, is_measured, runs_right_to_left, visible


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("", 0),
        ("word", 4),
        ("naïve", 5),
        ("nai\u0308ve", 5),
        ("日本語", 6),
        ("ﾊﾝｶｸ", 4),
        ("한국", 4),
        ("שָׁלוֹם", 4),
        ("😀", 2),
        ("👩‍🔬", 2),
        ("👍🏽", 2),
        ("❤️", 2),
        ("🇬🇧", 2),
        ("🇬🇧🇫🇷", 4),
        ("👨‍👩‍👧‍👦!", 3),
        ("a\u200bb", 2),
        ("नि", 2),
    ],
)
def test_a_text_takes_as_many_columns_as_a_terminal_gives_it(text, width):
    assert columns(text) == width


def test_what_a_terminal_would_act_upon_is_made_visible():
    assert visible("\x1b[31mred\x07\n\t\x7f") == "␛[31mred␇␊␉␡"
    assert visible("\x9b31m") == "\ufffd31m"  # the other way to begin an escape
    assert visible("a\u202ecba\u2066\ud800") == "a\ufffdcba\ufffd\ufffd"


def test_what_scripts_need_stays_as_it_is():
    for text in ("naïve", "می\u200cخواهم", "👩‍🔬", "\u200fשלום", "é"):
        assert visible(text) == text


@settings(deadline=None)
@given(st.text())
def test_visible_text_is_one_line_that_can_be_encoded(text):
    shown = visible(text)
    assert len(shown.splitlines()) <= 1
    shown.encode("utf-8")
    assert visible(shown) == shown


@settings(deadline=None)
@given(st.text(), st.text())
def test_widths_are_never_negative_and_ascii_adds_up(one, other):
    assert columns(one) >= 0
    assert advance(one) >= 0
    ascii_one, ascii_other = (text.encode("ascii", "ignore").decode() for text in (one, other))
    assert columns(ascii_one + ascii_other) == columns(ascii_one) + columns(ascii_other)


def test_widths_of_letters_are_those_of_helvetica():
    assert advance("i") == pytest.approx(0.222)
    assert advance("Wé") == pytest.approx(0.944 + 0.556)
    assert advance("日本") == pytest.approx(2.0)
    assert is_measured("naïve.01")
    assert not is_measured("日本")
    assert not is_measured(" ")


def test_the_first_letter_with_a_direction_decides():
    assert runs_right_to_left(("«", "12", "שלום", "abc"))
    assert runs_right_to_left(("مرحبا",))
    assert not runs_right_to_left(("(", "abc", "שלום"))
    assert not runs_right_to_left(("12", "!"))
    assert not runs_right_to_left(())
