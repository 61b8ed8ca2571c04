"""Features of frozen encoders, computed once per corpus and kept on disk.

A cache file is a plain .npy of shape (tokens, layers, width) in half precision, memory-mapped when read. Its
name consists of the hashes of encoder and corpus: runs share it, and a change in either makes a new one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from spansrl.arrays import Ragged, offsets_of
from spansrl.formats.atomic import atomic_write
from spansrl.inference.batching import batches_by_length
from spansrl.progress import Progress as Progress

Tokens = Sequence[str]


class FeatureSource(Protocol):
    """A frozen encoder that turns sentences into vectors of several layers."""

    n_layers: int
    width: int

    def fingerprint(self) -> str:
        """A hash of everything that decides the features."""

    def compute(self, sentences: Sequence[Tokens]) -> list[npt.NDArray[np.float32]]:
        """(T, n_layers, width) for each sentence; callers pass sentences of similar length."""


def compute_features(
    source: FeatureSource, sentences: Sequence[Tokens], cache: Path | None, progress: Progress | None = None
) -> Ragged:
    """Features of sentences, memory-mapped from the cache, where there is one."""
    path = None
    if cache is not None:
        path = cache / f"{source.fingerprint()[:16]}-{corpus_fingerprint(sentences)[:16]}.npy"
    return cached_rows(
        path,
        [len(tokens) for tokens in sentences],
        (source.n_layers, source.width),
        lambda rows: source.compute([sentences[row] for row in rows]),
        progress,
    )


def cached_rows(
    path: Path | None,
    lengths: Sequence[int],
    item_shape: tuple[int, ...],
    compute: Callable[[list[int]], Sequence[npt.NDArray[np.float32]]],
    progress: Progress | None = None,
) -> Ragged:
    """Rows of the given lengths, which `compute` makes in groups; with a path, once, and memory-mapped."""
    offsets = offsets_of(lengths)
    shape = (int(offsets[-1]), *item_shape)

    def filled(out: npt.NDArray[Any]) -> npt.NDArray[Any]:
        done = 0
        for rows in batches_by_length(lengths, limit=4096, max_rows=256):
            for row, features in zip(rows, compute(rows), strict=True):
                out[offsets[row] : offsets[row + 1]] = features
            done += len(rows)
            if progress is not None:
                progress("computing features", done, len(lengths))
        return out

    if path is None:
        return Ragged(filled(np.empty(shape, np.float32)), offsets)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as (partial,):
            out = np.lib.format.open_memmap(partial, mode="w+", dtype=np.float16, shape=shape)
            filled(out)
            out.flush()
    return Ragged(np.load(path, mmap_mode="r", allow_pickle=False), offsets)


def corpus_fingerprint(sentences: Sequence[Tokens]) -> str:
    """A hash of the tokens in order."""
    digest = hashlib.sha256()
    for tokens in sentences:
        digest.update("\x1f".join(tokens).encode("utf-8", "surrogatepass") + b"\x1e")
    return digest.hexdigest()


def hash_of(content: str | bytes) -> str:
    """SHA-256 of a string or of bytes."""
    return hashlib.sha256(content if isinstance(content, bytes) else content.encode()).hexdigest()
