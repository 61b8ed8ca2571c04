"""The everyday set is what its page says it is."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from spansrl.formats import read_sentences
from spansrl.structures import PREDICATE_TYPES

FOLDER = Path(__file__).parents[2] / "experiments" / "everyday"


@pytest.fixture(scope="module")
def sentences():
    return list(read_sentences(FOLDER / "everyday.jsonl"))


def test_it_has_enough_sentences_of_every_kind(sentences):
    kinds = Counter(sent.extra["category"] for sent in sentences)
    assert len(sentences) >= 150
    assert len(kinds) >= 9
    assert min(kinds.values()) >= 14


def test_no_argument_overlaps_another_or_covers_its_predicate(sentences):
    for sent in sentences:
        for prop in sent.props:
            taken = [k for arg in prop.args for k in range(arg.start, arg.end)]
            assert prop.pred not in taken, (sent.id, prop.sense)
            assert len(taken) == len(set(taken)), (sent.id, prop.sense)


def test_every_predicate_has_a_sense_and_a_type(sentences):
    for sent in sentences:
        assert all(prop.sense and prop.type in PREDICATE_TYPES for prop in sent.props), sent.id


def test_offsets_match_the_text(sentences):
    for sent in sentences:
        assert [sent.text[a:b] for a, b in sent.offsets] == list(sent.tokens)


def test_both_annotations_are_of_the_same_tokens(sentences):
    for name in "ab":
        other = list(read_sentences(FOLDER / f"annotation-{name}.jsonl"))
        assert [sent.tokens for sent in other] == [sent.tokens for sent in sentences]
