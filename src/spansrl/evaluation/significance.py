"""Is system A better than system B? Paired tests over sentences on the difference in overall F1.

Both tests use only the counts of each sentence, or of each document, since sentences of one document are not
independent (`sum_by_document`). The *paired bootstrap* draws them with replacement and measures how much the
difference varies between samples. *Approximate randomization* swaps the two systems' answers on random ones
and measures how large a difference equal systems show. Both p-values are two-sided, with one added to
numerator and denominator, so that none is 0.

A system may have several runs with different seeds. Its F1 is then their mean, and the bootstrap draws runs
as well as sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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
    """Overall F1 of two systems, their difference A − B with its 95% interval, and its p-values.

    `randomization_p` is None if a system has several runs.
    """

    f1_a: float
    f1_b: float
    difference: float
    low: float
    high: float
    bootstrap_p: float
    randomization_p: float | None
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


def perfect_counts(
    gold: Iterable[Scorable], *systems: Iterable[Scorable], match: Match = "index"
) -> npt.NDArray[np.int64]:
    """Perfect and other propositions of each system on each sentence: (systems, sentences, 3).

    The others count as excess and as missed, so that the F1 of these counts is the share of perfect ones.
    """
    rows = []
    for gold_frames, found in aligned(gold, *systems):
        for frames in found:
            pairings = [pair(own, other) for _, own, other in propositions(gold_frames, frames, match)]
            wrong = sum(
                any(arg.role != VERB for arg in (*pairing.excess, *pairing.missed)) for pairing in pairings
            )
            rows.append([len(pairings) - wrong, wrong, wrong])
    return np.array(rows, dtype=np.int64).reshape(-1, len(systems), 3).transpose(1, 0, 2)


def sum_by_document(counts: npt.NDArray[np.int64], documents: Sequence[str]) -> npt.NDArray[np.int64]:
    """Counts (…, sentences, 3) as counts (…, documents, 3), given the document of each sentence."""
    names, index = np.unique(np.asarray(documents), return_inverse=True)
    totals = np.zeros((*counts.shape[:-2], len(names), counts.shape[-1]), dtype=counts.dtype)
    for k in range(len(names)):
        totals[..., k, :] = counts[..., index == k, :].sum(axis=-2)
    return totals


def adjust_holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the same order: those up to α control the family's error rate at α."""
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, k in enumerate(sorted(range(len(p_values)), key=lambda k: p_values[k])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[k]))
        adjusted[k] = highest
    return adjusted


def compare_counts(
    counts_a: npt.ArrayLike, counts_b: npt.ArrayLike, *, samples: int = 10_000, seed: int = 0
) -> Comparison:
    """Compare two systems by their counts of correct, excess and missed arguments.

    The counts are arrays (sentences, 3), or (runs, sentences, 3) for systems with several runs.
    """
    a, b = (np.asarray(counts, dtype=np.float64) for counts in (counts_a, counts_b))
    if min(a.ndim, b.ndim) < 2 or a.shape[-2:] != b.shape[-2:] or a.shape[-1] != 3:
        raise DataError(
            f"expected counts (sentences, 3) of the same sentences, found {a.shape} and {b.shape}"
        )
    size = a.shape[-2]
    if not size:
        raise DataError("no sentences to compare the systems on")
    if samples < 1:
        raise DataError(f"the number of samples must be 1 or more, found {samples}")
    rng = np.random.default_rng(seed)
    a, b = a.reshape(-1, size, 3), b.reshape(-1, size, 3)
    f1_a, f1_b = (float(f1_of(counts.sum(1)).mean()) for counts in (a, b))
    difference = f1_a - f1_b
    drawn = _bootstrap(a, b, samples, rng)
    low, high = np.percentile(drawn, [2.5, 97.5])
    swapped = _randomize(a[0], b[0], samples, rng) if len(a) == len(b) == 1 else None
    return Comparison(
        f1_a=f1_a,
        f1_b=f1_b,
        difference=difference,
        low=float(low),
        high=float(high),
        bootstrap_p=_share_at_least(np.abs(drawn - difference), abs(difference)),
        randomization_p=None if swapped is None else _share_at_least(np.abs(swapped), abs(difference)),
        sentences=size,
        samples=samples,
        seed=seed,
    )


def _bootstrap(a: Array, b: Array, samples: int, rng: np.random.Generator) -> Array:
    """Return the difference in F1 on many samples of sentences and runs, drawn with replacement."""
    size = a.shape[1]

    def difference(n: int) -> Array:
        drawn = rng.integers(0, size, (n, size)) + np.arange(n)[:, None] * size
        times = np.bincount(drawn.ravel(), minlength=n * size).reshape(n, size).astype(np.float64)
        return _sampled_f1(times, a, rng) - _sampled_f1(times, b, rng)

    return _in_chunks(difference, samples, size)


def _sampled_f1(times: Array, runs: Array, rng: np.random.Generator) -> Array:
    """Return the mean F1 of a sample of the runs (R, S, 3) on each sample (n, S) of the sentences: (n,)."""
    totals = times @ runs.transpose(1, 0, 2).reshape(times.shape[1], -1)  # (n, R × 3)
    f1 = f1_of(totals.reshape(len(times), -1, 3))  # (n, R)
    if len(runs) == 1:
        return f1[:, 0]
    drawn = rng.integers(len(runs), size=f1.shape)
    return np.asarray(np.take_along_axis(f1, drawn, axis=1).mean(axis=1))


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
