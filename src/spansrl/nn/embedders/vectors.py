"""Static vectors from a text file (GloVe, word2vec, SENNA), never updated."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file
from torch import Tensor

from spansrl.arrays import IntArray
from spansrl.errors import ModelError
from spansrl.inference.config import EmbedderConfig
from spansrl.inference.directory import read_words
from spansrl.inference.inputs.word_vectors import Vectors, read_vectors
from spansrl.nn.embedders.base import Embedder
from spansrl.nn.embedders.features import Tokens
from spansrl.nn.embedders.words import LookupEmbedder

MATRIX = "vectors.safetensors"


class VectorEmbedder(LookupEmbedder):
    """The vectors of all words of a file, because new text has words that training never saw."""

    matrix: Tensor

    def __init__(self, vectors: Vectors, dropout: float) -> None:
        super().__init__(vectors.words, vectors.width, dropout)
        self.vectors = vectors
        self.register_buffer("matrix", torch.from_numpy(vectors.matrix), persistent=False)

    def lookup(self, tokens: Tokens) -> IntArray:
        return self.vectors.lookup(tokens)

    def forward(self, ids: Tensor) -> Tensor:
        """ids (S, T) -> (S, T, width)"""
        return self.dropout(self.matrix[ids])

    def save_files(self, files: Path) -> None:
        super().save_files(files)
        save_file({"matrix": self.vectors.matrix}, files / MATRIX)


def build(config: EmbedderConfig, sentences: Sequence[Tokens]) -> Embedder:
    words_path = Path(config.words_path).expanduser() if config.words_path else None
    return VectorEmbedder(read_vectors(Path(config.path).expanduser(), words_path=words_path), config.dropout)


def load(config: EmbedderConfig, files: Path) -> Embedder:
    try:
        matrix = load_file(files / MATRIX)["matrix"]
    except (OSError, SafetensorError, KeyError) as error:
        raise ModelError(f"{files / MATRIX}: cannot read the model's vectors: {error}") from error
    return VectorEmbedder(Vectors(read_words(files), matrix), config.dropout)
