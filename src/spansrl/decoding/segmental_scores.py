"""The segmental model: one distribution over labelings of the sentence into arguments and outside tokens.

A labeling scores Σ F over its spans plus Σ outside over its other tokens; no span covers the predicate. Every
sum over labelings takes linear time, because an open span only has to remember its role, and the marginal of
a span is again a start score plus an end score: [A(i) + s_r(i)] + [e_r(j) + K(j + 1)] − log Z.

- `greedy` and `argmax` choose spans whose marginal probability exceeds 0.5;
- `exact` and `constrained` find the most probable labeling, with core roles unique (and C- and R- linked).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from spansrl.decoding.candidates import SearchScores
from spansrl.decoding.scores import Arrays, Decoder, Floats, Ints, Order, StartEnd, fit_to_roles
from spansrl.decoding.spans import arguments, search_spans
from spansrl.inventory.roles import RoleTable
from spansrl.structures import Argument


@dataclass(frozen=True, slots=True)
class SegmentalScores(StartEnd):
    """F(i, j, r) = start + end, and the scores of tokens outside all arguments."""

    outside: Floats = field(kw_only=True)  # (N, T)
    handicap: Floats | float = 0.0  # (N, 1)

    def __post_init__(self) -> None:
        StartEnd.__post_init__(self)  # not super(), which slots break
        self.check_shape("outside", self.start.shape[:2])

    @classmethod
    def from_arrays(cls, arrays: Arrays, lengths: Ints, pred: Ints) -> SegmentalScores:
        return cls(arrays["start"], arrays["end"], lengths, pred, outside=arrays["outside"])

    def decode(
        self, roles: RoleTable, *, decoder: Decoder = "greedy", order: Order = "prob"
    ) -> list[tuple[Argument, ...]]:
        """The arguments of each proposition, with their marginals; greedy search goes by these."""
        own = fit_to_roles(self, roles, (len(self.pred), self.start.shape[2]), decoder, order)
        marginals = own.marginals()
        scores = own._most_probable() if decoder in ("exact", "constrained") else own._likely(marginals)
        chosen = search_spans(scores, roles, decoder)
        return arguments(chosen, roles, len(self.pred), marginals.log_prob)

    def _likely(self, marginals: Marginals) -> SearchScores:
        """Spans whose marginal exceeds 0.5, or less by the handicap: log-odds above −handicap."""
        null = -np.logaddexp(0.0, self.handicap)
        return SearchScores(marginals.start, marginals.end, null, 0.0, self.lengths, self.pred)

    def _most_probable(self) -> SearchScores:
        """What a span gains over leaving its tokens outside, which is a start plus an end score too."""
        outside = np.concatenate(
            [np.zeros((len(self.pred), 1)), np.cumsum(self.outside, axis=1, dtype=np.float64)], axis=1
        )[:, :, None]  # (N, T + 1, 1)
        with np.errstate(invalid="ignore"):  # padding may be infinite
            start, end = self.start + outside[:, :-1], self.end - outside[:, 1:]  # (N, T, R) each
        return SearchScores(start, end, -self.handicap, 0.0, self.lengths, self.pred)

    def gain(self, prop: Ints, role: Ints, first: Ints, last: Ints) -> Floats:
        """What chosen spans (P,) add to the score of a labeling, over leaving their tokens outside."""
        scores = self._most_probable()
        return scores.start[prop, first, role] + scores.end[prop, last, role]

    def marginals(self) -> Marginals:
        """Log-marginals of all spans, in a factorized form."""
        start, end, outside = (part.astype(np.float64) for part in (self.start, self.end, self.outside))
        N, T, _ = start.shape
        # The scores of padding are never used, but they may be infinite.
        padding = np.arange(T) >= self.lengths[:, None]  # (N, T)
        start[padding] = end[padding] = -np.inf
        outside[padding] = 0.0
        rows, covered = np.arange(N), self.pred
        before = np.zeros((N, T + 1))  # A
        opened = np.full_like(start[:, 0], -np.inf)  # B
        for t in range(T):
            opened = np.logaddexp(opened, before[:, t, None] + start[:, t])
            opened[rows[covered == t]] = -np.inf
            closed = np.logaddexp.reduce(opened + end[:, t], axis=1, initial=-np.inf)
            before[:, t + 1] = np.logaddexp(before[:, t] + outside[:, t], closed)
        after = np.zeros((N, T + 1))  # K
        closing = np.full_like(opened, -np.inf)  # C
        for t in reversed(range(T)):
            closing = np.logaddexp(closing, end[:, t] + after[:, t + 1, None])
            closing[rows[covered == t]] = -np.inf
            ending = np.logaddexp.reduce(closing + start[:, t], axis=1, initial=-np.inf)
            after[:, t] = np.logaddexp(after[:, t + 1] + outside[:, t], ending)
        log_z = before[:, -1, None, None]
        return Marginals(start + before[:, :-1, None] - log_z, end + after[:, 1:, None], before[:, -1])

    def with_handicap(self, handicap: Floats) -> SegmentalScores:
        return replace(self, handicap=self.handicap + handicap[:, None])


class Marginals(NamedTuple):
    """log P(i, j, r) = start + end, for spans that do not cover the predicate; log Z is in `start`."""

    start: Floats  # (N, T, R)
    end: Floats  # (N, T, R)
    log_z: Floats  # (N,)

    def log_prob(self, prop: Ints, role: Ints, first: Ints, last: Ints) -> Floats:
        """log P of chosen spans (P,)."""
        return self.start[prop, first, role] + self.end[prop, last, role]
