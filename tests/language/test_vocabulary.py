from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import make_sentence
from spansrl.arrays import Vocabulary, frequent_words
from spansrl.inventory.roles import roles_in


@given(st.lists(st.text(), unique=True))
def test_ids_are_indices_in_the_given_order(items):
    vocab = Vocabulary(items)
    assert len(vocab) == len(items)
    assert vocab.ids(items).tolist() == list(range(len(items)))
    assert [vocab.items[k] for k in vocab.ids(items[::-1])] == items[::-1]


def test_foreign_items_get_the_unknown_id_or_are_an_error():
    assert Vocabulary(["?", "a", "b"], unknown=0).ids(["b", "c", "a", ""]).tolist() == [2, 0, 1, 0]
    with pytest.raises(KeyError, match="c"):
        Vocabulary(["a", "b"]).ids(["b", "c"])


def test_the_ids_of_nothing_are_an_empty_array_of_integers():
    ids = Vocabulary(["a"]).ids([])
    assert ids.shape == (0,)
    assert ids.dtype == "int64"


def test_frequent_words_are_lower_cased_counted_over_all_sentences_and_sorted_by_count_then_name():
    sentences = [["The", "cat", "saw", "the", "dog"], ["THE", "dog", "saw"], []]
    assert frequent_words(sentences, 2) == ("the", "dog", "saw")
    assert frequent_words(sentences, 1) == ("the", "dog", "saw", "cat")
    assert frequent_words(sentences, 4) == ()


def test_the_roles_in_holds_each_role_of_any_argument_once_and_sorted():
    sentences = [
        make_sentence("a b c", (1, ("A1", 0, 1), ("A0", 2, 3))),
        make_sentence("a b c", (0, ("AM-TMP", 1, 2)), (1, ("A1", 2, 3))),
        make_sentence("a", (0,)),
    ]
    assert roles_in(sentences) == ("A0", "A1", "AM-TMP")
