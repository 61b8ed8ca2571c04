"""String <-> id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from spansrl.structures import Sentence

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


def role_inventory(sentences: Iterable[Sentence]) -> tuple[str, ...]:
    return tuple(sorted({arg.role for sent in sentences for prop in sent.props for arg in prop.args}))


def frequent_words(sentences: Iterable[Sequence[str]], min_count: int) -> tuple[str, ...]:
    """Lower-cased words that occur at least `min_count` times, most frequent first."""
    counts = Counter(token.lower() for tokens in sentences for token in tokens)
    kept = [(-n, word) for word, n in counts.items() if n >= min_count]
    return tuple(word for _, word in sorted(kept))
