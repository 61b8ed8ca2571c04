"""Is system A better than system B? Paired tests over sentences on the difference in overall F1.

Both tests use only the counts of each sentence. The *paired bootstrap* draws sentences with replacement and
measures how much the difference varies between samples. *Approximate randomization* swaps the two systems'
answers on random sentences and measures how large a difference equal systems show. Both p-values are
two-sided, with one added to numerator and denominator, so that none is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spansrl.errors import DataError
from spansrl.evaluation.counts import Match, Scorable, aligned, pair, propositions
from spansrl.tags import VERB

Array = npt.NDArray[np.float64]

_CHUNK_CELLS = 1 << 22  # samples x sentences held in memory at once
_TIE = 1e-9  # differences smaller than this are due to rounding


@dataclass(frozen=True, slots=True)
class Comparison:
    """Overall F1 of two systems, their difference A − B with its 95 % interval, and its p-values."""

    f1_a: float
    f1_b: float
    difference: float
    low: float
    high: float
    bootstrap_p: float
    randomization_p: float
    sentences: int
    samples: int
    seed: int

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def compare(
    gold: Iterable[Scorable],
    a: Iterable[Scorable],
    b: Iterable[Scorable],
    *,
    match: Match = "index",
    samples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Compare systems A and B on the same gold sentences; the same seed gives the same answer."""
    counts_a, counts_b = sentence_counts(gold, a, b, match=match)
    return compare_counts(counts_a, counts_b, samples=samples, seed=seed)


def sentence_counts(
    gold: Iterable[Scorable], *systems: Iterable[Scorable], match: Match = "index"
) -> npt.NDArray[np.int64]:
    """Overall (correct, excess, missed) of each system on each sentence: (systems, sentences, 3)."""
    rows = []
    for gold_frames, found in aligned(gold, *systems):
        for frames in found:
            row = [0, 0, 0]
            for _, gold_args, predicted_args in propositions(gold_frames, frames, match):
                pairing = pair(gold_args, predicted_args)
                row[0] += sum(arg.role != VERB for arg, _ in pairing.matched)
                row[1] += sum(arg.role != VERB for arg in pairing.excess)
                row[2] += sum(arg.role != VERB for arg in pairing.missed)
            rows.append(row)
    counts = np.array(rows, dtype=np.int64).reshape(-1, len(systems), 3)
    return counts.transpose(1, 0, 2)


def compare_counts(
    counts_a: npt.ArrayLike, counts_b: npt.ArrayLike, *, samples: int = 10_000, seed: int = 0
) -> Comparison:
    """Compare two systems by their counts, two arrays (sentences, 3) of correct, excess, missed."""
    a, b = np.asarray(counts_a, dtype=np.float64), np.asarray(counts_b, dtype=np.float64)
    if a.ndim != 2 or a.shape[1] != 3 or a.shape != b.shape:
        raise DataError(f"expected two arrays (sentences, 3) of one shape, found {a.shape} and {b.shape}")
    if not len(a):
        raise DataError("no sentences to compare the systems on")
    if samples < 1:
        raise DataError(f"the number of samples must be 1 or more, found {samples}")
    rng = np.random.default_rng(seed)
    f1_a, f1_b = float(f1_of(a.sum(0))), float(f1_of(b.sum(0)))
    difference = f1_a - f1_b
    drawn = _bootstrap(a, b, samples, rng)
    swapped = _randomize(a, b, samples, rng)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return Comparison(
        f1_a=f1_a,
        f1_b=f1_b,
        difference=difference,
        low=float(low),
        high=float(high),
        bootstrap_p=_share_at_least(np.abs(drawn - difference), abs(difference)),
        randomization_p=_share_at_least(np.abs(swapped), abs(difference)),
        sentences=len(a),
        samples=samples,
        seed=seed,
    )


def _bootstrap(a: Array, b: Array, samples: int, rng: np.random.Generator) -> Array:
    """Return the difference in F1 on many samples of the sentences, drawn with replacement."""
    size = len(a)

    def difference(n: int) -> Array:
        drawn = rng.integers(0, size, (n, size)) + np.arange(n)[:, None] * size
        times = np.bincount(drawn.ravel(), minlength=n * size).reshape(n, size).astype(np.float64)
        return f1_of(times @ a) - f1_of(times @ b)

    return _in_chunks(difference, samples, size)


def _randomize(a: Array, b: Array, samples: int, rng: np.random.Generator) -> Array:
    """Return the difference in F1 when the systems' answers are swapped on random halves of the sentences."""
    size, total_a, total_b = len(a), a.sum(0), b.sum(0)

    def difference(n: int) -> Array:
        moved = rng.integers(0, 2, (n, size), dtype=np.int8).astype(np.float64) @ (b - a)
        return f1_of(total_a + moved) - f1_of(total_b - moved)

    return _in_chunks(difference, samples, size)


def _in_chunks(make: Callable[[int], Array], samples: int, size: int) -> Array:
    most = max(1, _CHUNK_CELLS // size)
    return np.concatenate([make(min(most, samples - done)) for done in range(0, samples, most)])


def f1_of(counts: Array) -> Array:
    """Return F1 in percent of (..., 3) counts; 0 where the counts are 0."""
    correct = counts[..., 0]
    whole = 2 * correct + counts[..., 1] + counts[..., 2]
    return np.asarray(200 * correct / np.where(whole > 0, whole, 1))


def _share_at_least(values: Array, limit: float) -> float:
    return (1 + int(np.sum(values >= limit - _TIE))) / (1 + len(values))
