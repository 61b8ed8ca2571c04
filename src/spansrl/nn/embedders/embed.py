"""Tokens -> vectors: trained words, static text vectors, and layers of ELMo or of a transformer.

An embedder works in two steps, so that the training loop never touches a token in Python: `prepare` turns
sentences into arrays once, `take` cuts a batch from them, and the module itself maps that to (S, T, width).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file
from torch import Tensor, nn

from spansrl.arrays import IntArray, Ragged
from spansrl.errors import DataError, ModelError
from spansrl.inference.config import EmbedderConfig
from spansrl.inference.directory import WORDS, file_hash, read_words, write_bytes
from spansrl.inference.inputs.pieces import PieceStore
from spansrl.inference.inputs.vectors import Vectors, read_vectors
from spansrl.language.vocabulary import UNKNOWN, Vocabulary, frequent_words
from spansrl.nn.embedders.elmo import Elmo, batch_char_ids
from spansrl.nn.embedders.elmo_files import OPTIONS_FILE, WEIGHTS_FILE
from spansrl.nn.embedders.features import (
    FeatureSource,
    Progress,
    Tokens,
    cached_features,
    cached_rows,
    compute_features,
    corpus_fingerprint,
    hash_of,
)
from spansrl.nn.embedders.precomputed import read_precomputed
from spansrl.nn.embedders.scalar_mix import ScalarMix
from spansrl.nn.embedders.transformer import PieceInput, Transformer


class Embedder(nn.Module):
    """What all embedders offer; `files` is the directory of what `weights.safetensors` does not hold."""

    width: int

    def prepare(
        self, sentences: Sequence[Tokens], cache: Path | None = None, progress: Progress | None = None
    ) -> Any:
        """The sentences as arrays; with `cache`, what is costly to compute is kept there."""
        raise TypeError(f"{type(self).__name__} cannot prepare sentences")

    def take(self, store: Any, rows: IntArray) -> Any:
        """The chosen sentences of a store as a batch (a tensor, or something with `.to`)."""
        return torch.from_numpy(store.padded(rows))

    def save_files(self, files: Path) -> None:
        """Write what the embedder needs besides its parameters."""


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
        """Ids of the words."""
        rows = [self.vocab.ids([token.lower() for token in tokens]) for tokens in sentences]
        return Ragged.of(rows, like=np.zeros(0, np.int64))

    def forward(self, ids: Tensor) -> Tensor:
        """ids (S, T) -> (S, T, width)"""
        out: Tensor = self.dropout(self.vectors(ids))
        return out

    def save_files(self, files: Path) -> None:
        """The words."""
        _write_words(files, self.vocab.items[1:])


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
        """Rows of the matrix."""
        return Ragged.of([self.vectors.lookup(tokens) for tokens in sentences], like=np.zeros(0, np.int64))

    def forward(self, ids: Tensor) -> Tensor:
        """ids (S, T) -> (S, T, width)"""
        out: Tensor = self.dropout(self.matrix[ids])
        return out

    def save_files(self, files: Path) -> None:
        """All words with their vectors: text that training never saw has words of its own."""
        _write_words(files, self.vectors.words)
        save_file({"matrix": self.vectors.matrix}, files / "vectors.safetensors")


class LayeredEmbedder(Embedder):
    """A learned mix of the layers of something frozen (ELMo, a transformer); features are cached a corpus."""

    def __init__(self, source: FeatureSource, dropout: float) -> None:
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
        out: Tensor = self.dropout(self.mix(features.to(self.mix.gamma.dtype).movedim(2, 0)))
        return out

    def save_files(self, files: Path) -> None:
        """A copy of the frozen encoder, so that the model directory is complete by itself."""
        origin = getattr(self.source, "directory", None)
        if origin is not None:
            copy_encoder(origin, files, weights=True)


class TransformerEmbedder(Embedder):
    """A transformer that is trained with everything else; its layers are mixed as the frozen ones are."""

    def __init__(self, transformer: Transformer, directory: Path, dropout: float) -> None:
        super().__init__()
        self.transformer = transformer
        self.directory = directory
        self.mix = ScalarMix(transformer.n_layers)
        self.dropout = nn.Dropout(dropout)
        self.width = transformer.width

    def prepare(
        self, sentences: Sequence[Tokens], cache: Path | None = None, progress: Progress | None = None
    ) -> PieceStore:
        """Word pieces."""
        return self.transformer.prepare(sentences)

    def take(self, store: PieceStore, rows: IntArray) -> PieceInput:
        """The chosen sentences in word pieces."""
        return PieceInput.of(store.take(rows))

    def forward(self, inputs: PieceInput) -> Tensor:
        """-> (S, T, D)"""
        # Mixing comes first: it is linear, and one layer's worth of vectors is less to pool than all.
        mixed: Tensor = self.mix(torch.stack(self.transformer.states(inputs)))  # (W, P, D)
        out: Tensor = self.dropout(self.transformer.pool(mixed, inputs))
        return out

    def save_files(self, files: Path) -> None:
        """Architecture and tokeniser; the weights are among the model's own."""
        copy_encoder(self.directory, files, weights=False)


class TransformerSource:
    """A frozen transformer as a source of features."""

    def __init__(self, directory: Path, pooling: str) -> None:
        self.directory = directory
        self.pooling = pooling
        self.transformer = Transformer(directory, pooling=pooling).eval().requires_grad_(False)
        self.n_layers = self.transformer.n_layers
        self.width = self.transformer.width

    def fingerprint(self) -> str:
        """The hash of the weights, with the ways of reading them."""
        weights = file_hash(self.directory / "model.safetensors")
        tokenizer = file_hash(self.directory / "tokenizer.json")
        return hash_of(f"transformer:{self.pooling}:{weights}:{tokenizer}")

    @torch.inference_mode()
    def compute(self, sentences: Sequence[Tokens]) -> list[npt.NDArray[np.float32]]:
        """(T, L, D) for each sentence"""
        store = self.transformer.prepare(sentences)
        layers = self.transformer(
            PieceInput.of(store.take(np.arange(len(sentences))))
        ).numpy()  # (S, T, L, D)
        return [layers[k, : len(tokens)] for k, tokens in enumerate(sentences)]


class ElmoSource:
    """A frozen ELMo as a source of features; the state is reset for every sentence."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.elmo = Elmo.from_files(directory / OPTIONS_FILE, directory / WEIGHTS_FILE)
        self.n_layers = self.elmo.n_layers
        self.width = self.elmo.width

    def fingerprint(self) -> str:
        """The hash of weights and options."""
        parts = [file_hash(self.directory / name) for name in (OPTIONS_FILE, WEIGHTS_FILE)]
        return hash_of("elmo:" + ":".join(parts))

    def compute(self, sentences: Sequence[Tokens]) -> list[npt.NDArray[np.float32]]:
        """(T, L, D) for each sentence"""
        layers = self.elmo(*batch_char_ids(sentences)).numpy()  # (L, S, T, D)
        return [np.moveaxis(layers[:, k, : len(tokens)], 0, 1) for k, tokens in enumerate(sentences)]


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
            "pass the HDF5 file that was made from this very input (--precomputed)"
        )


def read_precomputed_features(
    path: Path, sentences: Sequence[Tokens], cache: Path | None = None, progress: Progress | None = None
) -> Ragged:
    """Vectors keyed by sentence index, as features of the sentences in order.

    With a cache they are memory-mapped from there, in half precision: those of a corpus may be larger than
    memory.
    """
    with read_precomputed(path) as vectors:

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


def build_embedder(config: EmbedderConfig, sentences: Sequence[Tokens]) -> Embedder:
    """A new embedder for training on the sentences."""
    path = Path(config.path).expanduser()
    if config.kind == "words":
        return WordEmbedder(frequent_words(sentences, config.min_count), config.width, config.dropout)
    if config.kind == "vectors":
        words_path = Path(config.words_path).expanduser() if config.words_path else None
        return VectorEmbedder(read_vectors(path, words_path=words_path), config.dropout)
    if config.kind == "elmo":
        return LayeredEmbedder(_elmo_source(config, path), config.dropout)
    if not path.is_dir():
        raise ModelError(f"{path}: no such directory; embedder.path must hold a Hugging Face encoder")
    if config.finetune:
        return TransformerEmbedder(Transformer(path, pooling=config.pooling), path, config.dropout)
    return LayeredEmbedder(TransformerSource(path, config.pooling), config.dropout)


def load_embedder(config: EmbedderConfig, files: Path) -> Embedder:
    """The embedder of a trained model, from its files; its parameters are loaded by the caller."""
    if config.kind == "words":
        return WordEmbedder(read_words(files), config.width, config.dropout)
    if config.kind == "vectors":
        return VectorEmbedder(Vectors(read_words(files), _read_matrix(files)), config.dropout)
    if config.kind == "elmo":
        return LayeredEmbedder(_elmo_source(config, files), config.dropout)
    if config.finetune:
        transformer = Transformer(files, pooling=config.pooling, weights=False)
        return TransformerEmbedder(transformer, files, config.dropout)
    return LayeredEmbedder(TransformerSource(files, config.pooling), config.dropout)


def _elmo_source(config: EmbedderConfig, directory: Path) -> FeatureSource:
    if not config.precomputed:
        return ElmoSource(directory)
    probe = Path(config.precomputed).expanduser()
    with read_precomputed(probe / "train.hdf5" if probe.is_dir() else probe) as vectors:
        return PrecomputedSource(vectors.n_layers, vectors.width)


def _write_words(files: Path, words: Sequence[str]) -> None:
    """One a line, as JSON: a token may hold anything, line breaks included."""
    write_bytes(files / WORDS, (json.dumps(words, indent=0) + "\n").encode())


def _read_matrix(files: Path) -> npt.NDArray[np.float32]:
    path = files / "vectors.safetensors"
    try:
        return load_file(path)["matrix"]
    except (OSError, SafetensorError, KeyError) as error:
        raise ModelError(f"{path}: cannot read the model's vectors: {error}") from error


def copy_encoder(origin: Path, files: Path, *, weights: bool) -> None:
    """Copy the files that make up a pretrained encoder."""
    names = ["config.json", "tokenizer.json", OPTIONS_FILE]
    if weights:
        names += ["model.safetensors", WEIGHTS_FILE]
    for name in names:
        if (origin / name).is_file() and (origin / name).resolve() != (files / name).resolve():
            shutil.copyfile(origin / name, files / name)
