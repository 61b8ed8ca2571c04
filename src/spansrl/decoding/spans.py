"""Span selection: each role's softmax over all spans, decoded by argmax, greedy or exact search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from spansrl.decoding.candidates import Columns, Pick, SearchScores, best_candidates, columns_with_candidates
from spansrl.decoding.scores import Arrays, Bools, Decoder, Floats, Ints, Order, StartEnd, fit_to_roles
from spansrl.decoding.searching import needs_search, problem_of, search_exactly, search_greedily
from spansrl.inventory.roles import Role, RoleTable
from spansrl.structures import Argument, Span

# Log-probabilities (P,) of chosen spans, from their propositions, roles, first and last tokens (P,) each.
LogProbs = Callable[[Ints, Ints, Ints, Ints], Floats]


@dataclass(frozen=True, slots=True)
class SpanScores(StartEnd):
    """F(i, j, r) = start + end, with log Z of each role's softmax over spans; Null is (p, p).

    Rows at or beyond a proposition's length are padding. Within the length, −inf in `start` or `end` forbids
    a boundary; a role that is −inf throughout is ruled out.
    """

    log_z: Floats = field(kw_only=True)  # (N, R)

    def __post_init__(self) -> None:
        StartEnd.__post_init__(self)  # not super(), which slots break
        self.check_shape("log_z", (len(self.pred), self.start.shape[2]))

    @classmethod
    def from_arrays(cls, arrays: Arrays, lengths: Ints, pred: Ints) -> SpanScores:
        start, end = arrays["start"], arrays["end"]
        return cls(start, end, lengths, pred, log_z=log_partition(start, end, lengths))

    @property
    def null(self) -> Floats:
        """F(p, p, r): (N, R)"""
        rows = np.arange(len(self.pred))
        return self.start[rows, self.pred].astype(np.float64) + self.end[rows, self.pred]

    def decode(
        self, roles: RoleTable, *, decoder: Decoder = "greedy", order: Order = "prob"
    ) -> list[tuple[Argument, ...]]:
        own = fit_to_roles(self, roles, self.log_z.shape, decoder, order)
        by_prob = decoder == "marginals" or (decoder == "greedy" and order == "prob")
        offset = self.log_z if by_prob else 0.0
        scores = SearchScores(own.start, self.end, self.null, offset, self.lengths, self.pred)
        picks = search_spans(scores, roles, decoder)
        return arguments(picks, roles, len(self.pred), self.log_prob)

    def log_prob(self, prop: Ints, role: Ints, first: Ints, last: Ints) -> Floats:
        """log P of chosen spans (P,), each among those that do not overlap the role's other chosen spans.

        Several arguments of one role share the mass of its softmax, so P(i, j | r) of each would be at most
        one half for two of them, however certain they are.
        """
        log_z = self.log_z[prop, role].astype(np.float64)  # (P,)
        column = prop * self.start.shape[2] + role  # (P,)
        for repeated in np.flatnonzero(np.bincount(column) > 1):
            own = np.flatnonzero(column == repeated)
            log_z[own] = self._log_z_beside(int(prop[own[0]]), int(role[own[0]]), first[own], last[own])
        return self.span_scores(prop, role, first, last) - log_z

    def _log_z_beside(self, n: int, r: int, first: Ints, last: Ints) -> Floats:
        """log Z of a role beside its K chosen spans: for each, over the spans that overlap no other (K,)."""
        start, end = (part[n, : self.lengths[n], r].astype(np.float64) for part in (self.start, self.end))

        def log_z(begin: int, stop: int) -> float:
            return float(_log_partition_of_columns(start[None, begin:stop], end[None, begin:stop])[0])

        order = np.argsort(first)
        begins, stops = [0, *(last[order] + 1).tolist()], [*first[order].tolist(), len(start)]
        gaps = [log_z(begin, stop) for begin, stop in zip(begins, stops, strict=True)]  # K + 1 between them
        around = [log_z(begin, stop) for begin, stop in zip(begins[:-1], stops[1:], strict=True)]  # K
        out = np.empty(len(order))
        for k, own in enumerate(order.tolist()):  # its own span joins the gaps on both sides of it
            out[own] = np.logaddexp.reduce([*gaps[:k], around[k], *gaps[k + 2 :]])
        return out

    def gain(self, prop: Ints, role: Ints, first: Ints, last: Ints) -> Floats:
        """F(i, j, r) − F(p, p, r) of chosen spans (P,)."""
        return self.span_scores(prop, role, first, last) - self.null[prop, role]

    def with_handicap(self, handicap: Floats) -> SpanScores:
        """Lower the score of Null: nothing else that may be chosen begins at the predicate."""
        start = self.start.copy()
        start[np.arange(len(self.pred)), self.pred] -= handicap[:, None]
        return replace(self, start=start)


class Chosen(NamedTuple):
    prop: Ints  # (P,)
    role: Ints  # (P,)
    first: Ints  # (P,) tokens, both inclusive
    last: Ints  # (P,)


def search_spans(scores: SearchScores, roles: RoleTable, decoder: Decoder) -> Chosen:
    """The candidates that a decoder chooses."""
    if not scores.start.size:
        return Chosen(*[np.zeros(0, dtype=np.intp)] * 4)
    columns = columns_with_candidates(scores)
    first, last = best_candidates(columns)  # (M,), (M,)
    picks = list(map(Pick, range(len(first)), first.tolist(), last.tolist()))
    if decoder != "argmax":
        where, shape = (columns.prop, columns.role), (len(scores.pred), scores.start.shape[2])
        core = roles.mask(shape, lambda role: role.is_core)[where]  # (M,)
        hard = needs_search(columns, first, last, core)  # (N,)
        if decoder == "constrained":
            hard[columns.prop[roles.mask(shape, lambda role: role.base != role.name)[where]]] = True
        picks = [picks[column] for column in np.flatnonzero(~hard[columns.prop])]
        for prop in np.flatnonzero(hard).tolist():
            picks.extend(_search(columns, core, prop, roles.of(prop), decoder))
    column, first, last = np.array(picks, dtype=np.intp).reshape(-1, 3).T  # (P,) each
    return Chosen(columns.prop[column], columns.role[column], first, last)


def _search(columns: Columns, core: Bools, prop: int, roles: Sequence[Role], decoder: Decoder) -> list[Pick]:
    problem = problem_of(columns, core, prop)
    if decoder in ("greedy", "marginals"):
        return search_greedily(problem)
    if decoder == "exact":
        return search_exactly(problem)
    return search_exactly(problem, [roles[columns.role[column]] for column in problem.columns])


def arguments(
    chosen: Chosen, roles: RoleTable, n_props: int, log_prob: LogProbs
) -> list[tuple[Argument, ...]]:
    """Chosen spans as the arguments of each proposition, sorted by span."""
    # A log Z of single precision may be a little too small.
    prob = np.exp(np.minimum(log_prob(*chosen), 0.0))
    order = np.lexsort((chosen.role, chosen.last, chosen.first))
    found: list[list[Argument]] = [[] for _ in range(n_props)]
    for n, r, i, j, p in zip(*(part[order].tolist() for part in (*chosen, prob)), strict=True):
        found[n].append(Argument(roles.of(n)[r].name, Span(i, j + 1), p))
    return [tuple(args) for args in found]


def log_partition(start: Floats, end: Floats, lengths: Ints) -> Floats:
    """log Z (N, R) of the softmax over all spans of a sentence, including those that cover the predicate.

    Exact and in linear time: Z is the sum over j of exp end(j) times the sum over i <= j of exp start(i), in
    double precision. Where the factored sum is too small for it, logarithms are summed instead.
    """
    outside = np.arange(start.shape[1]) >= lengths[:, None]  # (N, T)
    starts, ends = start.astype(np.float64), end.astype(np.float64)  # (N, T, R) each
    starts[outside] = ends[outside] = -np.inf
    peaks = [part.max(axis=1, keepdims=True, initial=-np.inf) for part in (starts, ends)]  # (N, 1, R) each
    for peak in peaks:
        peak[peak == -np.inf] = 0.0  # a role that is −inf throughout: log Z is −inf, not nan
    begun = np.exp(starts - peaks[0]).cumsum(axis=1)  # (N, T, R)
    total = (begun * np.exp(ends - peaks[1])).sum(axis=1)  # (N, R)
    with np.errstate(divide="ignore"):
        log_z: Floats = np.log(total) + peaks[0][:, 0] + peaks[1][:, 0]
    if len(small := np.argwhere(total < _SMALLEST_SUM)):
        n, r = small.T
        log_z[n, r] = _log_partition_of_columns(starts[n, :, r], ends[n, :, r])
    return log_z


_SMALLEST_SUM = 1e-200  # below it, terms may have been lost to underflow


def _log_partition_of_columns(start: Floats, end: Floats) -> Floats:
    """log Z (M,) of start and end scores (M, T), by logsumexp throughout."""
    by_end = np.logaddexp.accumulate(start, axis=1) + end  # (M, T)
    return np.logaddexp.reduce(by_end, axis=1)
