"""The Labeler with a scorer of our own: what is scored together, and what comes back where."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spansrl.decoding import SpanScores, TagScores, log_partition
from spansrl.inference.labeler import Labeler
from spansrl.structures import Argument, Proposition, Sentence, Span

ROLES = ("A0", "A1")


class FakeScorer:
    """Finds A0 in the token before the predicate and A1 in the one after it; remembers what it was asked."""

    roles = ROLES

    def __init__(self, *, tags: bool = False) -> None:
        self.tags = tags
        self.batches: list[list[Sentence]] = []

    def score(self, sentences) -> SpanScores | TagScores:
        self.batches.append(list(sentences))
        rows = [(len(sent), prop.pred) for sent in sentences for prop in sent.props]
        lengths, pred = np.array(rows).T
        T = max(len(sent) for sent in sentences)
        return (self._tag_scores if self.tags else self._span_scores)(rows, T, lengths, pred)

    def _span_scores(self, rows, T, lengths, pred) -> SpanScores:
        start = np.full((len(rows), T, 2), -9.0)
        for n, (length, p) in enumerate(rows):
            for role, t in ((0, p - 1), (1, p + 1)):
                if 0 <= t < length:
                    start[n, t, role] = 9.0
        end = start.copy()
        return SpanScores(start, end, log_partition(start, end, lengths), lengths, pred)

    def _tag_scores(self, rows, T, lengths, pred) -> TagScores:
        emissions = np.zeros((len(rows), T, 5))
        emissions[:, :, 0] = 1.0
        for n, (length, p) in enumerate(rows):
            for tag, t in ((1, p - 1), (3, p + 1)):
                if 0 <= t < length:
                    emissions[n, t, tag] = 9.0
        return TagScores(emissions, np.zeros((5, 5)), np.zeros(5), lengths, pred)

    @property
    def sizes(self) -> list[int]:
        """Propositions × tokens of each call, with padding."""
        return [
            sum(len(sent.props) for sent in batch) * max(len(sent) for sent in batch)
            for batch in self.batches
        ]


def make_input(length: int, preds: list[int], name: str = "s") -> Sentence:
    return Sentence(tuple(f"{name}{t}" for t in range(length)), tuple(Proposition(p) for p in preds))


def expected_spans(sent: Sentence) -> list[dict[str, Span]]:
    neighbours = [{"A0": prop.pred - 1, "A1": prop.pred + 1} for prop in sent.props]
    return [
        {role: Span(t, t + 1) for role, t in places.items() if 0 <= t < len(sent)} for places in neighbours
    ]


def found_spans(sent: Sentence) -> list[dict[str, Span]]:
    return [{arg.role: arg.span for arg in prop.args} for prop in sent.props]


@st.composite
def inputs(draw) -> list[Sentence]:
    lengths = draw(st.lists(st.integers(0, 7), max_size=10))
    return [
        make_input(length, draw(st.lists(st.integers(0, length - 1), max_size=9)) if length else [], f"s{k}-")
        for k, length in enumerate(lengths)
    ]


@settings(max_examples=60, deadline=None)
@given(inputs(), st.integers(1, 40), st.integers(1, 12), st.booleans())
def test_every_sentence_comes_back_in_its_place_with_its_own_arguments(sentences, max_tokens, window, tags):
    scorer = FakeScorer(tags=tags)
    labelled = list(Labeler(scorer, max_tokens=max_tokens, window=window).label(sentences))
    assert [sent.tokens for sent in labelled] == [sent.tokens for sent in sentences]
    assert [[prop.pred for prop in sent.props] for sent in labelled] == [
        [prop.pred for prop in sent.props] for sent in sentences
    ]
    assert list(map(found_spans, labelled)) == list(map(expected_spans, sentences))


@settings(max_examples=60, deadline=None)
@given(inputs(), st.integers(1, 40))
def test_no_more_is_scored_at_once_than_max_tokens_or_else_one_proposition(sentences, max_tokens):
    scorer = FakeScorer()
    list(Labeler(scorer, max_tokens=max_tokens).label(sentences))
    for size, batch in zip(scorer.sizes, scorer.batches, strict=True):
        assert size <= max_tokens or sum(len(sent.props) for sent in batch) == 1


def test_a_sentence_with_too_many_predicates_is_taken_in_turns():
    scorer = FakeScorer()
    sent = make_input(5, [0, 1, 2, 3, 4, 2, 0])
    (labelled,) = Labeler(scorer, max_tokens=12).label([sent])
    assert [len(batch[0].props) for batch in scorer.batches] == [2, 2, 2, 1]
    assert found_spans(labelled) == expected_spans(sent)


def test_sentences_of_similar_length_are_scored_together():
    scorer = FakeScorer()
    lengths = [2, 9, 3, 8, 2, 9]
    list(Labeler(scorer, max_tokens=27).label([make_input(length, [0]) for length in lengths]))
    assert [[len(sent) for sent in batch] for batch in scorer.batches] == [[2, 2, 3], [8, 9, 9]]


def test_the_input_is_read_no_further_than_a_window_ahead():
    read = 0

    def stream():
        nonlocal read
        for _ in range(100):
            read += 1
            yield make_input(3, [1])

    labelled = Labeler(FakeScorer(), window=10).label(stream())
    assert read == 0
    next(labelled)
    assert read == 10


def test_senses_and_arguments_of_the_input_are_dropped_and_the_rest_is_kept():
    given_args = (Argument("A1", Span(0, 1), 0.3), Argument("AM-TMP", Span(2, 3)))
    sent = Sentence(
        ("Cats", "sleep", "here"),
        (Proposition(1, given_args, lemma="sleep", sense="sleep.01"),),
        id="x-1",
        pos=("NNS", "VBP", "RB"),
        lemmas=("cat", "sleep", "here"),
        text="Cats sleep here",
        offsets=((0, 4), (5, 10), (11, 15)),
        extra={"source": "mine"},
    )
    (labelled,) = Labeler(FakeScorer()).label([sent])
    (prop,) = labelled.props
    assert (prop.pred, prop.lemma, prop.sense) == (1, "sleep", None)
    assert [(arg.role, arg.span) for arg in prop.args] == [("A0", Span(0, 1)), ("A1", Span(2, 3))]
    assert all(0.99 < arg.prob <= 1 for arg in prop.args)
    assert replace(labelled, props=()) == replace(sent, props=())


@pytest.mark.parametrize("sent", [Sentence(()), make_input(4, []), Sentence(("Hm",), id="7")], ids=str)
def test_sentences_without_tokens_or_without_predicates_pass_through_unscored(sent):
    scorer = FakeScorer()
    assert list(Labeler(scorer).label([sent])) == [sent]
    assert scorer.batches == []


def test_nothing_in_nothing_out():
    assert list(Labeler(FakeScorer()).label([])) == []


class OverlappingScorer(FakeScorer):
    """Two core roles want overlapping spans right of the predicate; A0 the more surely."""

    def _span_scores(self, rows, T, lengths, pred) -> SpanScores:
        start, end = np.full((1, T, 2), -9.0), np.full((1, T, 2), -9.0)
        start[0, 0], end[0, 0] = 0.0, 0.0  # Null beats whatever is left of a span
        start[0, 1, 0], end[0, 2, 0] = 9.0, 9.0
        start[0, 2, 1], end[0, 3, 1] = 5.0, 5.0
        return SpanScores(start, end, log_partition(start, end, lengths), lengths, pred)


@pytest.mark.parametrize(
    ("method", "roles"), [("greedy", ["A0"]), ("exact", ["A0"]), ("argmax", ["A0", "A1"])]
)
def test_the_chosen_decoder_is_the_one_that_is_used(method, roles):
    (labelled,) = Labeler(OverlappingScorer(), method=method).label([make_input(4, [0])])
    assert [arg.role for arg in labelled.props[0].args] == roles
