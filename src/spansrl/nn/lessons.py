"""What teachers predict for a corpus: which tokens are predicates, their senses and their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spansrl.arrays import IntArray, Ragged, offsets_of


@dataclass(frozen=True, slots=True)
class Lessons:
    """Distributions of teachers over S sentences with P predicates; all numbers are in half precision."""

    classes: Ragged  # a row per sentence: (T, K) of each token's classes, class 0 being no predicate
    prop_offsets: IntArray  # (S + 1,) predicates of sentence s
    pred: IntArray  # (P,)
    candidates: IntArray  # (P, C) senses to choose from; −1 beyond a predicate's own
    senses: npt.NDArray[Any]  # (P, C) of the candidates; zero where there is nothing to choose
    targets: Ragged  # a row per predicate: (T, c) of the arguments, see `outputs.base`

    @property
    def n_props(self) -> int:
        """P"""
        return len(self.pred)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Named arrays from which `from_arrays` rebuilds the lessons."""
        return {
            "classes": self.classes.values,
            "lengths": self.classes.lengths,
            "prop_offsets": self.prop_offsets,
            "pred": self.pred,
            "candidates": self.candidates,
            "senses": self.senses,
            "targets": self.targets.values,
        }

    @classmethod
    def from_arrays(cls, arrays: Any) -> Lessons:
        """Lessons from the arrays of `arrays`."""
        lengths, prop_offsets = arrays["lengths"], arrays["prop_offsets"]
        of_props = np.repeat(lengths, np.diff(prop_offsets))  # (P,) tokens
        return cls(
            classes=Ragged(arrays["classes"], offsets_of(lengths)),
            prop_offsets=prop_offsets,
            pred=arrays["pred"],
            candidates=arrays["candidates"],
            senses=arrays["senses"],
            targets=Ragged(arrays["targets"], offsets_of(of_props)),
        )

    @classmethod
    def joined(cls, parts: Sequence[Lessons]) -> Lessons:
        """The lessons of several corpora, one after the other."""
        return cls.from_arrays(joined_arrays([part.arrays() for part in parts]))

    def taken(self, rows: IntArray) -> Lessons:
        """The lessons on some of the sentences, in the given order."""
        counts = np.diff(self.prop_offsets)[rows]
        props = ranges(self.prop_offsets[rows], counts)
        return Lessons(
            classes=_chosen(self.classes, rows),
            prop_offsets=offsets_of(counts),
            pred=self.pred[props],
            candidates=self.candidates[props],
            senses=self.senses[props],
            targets=_chosen(self.targets, props),
        )


def joined_arrays(parts: Sequence[dict[str, npt.NDArray[Any]]]) -> dict[str, npt.NDArray[Any]]:
    """The arrays of several lessons as those of one; all must have the same names."""
    widest = max(part["candidates"].shape[1] for part in parts)
    changed = []
    for part in parts:
        missing = ((0, 0), (0, widest - part["candidates"].shape[1]))
        candidates = np.pad(part["candidates"], missing, constant_values=-1)
        senses, counts = np.pad(part["senses"], missing), np.diff(part["prop_offsets"])
        changed.append(part | {"candidates": candidates, "senses": senses, "prop_offsets": counts})
    whole = {name: np.concatenate([part[name] for part in changed]) for name in changed[0]}
    return whole | {"prop_offsets": offsets_of(whole["prop_offsets"])}


def _chosen(rows: Ragged, indices: IntArray) -> Ragged:
    lengths = rows.lengths[indices]
    return Ragged(rows.values[ranges(rows.offsets[indices], lengths)], offsets_of(lengths))


def ranges(first: IntArray, counts: IntArray) -> IntArray:
    """first[0], first[0] + 1, …, counts[0] of them, then the same for first[1], and so on"""
    within = np.arange(counts.sum()) - np.repeat(offsets_of(counts)[:-1], counts)
    return np.asarray(np.repeat(first, counts) + within)
