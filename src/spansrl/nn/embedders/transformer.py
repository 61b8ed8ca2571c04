"""Any Hugging Face encoder from a local directory: fine-tuned, or frozen with its layers mixed.

It is read as vectors of whole tokens from every layer.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from spansrl.arrays import IntArray
from spansrl.errors import ConfigError, MissingExtraError, ModelError, counted
from spansrl.inference.config import EmbedderConfig
from spansrl.inference.directory import file_hash
from spansrl.inference.inputs.pieces import (
    N_CASES,
    SPECIAL_PIECES,
    PieceBatch,
    PieceStore,
    PieceTokenizer,
    load_tokenizer,
)
from spansrl.nn.embedders.base import (
    SENTENCES_TOKENS,
    WINDOWS_PIECES,
    Embedder,
    EncoderGraph,
    Examples,
    Graph,
)
from spansrl.nn.embedders.features import Progress, Tokens, hash_of
from spansrl.nn.embedders.layered import LayeredEmbedder, ScalarMix, copy_encoder
from spansrl.nn.tasks import TaskHeads

DESCRIPTION_FILES = "config.json", "tokenizer.json"
WEIGHTS_FILE = "model.safetensors"


@dataclass(frozen=True, slots=True)
class PieceInput:
    """A PieceBatch as tensors."""

    pieces: Tensor  # (W, P) ids
    mask: Tensor  # (W, P) true at pieces
    token: Tensor  # (W, P) the piece's token in the flat (S · T) tokens; S · T for special pieces and padding
    n_sentences: int  # S
    n_tokens: int  # T
    cases: Tensor  # (S, T) how each token is written

    @classmethod
    def of(cls, batch: PieceBatch) -> PieceInput:
        pieces, mask, token, cases = map(
            torch.from_numpy, (batch.pieces, batch.mask, batch.token, batch.cases)
        )
        return cls(pieces, mask, token, batch.n_sentences, batch.n_tokens, cases)


class Transformer(nn.Module):
    """A pretrained encoder with its tokenizer: sentences in, (S, T, L, D) vectors of every layer out."""

    def __init__(self, directory: Path, *, pooling: str = "mean", weights: bool = True) -> None:
        """`weights=False` builds the architecture only; the caller loads the weights."""
        super().__init__()
        tokenizer = load_tokenizer(directory)
        self.encoder = _load_encoder(directory, weights=weights)
        self.pooling = pooling
        settings = self.encoder.config
        self.width = int(settings.hidden_size)
        self.n_layers = int(settings.num_hidden_layers) + 1  # with the embedding layer
        self.tokenizer = PieceTokenizer(tokenizer, int(settings.max_position_embeddings) - SPECIAL_PIECES)

    def prepare(self, sentences: Sequence[Sequence[str]]) -> PieceStore:
        return self.tokenizer.prepare(sentences)

    def forward(self, inputs: PieceInput) -> Tensor:
        """(S, T, L, D): every layer's vector of every token"""
        layers = torch.stack(self.states(inputs), dim=2)  # (W, P, L, D)
        *_, L, D = layers.shape
        return self.pool(layers.flatten(2), inputs).view(inputs.n_sentences, inputs.n_tokens, L, D)

    def states(self, inputs: PieceInput) -> tuple[Tensor, ...]:
        """The vectors of every piece, (W, P, D), from each of the L layers."""
        return self.encoder(
            inputs.pieces, attention_mask=inputs.mask.long(), output_hidden_states=True
        ).hidden_states

    def take_top(self, count: int) -> TopLayers:
        """Give away the top layers, under their names."""
        stack: Any = getattr(self.encoder, "encoder", None)
        layers = getattr(stack, "layer", None)
        if not isinstance(layers, nn.ModuleList):
            raise ModelError(
                f"encoder.top_layers: {type(self.encoder).__name__} has no stack of layers to divide"
            )
        if count >= len(layers):
            raise ConfigError(
                f"encoder.top_layers is {count}; the transformer has {counted(len(layers), 'layer')}"
            )
        first = len(layers) - count
        top = copy.deepcopy(stack)
        top.layer = nn.ModuleList()
        for k in range(first, len(layers)):
            top.layer.add_module(str(k), layers[k])
        stack.layer = layers[:first]
        self.n_layers = first + 1
        return TopLayers(top)

    def pool(self, x: Tensor, inputs: PieceInput) -> Tensor:
        """Vectors of pieces (W, P, D) -> of tokens (S, T, D)"""
        flat, index = x.flatten(0, 1), inputs.token.reshape(-1)  # (W · P, D), (W · P,)
        if self.pooling == "first":
            previous = torch.nn.functional.pad(inputs.token[:, :-1], (1, 0), value=-1).reshape(-1)
            index = torch.where(index == previous, inputs.n_sentences * inputs.n_tokens, index)
        size = inputs.n_sentences * inputs.n_tokens + 1  # one more row takes what belongs to no token
        total = flat.new_zeros(size, flat.shape[1]).index_add(0, index, flat)
        count = flat.new_zeros(size).index_add(0, index, flat.new_ones(len(index)))
        mean = total[:-1] / count[:-1, None].clamp(min=1)
        return mean.view(inputs.n_sentences, inputs.n_tokens, -1)


class TopLayers(nn.Module):
    """The top layers of a transformer as layers over tokens."""

    def __init__(self, stack: Any) -> None:
        super().__init__()
        self.transformer = stack

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x (N, T, D), mask (N, T) true at tokens -> (N, T, D)"""
        bias = torch.zeros_like(mask, dtype=x.dtype).masked_fill(~mask, -1e9)
        found: Tensor = self.transformer(x, bias[:, None, None])[0]
        return found


class TransformerEmbedder(Embedder):
    """A transformer that is trained with everything else; its layers are mixed as the frozen ones are."""

    def __init__(self, transformer: Transformer, directory: Path, config: EmbedderConfig) -> None:
        super().__init__()
        for module in transformer.modules():
            if isinstance(module, nn.Dropout):
                module.p = config.inner_dropout
        self.transformer = transformer
        self.directory = directory
        self.mix = ScalarMix(transformer.n_layers)
        self.case = nn.Embedding(N_CASES, transformer.width) if config.case else None
        if self.case is not None:
            nn.init.zeros_(self.case.weight)
        self.dropout = nn.Dropout(config.dropout)
        self.width = transformer.width

    def take_top(self, count: int) -> TopLayers:
        """Give away the top layers; the others are mixed from now on, at first to almost the last of them."""
        top = self.transformer.take_top(count)
        self.mix = ScalarMix(self.transformer.n_layers, last=5.0)
        return top

    def prepare(
        self, sentences: Sequence[Tokens], cache: Path | None = None, progress: Progress | None = None
    ) -> PieceStore:
        return self.transformer.prepare(sentences)

    def take(self, store: PieceStore, rows: IntArray) -> PieceInput:
        return PieceInput.of(store.take(rows))

    def forward(self, inputs: PieceInput) -> Tensor:
        """-> (S, T, D)"""
        # Mixing comes first: it is linear, and one layer's worth of vectors is less to pool than all.
        mixed: Tensor = self.mix(torch.stack(self.transformer.states(inputs)))  # (W, P, D)
        pooled = self.transformer.pool(mixed, inputs)
        return self.dropout(pooled if self.case is None else pooled + self.case(inputs.cases))

    def save_files(self, files: Path) -> None:
        """Architecture and tokenizer; the weights are among the model's own."""
        copy_encoder(self.directory, files, DESCRIPTION_FILES)

    def costs(self, store: PieceStore) -> IntArray:
        return store.piece_counts

    def graph(self, tasks: TaskHeads | None) -> Graph:
        return pieces_graph(self.transformer, self.mix, tasks, self.case)


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
        weights = file_hash(self.directory / WEIGHTS_FILE)
        tokenizer = file_hash(self.directory / "tokenizer.json")
        return hash_of(f"transformer:{self.pooling}:{weights}:{tokenizer}")

    @torch.inference_mode()
    def compute(self, sentences: Sequence[Tokens]) -> list[npt.NDArray[np.float32]]:
        store = self.transformer.prepare(sentences)
        inputs = PieceInput.of(store.take(np.arange(len(sentences))))
        layers = self.transformer(inputs).numpy()  # (S, T, L, D)
        return [layers[k, : len(tokens)] for k, tokens in enumerate(sentences)]

    def copy_files(self, files: Path) -> None:
        copy_encoder(self.directory, files, (*DESCRIPTION_FILES, WEIGHTS_FILE))

    def graph(self, mix: ScalarMix, tasks: TaskHeads | None) -> Graph:
        return pieces_graph(self.transformer, mix, tasks)


class PiecesGraph(EncoderGraph):
    """For transformers: the layers of all pieces, mixed."""

    def __init__(
        self,
        transformer: Transformer,
        mix: ScalarMix,
        tasks: TaskHeads | None,
        case: nn.Embedding | None = None,
    ) -> None:
        super().__init__(tasks)
        self.encoder = transformer.encoder
        self.mix = mix
        self.case = case

    def written(self, x: Tensor, cases: Tensor | None) -> tuple[Tensor, ...]:
        """The outputs for token vectors (S, T, D) with the vectors of their case."""
        return self.outputs(x if self.case is None or cases is None else x + self.case(cases))

    def mixed(self, pieces: Tensor, mask: Tensor) -> Tensor:
        """pieces (W, P), mask (W, P) -> (W, P, D)"""
        states = self.encoder(pieces, attention_mask=mask, output_hidden_states=True).hidden_states
        return self.mix(torch.stack(states))


class FirstPieceGraph(PiecesGraph):
    """A token is its first piece."""

    def forward(
        self, pieces: Tensor, mask: Tensor, first: Tensor, cases: Tensor | None = None
    ) -> tuple[Tensor, ...]:
        """pieces (W, P), mask (W, P), first (S, T) indices in the flat (W · P) pieces, cases (S, T)"""
        return self.written(self.mixed(pieces, mask).flatten(0, 1)[first], cases)


class MeanPieceGraph(PiecesGraph):
    """A token is the mean of its pieces."""

    def forward(
        self, pieces: Tensor, mask: Tensor, shares: Tensor, windows: Tensor, cases: Tensor | None = None
    ) -> tuple[Tensor, ...]:
        """pieces (W, P), mask (W, P), shares (W, T, P), windows (S, W), cases (S, T)"""
        tokens = shares @ self.mixed(pieces, mask)  # (W, T, D)
        return self.written(torch.einsum("sw,wtd->std", windows, tokens), cases)


def pieces_graph(
    transformer: Transformer, mix: ScalarMix, tasks: TaskHeads | None, case: nn.Embedding | None = None
) -> Graph:
    kind = FirstPieceGraph if transformer.pooling == "first" else MeanPieceGraph
    module = kind(transformer, mix, tasks, case)
    examples = _piece_examples(transformer.pooling)
    if case is not None:
        examples["cases"] = torch.ones(2, 5, dtype=torch.long), SENTENCES_TOKENS
    return Graph(module, examples, module.names())


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
    path = Path(config.path).expanduser()
    if not path.is_dir():
        raise ModelError(f"{path}: no such directory; embedder.path must hold a Hugging Face encoder")
    if config.finetune:
        return TransformerEmbedder(Transformer(path, pooling=config.pooling), path, config)
    return LayeredEmbedder(TransformerSource(path, config.pooling), config.dropout)


def load(config: EmbedderConfig, files: Path) -> Embedder:
    if config.finetune:
        transformer = Transformer(files, pooling=config.pooling, weights=False)
        return TransformerEmbedder(transformer, files, config)
    return LayeredEmbedder(TransformerSource(files, config.pooling), config.dropout)


@contextlib.contextmanager
def _without_progress_bar() -> Iterator[None]:
    """Hide the progress bar of transformers while it loads; afterwards the user's setting is restored."""
    from transformers.utils import logging

    was_shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        if was_shown:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]


def _load_encoder(directory: Path, *, weights: bool) -> Any:
    try:
        from transformers import AutoConfig, AutoModel
    except ImportError as error:
        raise MissingExtraError("a transformer embedder", "train") from error
    try:
        config = AutoConfig.from_pretrained(directory, local_files_only=True)
        if weights:
            with _without_progress_bar():
                encoder = AutoModel.from_pretrained(
                    directory, config=config, local_files_only=True, use_safetensors=True, dtype=torch.float32
                )
        else:
            encoder = AutoModel.from_config(config, dtype=torch.float32)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ModelError(f"{directory}: cannot load the encoder: {reason}") from error
    encoder.pooler = None  # the sentence vector is never used, and its weights would get no gradient
    return encoder
