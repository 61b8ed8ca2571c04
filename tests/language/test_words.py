"""Which tokens can be predicates."""

from __future__ import annotations

import pytest

from spansrl.language import English
from spansrl.language.english.tokenizer.scanner import is_word, may_be_name


@pytest.mark.parametrize(
    "token", ["sold", "SOLD", "'s", "’ve", "n't", "Goin'", "e-mailed", "co$t", "naïve", "é"]
)
def test_words_is_words(token):
    assert is_word(token)


@pytest.mark.parametrize(
    "token",
    [
        *("", ".", "--", "$", "%", "👍", ":D", "<3", "500", "1,500.00", "9/11", "3rd", "1980s", "+5", "٣"),
        *("http://a.example/run", "www.a.example", "runs.com", "support@example.com", "notes.txt", "v1.2.3"),
        *("#running", "@ann", "US$"),
    ],
)
def test_numbers_marks_addresses_and_tags_cannot(token):
    assert not is_word(token)


@pytest.mark.parametrize(
    ("sentence", "names"),
    [
        ("the Department of Housing and urban development said so", ["Department", "Housing"]),
        ("Housing is expensive here", []),  # the first word of a sentence
        ("Housing Department Opens New Office", []),  # a headline
        ("HOUSING IS EXPENSIVE", []),
        ("2 Housing", []),
        ("", []),
    ],
)
def test_a_capitalized_word_among_others_that_are_not_may_be_a_name(sentence, names):
    tokens = sentence.split()
    assert [token for k, token in enumerate(tokens) if may_be_name(tokens, k)] == names


def test_enough_is_no_verb_whatever_a_model_takes_it_for():
    assert not English().can_be_predicate("Enough", "verb")
    assert English().can_be_predicate("enough", "adjective")
    assert English().can_be_predicate("call", "verb")
