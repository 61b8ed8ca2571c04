"""Vectors of whole words, trained with everything else, and what all embedders of whole words share."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from spansrl.arrays import UNKNOWN, IntArray, Ragged, Vocabulary, frequent_words
from spansrl.inference.config import EmbedderConfig
from spansrl.inference.directory import WORDS, read_words, write_bytes
from spansrl.nn.embedders.base import SENTENCES_TOKENS, Embedder, EncoderGraph, Graph
from spansrl.nn.embedders.features import Progress, Tokens
from spansrl.nn.tasks import TaskHeads


class LookupEmbedder(Embedder):
    """Ids of whole words (S, T) -> their vectors (S, T, width)."""

    def __init__(self, words: Sequence[str], width: int, dropout: float) -> None:
        super().__init__()
        self.words = words  # those that have vectors
        self.width = width
        self.dropout = nn.Dropout(dropout)

    @abstractmethod
    def lookup(self, tokens: Tokens) -> IntArray:
        """The ids of a sentence's tokens."""

    def prepare(
        self, sentences: Sequence[Tokens], cache: Path | None = None, progress: Progress | None = None
    ) -> Ragged:
        return Ragged.of([self.lookup(tokens) for tokens in sentences], like=np.zeros(0, np.int64))

    def save_files(self, files: Path) -> None:
        """One word per line, as JSON: tokens may contain any character, even a line break."""
        write_bytes(files / WORDS, (json.dumps(self.words, indent=0) + "\n").encode())

    def graph(self, tasks: TaskHeads | None) -> Graph:
        module = WordsGraph(self, tasks)
        return Graph(module, {"ids": (torch.zeros(2, 5, dtype=torch.long), SENTENCES_TOKENS)}, module.names())


class WordsGraph(EncoderGraph):
    """For vectors of whole words."""

    def __init__(self, embedder: Embedder, tasks: TaskHeads | None) -> None:
        super().__init__(tasks)
        self.embedder = embedder

    def forward(self, ids: Tensor) -> tuple[Tensor, ...]:
        """ids (S, T)"""
        return self.outputs(self.embedder(ids))


class WordEmbedder(LookupEmbedder):
    """Vectors of the training data's lower-cased words, trained with everything else."""

    def __init__(self, words: Sequence[str], width: int, dropout: float) -> None:
        super().__init__(words, width, dropout)
        self.vocab = Vocabulary([UNKNOWN, *words], unknown=0)
        self.vectors = nn.Embedding(len(self.vocab), width)
        nn.init.normal_(self.vectors.weight, std=0.1)

    def lookup(self, tokens: Tokens) -> IntArray:
        return self.vocab.ids([token.lower() for token in tokens])

    def forward(self, ids: Tensor) -> Tensor:
        """ids (S, T) -> (S, T, width)"""
        return self.dropout(self.vectors(ids))


def build(config: EmbedderConfig, sentences: Sequence[Tokens]) -> Embedder:
    return WordEmbedder(frequent_words(sentences, config.min_count), config.width, config.dropout)


def load(config: EmbedderConfig, files: Path) -> Embedder:
    return WordEmbedder(read_words(files), config.width, config.dropout)
