"""A Hugging Face encoder as an embedder: fine-tuned, or frozen with its layers mixed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from spansrl.arrays import IntArray
from spansrl.errors import ModelError
from spansrl.inference.config import EmbedderConfig
from spansrl.inference.directory import file_hash
from spansrl.inference.inputs.pieces import PieceStore
from spansrl.nn.embedders.base import (
    SENTENCES_TOKENS,
    WINDOWS_PIECES,
    Embedder,
    EncoderGraph,
    Examples,
    Graph,
)
from spansrl.nn.embedders.features import Progress, Tokens, hash_of
from spansrl.nn.embedders.layered import LayeredEmbedder, copy_encoder
from spansrl.nn.embedders.scalar_mix import ScalarMix
from spansrl.nn.embedders.transformer import PieceInput, Transformer
from spansrl.nn.tasks import TaskHeads


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
        """Architecture and tokenizer; the weights are among the model's own."""
        copy_encoder(self.directory, files, weights=False)

    def costs(self, store: PieceStore) -> IntArray:
        """Word pieces of each sentence."""
        return store.piece_counts

    def graph(self, tasks: TaskHeads | None) -> Graph:
        return pieces_graph(self.transformer, self.mix, tasks)


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

    def weights(self) -> Iterator[Tensor]:
        return self.transformer.parameters()

    def copy_files(self, files: Path) -> None:
        copy_encoder(self.directory, files, weights=True)

    def graph(self, mix: ScalarMix, tasks: TaskHeads | None) -> Graph:
        return pieces_graph(self.transformer, mix, tasks)


class PiecesGraph(EncoderGraph):
    """For transformers: the layers of all pieces, mixed."""

    def __init__(self, transformer: Transformer, mix: ScalarMix, tasks: TaskHeads | None) -> None:
        super().__init__(tasks)
        self.encoder = transformer.encoder
        self.mix = mix

    def mixed(self, pieces: Tensor, mask: Tensor) -> Tensor:
        """pieces (W, P), mask (W, P) -> (W, P, D)"""
        states = self.encoder(pieces, attention_mask=mask, output_hidden_states=True).hidden_states
        mixed: Tensor = self.mix(torch.stack(states))
        return mixed


class FirstPieceGraph(PiecesGraph):
    """A token is its first piece."""

    def forward(self, pieces: Tensor, mask: Tensor, first: Tensor) -> tuple[Tensor, ...]:
        """pieces (W, P), mask (W, P), first (S, T) places in the flat (W · P) pieces"""
        return self.outputs(self.mixed(pieces, mask).flatten(0, 1)[first])


class MeanPieceGraph(PiecesGraph):
    """A token is the mean of its pieces."""

    def forward(self, pieces: Tensor, mask: Tensor, shares: Tensor, windows: Tensor) -> tuple[Tensor, ...]:
        """pieces (W, P), mask (W, P), shares (W, T, P), windows (S, W)"""
        tokens = shares @ self.mixed(pieces, mask)  # (W, T, D)
        return self.outputs(torch.einsum("sw,wtd->std", windows, tokens))


def pieces_graph(transformer: Transformer, mix: ScalarMix, tasks: TaskHeads | None) -> Graph:
    """The graph of a transformer whose layers are mixed."""
    kind = FirstPieceGraph if transformer.pooling == "first" else MeanPieceGraph
    module = kind(transformer, mix, tasks)
    return Graph(module, _piece_examples(transformer.pooling), module.names())


def _piece_examples(pooling: str) -> Examples:
    examples: Examples = {
        "pieces": (torch.arange(21).view(3, 7) % 5, WINDOWS_PIECES),
        "mask": (torch.ones(3, 7, dtype=torch.bool), WINDOWS_PIECES),
    }
    if pooling == "first":
        return examples | {"first": (torch.arange(10).view(2, 5), SENTENCES_TOKENS)}
    return examples | {
        "shares": (torch.ones(3, 5, 7), {0: "windows", 1: "tokens", 2: "pieces"}),
        "windows": (torch.ones(2, 3), {0: "sentences", 1: "windows"}),
    }


def build(config: EmbedderConfig, sentences: Sequence[Tokens]) -> Embedder:
    """A new embedder for training on the sentences."""
    path = Path(config.path).expanduser()
    if not path.is_dir():
        raise ModelError(f"{path}: no such directory; embedder.path must hold a Hugging Face encoder")
    if config.finetune:
        return TransformerEmbedder(Transformer(path, pooling=config.pooling), path, config.dropout)
    return LayeredEmbedder(TransformerSource(path, config.pooling), config.dropout)


def load(config: EmbedderConfig, files: Path) -> Embedder:
    """The embedder of a trained model."""
    if config.finetune:
        transformer = Transformer(files, pooling=config.pooling, weights=False)
        return TransformerEmbedder(transformer, files, config.dropout)
    return LayeredEmbedder(TransformerSource(files, config.pooling), config.dropout)
