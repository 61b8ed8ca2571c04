"""Sentences in, labelled sentences out: the one seam that every way in uses.

A `Labeler` takes any scorer (something that turns sentences with predicates into score arrays), decodes the
scores and puts the arguments back. It works on a stream: order is kept, sentences of similar length are
scored together, and memory is bounded by `max_tokens` whatever the input's size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Protocol

from spansrl.decode import Method, Order, SpanScores, TagScores, decode, decode_tags
from spansrl.structures import Argument, Proposition, Sentence


class Scorer(Protocol):
    """Scores every proposition of the sentences, in order; only tokens and predicates are looked at."""

    @property
    def roles(self) -> Sequence[str]:
        """The names behind the scores' role axis."""

    def score(self, sentences: Sequence[Sentence]) -> SpanScores | TagScores:
        """Scores with one row a proposition."""


@dataclass(frozen=True, slots=True)
class Labeler:
    """Finds the arguments of given predicates."""

    scorer: Scorer
    method: Method = "greedy"
    order: Order = "prob"
    max_tokens: int = 8192  # propositions × tokens scored at once
    window: int = 1024  # sentences among which similar lengths are looked for

    def label(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """The sentences with predicted arguments; senses and arguments that they came with are dropped."""
        stream = iter(sentences)
        while chunk := list(islice(stream, self.window)):
            found: list[list[tuple[Argument, ...]]] = [[] for _ in chunk]
            for rows, batch in self._batches(chunk):
                labelled = iter(self._decode(batch))
                for row, sent in zip(rows, batch, strict=True):
                    found[row].extend(islice(labelled, len(sent.props)))
            for sent, args in zip(chunk, found, strict=True):
                yield replace(sent, props=tuple(map(_with_arguments, sent.props, args)))

    def _decode(self, batch: Sequence[Sentence]) -> list[tuple[Argument, ...]]:
        scores = self.scorer.score(batch)
        if isinstance(scores, TagScores):
            return decode_tags(scores, self.scorer.roles)
        return decode(scores, self.scorer.roles, method=self.method, order=self.order)

    def _batches(self, chunk: Sequence[Sentence]) -> Iterator[tuple[list[int], list[Sentence]]]:
        """Groups of similar length within `max_tokens`; of too many predicates, some are taken at a time."""
        rows: list[int] = []
        batch: list[Sentence] = []
        n_props = 0
        for row in sorted(range(len(chunk)), key=lambda row: len(chunk[row])):
            for part in self._parts(chunk[row]):
                if batch and (n_props + len(part.props)) * len(part) > self.max_tokens:
                    yield rows, batch
                    rows, batch, n_props = [], [], 0
                rows.append(row)
                batch.append(part)
                n_props += len(part.props)
        if batch:
            yield rows, batch

    def _parts(self, sent: Sentence) -> Iterator[Sentence]:
        limit = max(1, self.max_tokens // max(1, len(sent)))
        for k in range(0, len(sent.props), limit):
            yield replace(sent, props=sent.props[k : k + limit])


def _with_arguments(prop: Proposition, args: tuple[Argument, ...]) -> Proposition:
    return Proposition(pred=prop.pred, lemma=prop.lemma, args=args)
