"""A learned mix of the layers of a frozen encoder (ELMo, a transformer), whose features are cached."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor, nn

from spansrl.arrays import Ragged
from spansrl.errors import ModelError
from spansrl.nn.embedders.base import Embedder, Graph
from spansrl.nn.embedders.features import (
    FeatureSource,
    Progress,
    Tokens,
    compute_features,
    corpus_fingerprint,
)
from spansrl.nn.tasks import TaskHeads


class ScalarMix(nn.Module):
    """A learned mean of layers: gamma · Σ_k softmax(w)_k · layer_k (Peters et al. 2018)."""

    def __init__(self, n_layers: int, last: float = 0.0) -> None:
        """With `last`, the last layer's weight starts so much higher than the others."""
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(n_layers).index_fill(0, torch.tensor([n_layers - 1]), last))
        self.gamma = nn.Parameter(torch.ones(()))

    def forward(self, layers: Tensor) -> Tensor:
        """Layers (L, ..., D) -> (..., D)."""
        if layers.shape[0] != len(self.weights):
            found = layers.shape[0]
            raise ModelError(f"the model mixes {len(self.weights)} layers; the vectors have {found}")
        mixed: Tensor = torch.tensordot(self.weights.softmax(dim=0), layers, dims=1)
        return self.gamma * mixed


class FrozenEncoder(FeatureSource, Protocol):
    """A source of features that can be part of a model directory."""

    def copy_files(self, files: Path) -> None:
        """Copy what it was loaded from."""

    def graph(self, mix: ScalarMix, tasks: TaskHeads | None) -> Graph:
        """The encoder with its layers mixed, for export."""


class LayeredEmbedder(Embedder):
    """A learned mix of a frozen encoder's layers; features are cached per corpus."""

    source: FrozenEncoder

    def __init__(self, source: FrozenEncoder, dropout: float) -> None:
        super().__init__()
        self.source = source
        self.mix = ScalarMix(source.n_layers)
        self.dropout = nn.Dropout(dropout)
        self.width = source.width
        self._known: dict[Tokens, tuple[Ragged, int]] = {}
        self._corpora: dict[str, Ragged] = {}

    def remember(self, sentences: Sequence[Tokens], store: Ragged) -> None:
        """Let `prepare` take the features of these sentences from the store instead of computing them."""
        self._known.update({tuple(tokens): (store, row) for row, tokens in enumerate(sentences)})
        self._corpora[corpus_fingerprint(sentences)] = store

    def prepare(
        self, sentences: Sequence[Tokens], cache: Path | None = None, progress: Progress | None = None
    ) -> Ragged:
        """Features of every layer: remembered ones, from the cache, or computed now."""
        if self._corpora and (whole := self._corpora.get(corpus_fingerprint(sentences))):
            return whole  # perhaps memory-mapped: the features of a corpus may be larger than memory
        known = [self._known.get(tuple(tokens)) for tokens in sentences]
        found = [item for item in known if item is not None]
        if found and len(found) == len(known):
            rows = [store.values[store.offsets[row] : store.offsets[row + 1]] for store, row in found]
            return Ragged.of(rows, like=found[0][0].values[:0])
        return compute_features(self.source, sentences, cache, progress)

    def forward(self, features: Tensor) -> Tensor:
        """features (S, T, L, D) -> (S, T, D)"""
        return self.dropout(self.mix(features.to(self.mix.gamma.dtype).movedim(2, 0)))

    def save_files(self, files: Path) -> None:
        """A copy of the frozen encoder, so that the model directory is complete by itself."""
        self.source.copy_files(files)

    def graph(self, tasks: TaskHeads | None) -> Graph:
        return self.source.graph(self.mix, tasks)


def copy_encoder(origin: Path, files: Path, names: Iterable[str]) -> None:
    """Copy the files of a pretrained encoder, as far as they exist."""
    for name in names:
        if (origin / name).is_file() and (origin / name).resolve() != (files / name).resolve():
            shutil.copyfile(origin / name, files / name)
