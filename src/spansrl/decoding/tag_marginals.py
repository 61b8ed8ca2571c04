"""How probable each segment is under a distribution over tag sequences, such as a BIO CRF's.

A segment (i, j, r) is what tags decode to: B-r, or an I-r that continues nothing, and all I-r after it.
With S_r(k) = Σ_{t ≤ k} [ε_I-r(t) + transition(I-r, I-r)], its forward and backward sums separate, so that

    log P(i, j, r) = start(i, r) + end(j, r)    for j > i,

and a segment of one token has a score of its own. Exact, and linear in the length of the sentence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spansrl.decoding.scores import Floats, Ints


@dataclass(frozen=True, slots=True)
class SegmentMarginals:
    """Log-marginals of segments, factorized where they have several tokens; log Z is in `start`."""

    start: Floats  # (N, T, R)
    end: Floats  # (N, T, R)
    single: Floats  # (N, T, R)

    def log_prob(self, prop: Ints, role: Ints, first: Ints, last: Ints) -> Floats:
        """log P of chosen segments (P,)."""
        longer = self.start[prop, first, role] + self.end[prop, last, role]
        return np.asarray(np.where(first == last, self.single[prop, first, role], longer))

    def above(self, n: int, least: float, pred: int, length: int) -> tuple[Ints, Ints, Ints]:
        """Role, first and last token of the segments of a proposition with log P above `least`."""
        start, end, single = (part[n, :length] for part in (self.start, self.end, self.single))
        role, first = np.nonzero(np.transpose(single) > least)
        found = [(role, first, first)]
        for r in np.flatnonzero(start.max(axis=0) + end.max(axis=0) > least).tolist():
            log_prob = start[:, None, r] + end[None, :, r]
            i, j = np.nonzero(np.triu(log_prob > least, k=1))
            beside = (j < pred) | (i > pred)  # the sums do not hold across the predicate
            found.append((np.full(beside.sum(), r), i[beside], j[beside]))
        role, first, last = (np.concatenate(part) for part in zip(*found, strict=True))
        return role, first, last


def segment_marginals(
    emissions: Floats, transitions: Floats, first: Floats, lengths: Ints, pred: Ints
) -> SegmentMarginals:
    """Log-marginals of the segments of tag sequences: emissions (N, T, K), transitions (K, K), first (K,).

    Tag 0 is O and the predicate's; 1 + 2r begins role r, and 2 + 2r continues it.
    """
    N, T, K = emissions.shape
    rows, begins, continues = np.arange(N), np.arange(1, K, 2), np.arange(2, K, 2)
    scores = emissions.astype(np.float64)
    scores[np.arange(T) >= lengths[:, None]] = 0.0  # the scores of padding may be infinite
    scores[rows, pred, 1:] = -np.inf
    weights = np.exp(transitions.astype(np.float64))  # (K, K)
    # An I-r after B-r or I-r continues a segment; after any other tag it begins one.
    entering = weights[:, continues].copy()  # (K, R)
    entering[begins, np.arange(K // 2)] = entering[continues, np.arange(K // 2)] = 0.0
    leaving = weights[1:].copy()  # (2R, K): from B-r and from I-r, to a tag that does not continue r
    leaving[np.arange(K - 1), np.repeat(continues, 2)] = 0.0

    before = np.empty((N, T, K))  # log-sums over the tags up to here, which end with this one
    strays = np.empty((N, T, K // 2))  # the same, where they end with an I-r that begins a segment
    for t in range(T):
        if t:
            before[:, t] = _log_product(before[:, t - 1], weights) + scores[:, t]
            strays[:, t] = _log_product(before[:, t - 1], entering) + scores[:, t, continues]
        else:
            before[:, 0] = first + scores[:, 0]
            strays[:, 0] = before[:, 0, continues]
    log_z = np.logaddexp.reduce(before[rows, lengths - 1], axis=1)[:, None, None]  # (N, 1, 1)

    leave = np.zeros((N, T, K - 1))  # log-sums over the tags after here that do not continue the segment
    after = np.zeros((N, K))  # over all tags after here
    for t in reversed(range(T - 1)):
        inside = (t + 1 < lengths)[:, None]
        following = scores[:, t + 1] + after
        leave[:, t] = np.where(inside, _log_product(following, leaving.T), 0.0)
        after = np.where(inside, _log_product(following, weights.T), 0.0)

    inner = np.where(np.isfinite(scores[:, :, continues]), scores[:, :, continues], 0.0)
    staying = transitions[continues, continues].astype(np.float64)  # (R,)
    so_far = np.cumsum(inner + staying, axis=1)  # S
    opened = before[:, :, begins]
    continued = opened + (transitions[begins, continues] - staying)
    return SegmentMarginals(
        start=np.logaddexp(continued, strays) - so_far - log_z,
        end=so_far + leave[:, :, 1::2],
        single=np.logaddexp(opened + leave[:, :, ::2], strays + leave[:, :, 1::2]) - log_z,
    )


def _log_product(log_values: Floats, weights: Floats) -> Floats:
    """log(exp(values) @ weights): values (N, K), weights (K, M)."""
    peak = log_values.max(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):  # forbidden tags
        return np.asarray(np.log(np.exp(log_values - peak) @ weights) + peak)
