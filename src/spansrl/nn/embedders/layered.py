"""A learned mix of the layers of something frozen (ELMo, a transformer), whose features are cached."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from spansrl.arrays import Ragged
from spansrl.errors import ModelError
from spansrl.inference.directory import file_hash
from spansrl.nn.embedders.base import Embedder, Graph
from spansrl.nn.embedders.elmo_files import OPTIONS_FILE, WEIGHTS_FILE, Precomputed
from spansrl.nn.embedders.features import (
    FeatureSource,
    Progress,
    Tokens,
    cached_features,
    cached_rows,
    compute_features,
    corpus_fingerprint,
)
from spansrl.nn.tasks import TaskHeads


class ScalarMix(nn.Module):
    """A learned mean of layers: gamma · Σ_k softmax(w)_k · layer_k (Peters+ 2018); starts as their mean."""

    def __init__(self, n_layers: int) -> None:
        super().__init__()
        if n_layers < 1:
            raise ModelError(f"a scalar mix needs at least one layer, not {n_layers}")
        self.weights = nn.Parameter(torch.zeros(n_layers))
        self.gamma = nn.Parameter(torch.ones(()))

    def forward(self, layers: Tensor) -> Tensor:
        """Layers (L, ..., D) -> (..., D)."""
        if layers.shape[0] != len(self.weights):
            raise ModelError(
                f"this scalar mix is for {len(self.weights)} layers; it was given {layers.shape[0]}"
            )
        mixed: Tensor = torch.tensordot(self.weights.softmax(dim=0), layers, dims=1)
        return self.gamma * mixed


class FrozenEncoder(FeatureSource, Protocol):
    """A source of features that can be part of a model directory."""

    def weights(self) -> Iterator[Tensor]:
        """Its weights."""

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
        """Have `prepare` find these sentences' features in the store instead of computing them."""
        self._known.update({tuple(tokens): (store, row) for row, tokens in enumerate(sentences)})
        self._corpora[corpus_fingerprint(sentences)] = store

    def prepare(
        self, sentences: Sequence[Tokens], cache: Path | None = None, progress: Progress | None = None
    ) -> Ragged:
        """Features of every layer: remembered ones, from the cache, or computed now."""
        if self._corpora and (whole := self._corpora.get(corpus_fingerprint(sentences))):
            return whole  # perhaps from disk: a corpus may be larger than memory
        known = [self._known.get(tuple(tokens)) for tokens in sentences]
        found = [item for item in known if item is not None]
        if found and len(found) == len(known):
            rows = [store.values[store.offsets[row] : store.offsets[row + 1]] for store, row in found]
            return Ragged.of(rows, like=found[0][0].values[:0])
        if cache is None:
            return compute_features(self.source, sentences)
        return cached_features(self.source, sentences, cache, progress)

    def forward(self, features: Tensor) -> Tensor:
        """features (S, T, L, D) -> (S, T, D)"""
        return self.dropout(self.mix(features.to(self.mix.gamma.dtype).movedim(2, 0)))

    def save_files(self, files: Path) -> None:
        """A copy of the frozen encoder, so that the model directory is complete by itself."""
        self.source.copy_files(files)

    def frozen_weights(self) -> Iterator[Tensor]:
        return self.source.weights()

    def graph(self, tasks: TaskHeads | None) -> Graph:
        return self.source.graph(self.mix, tasks)


def read_precomputed_features(
    path: Path, sentences: Sequence[Tokens], cache: Path | None = None, progress: Progress | None = None
) -> Ragged:
    """Vectors keyed by sentence index, as features of the sentences in order.

    With a cache they are memory-mapped from there, in half precision: those of a corpus may be larger than
    memory.
    """
    with Precomputed(path) as vectors:

        def layers(rows: Sequence[int]) -> list[npt.NDArray[np.float32]]:
            return [np.moveaxis(vectors.layers(row, len(sentences[row])), 0, 1) for row in rows]

        if cache is None:
            return Ragged.of(layers(range(len(sentences))), like=np.zeros((0, 1, 1), np.float32))
        shape = vectors.n_layers, vectors.width
        return cached_rows(
            cache / f"precomputed-{file_hash(path)[:16]}-{corpus_fingerprint(sentences)[:16]}.npy",
            [len(tokens) for tokens in sentences],
            shape,
            layers,
            progress,
        )


def copy_encoder(origin: Path, files: Path, *, weights: bool) -> None:
    """Copy the files that make up a pretrained encoder."""
    names = ["config.json", "tokenizer.json", OPTIONS_FILE]
    if weights:
        names += ["model.safetensors", WEIGHTS_FILE]
    for name in names:
        if (origin / name).is_file() and (origin / name).resolve() != (files / name).resolve():
            shutil.copyfile(origin / name, files / name)
