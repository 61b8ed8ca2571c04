"""ELMo's outputs in a file: HDF5 keyed by sentence index, each (layers, T, D) or (T, D)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from spansrl.errors import FormatError
from spansrl.formats.storage import replacing
from spansrl.nn.embedders.elmo import Elmo, batch_char_ids
from spansrl.nn.embedders.elmo_files import open_hdf5


class Precomputed:
    """ELMo's outputs for the sentences of a data file, keyed "0", "1", …; opened when first used."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return sum(key.isdigit() for key in self._file)

    @property
    def n_layers(self) -> int:
        """The number of layers of each sentence."""
        return self._layers_and_width[0]

    @property
    def width(self) -> int:
        """The width of each token's vectors."""
        return self._layers_and_width[1]

    def layers(self, index: int, n_tokens: int) -> NDArray[np.float32]:
        """The layers (L, T, D) of a sentence of `n_tokens` tokens; (T, D) in the file is one layer."""
        data = self._dataset(index)
        shape = (self.n_layers, n_tokens, self.width)
        if data.shape != shape[-data.ndim :] or (data.ndim == 2 and self.n_layers != 1):
            raise self._refuse(
                f"sentence {index} has vectors of shape {data.shape}, the {n_tokens} tokens of the data"
                f" need {shape}; was the file made from this data?"
            )
        return np.asarray(data, dtype=np.float32).reshape(shape)

    def close(self) -> None:
        """Close the file; the next access opens it again."""
        if self._opened is not None:
            self._opened.close()
        self._opened = None

    @cached_property
    def _layers_and_width(self) -> tuple[int, int]:
        shape = self._dataset(0).shape
        return (1 if len(shape) == 2 else shape[0]), shape[-1]

    @property
    def _file(self) -> Any:
        if self._opened is None:
            try:
                self._opened = open_hdf5(self._path)
            except OSError as error:
                raise self._refuse(f"cannot be read as HDF5 ({error})") from error
        return self._opened

    def _dataset(self, index: int) -> Any:
        data = self._file.get(str(index))
        if not hasattr(data, "shape"):
            raise self._refuse(
                f"there are no vectors for sentence {index}, only for {len(self)} sentences;"
                " was the file made from this data?"
            )
        if data.ndim not in (2, 3):
            raise self._refuse(f"sentence {index} has shape {data.shape}, expected (layers, tokens, width)")
        return data

    def _refuse(self, message: str) -> FormatError:
        return FormatError(message, path=str(self._path))


def read_precomputed(path: Path) -> Precomputed:
    """ELMo's outputs from an HDF5 file keyed by sentence index, each (layers, T, D) or (T, D)."""
    return Precomputed(path)


def write_precomputed(
    path: Path, sentences: Iterable[Sequence[str]], elmo: Elmo, *, batch_size: int = 32
) -> None:
    """Write all layers of the tokenized sentences to a file that `read_precomputed` takes."""
    device = next(elmo.buffers()).device
    with replacing(path) as (partial,), open_hdf5(partial, "w") as file:
        for first, batch in _batches(sentences, batch_size):
            layers = elmo(*(part.to(device) for part in batch_char_ids(batch))).cpu().numpy()
            for row, tokens in enumerate(batch):
                file.create_dataset(str(first + row), data=layers[:, row, : len(tokens)])


def _batches(sentences: Iterable[Sequence[str]], size: int) -> Iterator[tuple[int, list[Sequence[str]]]]:
    """Lists of up to `size` sentences, each with its first one's index."""
    rest, first = iter(sentences), 0
    while batch := list(islice(rest, size)):
        yield first, batch
        first += len(batch)
