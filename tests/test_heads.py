from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spansrl.heads import guess_head


def head(phrase: str) -> str:
    """The guessed head of a phrase; a word with a star is a predicate."""
    words = phrase.split()
    predicates = [k for k, word in enumerate(words) if word.startswith("*")]
    words = [word.removeprefix("*") for word in words]
    return words[guess_head(words, 0, len(words), predicates)]


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("letters", "letters"),
        ("the old letters", "letters"),
        ("the committee on trade", "committee"),
        ("in the spring of 1998", "spring"),
        (", however ,", "however"),
        ("John 's old house", "house"),
        ("John ’s old house", "house"),
        ("the cat that *slept", "cat"),
        ("something we *liked", "something"),
        ("a computer *used by him", "computer"),
        ("the \" good \" one", "one"),
        ("$ 5000", "$"),
    ],
)  # fmt: skip
def test_a_noun_phrase_has_its_noun(phrase, expected):
    assert head(phrase) == expected


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("that he *left early", "left"),
        ("that he *has n't *left", "left"),
        ("to *open the door", "open"),
        ("*open the door", "open"),
        ("because she would never *keep it", "keep"),
        ("he would call", "call"),
        ("if you *have any questions", "have"),
        ("that she *is a doctor", "doctor"),
        ("for *sharing it", "sharing"),
        ("there *is a problem", "is"),
        ("even if he *left", "left"),
        ("That little man", "man"),
    ],
)
def test_a_clause_has_its_predicate(phrase, expected):
    assert head(phrase) == expected


WORDS = (
    "the",
    "of",
    "that",
    "is",
    "have",
    "he",
    "to",
    "'s",
    "’s",
    ",",
    "-",
    "$",
    "cat",
    "*left",
    "would",
    "not",
)


@settings(deadline=None)
@given(st.lists(st.sampled_from(WORDS), min_size=1), st.data())
def test_the_head_is_always_inside(words, data):
    start = data.draw(st.integers(0, len(words) - 1))
    end = data.draw(st.integers(start + 1, len(words)))
    predicates = {k for k, word in enumerate(words) if word == "*left"}
    assert start <= guess_head(words, start, end, predicates) < end
