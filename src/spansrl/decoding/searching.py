"""Search under constraints, greedy or exact, for the propositions that need it."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from spansrl.decoding.candidates import Columns, Pick, ranked
from spansrl.decoding.scores import Bools, Floats, Ints


def needs_search(columns: Columns, first: Ints, last: Ints, core: Bools) -> Bools:
    """Whether a proposition's answer may be another than the best candidate of each of its roles (N,).

    It cannot be if these do not overlap and no role can be used twice, because it is core or its candidates
    all share a token. Then greedy search meets each role's best candidate before the role's others and has no
    reason to refuse it, and no legal set can sum to more than each role's best.
    """
    order = np.lexsort((first, columns.prop))
    prop = columns.prop[order]
    overlaps = (prop[1:] == prop[:-1]) & (first[order][1:] <= last[order][:-1])  # (M - 1,)
    needs = np.zeros(columns.prop.max(initial=-1) + 1, dtype=bool)
    needs[prop[1:][overlaps]] = True
    needs[columns.prop[columns.may_repeat & ~core]] = True
    return needs


@dataclass(frozen=True, slots=True)
class Problem:
    """The m columns of one proposition, cut down to the B tokens at which a candidate begins or ends."""

    columns: range
    tokens: list[int]  # (B,)
    left: int  # how many of them are left of the predicate
    start: Floats  # (B, m)
    end: Floats  # (B, m)
    null: Floats  # (m,)
    offset: Floats  # (m,)
    core: Bools  # (m,)
    may_repeat: Bools  # (m,)

    def pick(self, k: int, first: int, last: int) -> Pick:
        """Column k from the `first` to the `last` of the tokens, in the terms of the whole batch."""
        return Pick(self.columns[k], self.tokens[first], self.tokens[last])


def problem_of(columns: Columns, core: Bools, prop: int) -> Problem:
    """What is to be searched for a proposition."""
    begin, stop = np.searchsorted(columns.prop, (prop, prop + 1)).tolist()
    part = slice(begin, stop)
    tokens = np.flatnonzero((columns.begins[:, part] | columns.ends[:, part]).any(axis=1))
    return Problem(
        columns=range(begin, stop),
        tokens=tokens.tolist(),
        left=int(np.searchsorted(tokens, columns.pred[begin])),
        start=columns.start[tokens, part],
        end=columns.end[tokens, part],
        null=columns.null[part],
        offset=columns.offset[part],
        core=core[part],
        may_repeat=columns.may_repeat[part],
    )


def search_greedily(problem: Problem) -> list[Pick]:
    """Algorithm 1 without its list of all spans.

    A queue holds the best candidate of each stretch of unused tokens. Choosing one splits its stretch in two;
    one whose core role has been used since it was queued makes room for its stretch's next best.
    """
    null = problem.null.copy()  # set to +inf, which no span beats, when a role is used up
    queue: list[tuple[float, int, int, int, int, int]] = []

    def enqueue(begin: int, stop: int) -> None:
        if begin < stop and (best := _best_within(problem, null, begin, stop)):
            heappush(queue, (*best, begin, stop))

    picks = []
    enqueue(0, problem.left)
    enqueue(problem.left, len(problem.tokens))
    while queue:
        _, first, last, k, begin, stop = heappop(queue)
        if null[k] == np.inf:
            enqueue(begin, stop)
            continue
        picks.append(problem.pick(k, first, last))
        if problem.core[k]:
            null[k] = np.inf
        enqueue(begin, first)
        enqueue(last + 1, stop)
    return picks


def _best_within(problem: Problem, null: Floats, begin: int, stop: int) -> tuple[float, int, int, int] | None:
    """The best candidate within begin .. stop-1 as (−rank, first, last, k), in the order of the search."""
    start, end = problem.start[begin:stop], problem.end[begin:stop]
    reach = np.maximum.accumulate(end[::-1])[::-1]  # (stop - begin, m)
    rank = ranked(start + reach, null, problem.offset)
    first = int(rank.argmax()) // len(null)
    rank = ranked(start[first] + end[first:], null, problem.offset)  # (stop - begin - first, m)
    width, k = divmod(int(rank.argmax()), len(null))
    best = float(rank[width, k])
    return None if best == -np.inf else (-best, begin + first, begin + first + width, k)


def search_exactly(problem: Problem) -> list[Pick]:
    """A dynamic programme over tokens and sets of core roles, linear in T because F is a sum.

    `best[s]` is the greatest sum over the tokens so far that uses no limited role outside the set s;
    `opened[s, k]` is the same with a span of role k begun, its end score still to come. Only a core role with
    two candidates that do not overlap needs limiting.
    """
    allowed, without = _role_sets(problem.core & problem.may_repeat)  # (S, m), (S, m)
    sets, size = np.arange(len(allowed)), len(problem.tokens)
    gain = problem.end - problem.null  # (B, m)
    best = np.zeros(len(sets))
    opened = np.full(allowed.shape, -np.inf)
    opened_at = np.zeros(allowed.shape, dtype=np.intp)
    closed_role = np.full((size, len(sets)), -1)  # the role of the span that ends here, if any does
    closed_from = np.zeros((size, len(sets)), dtype=np.intp)  # where it began
    for t in range(size):
        if t == problem.left:
            opened.fill(-np.inf)  # no span goes across the predicate
        opening = np.where(allowed, best[without] + problem.start[t], -np.inf)  # (S, m)
        opened_at[opening > opened] = t
        np.maximum(opened, opening, out=opened)
        closing = opened + gain[t]  # (S, m)
        role = closing.argmax(axis=1)  # (S,)
        closed = closing[sets, role]
        closed_role[t] = np.where(closed > best, role, -1)
        closed_from[t] = opened_at[sets, role]
        best = np.maximum(best, closed)
    return _trace_back(problem, closed_role, closed_from, without)


def _role_sets(limited: Bools) -> tuple[Bools, Ints]:
    """For each set of limited roles, as bits: does it allow role k, and what is left of it after k? (S, m)"""
    bit = np.where(limited, 1 << (np.cumsum(limited) - limited), 0)  # (m,)
    sets = np.arange(1 << int(limited.sum()))[:, None]  # (S, 1)
    return (sets & bit) == bit, sets & ~bit


def _trace_back(problem: Problem, closed_role: Ints, closed_from: Ints, without: Ints) -> list[Pick]:
    picks = []
    t, allowed = len(closed_role) - 1, len(without) - 1
    while t >= 0:
        k = int(closed_role[t, allowed])
        if k >= 0:
            first, last = int(closed_from[t, allowed]), t
            # The rounding of a sum can let in a span that is level with Null.
            if problem.start[first, k] + problem.end[last, k] > problem.null[k]:
                picks.append(problem.pick(k, first, last))
            t, allowed = first, int(without[allowed, k])
        t -= 1
    return picks
