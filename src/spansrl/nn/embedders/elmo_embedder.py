"""ELMo as an embedder: computed here from its files, or read from vectors computed elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from torch import Tensor

from spansrl.errors import DataError, ModelError
from spansrl.inference.config import EmbedderConfig
from spansrl.inference.directory import file_hash
from spansrl.nn.embedders.base import Embedder, EncoderGraph, Examples, Graph
from spansrl.nn.embedders.elmo import Elmo, batch_char_ids
from spansrl.nn.embedders.elmo_files import OPTIONS_FILE, WEIGHTS_FILE, Precomputed
from spansrl.nn.embedders.features import Tokens, hash_of
from spansrl.nn.embedders.layered import FrozenEncoder, LayeredEmbedder, ScalarMix, copy_encoder
from spansrl.nn.tasks import TaskHeads


class ElmoSource:
    """A frozen ELMo as a source of features; the state is reset for every sentence."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.elmo = Elmo.from_files(directory / OPTIONS_FILE, directory / WEIGHTS_FILE)
        self.n_layers = self.elmo.n_layers
        self.width = self.elmo.width

    def fingerprint(self) -> str:
        parts = [file_hash(self.directory / name) for name in (OPTIONS_FILE, WEIGHTS_FILE)]
        return hash_of("elmo:" + ":".join(parts))

    def compute(self, sentences: Sequence[Tokens]) -> list[npt.NDArray[np.float32]]:
        layers = self.elmo(*batch_char_ids(sentences)).numpy()  # (L, S, T, D)
        return [np.moveaxis(layers[:, k, : len(tokens)], 0, 1) for k, tokens in enumerate(sentences)]

    def weights(self) -> Iterator[Tensor]:
        return self.elmo.buffers()

    def copy_files(self, files: Path) -> None:
        copy_encoder(self.directory, files, weights=True)

    def graph(self, mix: ScalarMix, tasks: TaskHeads | None) -> Graph:
        module = CharactersGraph(self.elmo, mix, tasks)
        return Graph(module, _character_examples(), module.names())


class PrecomputedSource:
    """ELMo vectors computed elsewhere: of known sentences only, found by `LayeredEmbedder.remember`."""

    def __init__(self, n_layers: int, width: int) -> None:
        self.n_layers = n_layers
        self.width = width

    def fingerprint(self) -> str:
        """Nothing is computed, so nothing is cached."""
        return hash_of(f"precomputed:{self.n_layers}:{self.width}")

    def compute(self, sentences: Sequence[Tokens]) -> list[npt.NDArray[np.float32]]:
        """Raises: there is nothing to compute with."""
        raise DataError(
            f"no precomputed vectors for the sentence {' '.join(sentences[0])[:60]!r}; "
            "pass the HDF5 file that was made from exactly this input (--precomputed)"
        )

    def weights(self) -> Iterator[Tensor]:
        return iter(())

    def copy_files(self, files: Path) -> None:
        """Nothing: the vectors stay where they are."""

    def graph(self, mix: ScalarMix, tasks: TaskHeads | None) -> Graph:
        raise ModelError(
            "a model over precomputed vectors cannot be exported, because ELMo is not in it; "
            "train it with embedder.path instead of embedder.precomputed"
        )


class CharactersGraph(EncoderGraph):
    """For ELMo: its layers, mixed."""

    def __init__(self, elmo: Elmo, mix: ScalarMix, tasks: TaskHeads | None) -> None:
        super().__init__(tasks)
        self.elmo = elmo
        self.mix = mix

    def forward(self, chars: Tensor, words: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        """chars (W, 50), words (S, T + 2), mask (S, T + 2), as in a `CharacterBatch`"""
        layers, _ = self.elmo.read(self.elmo.char_cnn(chars)[words], mask)  # (L, S, T, D)
        return self.outputs(self.mix(layers))


def _character_examples() -> Examples:
    chars, words, mask = batch_char_ids([["Birds", "sing", "."], ["Why", "?"]])
    axes = {0: "sentences", 1: "words"}  # words are tokens and boundaries
    return {"chars": (chars, {0: "distinct"}), "words": (words, axes), "mask": (mask, axes)}


def build(config: EmbedderConfig, sentences: Sequence[Tokens]) -> Embedder:
    return LayeredEmbedder(_elmo_source(config, Path(config.path).expanduser()), config.dropout)


def load(config: EmbedderConfig, files: Path) -> Embedder:
    return LayeredEmbedder(_elmo_source(config, files), config.dropout)


def _elmo_source(config: EmbedderConfig, directory: Path) -> FrozenEncoder:
    if not config.precomputed:
        return ElmoSource(directory)
    probe = Path(config.precomputed).expanduser()
    with Precomputed(probe / "train.hdf5" if probe.is_dir() else probe) as vectors:
        return PrecomputedSource(vectors.n_layers, vectors.width)
