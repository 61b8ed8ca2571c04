"""Any Hugging Face encoder from a local directory, read as vectors of whole tokens from every layer.

Sentences longer than the encoder's positions are read in windows, so length is never an error.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from spansrl.errors import MissingExtraError, ModelError
from spansrl.model.ragged import IntArray, Ragged, offsets_of


@dataclass(frozen=True, slots=True)
class PieceInput:
    """Word pieces of S sentences in W windows of at most P pieces; only a very long sentence has several."""

    pieces: Tensor  # (W, P) ids
    mask: Tensor  # (W, P) true at pieces
    token: Tensor  # (W, P) the piece's token in the flat (S · T) tokens; S · T for special pieces and padding
    n_sentences: int  # S
    n_tokens: int  # T

    def to(self, device: torch.device) -> PieceInput:
        """The same input on a device."""
        return PieceInput(
            pieces=self.pieces.to(device),
            mask=self.mask.to(device),
            token=self.token.to(device),
            n_sentences=self.n_sentences,
            n_tokens=self.n_tokens,
        )


@dataclass(frozen=True, slots=True)
class PieceStore:
    """A corpus in word pieces: windows of pieces, and which windows belong to which sentence."""

    pieces: Ragged  # a row a window: piece ids
    tokens: Ragged  # a row a window: token index of each piece in its sentence, −1 for special pieces
    windows: IntArray  # (S + 1,) windows of sentence s
    lengths: IntArray  # (S,) tokens

    def take(self, rows: IntArray) -> PieceInput:
        """The chosen sentences as one padded batch."""
        chosen = [np.arange(self.windows[row], self.windows[row + 1]) for row in rows]
        windows = np.concatenate(chosen)
        sentence = np.repeat(np.arange(len(rows)), [len(part) for part in chosen])  # (W,)
        longest = int(self.lengths[rows].max())
        sizes = self.pieces.lengths[windows]
        mask = np.arange(sizes.max()) < sizes[:, None]  # (W, P)
        token = self.tokens.padded(windows)
        place = np.where(mask & (token >= 0), sentence[:, None] * longest + token, len(rows) * longest)
        return PieceInput(
            pieces=torch.from_numpy(self.pieces.padded(windows)),
            mask=torch.from_numpy(mask),
            token=torch.from_numpy(place),
            n_sentences=len(rows),
            n_tokens=longest,
        )


class Transformer(nn.Module):
    """A pretrained encoder with its tokeniser: sentences in, (S, T, L, D) vectors of every layer out."""

    def __init__(self, directory: Path, *, pooling: str = "mean", weights: bool = True) -> None:
        """`weights=False` builds the architecture only, for weights that come from elsewhere."""
        super().__init__()
        self.tokenizer = _load_tokenizer(directory)
        self.encoder = _load_encoder(directory, weights=weights)
        self.pooling = pooling
        settings = self.encoder.config
        self.width = int(settings.hidden_size)
        self.n_layers = int(settings.num_hidden_layers) + 1  # with the embedding layer
        self.window = (
            int(settings.max_position_embeddings) - 4
        )  # room for special pieces and position offsets

    def prepare(self, sentences: Sequence[Sequence[str]]) -> PieceStore:
        """The sentences in word pieces."""
        encodings = self.tokenizer.encode_batch([list(tokens) for tokens in sentences], is_pretokenized=True)
        pieces: list[IntArray] = []
        tokens: list[IntArray] = []
        counts: list[int] = []
        for encoding in encodings:
            ids = np.array(encoding.ids, dtype=np.int64)
            token = np.array([-1 if word is None else word for word in encoding.word_ids], dtype=np.int64)
            windows = self._windows(ids, token)
            counts.append(len(windows))
            pieces.extend(ids for ids, _ in windows)
            tokens.extend(token for _, token in windows)
        empty = np.zeros(0, dtype=np.int64)
        lengths = np.array([len(tokens) for tokens in sentences], dtype=np.int64)
        return PieceStore(
            Ragged.of(pieces, like=empty), Ragged.of(tokens, like=empty), offsets_of(counts), lengths
        )

    def _windows(self, ids: IntArray, token: IntArray) -> list[tuple[IntArray, IntArray]]:
        """The pieces in runs that fit the encoder, each between the same special pieces."""
        if len(ids) <= self.window:
            return [(ids, token)]
        inner = np.flatnonzero(token >= 0)
        head, tail = slice(0, inner[0]), slice(inner[-1] + 1, len(ids))
        room = self.window - inner[0] - (len(ids) - inner[-1] - 1)
        return [
            (
                np.concatenate([ids[head], ids[part], ids[tail]]),
                np.concatenate([token[head], token[part], token[tail]]),
            )
            for part in np.split(inner, _cuts(token[inner], room))
        ]

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


def _cuts(token: IntArray, room: int) -> list[int]:
    """Where to cut pieces into runs of at most `room`: between two tokens, unless one alone is longer."""
    bounds = np.flatnonzero(np.diff(token)) + 1
    cuts, begin = [], 0
    while len(token) - begin > room:
        between = bounds[(begin < bounds) & (bounds <= begin + room)]
        begin = int(between[-1]) if len(between) else begin + room
        cuts.append(begin)
    return cuts


def _load_tokenizer(directory: Path) -> Any:
    try:
        from tokenizers import Tokenizer
        from tokenizers.pre_tokenizers import ByteLevel
    except ImportError as error:
        raise MissingExtraError("a transformer embedder", "train") from error
    path = directory / "tokenizer.json"
    if not path.is_file():
        raise ModelError(
            f"{directory}: no tokenizer.json; expected a Hugging Face encoder with a fast tokenizer"
        )
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    if isinstance(tokenizer.pre_tokenizer, ByteLevel):
        tokenizer.pre_tokenizer.add_prefix_space = True  # every token begins a word, as after a blank in text
    return tokenizer


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
        from transformers.utils import logging
    except ImportError as error:
        raise MissingExtraError("a transformer embedder", "train") from error
    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # the library never prints
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
    finally:
        if bars:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]
    encoder.pooler = None  # the sentence vector is never used, and its weights would get no gradient
    return encoder
