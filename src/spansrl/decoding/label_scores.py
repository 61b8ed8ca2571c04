"""Label selection: within each span, a softmax over the roles and "no role" (He et al. 2018).

"No role" scores 0, so a span is a candidate for a role where F > 0. The normalizer belongs to the span:
log P(r | i, j) = F(i, j, r) − log(1 + Σ_r' exp F(i, j, r')).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from spansrl.decoding.candidates import SearchScores
from spansrl.decoding.scores import Arrays, Decoder, Floats, Ints, Order, StartEnd, fit_to_roles
from spansrl.decoding.searching import take_in_order
from spansrl.decoding.spans import Chosen, arguments, search_spans
from spansrl.inventory.roles import RoleTable
from spansrl.structures import Argument


@dataclass(frozen=True, slots=True)
class LabelScores(StartEnd):
    """F(i, j, r) = start + end, compared with 0 within each span."""

    handicap: Floats | float = 0.0  # (N, 1)

    @classmethod
    def from_arrays(cls, arrays: Arrays, lengths: Ints, pred: Ints) -> LabelScores:
        return cls(arrays["start"], arrays["end"], lengths, pred)

    def decode(
        self, roles: RoleTable, *, decoder: Decoder = "greedy", order: Order = "prob"
    ) -> list[tuple[Argument, ...]]:
        own = fit_to_roles(self, roles, (len(self.pred), self.start.shape[2]), decoder, order)
        if decoder == "marginals" or (decoder in ("greedy", "argmax") and order == "prob"):
            chosen = own._search_by_prob(roles, decoder)
        else:
            scores = SearchScores(own.start, self.end, -self.handicap, 0.0, self.lengths, self.pred)
            chosen = search_spans(scores, roles, decoder)
        return arguments(chosen, roles, len(self.pred), own.log_prob)

    def _search_by_prob(self, roles: RoleTable, decoder: Decoder) -> Chosen:
        core = roles.mask((len(self.pred), self.start.shape[2]), lambda role: role.is_core)
        found = []
        for n in range(len(self.pred)):
            candidates = self._candidates(n)
            role, first, last = candidates
            log_prob = self.log_prob(np.full_like(role, n), role, first, last)
            found += [
                (n, *pick)
                for pick in take_in_order(candidates, log_prob, core[n], argmax=decoder == "argmax")
            ]
        return Chosen(*np.array(found, dtype=np.intp).reshape(-1, 4).T)

    def _candidates(self, n: int) -> tuple[Ints, Ints, Ints]:
        """Role, first and last token of the spans that score above "no role"; one row of spans at a time."""
        length, p = int(self.lengths[n]), int(self.pred[n])
        least = -np.broadcast_to(self.handicap, (len(self.pred), 1))[n, 0]
        parts = []
        for i in range(length):
            stop = length if i > p else p
            score = self.start[n, i].astype(np.float64) + self.end[n, i:stop]  # (stop − i, R)
            width, role = np.nonzero(score > least)
            parts.append((role, np.full_like(role, i), i + width))
        role, first, last = (np.concatenate(part) for part in zip(*parts, strict=True))
        return role, first, last

    def log_prob(self, prop: Ints, role: Ints, first: Ints, last: Ints) -> Floats:
        """log P(r | i, j) of chosen spans (P,)."""
        out = np.empty(len(prop))
        for k in range(0, len(prop), 4096):
            part = slice(k, k + 4096)
            scores = self.start[prop[part], first[part]].astype(np.float64) + self.end[prop[part], last[part]]
            log_z = np.logaddexp(0.0, np.logaddexp.reduce(scores, axis=1))
            out[part] = scores[np.arange(len(scores)), role[part]] - log_z
        return out

    def gain(self, prop: Ints, role: Ints, first: Ints, last: Ints) -> Floats:
        return self.span_scores(prop, role, first, last)

    def with_handicap(self, handicap: Floats) -> LabelScores:
        return replace(self, handicap=self.handicap + handicap[:, None])
