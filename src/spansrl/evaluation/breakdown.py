"""Counts by role, by length of the argument, and by distance from the predicate.

A correct or missed argument is counted in the bin of the gold argument, an excess one in its own, so the bins
of every breakdown add up to the overall counts. V is left out except in the breakdown by role.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from spansrl.evaluation.counts import Counts, Match, Scorable, aligned, pair, propositions, score
from spansrl.evaluation.scorable import Arg
from spansrl.tags import VERB

By = Literal["role", "length", "distance"]
BREAKDOWNS: tuple[By, ...] = ("role", "length", "distance")

# Name of each bin and the largest number in it; the last one takes the rest.
LENGTH_BINS = (("1", 1), ("2", 2), ("3-5", 5), ("6-10", 10), ("11+", None))
DISTANCE_BINS = (("0", 0), ("1-2", 2), ("3-6", 6), ("7+", None))
_Bins = tuple[tuple[str, int | None], ...]


def breakdown(
    gold: Iterable[Scorable], predicted: Iterable[Scorable], *, by: By, match: Match = "index"
) -> dict[str, Counts]:
    """Return the counts per bin, in the order of the bins, empty bins included."""
    if by == "role":
        return dict(score(gold, predicted, match=match).roles)
    bins, measure = _MEASURES[by]
    correct: Counter[str] = Counter()
    excess: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for gold_frames, (predicted_frames,) in aligned(gold, predicted):
        for pred, gold_args, predicted_args in propositions(gold_frames, predicted_frames, match):
            pairing = pair(gold_args, predicted_args)
            for counter, args in (
                (correct, [arg for arg, _ in pairing.matched]),
                (excess, pairing.excess),
                (missed, pairing.missed),
            ):
                counter.update(bin_of(measure(arg, pred), bins) for arg in args if arg.role != VERB)
    return {name: Counts(correct[name], excess[name], missed[name]) for name, _ in bins}


def length_of(arg: Arg) -> int:
    return sum(end - start for start, end in arg.spans)


def distance_of(arg: Arg, pred: int) -> int:
    return max(0, min(max(start - pred, pred - end + 1) for start, end in arg.spans) - 1)


def bin_of(number: int, bins: _Bins) -> str:
    return next(name for name, largest in bins if largest is None or number <= largest)


_MEASURES: Mapping[By, tuple[_Bins, Callable[[Arg, int], int]]] = {
    "length": (LENGTH_BINS, lambda arg, pred: length_of(arg)),
    "distance": (DISTANCE_BINS, distance_of),
}
