"""Vectors of whole words, trained with everything else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from spansrl.arrays import Ragged
from spansrl.inference.config import EmbedderConfig
from spansrl.inference.directory import WORDS, read_words, write_bytes
from spansrl.language.vocabulary import UNKNOWN, Vocabulary, frequent_words
from spansrl.nn.embedders.base import SENTENCES_TOKENS, Embedder, EncoderGraph, Graph
from spansrl.nn.embedders.features import Progress, Tokens
from spansrl.nn.tasks import TaskHeads


class WordEmbedder(Embedder):
    """Vectors of the training data's lower-cased words, trained with everything else."""

    def __init__(self, words: Sequence[str], width: int, dropout: float) -> None:
        super().__init__()
        self.vocab = Vocabulary([UNKNOWN, *words], unknown=0)
        self.vectors = nn.Embedding(len(self.vocab), width)
        self.dropout = nn.Dropout(dropout)
        self.width = width
        nn.init.normal_(self.vectors.weight, std=0.1)

    def prepare(
        self, sentences: Sequence[Tokens], cache: Path | None = None, progress: Progress | None = None
    ) -> Ragged:
        rows = [self.vocab.ids([token.lower() for token in tokens]) for tokens in sentences]
        return Ragged.of(rows, like=np.zeros(0, np.int64))

    def forward(self, ids: Tensor) -> Tensor:
        """ids (S, T) -> (S, T, width)"""
        return self.dropout(self.vectors(ids))

    def save_files(self, files: Path) -> None:
        write_words(files, self.vocab.items[1:])

    def graph(self, tasks: TaskHeads | None) -> Graph:
        return words_graph(self, tasks)


class WordsGraph(EncoderGraph):
    """For vectors of whole words."""

    def __init__(self, embedder: Embedder, tasks: TaskHeads | None) -> None:
        super().__init__(tasks)
        self.embedder = embedder

    def forward(self, ids: Tensor) -> tuple[Tensor, ...]:
        """ids (S, T)"""
        return self.outputs(self.embedder(ids))


def words_graph(embedder: Embedder, tasks: TaskHeads | None) -> Graph:
    module = WordsGraph(embedder, tasks)
    return Graph(module, {"ids": (torch.zeros(2, 5, dtype=torch.long), SENTENCES_TOKENS)}, module.names())


def build(config: EmbedderConfig, sentences: Sequence[Tokens]) -> Embedder:
    return WordEmbedder(frequent_words(sentences, config.min_count), config.width, config.dropout)


def load(config: EmbedderConfig, files: Path) -> Embedder:
    return WordEmbedder(read_words(files), config.width, config.dropout)


def write_words(files: Path, words: Sequence[str]) -> None:
    """One per line, as JSON: tokens may contain any character, even a line break."""
    write_bytes(files / WORDS, (json.dumps(words, indent=0) + "\n").encode())
