"""Sentences in, labelled sentences out: the one seam that every way in uses.

A `Labeler` takes any scorer (something that turns sentences with predicates into score arrays), decodes the
scores and puts the arguments back. It works on a stream: order is kept, sentences of similar length are
scored together, and memory is bounded by `max_tokens` whatever the input's size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from typing import Protocol

from spansrl.decoding import Method, Order, SpanScores, TagScores, decode, decode_tags
from spansrl.structures import Argument, Proposition, Sentence

MAX_TOKENS = 8192  # rows × tokens scored at once
WINDOW = 1024  # sentences among which similar lengths are looked for


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
    max_tokens: int = MAX_TOKENS  # propositions × tokens scored at once
    window: int = WINDOW

    def label(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """The sentences with predicted arguments; senses and arguments that they came with are dropped."""
        return in_batches(
            self._label_batch,
            sentences,
            rows=lambda sent: len(sent.props),
            max_tokens=self.max_tokens,
            window=self.window,
        )

    def _label_batch(self, batch: Sequence[Sentence]) -> list[Sentence]:
        found = [args for part in self._parts(batch) for args in self._decode(part)]
        arguments = iter(found)
        return [
            replace(sent, props=tuple(_with_arguments(prop, next(arguments)) for prop in sent.props))
            for sent in batch
        ]

    def _parts(self, batch: Sequence[Sentence]) -> Iterator[Sequence[Sentence]]:
        """The batch itself; of a sentence alone that has too many predicates, some at a time."""
        limit = max(1, self.max_tokens // max(1, len(batch[0])))
        if len(batch) > 1 or len(batch[0].props) <= limit:
            yield [sent for sent in batch if sent.props]
            return
        for k in range(0, len(batch[0].props), limit):
            yield [replace(batch[0], props=batch[0].props[k : k + limit])]

    def _decode(self, batch: Sequence[Sentence]) -> list[tuple[Argument, ...]]:
        if not batch:
            return []
        return decode_scores(
            self.scorer.score(batch), self.scorer.roles, method=self.method, order=self.order
        )


def in_batches(
    label: Callable[[Sequence[Sentence]], Sequence[Sentence]],
    sentences: Iterable[Sentence],
    *,
    rows: Callable[[Sentence], int] = lambda sent: 1,
    max_tokens: int = MAX_TOKENS,
    window: int = WINDOW,
    threads: int = 1,
) -> Iterator[Sentence]:
    """The sentences, labelled in groups of similar length that have at most `max_tokens` with padding.

    `rows` says how many rows a sentence takes in such a group. Order is kept; no more than `window` sentences
    are held at a time. With several `threads`, as many groups are labelled at once.
    """
    stream = iter(sentences)
    while chunk := list(islice(stream, window)):
        out: list[Sentence] = list(chunk)
        groups = list(_groups(chunk, rows, max_tokens))
        batches = [[chunk[k] for k in group] for group in groups]
        for group, done in zip(groups, _map(label, batches, threads), strict=True):
            for place, sent in zip(group, done, strict=True):
                out[place] = sent
        yield from out


def _map(
    label: Callable[[Sequence[Sentence]], Sequence[Sentence]], batches: list[list[Sentence]], threads: int
) -> Iterator[Sequence[Sentence]]:
    if threads == 1 or len(batches) == 1:
        yield from map(label, batches)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(label, batches)


def _groups(
    chunk: Sequence[Sentence], rows: Callable[[Sentence], int], max_tokens: int
) -> Iterator[list[int]]:
    group: list[int] = []
    taken = 0
    for place in sorted(range(len(chunk)), key=lambda place: len(chunk[place])):
        more = rows(chunk[place])
        if group and (taken + more) * len(chunk[place]) > max_tokens:
            yield group
            group, taken = [], 0
        group.append(place)
        taken += more
    if group:
        yield group


def decode_scores(
    scores: SpanScores | TagScores, roles: Sequence[str], *, method: Method, order: Order
) -> list[tuple[Argument, ...]]:
    """The arguments of each proposition, whatever the scores are of; tags have a search of their own."""
    if isinstance(scores, TagScores):
        return decode_tags(scores, roles)
    return decode(scores, roles, method=method, order=order)


def _with_arguments(prop: Proposition, args: tuple[Argument, ...]) -> Proposition:
    return Proposition(pred=prop.pred, lemma=prop.lemma, args=args)
