"""Brute force: the plainest possible statements of what the fast code must compute, for tiny inputs only."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, pairwise, product
from typing import NamedTuple

import numpy as np


class Labeled(NamedTuple):
    """A span with tokens i to j, both inclusive, and a role index; sorts as ties are broken."""

    i: int
    j: int
    role: int


def all_spans(length: int) -> Iterator[tuple[int, int]]:
    """Every span of a sentence, last token inclusive."""
    return ((i, j) for i in range(length) for j in range(i, length))


def log_sum_exp(values: Iterable[float]) -> float:
    values = list(values)
    peak = max(values)
    return (
        peak if math.isinf(peak) else peak + math.log(math.fsum(math.exp(value - peak) for value in values))
    )


def span_log_partition(start: np.ndarray, end: np.ndarray) -> list[float]:
    """log Z of each role over all spans, from start (T, R) and end (T, R) of a sentence without padding."""
    T, R = start.shape
    return [log_sum_exp(float(start[i, r] + end[j, r]) for i, j in all_spans(T)) for r in range(R)]


def span_candidates(start: np.ndarray, end: np.ndarray, pred: int) -> dict[Labeled, float]:
    """Lines 6 and 7 of Algorithm 1: F of the spans that do not cover the predicate and score above Null."""
    T, R = start.shape
    scores = {Labeled(i, j, r): float(start[i, r] + end[j, r]) for i, j in all_spans(T) for r in range(R)}
    return {
        (i, j, r): score
        for (i, j, r), score in scores.items()
        if not i <= pred <= j and score > scores[Labeled(pred, pred, r)]
    }


def overlap(a: Labeled, b: Labeled) -> bool:
    return a[0] <= b[1] and b[0] <= a[1]


def greedy_search(
    candidates: dict[Labeled, float], rank: Callable[[Labeled], float], core: Sequence[bool]
) -> set[Labeled]:
    """Lines 4 to 14 of Algorithm 1, word for word."""
    spans: set[Labeled] = set()
    used_cores: set[int] = set()
    for span in sorted(candidates, key=lambda span: (-rank(span), span)):
        r = span[2]
        if r not in used_cores and not any(overlap(span, other) for other in spans):
            spans.add(span)
            if core[r]:
                used_cores.add(r)
    return spans


def argmax_search(candidates: dict[Labeled, float]) -> set[Labeled]:
    """Eq. 1: the best span of each role that has one above Null."""
    roles = {span[2] for span in candidates}
    return {
        min((span for span in candidates if span[2] == r), key=lambda span: (-candidates[span], span))
        for r in roles
    }


def is_legal(spans: Iterable[Labeled], core: Sequence[bool]) -> bool:
    """No overlap, no core role twice."""
    return not any(overlap(a, b) or (a[2] == b[2] and core[a[2]]) for a, b in combinations(spans, 2))


def legal_sets(candidates: Sequence[Labeled], core: Sequence[bool]) -> Iterator[tuple[Labeled, ...]]:
    """Every legal set of candidates, the empty one included."""
    if not candidates:
        yield ()
        return
    head, rest = candidates[0], candidates[1:]
    yield from legal_sets(rest, core)
    fitting = [span for span in rest if is_legal((head, span), core)]
    for others in legal_sets(fitting, core):
        yield (head, *others)


def all_paths(length: int, tags: int) -> Iterator[tuple[int, ...]]:
    """Every tag sequence."""
    return product(range(tags), repeat=length)


def path_score(
    path: Sequence[int],
    emissions: np.ndarray,
    transitions: np.ndarray,
    start_scores: np.ndarray,
) -> float:
    """The score of one tag sequence under a linear-chain CRF."""
    score = start_scores[path[0]]
    score += sum(emissions[t, tag] for t, tag in enumerate(path))
    return float(score + sum(transitions[a, b] for a, b in pairwise(path)))
