"""Ragged rows in one flat array, padded batches of them without Python loops, and strings as ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Ragged:
    """Row k is `values[offsets[k]:offsets[k + 1]]`; `values` may be memory-mapped."""

    values: npt.NDArray[Any]  # (total, ...)
    offsets: IntArray  # (rows + 1,)

    @classmethod
    def of(cls, rows: Sequence[npt.NDArray[Any]], *, like: npt.NDArray[Any]) -> Ragged:
        """The rows joined; `like` (an empty array) gives dtype and item shape if `rows` is empty."""
        lengths = [len(row) for row in rows]
        return cls(np.concatenate(rows) if rows else like, offsets_of(lengths))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> IntArray:
        """(rows,)"""
        return np.diff(self.offsets)

    def padded(self, rows: IntArray) -> npt.NDArray[Any]:
        """The chosen rows as (len(rows), longest, ...); padding repeats a valid value and must be masked."""
        first = self.offsets[rows]
        lengths = self.offsets[rows + 1] - first
        steps = np.arange(max(1, lengths.max(initial=0)))
        within = np.minimum(steps, np.maximum(lengths - 1, 0)[:, None])  # (len(rows), longest)
        return np.asarray(self.values[first[:, None] + within])


def offsets_of(lengths: Sequence[int] | IntArray) -> IntArray:
    """The start of each row, and the end of the last one, from the lengths of the rows."""
    return np.concatenate([[0], np.cumsum(np.asarray(lengths, dtype=np.int64))]).astype(np.int64)


UNKNOWN = "<unknown>"  # the word for all words without a vector


class Vocabulary:
    """An ordered set of strings; `ids` maps a sequence to integers, strings not in it to `unknown`."""

    def __init__(self, items: Iterable[str], *, unknown: int | None = None) -> None:
        self.items = tuple(items)
        self.index = {item: k for k, item in enumerate(self.items)}
        self.unknown = unknown

    def __len__(self) -> int:
        return len(self.items)

    def ids(self, items: Sequence[str]) -> npt.NDArray[np.int64]:
        """Ids of the items; raises KeyError for a foreign one unless there is an id for unknown ones."""
        if self.unknown is None:
            return np.fromiter((self.index[item] for item in items), np.int64, len(items))
        get, unknown = self.index.get, self.unknown
        return np.fromiter((get(item, unknown) for item in items), np.int64, len(items))


def frequent_words(sentences: Iterable[Sequence[str]], min_count: int) -> tuple[str, ...]:
    """Lower-cased words that occur at least `min_count` times, most frequent first."""
    counts = Counter(token.lower() for tokens in sentences for token in tokens)
    kept = [(-n, word) for word, n in counts.items() if n >= min_count]
    return tuple(word for _, word in sorted(kept))
