"""ELMo vectors that were computed elsewhere: HDF5 files with a dataset per sentence, keyed "0", "1", …"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spansrl.arrays import Ragged
from spansrl.errors import DataError, FormatError, ModelError
from spansrl.inference.directory import file_hash
from spansrl.nn.embedders.base import Graph
from spansrl.nn.embedders.elmo import open_hdf5
from spansrl.nn.embedders.features import Progress, Tokens, cached_rows, corpus_fingerprint, hash_of
from spansrl.nn.embedders.layered import ScalarMix
from spansrl.nn.tasks import TaskHeads


class Precomputed:
    """The vectors of the sentences of a data file: each (layers, T, D), or (T, D) for one layer."""

    def __init__(self, path: Path, file: Any) -> None:
        self.path = path
        self.file = file
        shape = self._dataset(0).shape
        self.n_layers = 1 if len(shape) == 2 else shape[0]
        self.width = shape[-1]

    def layers(self, index: int, n_tokens: int) -> npt.NDArray[np.float32]:
        """The layers (L, T, D) of a sentence of `n_tokens` tokens."""
        data = self._dataset(index)
        shape = (self.n_layers, n_tokens, self.width)
        if data.shape != shape[-data.ndim :] or (data.ndim == 2 and self.n_layers != 1):
            raise self._error(
                f"sentence {index} has vectors of shape {data.shape}, the {n_tokens} tokens of the data"
                f" need {shape}; was the file made from this data?"
            )
        return np.asarray(data, dtype=np.float32).reshape(shape)

    def _dataset(self, index: int) -> Any:
        data = self.file.get(str(index))
        if not hasattr(data, "shape"):
            raise self._error(f"no vectors for sentence {index}; was the file made from this data?")
        if data.ndim not in (2, 3):
            raise self._error(f"sentence {index} has shape {data.shape}, expected (layers, tokens, width)")
        return data

    def _error(self, message: str) -> FormatError:
        return FormatError(message, path=str(self.path))


@contextmanager
def open_precomputed(path: Path) -> Iterator[Precomputed]:
    """The vectors in a file, which is open inside this block."""
    with open_hdf5(path) as file:
        yield Precomputed(path, file)


def read_precomputed_features(
    path: Path, sentences: Sequence[Tokens], cache: Path | None = None, progress: Progress | None = None
) -> Ragged:
    """The vectors in a file as features of the sentences, in order.

    With a cache they are memory-mapped from there, in half precision: those of a corpus may be larger than
    memory.
    """
    with open_precomputed(path) as vectors:
        stored = None
        if cache is not None:
            stored = cache / f"precomputed-{file_hash(path)[:16]}-{corpus_fingerprint(sentences)[:16]}.npy"
        return cached_rows(
            stored,
            [len(tokens) for tokens in sentences],
            (vectors.n_layers, vectors.width),
            lambda rows: [np.moveaxis(vectors.layers(row, len(sentences[row])), 0, 1) for row in rows],
            progress,
        )


class PrecomputedSource:
    """Vectors of known sentences only, which `LayeredEmbedder.remember` has been given."""

    def __init__(self, n_layers: int, width: int) -> None:
        self.n_layers = n_layers
        self.width = width

    def fingerprint(self) -> str:
        """Nothing is computed, so nothing is cached."""
        return hash_of(f"precomputed:{self.n_layers}:{self.width}")

    def compute(self, sentences: Sequence[Tokens]) -> list[npt.NDArray[np.float32]]:
        """Raises DataError: there is nothing to compute with."""
        raise DataError(
            f"no precomputed vectors for the sentence {' '.join(sentences[0])[:60]!r}; "
            "pass the HDF5 file that was made from exactly this input (--precomputed)"
        )

    def copy_files(self, files: Path) -> None:
        """The vectors stay where they are."""

    def graph(self, mix: ScalarMix, tasks: TaskHeads | None) -> Graph:
        raise ModelError(
            "a model over precomputed vectors cannot be exported, because ELMo is not in it; "
            "train it with embedder.path instead of embedder.precomputed"
        )
