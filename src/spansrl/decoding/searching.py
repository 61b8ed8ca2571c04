"""Search under constraints, greedy or exact, for the propositions that need it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from operator import attrgetter

import numpy as np

from spansrl.decoding.candidates import Columns, Pick, ranked
from spansrl.decoding.constraints import Automaton, anything, constraints_of, once, search_under
from spansrl.decoding.scores import Bools, Floats, Ints
from spansrl.inventory.roles import Role


def needs_search(columns: Columns, first: Ints, last: Ints, core: Bools) -> Bools:
    """Whether a proposition's answer may be another than the best candidate of each of its roles (N,).

    It cannot be if these do not overlap and no role can be used twice, because it is core or its candidates
    all share a token. Then greedy search reaches each role's best candidate before the role's others and can
    always choose it, and no legal set can sum to more than each role's best.
    """
    order = np.lexsort((first, columns.prop))
    prop = columns.prop[order]
    overlaps = (prop[1:] == prop[:-1]) & (first[order][1:] <= last[order][:-1])  # (M - 1,)
    needs = np.zeros(columns.prop.max(initial=-1) + 1, dtype=bool)
    needs[prop[1:][overlaps]] = True
    needs[columns.prop[columns.may_repeat & ~core]] = True
    return needs


def take_in_order(
    candidates: tuple[Ints, Ints, Ints], rank: Floats, core: Bools, *, argmax: bool = False
) -> list[tuple[int, int, int]]:
    """Take candidates (role, first token, last token) by descending rank, no overlap and no core role twice.

    With `argmax`, each role's best candidate, which may overlap others.
    """
    role, first, last = candidates
    order = np.lexsort((role, last, first, -rank))
    used = np.zeros(len(core), dtype=bool)
    taken = np.zeros(last.max(initial=-1) + 1, dtype=bool)
    found = []
    for r, i, j in zip(*(part[order].tolist() for part in candidates), strict=True):
        if used[r] or taken[i : j + 1].any():
            continue
        found.append((r, i, j))
        used[r] = argmax or core[r]
        if not argmax:
            taken[i : j + 1] = True
    return found


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
        """Column k from the `first` to the `last` of the tokens, as indices of the whole batch."""
        return Pick(self.columns[k], self.tokens[first], self.tokens[last])


def problem_of(columns: Columns, core: Bools, prop: int) -> Problem:
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


def search_exactly(problem: Problem, roles: Sequence[Role] | None = None) -> list[Pick]:
    """The candidates with the greatest sum of F − Null that do not overlap and do not repeat a core role.

    Given the m columns' roles, those that continue or refer to another need it too (see `constraints`).
    """
    m = len(problem.null)
    relaxed = anything(m)
    for k in np.flatnonzero(problem.core & problem.may_repeat).tolist():
        relaxed = relaxed * once(m, k)
    constraints = () if roles is None else constraints_of(roles)
    by_position = attrgetter("first")
    # Under C and R, a base that does not beat Null could pay for the roles that need it, and a sum of
    # starts and ends cannot tell such spans from candidates: candidates are then listed one by one.
    search = _search if roles is None else _search_candidates
    return search_under(
        constraints,
        relaxed,
        lambda automaton: search(problem, automaton),
        lambda picks: [pick.column - problem.columns[0] for pick in sorted(picks, key=by_position)],
    )


def _search(problem: Problem, automaton: Automaton) -> list[Pick]:
    """A dynamic program over tokens and the states of an automaton, linear in T because F is a sum.

    `best[q]` is the greatest sum over the tokens so far that ends in state q; `opened[q, k]` is the same with
    a span of role k begun, its end score still to come.
    """
    before = automaton.before()  # (Q, m, D)
    Q, m, _ = before.shape
    states, roles, size = np.arange(Q)[:, None], np.arange(m), len(problem.tokens)
    gain = problem.end - problem.null  # (B, m)
    best = np.full(Q + 1, -np.inf)  # the last one is the padding of `before`
    best[0] = 0.0
    opened = np.full((Q, m), -np.inf)
    opened_at = np.zeros((Q, m), dtype=np.intp)
    opened_from = np.zeros((Q, m), dtype=np.intp)  # the state before it was opened
    closed_role = np.full((size, Q), -1)  # the role of the span that ends here, if any does
    closed_at = np.zeros((size, Q), dtype=np.intp)  # where it began, and in which state
    closed_from = np.zeros((size, Q), dtype=np.intp)
    for t in range(size):
        if t == problem.left:
            opened.fill(-np.inf)  # no span crosses the predicate
        reached = best[before]  # (Q, m, D)
        source = reached.argmax(axis=2)  # (Q, m)
        opening = reached[states, roles, source] + problem.start[t]  # (Q, m)
        better = opening > opened
        opened_at[better] = t
        opened_from[better] = before[states, roles, source][better]
        np.maximum(opened, opening, out=opened)
        closing = opened + gain[t]  # (Q, m)
        role = closing.argmax(axis=1)  # (Q,)
        closed = closing[states[:, 0], role]
        closed_role[t] = np.where(closed > best[:-1], role, -1)
        closed_at[t], closed_from[t] = opened_at[states[:, 0], role], opened_from[states[:, 0], role]
        best[:-1] = np.maximum(best[:-1], closed)
    state = int(np.where(automaton.accepting, best[:-1], -np.inf).argmax())
    return _trace_back(problem, state, closed_role, closed_at, closed_from)


def _search_candidates(problem: Problem, automaton: Automaton) -> list[Pick]:
    """The same dynamic program over the candidates alone: slower, for the few that C- and R- roles link."""
    size = len(problem.tokens)
    best = np.full((size + 1, len(automaton.step)), -np.inf)  # [t, q]: the first t tokens, in state q
    best[0, 0] = 0.0
    came_from: dict[tuple[int, int], tuple[int, int, int]] = {}  # (t, q) -> first token, role, state before
    for last in range(size):
        best[last + 1] = best[last]
        begin = 0 if last < problem.left else problem.left  # no span crosses the predicate
        gain = problem.start[begin : last + 1] + problem.end[last] - problem.null  # (firsts, m)
        for first, k in np.argwhere(gain > 0).tolist():
            reached = best[begin + first] + gain[first, k]  # (Q,)
            for state in np.flatnonzero((reached > -np.inf) & (automaton.step[:, k] >= 0)).tolist():
                after = int(automaton.step[state, k])
                if reached[state] > best[last + 1, after]:
                    best[last + 1, after] = reached[state]
                    came_from[last + 1, after] = begin + first, k, state
    state = int(np.where(automaton.accepting, best[-1], -np.inf).argmax())
    picks, t = [], size
    while t > 0:
        if (t, state) in came_from and best[t, state] > best[t - 1, state]:
            first, k, state = came_from[t, state]
            picks.append(problem.pick(k, first, t - 1))
            t = first
        else:
            t -= 1
    return picks


def _trace_back(
    problem: Problem, state: int, closed_role: Ints, closed_at: Ints, closed_from: Ints
) -> list[Pick]:
    picks = []
    t = len(closed_role) - 1
    while t >= 0:
        k = int(closed_role[t, state])
        if k >= 0:
            first, last = int(closed_at[t, state]), t
            # The rounding of a sum can let in a span that is level with Null.
            if problem.start[first, k] + problem.end[last, k] > problem.null[k]:
                picks.append(problem.pick(k, first, last))
            t, state = first, int(closed_from[t, state])
        t -= 1
    return picks
