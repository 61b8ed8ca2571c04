"""What decoders are given: the scores of spans or of tag sequences, as NumPy arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spansrl.errors import DataError

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.integer[Any]]
Bools = NDArray[np.bool_]


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


@dataclass(frozen=True, slots=True)
class TagScores:
    """Scores of a CRF over K = 1 + 2R tags: O, then B-r and I-r for each role r; padding never matters."""

    emissions: Floats  # (N, T, K)
    transitions: Floats  # (K, K), from row to column; −inf where forbidden
    first: Floats  # (K,): scores of the first tag
    lengths: Ints  # (N,)
    pred: Ints  # (N,)


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
