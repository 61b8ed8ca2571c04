"""From scores to arguments: argmax, greedy and exact search over labelled spans, and Viterbi over BIO tags.

NumPy only, whoever computed the scores. A span's score is a start score plus an end score,
F(i, j, r) = start[i, r] + end[j, r] with j inclusive, so the best partner of a boundary is a running maximum
and no decoder ever looks at all pairs: memory is a small multiple of the scores', also where an untrained
network makes every span look good.

The span decoders share what counts as a *candidate*: a span that does not cover the predicate p and scores
strictly above its role's Null span, F(i, j, r) > F(p, p, r). They differ in what they make of the candidates:

- ``argmax``: each role's best candidate (Eq. 1 of Ouchi+ 2018); these may overlap;
- ``greedy``: Algorithm 1 of the paper: again and again the best candidate that neither overlaps a chosen span
  nor repeats a core role, where best is by log P = F − log Z, or by F as in the authors' code;
- ``exact``: the candidates with the greatest sum of F(i, j, r) − F(p, p, r) under the same two constraints,
  by a dynamic programme over positions and used core roles (Täckström+ 2015).

Most propositions need no search: where each role's best candidate fits with the others', that is what both
searches would find (see `_needs_search`). Sums are in double precision. Argmax and greedy search break ties
by (i, j, role index), exact search by an order of its own; no answer depends on the rest of the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from spansrl.errors import ConfigError, DataError
from spansrl.structures import Argument, Span
from spansrl.tags import is_core, phrases_from_bio

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.integer[Any]]
Bools = NDArray[np.bool_]

Method = Literal["greedy", "argmax", "exact"]
METHODS: tuple[Method, ...] = get_args(Method)
Order = Literal["prob", "raw"]


@dataclass(frozen=True, slots=True)
class SpanScores:
    """The span scores of N propositions over T tokens and R roles.

    Rows at or beyond a proposition's length are padding: whatever they hold, it never matters. Within the
    length, −inf in `start` or `end` forbids a boundary; a role that is −inf throughout is ruled out.
    """

    start: Floats  # (N, T, R)
    end: Floats  # (N, T, R): end[n, j] is for spans whose last token is j
    log_z: Floats  # (N, R)
    lengths: Ints  # (N,)
    pred: Ints  # (N,)

    def __post_init__(self) -> None:
        if self.start.ndim != 3 or self.end.shape != self.start.shape:
            raise DataError(
                f"start and end scores must both be (N, T, R), found {self.start.shape} and {self.end.shape}"
            )
        N, T, R = self.start.shape
        for name, shape in {"log_z": (N, R), "lengths": (N,), "pred": (N,)}.items():
            if (found := getattr(self, name).shape) != shape:
                raise DataError(f"{name} must have the shape {shape} to fit the scores, found {found}")
        if not np.all((self.pred >= 0) & (self.pred < self.lengths) & (self.lengths <= T)):
            raise DataError(
                f"each predicate must lie within its sentence, and each sentence within {T} tokens"
            )


def decode(
    scores: SpanScores, roles: Sequence[str], *, method: Method = "greedy", order: Order = "prob"
) -> list[tuple[Argument, ...]]:
    """The arguments of each proposition, sorted by span; `order` is what greedy search goes by."""
    if len(roles) != scores.start.shape[2]:
        raise DataError(f"{len(roles)} roles are given for scores of {scores.start.shape[2]} roles")
    if method not in METHODS:
        raise ConfigError(f"there is no decoder '{method}'; choose greedy, argmax or exact")
    if order not in ("prob", "raw"):
        raise ConfigError(f"greedy search has no order '{order}'; choose prob or raw")
    if not scores.start.size:
        return [()] * len(scores.pred)

    columns = _columns_with_candidates(scores, by_prob=method == "greedy" and order == "prob")
    first, last = _best_candidates(columns)  # (M,), (M,)
    picks = list(map(_Pick, range(len(first)), first.tolist(), last.tolist()))
    if method != "argmax":
        core = np.array([is_core(role) for role in roles], dtype=bool)[columns.role]  # (M,)
        hard = _needs_search(columns, first, last, core)  # (N,)
        picks = [picks[column] for column in np.flatnonzero(~hard[columns.prop])]
        search = _search_greedily if method == "greedy" else _search_exactly
        for prop in np.flatnonzero(hard).tolist():
            picks.extend(search(_problem(columns, core, prop)))
    return _arguments(scores, roles, columns, picks)


def log_partition(start: Floats, end: Floats, lengths: Ints) -> Floats:
    """log Z (N, R) of the softmax over all spans of a sentence, those that cover the predicate included.

    Exact, stable and in linear time: logsumexp over j of end(j) + logsumexp over i <= j of start(i), in
    double precision.
    """
    inside = np.arange(start.shape[1])[:, None] < lengths[:, None, None]  # (N, T, 1)
    begun = np.logaddexp.accumulate(np.where(inside, start, -np.inf), axis=1, dtype=np.float64)  # (N, T, R)
    by_end = begun + np.where(inside, end, -np.inf)  # (N, T, R)
    peak = by_end.max(axis=1, initial=-np.inf)  # (N, R)
    peak[peak == -np.inf] = 0.0  # a role that is −inf throughout: log Z is −inf, not nan
    with np.errstate(divide="ignore"):
        log_z: Floats = np.log(np.exp(by_end - peak[:, None]).sum(axis=1)) + peak
    return log_z


# Candidates: what every span decoder starts from.


class _Pick(NamedTuple):
    """A chosen candidate: the tokens `first` to `last`, both inclusive, with the role of a column."""

    column: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class _Columns:
    """The M pairs of proposition and role that have a candidate, by proposition and then role.

    Time-major, so that the first maximum in memory order is the one with the smallest (position, role).
    """

    prop: Ints  # (M,)
    role: Ints  # (M,)
    pred: Ints  # (M,)
    length: Ints  # (M,)
    start: Floats  # (T, M), −inf at the predicate and at padding
    end: Floats  # (T, M), likewise
    null: Floats  # (M,): F(p, p, r)
    offset: Floats  # (M,): what ranking takes off F: log Z, or 0
    best_from: Floats  # (T, M): the greatest F of a span that begins here
    begins: Bools  # (T, M): a candidate begins here
    ends: Bools  # (T, M): a candidate ends here
    may_repeat: Bools  # (M,): two candidates of the column do not overlap


def _columns_with_candidates(scores: SpanScores, *, by_prob: bool) -> _Columns:
    rows, tokens = np.arange(len(scores.pred)), np.arange(scores.start.shape[1])
    free = (tokens[:, None] < scores.lengths) & (tokens[:, None] != scores.pred)  # (T, N)
    null = scores.start[rows, scores.pred].astype(np.float64) + scores.end[rows, scores.pred]  # (N, R)

    best_from = _running_max(scores.end.swapaxes(0, 1)[::-1], free[::-1, :, None])[::-1]  # (T, N, R)
    with np.errstate(invalid="ignore"):  # padding may be infinite
        best_from += scores.start.swapaxes(0, 1)
    prop, role = np.nonzero((best_from > null).any(axis=0))  # (M,), (M,)

    free, null = free[:, prop], null[prop, role]  # (T, M), (M,)
    start = np.where(free, scores.start[prop, :, role].T, -np.inf).astype(np.float64)  # (T, M)
    end = np.where(free, scores.end[prop, :, role].T, -np.inf).astype(np.float64)  # (T, M)
    best_from = np.where(free, best_from[:, prop, role], -np.inf)  # (T, M)
    begins, ends = best_from > null, _running_max(start, free) + end > null  # (T, M), (T, M)
    first_end, last_begin = ends.argmax(axis=0), len(tokens) - 1 - begins[::-1].argmax(axis=0)  # (M,), (M,)
    return _Columns(
        prop=prop,
        role=role,
        pred=scores.pred[prop],
        length=scores.lengths[prop],
        start=start,
        end=end,
        null=null,
        offset=scores.log_z[prop, role].astype(np.float64) if by_prob else np.zeros(len(prop)),
        best_from=best_from,
        begins=begins,
        ends=ends,
        may_repeat=first_end < last_begin,
    )


def _running_max(values: Floats, free: Bools) -> Floats:
    """The maximum along axis 0 up to each place; −inf where not free, and begun anew after that."""
    out = np.where(free, values, -np.inf).astype(np.float64, copy=False)
    for t in range(1, len(out)):
        np.maximum(out[t], out[t - 1], out=out[t], where=free[t])
    return out


def _rank(scores: Floats, null: Floats, offset: Floats) -> Floats:
    """What spans with the scores F are sorted by; −inf for those that are no candidates."""
    return np.where(scores > null, scores - offset, -np.inf)


def _best_candidates(columns: _Columns) -> tuple[Ints, Ints]:
    """First and last token of each column's best candidate: (M,), (M,)."""
    null, offset = columns.null, columns.offset
    first = _rank(columns.best_from, null, offset).argmax(axis=0)  # (M,)
    stop = np.where(first < columns.pred, columns.pred, columns.length)  # (M,)
    tokens = np.arange(len(columns.start))[:, None]
    to = np.where((first <= tokens) & (tokens < stop), columns.end, -np.inf)  # (T, M)
    last = _rank(columns.start[first, np.arange(len(first))] + to, null, offset).argmax(axis=0)  # (M,)
    return first, last


def _arguments(
    scores: SpanScores, roles: Sequence[str], columns: _Columns, picks: Sequence[_Pick]
) -> list[tuple[Argument, ...]]:
    column, first, last = np.array(picks, dtype=np.intp).reshape(-1, 3).T  # (P,) each
    prop, role = columns.prop[column], columns.role[column]
    log_prob = columns.start[first, column] + columns.end[last, column] - scores.log_z[prop, role]
    prob = np.exp(np.minimum(log_prob, 0.0))  # a log Z of single precision may be a little too small
    order = np.lexsort((role, last, first))
    found: list[list[Argument]] = [[] for _ in scores.pred]
    for n, r, i, j, p in zip(*(x[order].tolist() for x in (prop, role, first, last, prob)), strict=True):
        found[n].append(Argument(roles[r], Span(i, j + 1), p))
    return [tuple(args) for args in found]


# Search under constraints, for the propositions that need it.


def _needs_search(columns: _Columns, first: Ints, last: Ints, core: Bools) -> Bools:
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
class _Problem:
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

    def pick(self, k: int, first: int, last: int) -> _Pick:
        """Column k from the `first` to the `last` of the tokens, in the terms of the whole batch."""
        return _Pick(self.columns[k], self.tokens[first], self.tokens[last])


def _problem(columns: _Columns, core: Bools, prop: int) -> _Problem:
    begin, stop = np.searchsorted(columns.prop, (prop, prop + 1)).tolist()
    part = slice(begin, stop)
    tokens = np.flatnonzero((columns.begins[:, part] | columns.ends[:, part]).any(axis=1))
    return _Problem(
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


def _search_greedily(problem: _Problem) -> list[_Pick]:
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


def _best_within(
    problem: _Problem, null: Floats, begin: int, stop: int
) -> tuple[float, int, int, int] | None:
    """The best candidate within begin .. stop-1 as (−rank, first, last, k), in the order of the search."""
    start, end = problem.start[begin:stop], problem.end[begin:stop]
    reach = np.maximum.accumulate(end[::-1])[::-1]  # (stop - begin, m)
    rank = _rank(start + reach, null, problem.offset)
    first = int(rank.argmax()) // len(null)
    rank = _rank(start[first] + end[first:], null, problem.offset)  # (stop - begin - first, m)
    width, k = divmod(int(rank.argmax()), len(null))
    best = float(rank[width, k])
    return None if best == -np.inf else (-best, begin + first, begin + first + width, k)


def _search_exactly(problem: _Problem) -> list[_Pick]:
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


def _trace_back(problem: _Problem, closed_role: Ints, closed_from: Ints, without: Ints) -> list[_Pick]:
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


# Tag sequences.


class TagPaths(NamedTuple):
    """The best tag sequence of each proposition, −1 at padding, and its score."""

    tags: Ints  # (N, T)
    scores: Floats  # (N,)


def viterbi(
    emissions: Floats,
    transitions: Floats,
    start_scores: Floats,
    end_scores: Floats | None = None,
    *,
    lengths: Ints,
) -> TagPaths:
    """The best path through emissions (N, T, K); `transitions` (K, K) goes from row to column.

    A forbidden transition or first tag is −inf (see `bio_transitions`). Ties go to the smaller tag, from the
    last token backwards. To fix a tag known beforehand, as the predicate's O, set the emissions of the others
    to −inf.
    """
    N, T, K = emissions.shape
    if transitions.shape != (K, K):
        raise DataError(f"{K} tags need transitions of the shape {(K, K)}, found {transitions.shape}")
    dtype = np.result_type(emissions, transitions, np.float32)
    reached = np.empty((T, N, K), dtype)  # the best path to each tag
    with np.errstate(invalid="ignore"):  # padding may be infinite
        for t in range(T):
            before = (reached[t - 1][:, :, None] + transitions).max(axis=1) if t else start_scores
            reached[t] = np.where((t < lengths)[:, None], before + emissions[:, t], reached[t - 1])
    final = reached[-1] if end_scores is None else reached[-1] + end_scores  # (N, K)

    tags = np.full((N, T), -1)
    tag = final.argmax(axis=1)  # (N,)
    for t in reversed(range(T)):
        # Which tag came before is found again for the one path, instead of kept for all.
        going_on = t + 1 < lengths
        step = (reached[t] + transitions[:, tag].T).argmax(axis=1)
        tag = np.where(going_on, step, tag)
        tags[:, t] = np.where(t < lengths, tag, -1)
    return TagPaths(tags, final.max(axis=1))


def bio_transitions(tags: Sequence[str]) -> tuple[Bools, Bools]:
    """Which tag may follow which (K, K), row before column, and which may come first (K,).

    I-X follows B-X or I-X only; every other tag may stand anywhere.
    """
    inside = np.array([tag.startswith("I-") for tag in tags], dtype=bool)
    role = np.array([tag.partition("-")[2] for tag in tags])
    return ~inside | (role[:, None] == role), ~inside


def arguments_from_tags(
    tag_ids: Ints, tags: Sequence[str], *, lengths: Ints, pred: Ints
) -> list[tuple[Argument, ...]]:
    """The arguments that tag sequences (N, T) of ids into `tags` stand for, without probabilities.

    An I-X that continues no X begins one. A span that covers its predicate cannot be an argument: it is left
    out. A core role may come twice, as nothing in a tag sequence forbids it.
    """
    found = []
    for ids, length, p in zip(tag_ids.tolist(), lengths.tolist(), pred.tolist(), strict=True):
        phrases = phrases_from_bio([tags[k] for k in ids[:length]])
        found.append(
            tuple(Argument(role, Span(start, end)) for role, start, end in phrases if not start <= p < end)
        )
    return found


@dataclass(frozen=True, slots=True)
class TagScores:
    """Scores of a CRF over K = 1 + 2R tags: O, then B-r and I-r for each role r; padding never matters."""

    emissions: Floats  # (N, T, K)
    transitions: Floats  # (K, K), from row to column; −inf where forbidden
    first: Floats  # (K,): scores of the first tag
    lengths: Ints  # (N,)
    pred: Ints  # (N,)


def decode_tags(scores: TagScores, roles: Sequence[str]) -> list[tuple[Argument, ...]]:
    """The arguments of the best tag sequence in which the predicate is O; probabilities are not known."""
    tags = ["O", *(f"{prefix}-{role}" for role in roles for prefix in "BI")]
    emissions = scores.emissions.copy()
    emissions[np.arange(len(scores.pred)), scores.pred, 1:] = -np.inf
    best = viterbi(emissions, scores.transitions, scores.first, lengths=scores.lengths)
    return arguments_from_tags(best.tags, tags, lengths=scores.lengths, pred=scores.pred)
