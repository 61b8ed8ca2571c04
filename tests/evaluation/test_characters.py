"""Labelings of one text by characters: as the usual score where tokens agree, fair where they do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spansrl.evaluation import end_to_end
from spansrl.evaluation.scorable import documents_of, frames_by_characters, has_text
from spansrl.structures import Argument, Document, Proposition, Sentence, Span

SEES = Sentence(
    ("The", "cat", "sees", "dogs", "."),
    (Proposition(2, (Argument("ARG0", Span(0, 2)), Argument("ARG1", Span(3, 4)))),),
    id="d1#0",
    text="The cat sees dogs.",
    offsets=((0, 3), (4, 7), (8, 12), (13, 17), (17, 18)),
)
RUNS = Sentence(
    ("It", "ran", "off"),
    (Proposition(1, (Argument("ARG0", Span(0, 1)), Argument("ARGM-DIR", Span(2, 3)))),),
    id="d1#1",
    text="It ran off",
    offsets=((0, 2), (3, 6), (7, 10)),
)
OTHER = replace(RUNS, id="d2#0")


def counts(gold, predicted):
    found = end_to_end(*(map(frames_by_characters, docs) for docs in (gold, predicted)))
    return round(found.precision, 2), round(found.recall, 2)


def test_sentences_are_joined_to_the_documents_that_they_come_from():
    first, second = documents_of([SEES, RUNS, OTHER])
    assert (first.text, second.text) == ("The cat sees dogs. It ran off", "It ran off")
    for sent in (*first, *second):
        assert (first if sent in first.sentences else second).text[sent.char_start :].startswith(sent.text)


def test_the_same_labels_score_100_and_a_lost_argument_costs_recall():
    gold = list(documents_of([SEES, RUNS]))
    assert counts(gold, gold) == (100.0, 100.0)
    fewer = replace(RUNS, props=(Proposition(1, (Argument("ARG0", Span(0, 1)),)),))
    assert counts(gold, documents_of([SEES, fewer])) == (100.0, 75.0)


def test_other_tokens_and_sentences_do_not_matter_where_the_characters_agree():
    gold = list(documents_of([SEES, RUNS]))
    text = gold[0].text
    joined = Sentence(  # one sentence, and "The cat" is one token
        ("The cat", "sees", "dogs.", "It", "ran", "off"),
        (
            Proposition(1, (Argument("ARG0", Span(0, 1)), Argument("ARG1", Span(2, 3)))),
            Proposition(4, (Argument("ARG0", Span(3, 4)), Argument("ARGM-DIR", Span(5, 6)))),
        ),
        text=text,
        offsets=((0, 7), (8, 12), (13, 18), (19, 21), (22, 25), (26, 29)),
        char_start=0,
    )
    assert counts(gold, [Document(text, (joined,))]) == (75.0, 75.0)  # "dogs." is not "dogs"


@pytest.mark.parametrize("lost", ["text", "offsets"])
def test_a_sentence_without_its_text_cannot_be_placed(lost):
    assert has_text(SEES)
    assert not has_text(replace(SEES, **{lost: None}))
