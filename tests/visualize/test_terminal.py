from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace

import pytest
from drawn_sentences import CAT, HOSTILE, LONG, NESTED, PICKED, SENTENCES, prop, sentence, sentences
from hypothesis import given, settings
from hypothesis import strategies as st

from fake_model import SomeFrames
from spansrl.inventory import PROPBANK
from spansrl.structures import Argument, Sentence, Span
from spansrl.visualize import sentence_text
from spansrl.visualize.printable import columns


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
COLOR = re.compile(r"\x1b\[[0-9;]*m")


def test_words_are_above_bars_and_labels_for_each_proposition():
    assert sentence_text(CAT, width=80) == (
        "The cat that chased the mouse slept yesterday.\n"
        "╰─────╯ ╰──╯ ╚════╝ ╰───────╯\n"
        "ARG0    R-ARG0 chase.01 ARG1\n"
        "╰───────────────────────────╯ ╚═══╝ ╰┄┄┄┄┄┄┄╯\n"
        "ARG0                          sleep.01 ARGM-TMP"
    )


def test_long_sentences_wrap_and_parts_without_their_predicate_name_it():
    drawn = sentence_text(LONG, width=60).split("\n\n")
    assert drawn[1] == (
        "not met since the spring of 1998, decided quickly to\n"
        "╰┄╯ ╚═╝ ╰┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄╯\n"
        "NEG meet.03 ARGM-TMP\n"
        "───────────────────────────────╯  ╚═════╝ ╰┄┄┄┄┄╯ ╰─\n"
        "ARG0                              decide.01 MNR   ARG1\n"
        "───────────────────────────────╯\n"
        "ARG0 of postpone.01"
    )


def test_meanings_are_part_of_labels_or_listed_below():
    assert sentence_text(MEANT, width=80) == (
        "The cat that chased the mouse slept yesterday.\n"
        "╰─────╯ ╰──╯ ╚════╝ ╰───────╯\n"
        "ARG0    R-ARG0 chase.01 ARG1 thing followed, or hunted\n"
        "╰───────────────────────────╯ ╚═══╝ ╰┄┄┄┄┄┄┄╯\n"
        "ARG0 sleeper                  sleep.01 ARGM-TMP time\n"
        "\n"
        "  chase.01: ARG0 follower"
    )


def test_listed_meanings_wrap_between_roles_if_possible():
    listed = sentence_text(MEANT, width=30).split("\n\n")[-1]
    assert listed.startswith("  chase.01: ARG0 follower;\n    ARG1 thing followed, or\n    hunted\n")


def test_predicates_of_one_sense_are_listed_once():
    ran = [replace(prop(k, "run.02"), args=(meant("ARG0", k - 1, "runner"),)) for k in (1, 3)]
    assert sentence_text(sentence("we run they ran", *ran)).endswith("\n\n  run.02: ARG0 runner")


def test_frames_provide_missing_meanings():
    class Chasing(SomeFrames):
        def definition(self, sense):
            return None

        def meaning(self, sense, role):
            return "follower" if (sense, role) == ("chase.01", "ARG0") else None

    assert sentence_text(CAT, frames=Chasing()) == f"{sentence_text(CAT)}\n\n  chase.01: ARG0 follower"


def test_auxiliaries_without_arguments_are_drawn_on_request():
    sent = sentence("I have gone", prop(1, "have.01", type="auxiliary"), prop(2, "go.01", ("ARG1", 0, 1)))
    assert "have.01" not in sentence_text(sent)
    assert "have.01" in sentence_text(sent, auxiliaries=True)
    assert "have.01" in sentence_text(replace(sent, props=sent.props[:1])), "it is all there is"
    kept = sentence("I have to", prop(1, "have.01", ("ARG0", 0, 1), type="auxiliary"))
    assert "have.01" in sentence_text(kept)


def test_improbable_arguments_show_their_probability():
    args = (Argument("ARG0", Span(0, 1), prob=0.9), Argument("ARG1", Span(2, 4), prob=0.12))
    sent = sentence("we saw a dog", replace(prop(1, "see.01"), args=args))
    assert sentence_text(sent).endswith("A0 see.01 A1 12%")
    assert "\x1b[2m\x1b[38;5;130mA1 12%" in sentence_text(sent, color=True)


def test_pieces_of_a_verb_are_marked_each():
    assert sentence_text(PICKED) == (
        "They picked it up\n"
        "╰──╯ ╚════╝ ╰╯ ╚╝\n"
        "ARG0 pick.04 A1 C-V"
    )  # fmt: skip


def test_overlapping_arguments_take_a_line_each():
    assert sentence_text(NESTED) == (
        "we saw him leave\n"
        "╰╯ ╚═╝ ╰───────╯\n"
        "ARG0 see.01 ARG1\n"
        "       ╰─╯\n"
        "       ARG2"
    )  # fmt: skip


def test_a_terminal_without_box_characters_gets_ascii():
    drawn = sentence_text(sentence("naïve cats slept", prop(2, "sleep.01", ("A0", 0, 2))), encoding="ascii")
    assert drawn == (
        "na\\xefve cats slept\n"
        "(-----------) [===]\n"
        "A0            sleep.01"
    )  # fmt: skip


def test_an_encoding_without_box_characters_keeps_its_letters():
    drawn = sentence_text(sentence("naïve cats slept", prop(2, "sleep.01", ("A0", 0, 2))), encoding="latin-1")
    assert drawn.splitlines()[:2] == ["naïve cats slept", "(--------) [===]"]


def test_nothing_in_a_sentence_reaches_the_terminal_as_a_command():
    drawn = sentence_text(HOSTILE)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", drawn)
    assert "␛[31mred" in drawn
    drawn.encode("utf-8")


def test_wide_characters_keep_bars_under_their_words():
    words, bars, labels = sentence_text(SENTENCES["wide"]).splitlines()
    assert columns(words[: words.index("鼠")]) == bars.index("╰", 1) == labels.index("A1")


def test_colors_change_nothing_but_the_color():
    for sent in (*SENTENCES.values(), MEANT):
        plain, colored = (sentence_text(sent, width=50, color=color) for color in (False, True))
        assert COLOR.sub("", colored) == plain
    assert "\x1b[38;5;63m╰─────╯\x1b[0m" in sentence_text(CAT, color=True)
    assert "\x1b[1mchased\x1b[0m" in sentence_text(CAT, color=True)
    assert "\n  \x1b[1mchase.01:\x1b[0m \x1b[38;5;63mARG0\x1b[0m follower" in sentence_text(MEANT, color=True)


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
    assert all(
        PROPBANK.short(arg.role) in drawn or arg.role in drawn for prop in sent.props for arg in prop.args
    )


def test_a_drawing_for_the_terminal_imports_no_other_pictures():
    program = "import sys, spansrl; print(spansrl.Sentence(('Hi',))); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"spansrl.visualize.html", "spansrl.visualize.svg", "html"} & set(done.stdout.split())
