"""Static vectors from a text file (GloVe, word2vec, SENNA), never updated."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file
from torch import Tensor, nn

from spansrl.arrays import Ragged
from spansrl.errors import ModelError
from spansrl.inference.config import EmbedderConfig
from spansrl.inference.directory import read_words
from spansrl.inference.inputs.vectors import Vectors, read_vectors
from spansrl.nn.embedders.base import Embedder, Graph
from spansrl.nn.embedders.features import Progress, Tokens
from spansrl.nn.embedders.words import words_graph, write_words
from spansrl.nn.tasks import TaskHeads


class VectorEmbedder(Embedder):
    """Static vectors read from a text file, never updated."""

    matrix: Tensor

    def __init__(self, vectors: Vectors, dropout: float) -> None:
        super().__init__()
        self.vectors = vectors
        self.register_buffer("matrix", torch.from_numpy(vectors.matrix), persistent=False)
        self.dropout = nn.Dropout(dropout)
        self.width = vectors.width

    def prepare(
        self, sentences: Sequence[Tokens], cache: Path | None = None, progress: Progress | None = None
    ) -> Ragged:
        return Ragged.of([self.vectors.lookup(tokens) for tokens in sentences], like=np.zeros(0, np.int64))

    def forward(self, ids: Tensor) -> Tensor:
        """ids (S, T) -> (S, T, width)"""
        return self.dropout(self.matrix[ids])

    def save_files(self, files: Path) -> None:
        """All words with their vectors, because new text has words that training never saw."""
        write_words(files, self.vectors.words)
        save_file({"matrix": self.vectors.matrix}, files / "vectors.safetensors")

    def graph(self, tasks: TaskHeads | None) -> Graph:
        return words_graph(self, tasks)


def build(config: EmbedderConfig, sentences: Sequence[Tokens]) -> Embedder:
    words_path = Path(config.words_path).expanduser() if config.words_path else None
    return VectorEmbedder(read_vectors(Path(config.path).expanduser(), words_path=words_path), config.dropout)


def load(config: EmbedderConfig, files: Path) -> Embedder:
    return VectorEmbedder(Vectors(read_words(files), _read_matrix(files)), config.dropout)


def _read_matrix(files: Path) -> npt.NDArray[np.float32]:
    path = files / "vectors.safetensors"
    try:
        return load_file(path)["matrix"]
    except (OSError, SafetensorError, KeyError) as error:
        raise ModelError(f"{path}: cannot read the model's vectors: {error}") from error
