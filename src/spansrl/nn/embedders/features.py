"""Features of frozen encoders, computed once per corpus and kept on disk.

A cache file is a plain .npy of shape (tokens, layers, width) in half precision, memory-mapped when read. Its
name consists of the hashes of encoder and corpus: runs share it, and a change in either makes a new one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from spansrl.arrays import Ragged, offsets_of
from spansrl.formats.storage import replacing
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


def compute_features(source: FeatureSource, sentences: Sequence[Tokens]) -> Ragged:
    """Features of a few sentences, in memory."""
    out: list[npt.NDArray[np.float32]] = [np.zeros((0, source.n_layers, source.width), np.float32)] * len(
        sentences
    )
    for rows in _batches([len(tokens) for tokens in sentences]):
        for row, features in zip(rows, source.compute([sentences[row] for row in rows]), strict=True):
            out[row] = features
    return Ragged.of(out, like=np.zeros((0, source.n_layers, source.width), np.float32))


def cached_features(
    source: FeatureSource, sentences: Sequence[Tokens], directory: Path, progress: Progress | None = None
) -> Ragged:
    """Features of a corpus, memory-mapped from the cache; computed first if they are not cached yet."""
    return cached_rows(
        directory / f"{source.fingerprint()[:16]}-{corpus_fingerprint(sentences)[:16]}.npy",
        [len(tokens) for tokens in sentences],
        (source.n_layers, source.width),
        lambda rows: source.compute([sentences[row] for row in rows]),
        progress,
    )


def cached_rows(
    path: Path,
    lengths: Sequence[int],
    item_shape: tuple[int, ...],
    compute: Callable[[list[int]], Sequence[npt.NDArray[np.float32]]],
    progress: Progress | None = None,
) -> Ragged:
    """Rows of the given lengths, memory-mapped; if there is no file yet, `compute` makes them in groups."""
    offsets = offsets_of(lengths)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as (partial,):
            out = np.lib.format.open_memmap(
                partial, mode="w+", dtype=np.float16, shape=(int(offsets[-1]), *item_shape)
            )
            done = 0
            for rows in _batches(lengths):
                for row, features in zip(rows, compute(rows), strict=True):
                    out[offsets[row] : offsets[row + 1]] = features
                done += len(rows)
                if progress is not None:
                    progress("computing features", done, len(lengths))
            out.flush()
    return Ragged(np.load(path, mmap_mode="r", allow_pickle=False), offsets)


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    return batches_by_length(lengths, limit=4096, max_rows=256)


def corpus_fingerprint(sentences: Sequence[Tokens]) -> str:
    """A hash of the tokens in order."""
    digest = hashlib.sha256()
    for tokens in sentences:
        digest.update("\x1f".join(tokens).encode("utf-8", "surrogatepass") + b"\x1e")
    return digest.hexdigest()


def hash_of(content: str | bytes) -> str:
    """SHA-256 of a string or of bytes."""
    return hashlib.sha256(content if isinstance(content, bytes) else content.encode()).hexdigest()
