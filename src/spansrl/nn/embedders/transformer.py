"""Any Hugging Face encoder from a local directory, read as vectors of whole tokens from every layer."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from spansrl.errors import MissingExtraError, ModelError
from spansrl.inference.inputs.pieces import (
    SPECIAL_PIECES,
    PieceBatch,
    PieceStore,
    PieceTokenizer,
    load_tokenizer,
)


@dataclass(frozen=True, slots=True)
class PieceInput:
    """A PieceBatch as tensors."""

    pieces: Tensor  # (W, P) ids
    mask: Tensor  # (W, P) true at pieces
    token: Tensor  # (W, P) the piece's token in the flat (S · T) tokens; S · T for special pieces and padding
    n_sentences: int  # S
    n_tokens: int  # T

    @classmethod
    def of(cls, batch: PieceBatch) -> PieceInput:
        """The batch's arrays as tensors."""
        pieces, mask, token = map(torch.from_numpy, (batch.pieces, batch.mask, batch.token))
        return cls(pieces, mask, token, batch.n_sentences, batch.n_tokens)

    def to(self, device: torch.device) -> PieceInput:
        """The same input on a device."""
        pieces, mask, token = (part.to(device) for part in (self.pieces, self.mask, self.token))
        return PieceInput(pieces, mask, token, self.n_sentences, self.n_tokens)


class Transformer(nn.Module):
    """A pretrained encoder with its tokenizer: sentences in, (S, T, L, D) vectors of every layer out."""

    def __init__(self, directory: Path, *, pooling: str = "mean", weights: bool = True) -> None:
        """`weights=False` builds the architecture only, for weights that come from elsewhere."""
        super().__init__()
        tokenizer = load_tokenizer(directory)
        self.encoder = _load_encoder(directory, weights=weights)
        self.pooling = pooling
        settings = self.encoder.config
        self.width = int(settings.hidden_size)
        self.n_layers = int(settings.num_hidden_layers) + 1  # with the embedding layer
        self.tokenizer = PieceTokenizer(tokenizer, int(settings.max_position_embeddings) - SPECIAL_PIECES)

    def prepare(self, sentences: Sequence[Sequence[str]]) -> PieceStore:
        """The sentences in word pieces."""
        return self.tokenizer.prepare(sentences)

    def forward(self, inputs: PieceInput) -> Tensor:
        """(S, T, L, D): every layer's vector of every token"""
        layers = torch.stack(self.states(inputs), dim=2)  # (W, P, L, D)
        *_, L, D = layers.shape
        return self.pool(layers.flatten(2), inputs).view(inputs.n_sentences, inputs.n_tokens, L, D)

    def states(self, inputs: PieceInput) -> tuple[Tensor, ...]:
        """The vectors of every piece, (W, P, D), from each of the L layers."""
        states: tuple[Tensor, ...] = self.encoder(
            inputs.pieces, attention_mask=inputs.mask.long(), output_hidden_states=True
        ).hidden_states
        return states

    def pool(self, x: Tensor, inputs: PieceInput) -> Tensor:
        """Vectors of pieces (W, P, D) -> of tokens (S, T, D)"""
        flat, place = x.flatten(0, 1), inputs.token.reshape(-1)  # (W · P, D), (W · P,)
        if self.pooling == "first":
            previous = torch.nn.functional.pad(inputs.token[:, :-1], (1, 0), value=-1).reshape(-1)
            place = torch.where(place == previous, inputs.n_sentences * inputs.n_tokens, place)
        size = inputs.n_sentences * inputs.n_tokens + 1  # one more row takes what belongs to no token
        total = flat.new_zeros(size, flat.shape[1]).index_add(0, place, flat)
        count = flat.new_zeros(size).index_add(0, place, flat.new_ones(len(place)))
        mean = total[:-1] / count[:-1, None].clamp(min=1)
        return mean.view(inputs.n_sentences, inputs.n_tokens, -1)


@contextlib.contextmanager
def _without_progress_bar() -> Iterator[None]:
    """No bar of transformers' own for the second that loading takes; afterwards it is as the user had it."""
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
