"""Which tokens can be predicates."""

from __future__ import annotations

import pytest

from spansrl.language.tokenizer.words import can_be_predicate


@pytest.mark.parametrize(
    "token", ["sold", "SOLD", "'s", "’ve", "n't", "Goin'", "e-mailed", "co$t", "naïve", "é"]
)
def test_words_can_be_predicates(token):
    assert can_be_predicate(token)


@pytest.mark.parametrize(
    "token",
    [
        *("", ".", "--", "$", "%", "👍", ":D", "<3", "500", "1,500.00", "9/11", "3rd", "1980s", "+5", "٣"),
        *("http://a.example/run", "www.a.example", "runs.com", "support@example.com", "notes.txt", "v1.2.3"),
        *("#running", "@ann", "US$"),
    ],
)
def test_numbers_marks_addresses_and_tags_cannot(token):
    assert not can_be_predicate(token)
