"""ELMo as an embedder: computed here from its files, or read from vectors computed elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from torch import Tensor

from spansrl.inference.config import EmbedderConfig
from spansrl.inference.directory import file_hash
from spansrl.nn.embedders.base import Embedder, EncoderGraph, Graph
from spansrl.nn.embedders.elmo import Elmo, batch_char_ids
from spansrl.nn.embedders.features import Tokens, hash_of
from spansrl.nn.embedders.layered import LayeredEmbedder, ScalarMix, copy_encoder
from spansrl.nn.embedders.precomputed import PrecomputedSource, open_precomputed
from spansrl.nn.tasks import TaskHeads

FILES = OPTIONS_FILE, WEIGHTS_FILE = "options.json", "weights.hdf5"
# The published weight files by their SHA-256.
PUBLIC_WEIGHTS = {
    "747ba97abce8a5f446558369e10bb0f7931437a46867476fdd156f5d7f576229": "ELMo small",
    "a6b92b9ccbb13fe489faacd2221c795d4bebe84b75f8aded9d85ea464fa5c994": "ELMo original",
}


class ElmoSource:
    """A frozen ELMo as a source of features; the state is reset for every sentence."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.elmo = Elmo.from_files(directory / OPTIONS_FILE, directory / WEIGHTS_FILE)
        self.n_layers = self.elmo.n_layers
        self.width = self.elmo.width

    def fingerprint(self) -> str:
        return hash_of("elmo:" + ":".join(file_hash(self.directory / name) for name in FILES))

    def compute(self, sentences: Sequence[Tokens]) -> list[npt.NDArray[np.float32]]:
        layers = self.elmo(*batch_char_ids(sentences)).numpy()  # (L, S, T, D)
        return [np.moveaxis(layers[:, k, : len(tokens)], 0, 1) for k, tokens in enumerate(sentences)]

    def copy_files(self, files: Path) -> None:
        copy_encoder(self.directory, files, FILES)

    def graph(self, mix: ScalarMix, tasks: TaskHeads | None) -> Graph:
        module = CharactersGraph(self.elmo, mix, tasks)
        chars, words, mask = batch_char_ids([["Birds", "sing", "."], ["Why", "?"]])
        axes = {0: "sentences", 1: "words"}  # words are tokens and boundaries
        inputs = {"chars": (chars, {0: "distinct"}), "words": (words, axes), "mask": (mask, axes)}
        return Graph(module, inputs, module.names())


class CharactersGraph(EncoderGraph):
    """For ELMo: its layers, mixed."""

    def __init__(self, elmo: Elmo, mix: ScalarMix, tasks: TaskHeads | None) -> None:
        super().__init__(tasks)
        self.elmo = elmo
        self.mix = mix

    def forward(self, chars: Tensor, words: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        """chars (W, 50), words (S, T + 2), mask (S, T + 2), as in a `CharacterBatch`"""
        return self.outputs(self.mix(self.elmo.read(self.elmo.char_cnn(chars)[words], mask)))


def build(config: EmbedderConfig, sentences: Sequence[Tokens]) -> Embedder:
    directory = Path(config.path).expanduser()
    embedder = load(config, directory)
    if not config.precomputed:
        embedder.provenance = {"encoder": describe_weights(directory / WEIGHTS_FILE)}
    return embedder


def load(config: EmbedderConfig, files: Path) -> Embedder:
    if not config.precomputed:
        return LayeredEmbedder(ElmoSource(files), config.dropout)
    probe = Path(config.precomputed).expanduser()
    with open_precomputed(probe / "train.hdf5" if probe.is_dir() else probe) as vectors:
        source = PrecomputedSource(vectors.n_layers, vectors.width)
    return LayeredEmbedder(source, config.dropout)


def describe_weights(path: Path) -> str:
    """The published name of a weight file, if it has one, and its SHA-256."""
    digest = file_hash(path)
    return f"{PUBLIC_WEIGHTS.get(digest, 'ELMo weights of unknown origin')} (sha256 {digest})"
