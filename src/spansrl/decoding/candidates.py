"""Candidates, which every decoder of spans starts from: spans that score above their role's Null."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from spansrl.decoding.scores import Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class SearchScores:
    """F(i, j, r) = start + end, with what a span must exceed and what ranking subtracts."""

    start: Floats  # (N, T, R)
    end: Floats  # (N, T, R)
    null: Floats | float  # (N, R) or (N, 1)
    offset: Floats | float  # (N, R): log Z, or 0
    lengths: Ints  # (N,)
    pred: Ints  # (N,)


class Pick(NamedTuple):
    """A chosen candidate: the tokens `first` to `last`, both inclusive, with the role of a column."""

    column: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Columns:
    """The M pairs of proposition and role that have a candidate, by proposition and then role.

    Time-major, so that the first maximum in memory order is the one with the smallest (position, role).
    """

    prop: Ints  # (M,)
    role: Ints  # (M,)
    pred: Ints  # (M,)
    length: Ints  # (M,)
    start: Floats  # (T, M), −inf at the predicate and at padding
    end: Floats  # (T, M), likewise
    null: Floats  # (M,): the score that a candidate exceeds
    offset: Floats  # (M,): what ranking subtracts from F: log Z, or 0
    best_from: Floats  # (T, M): the greatest F of a span that begins here
    begins: Bools  # (T, M): a candidate begins here
    ends: Bools  # (T, M): a candidate ends here
    may_repeat: Bools  # (M,): two candidates of the column do not overlap


def columns_with_candidates(scores: SearchScores) -> Columns:
    tokens = np.arange(scores.start.shape[1])
    free = (tokens[:, None] < scores.lengths) & (tokens[:, None] != scores.pred)  # (T, N)
    best_from = _running_max(scores.end.swapaxes(0, 1)[::-1], free[::-1, :, None])[::-1]  # (T, N, R)
    with np.errstate(invalid="ignore"):  # padding may be infinite
        best_from += scores.start.swapaxes(0, 1)
    prop, role = np.nonzero((best_from > scores.null).any(axis=0))  # (M,), (M,)
    free = free[:, prop]  # (T, M)
    N, _, R = scores.start.shape
    null, offset = (
        np.broadcast_to(part, (N, R))[prop, role].astype(np.float64) for part in (scores.null, scores.offset)
    )  # (M,), (M,)
    start = np.where(free, scores.start[prop, :, role].T, -np.inf).astype(np.float64)  # (T, M)
    end = np.where(free, scores.end[prop, :, role].T, -np.inf).astype(np.float64)  # (T, M)
    best_from = np.where(free, best_from[:, prop, role], -np.inf)  # (T, M)
    begins, ends = best_from > null, _running_max(start, free) + end > null  # (T, M), (T, M)
    first_end, last_begin = ends.argmax(axis=0), len(tokens) - 1 - begins[::-1].argmax(axis=0)  # (M,), (M,)
    return Columns(
        prop=prop,
        role=role,
        pred=scores.pred[prop],
        length=scores.lengths[prop],
        start=start,
        end=end,
        null=null,
        offset=offset,
        best_from=best_from,
        begins=begins,
        ends=ends,
        may_repeat=first_end < last_begin,
    )


def _running_max(values: Floats, free: Bools) -> Floats:
    """The maximum along axis 0 up to each index; −inf where not free, and restarted after that."""
    out = np.where(free, values, -np.inf).astype(np.float64, copy=False)
    restarts = set(np.flatnonzero(~free.reshape(len(free), -1).all(axis=1)).tolist())
    for t in range(1, len(out)):
        np.maximum(out[t], out[t - 1], out=out[t])
        if t in restarts:
            out[t][~np.broadcast_to(free[t], out[t].shape)] = -np.inf
    return out


def ranked(scores: Floats, null: Floats, offset: Floats) -> Floats:
    """What spans with the scores F are sorted by; −inf for those that are not candidates."""
    return np.where(scores > null, scores - offset, -np.inf)


def best_candidates(columns: Columns) -> tuple[Ints, Ints]:
    """First and last token of each column's best candidate: (M,), (M,)."""
    null, offset = columns.null, columns.offset
    first = ranked(columns.best_from, null, offset).argmax(axis=0)  # (M,)
    stop = np.where(first < columns.pred, columns.pred, columns.length)  # (M,)
    tokens = np.arange(len(columns.start))[:, None]
    to = np.where((first <= tokens) & (tokens < stop), columns.end, -np.inf)  # (T, M)
    last = ranked(columns.start[first, np.arange(len(first))] + to, null, offset).argmax(axis=0)  # (M,)
    return first, last
