from __future__ import annotations

import re
from dataclasses import replace

import pytest
from drawn_sentences import CAT, HOSTILE, LONG, NESTED, PICKED, SENTENCES, prop, sentence, sentences
from hypothesis import given, settings
from hypothesis import strategies as st

from spansrl.structures import Argument, Sentence, Span
from spansrl.visualize import sentence_text
from spansrl.visualize.characters import columns


def meant(role: str, start: int, meaning: str, end: int | None = None) -> Argument:
    return Argument(role, Span(start, end or start + 1), meaning=meaning)


MEANT = replace(
    CAT,
    props=(
        replace(
            CAT.props[0],
            args=(
                meant("ARG0", 0, "follower", 2),
                meant("R-ARG0", 2, "follower"),
                meant("ARG1", 4, "thing followed, or hunted", 6),
            ),
        ),
        replace(CAT.props[1], args=(meant("ARG0", 0, "sleeper", 6), meant("ARGM-TMP", 7, "time"))),
    ),
)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def test_words_stand_above_a_line_of_brackets_for_each_proposition():
    assert sentence_text(CAT, width=80) == (
        "The cat that     chased     the mouse slept      yesterday .\n"
        "╰ARG0─╯ ╰R-ARG0╯ ╚chase.01╝ ╰─ARG1──╯\n"
        "╰───────────────ARG0────────────────╯ ╚sleep.01╝ ╰ARGM-TMP╯"
    )


def test_long_sentences_wrap_and_later_parts_say_whose_they_are():
    assert sentence_text(LONG, width=64) == (
        "By the way the committee on international trade , which    had\n"
        "           ╰───────────────ARG0───────────────╯   ╰R-ARG0╯\n"
        "╰ARGM-DIS╯ ╰──────────────────────ARG0────────────────────────\n"
        "           ╰──────────────────────ARG0────────────────────────\n"
        "\n"
        "not        met       since the spring of 1998, decided\n"
        "╰ARGM-NEG╯ ╚meet.03╝ ╰┄┄┄┄┄┄┄ARGM-TMP┄┄┄┄┄┄┄╯\n"
        "──────────────ARG0 of decide.01─────────────╯  ╚decide.01╝\n"
        "─────────────ARG0 of postpone.01────────────╯\n"
        "\n"
        "quickly    to postpone      its    decision      until next\n"
        "╰ARGM-MNR╯ ╰─────────────────────ARG1──────────────────────\n"
        "              ╚postpone.01╝ ╰───────ARG1───────╯ ╰ARGM-TMP┄\n"
        "                            ╰ARG0╯ ╚decision.01╝\n"
        "\n"
        "week      .\n"
        "───ARG1──╯\n"
        "┄ARGM-TMP╯"
    )


def test_meanings_of_roles_are_listed_below_by_predicate():
    assert sentence_text(MEANT, width=80) == (
        "The cat that     chased     the mouse slept      yesterday .\n"
        "╰ARG0─╯ ╰R-ARG0╯ ╚chase.01╝ ╰─ARG1──╯\n"
        "╰───────────────ARG0────────────────╯ ╚sleep.01╝ ╰ARGM-TMP╯\n"
        "\n"
        "  chase.01: ARG0 follower; ARG1 thing followed, or hunted\n"
        "  sleep.01: ARG0 sleeper; ARGM-TMP time"
    )


def test_listed_meanings_wrap_between_roles_where_they_can():
    listed = sentence_text(MEANT, width=32).split("\n\n")[-1]
    assert listed == (
        "  chase.01: ARG0 follower;\n"
        "    ARG1 thing followed, or\n"
        "    hunted\n"
        "  sleep.01: ARG0 sleeper;\n"
        "    ARGM-TMP time"
    )


def test_predicates_of_one_sense_are_listed_once():
    ran = [replace(prop(k, "run.02"), args=(meant("ARG0", k - 1, "runner"),)) for k in (1, 3)]
    assert sentence_text(sentence("we run they ran", *ran)).endswith("\n\n  run.02: ARG0 runner")


def test_frames_say_what_arguments_do_not():
    class Chasing:
        def definition(self, sense):
            return None

        def meaning(self, sense, role):
            return "follower" if (sense, role) == ("chase.01", "ARG0") else None

    assert sentence_text(CAT, frames=Chasing()) == f"{sentence_text(CAT)}\n\n  chase.01: ARG0 follower"


def test_pieces_of_a_verb_are_marked_each():
    assert sentence_text(PICKED) == (
        "They   picked    it     up\n"
        "╰ARG0╯ ╚pick.04╝ ╰ARG1╯ ╚C-V╝"
    )  # fmt: skip


def test_overlapping_arguments_take_a_line_each():
    assert sentence_text(NESTED) == (
        "we     saw      him    leave\n"
        "╰ARG0╯ ╚see.01╝ ╰───ARG1───╯\n"
        "                ╰ARG2╯"
    )  # fmt: skip


def test_adjuncts_have_another_line():
    sent = sentence("we left after the very long summer", prop(1, "leave.01", ("ARGM-TMP", 2, 7)))
    assert "╰┄┄┄┄┄┄┄┄ARGM-TMP┄┄┄┄┄┄┄┄╯" in sentence_text(sent)


def test_a_terminal_without_box_characters_gets_ascii():
    drawn = sentence_text(sentence("naïve cats slept", prop(2, "sleep.01", ("A0", 0, 2))), encoding="ascii")
    assert drawn == (
        "na\\xefve cats slept\n"
        "(----A0-----) [sleep.01]"
    )  # fmt: skip


def test_an_encoding_without_box_characters_keeps_its_letters():
    drawn = sentence_text(sentence("naïve cats slept", prop(2, "sleep.01", ("A0", 0, 2))), encoding="latin-1")
    assert drawn.splitlines() == ["naïve cats slept", "(---A0---) [sleep.01]"]


def test_nothing_in_a_sentence_reaches_the_terminal_as_a_command():
    drawn = sentence_text(HOSTILE)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", drawn)
    assert "␛[31mred" in drawn
    drawn.encode("utf-8")


def test_wide_characters_keep_brackets_under_their_words():
    words, brackets = sentence_text(SENTENCES["wide"]).splitlines()
    assert columns(words[: words.index("鼠")]) == brackets.index("╰A1")
    assert brackets.startswith("╰A0─╯ ")


def test_colours_change_nothing_but_the_colour():
    for sent in (*SENTENCES.values(), MEANT):
        plain, coloured = (sentence_text(sent, width=50, colour=colour) for colour in (False, True))
        assert COLOUR.sub("", coloured) == plain
    assert "\x1b[38;5;63m╰ARG0─╯\x1b[0m" in sentence_text(CAT, colour=True)
    assert "\x1b[1mchased\x1b[0m" in sentence_text(CAT, colour=True)
    assert "\n  \x1b[1mchase.01:\x1b[0m \x1b[38;5;63mARG0\x1b[0m follower;" in sentence_text(
        MEANT, colour=True
    )


def test_a_word_longer_than_the_line_is_cut():
    lines = sentence_text(SENTENCES["long word"], width=30).splitlines()
    assert "https://example.org/aaaaaaaaa…" in lines


def test_sentences_without_propositions_and_without_words_can_be_drawn():
    assert sentence_text(Sentence(("Nothing", "here"))) == "Nothing here"
    assert sentence_text(Sentence(())) == ""


@settings(deadline=None, max_examples=60)
@given(sentences(), st.integers(1, 60), st.sampled_from(["utf-8", "ascii", "cp1252", "cp437"]))
def test_no_line_is_wider_than_asked_and_all_can_be_encoded(sent, width, encoding):
    drawn = sentence_text(sent, width=width, encoding=encoding)
    assert all(columns(line) <= max(width, 16) for line in drawn.split("\n"))
    drawn.encode(encoding)


@pytest.mark.parametrize("name", ["cat", "picked", "nested", "long"])
def test_every_word_and_every_role_is_there(name):
    sent = SENTENCES[name]
    drawn = sentence_text(sent, width=60)
    assert all(word in drawn for word in sent.tokens)
    assert all(arg.role in drawn for prop in sent.props for arg in prop.args)
