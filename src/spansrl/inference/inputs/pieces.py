"""Tokens in the word pieces of a pretrained encoder, as NumPy arrays; training and labeling share it.

Sentences longer than the encoder's positions are read in windows, so length is never an error.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spansrl.arrays import IntArray, Ragged, offsets_of
from spansrl.errors import ModelError
from spansrl.inference.directory import read_json

N_CASES = 6
SPECIAL_PIECES = 4  # room that a window leaves for special pieces and for position offsets
_LONGEST_TOKEN = 200  # characters of a token that are looked at; no word is as long
_MOST_REPLACEMENTS, _LONGEST_REPLACEMENT = 8, 2  # in a normalizer: text becomes 2⁸ times as long at most
MOST_PIECES = 3  # of a token, where not all pieces of its sentence fit the encoder


@dataclass(frozen=True, slots=True)
class PieceBatch:
    """Word pieces of S sentences in W windows of at most P pieces; only a very long sentence has several."""

    pieces: IntArray  # (W, P) ids
    mask: npt.NDArray[np.bool_]  # (W, P) true at pieces
    # (W, P) the piece's token in the flat (S · T) tokens; S · T for special pieces and padding
    token: IntArray
    n_sentences: int  # S
    n_tokens: int  # T
    cases: IntArray  # (S, T) how each token is written; 0 at padding

    def first_pieces(self) -> IntArray:
        """(S, T): where each token's first piece is in the flat (W · P) pieces; 0 at padding."""
        size = self.n_sentences * self.n_tokens
        flat = self.token.reshape(-1)
        first = np.zeros(size + 1, dtype=np.int64)
        # Written back to front, so that the first piece of a token is what remains.
        first[flat[::-1]] = np.arange(len(flat) - 1, -1, -1)
        return first[:size].reshape(self.n_sentences, self.n_tokens)

    def shares(self) -> npt.NDArray[np.float32]:
        """(W, T, P): what each piece contributes to each token's mean; 0 for pieces of no token."""
        inside = self.token < self.n_sentences * self.n_tokens  # (W, P)
        counts = np.bincount(self.token.reshape(-1))
        out = np.zeros((len(self.token), self.n_tokens, self.token.shape[1]), np.float32)
        window, piece = np.nonzero(inside)
        token = self.token[window, piece]
        out[window, token % self.n_tokens, piece] = 1 / counts[token]
        return out

    def windows(self) -> npt.NDArray[np.float32]:
        """(S, W): 1 where a window belongs to a sentence."""
        first = self.token.min(axis=1)  # the least index of a window is that of one of its own tokens
        out = np.zeros((self.n_sentences, len(self.token)), np.float32)
        out[first // self.n_tokens, np.arange(len(self.token))] = 1
        return out


@dataclass(frozen=True, slots=True)
class PieceStore:
    """A corpus in word pieces: windows of pieces, and which windows belong to which sentence."""

    pieces: Ragged  # one row per window: piece ids
    tokens: Ragged  # one row per window: token index of each piece in its sentence, −1 for special pieces
    windows: IntArray  # (S + 1,) windows of sentence s
    lengths: IntArray  # (S,) tokens
    cases: Ragged  # one row per sentence: how each token is written, see `case_of`

    @property
    def piece_counts(self) -> IntArray:
        """(S,) the pieces of each sentence's longest window: what a batch is padded to."""
        return np.maximum.reduceat(self.pieces.lengths, self.windows[:-1])

    def take(self, rows: IntArray) -> PieceBatch:
        """The chosen sentences as one padded batch."""
        chosen = [np.arange(self.windows[row], self.windows[row + 1]) for row in rows]
        windows = np.concatenate(chosen)
        sentence = np.repeat(np.arange(len(rows)), [len(part) for part in chosen])  # (W,)
        longest = int(self.lengths[rows].max())
        sizes = self.pieces.lengths[windows]
        mask = np.arange(sizes.max()) < sizes[:, None]  # (W, P)
        token = self.tokens.padded(windows)
        index = np.where(mask & (token >= 0), sentence[:, None] * longest + token, len(rows) * longest)
        return PieceBatch(
            pieces=self.pieces.padded(windows),
            mask=mask,
            token=index,
            n_sentences=len(rows),
            n_tokens=longest,
            cases=self.cases.padded(rows),
        )


@dataclass(frozen=True, slots=True)
class PieceTokenizer:
    """A fast tokenizer of the encoder's own, given tokens that are already cut."""

    tokenizer: Any
    window: int  # the most pieces that the encoder reads at once

    def prepare(self, sentences: Sequence[Sequence[str]]) -> PieceStore:
        encodings = self._encode([[_readable(token) for token in tokens] for tokens in sentences])
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
        cases = [[case_of(token, t) for t, token in enumerate(tokens)] for tokens in sentences]
        return PieceStore(
            pieces=Ragged.of(pieces, like=empty),
            tokens=Ragged.of(tokens, like=empty),
            windows=offsets_of(counts),
            lengths=lengths,
            cases=Ragged(np.array([case for row in cases for case in row], np.int64), offsets_of(lengths)),
        )

    def _encode(self, sentences: list[list[str]]) -> list[Any]:
        """Encodings in which every token has a piece: one that the tokenizer makes nothing of becomes '?'."""
        with _errors_of_library("the model's tokenizer fails"):
            encodings: list[Any] = self.tokenizer.encode_batch(sentences, is_pretokenized=True)
            for k, (tokens, encoding) in enumerate(zip(sentences, encodings, strict=True)):
                if missing := set(range(len(tokens))).difference(encoding.word_ids):
                    filled = ["?" if t in missing else token for t, token in enumerate(tokens)]
                    encodings[k] = self.tokenizer.encode(filled, is_pretokenized=True)
                    if set(range(len(tokens))).difference(encodings[k].word_ids):
                        raise ModelError("the model's tokenizer has no piece for '?'; get the model again")
        return encodings

    def _windows(self, ids: IntArray, token: IntArray) -> list[tuple[IntArray, IntArray]]:
        """The pieces in runs that fit the encoder, each between the same special pieces.

        Of tokens with very many pieces some are left out then, so that 256 tokens never become 256 windows.
        """
        if len(ids) <= self.window:
            return [(ids, token)]
        inner = np.flatnonzero(token >= 0)
        head, tail = slice(0, inner[0]), slice(inner[-1] + 1, len(ids))
        room = self.window - inner[0] - (len(ids) - inner[-1] - 1)
        if room < 1:
            raise ModelError("the model's tokenizer adds more special pieces than the encoder reads")
        number = np.arange(len(inner)) - np.searchsorted(token[inner], token[inner])  # in the token
        inner = inner[number < min(MOST_PIECES, room)]
        return [
            (
                np.concatenate([ids[head], ids[part], ids[tail]]),
                np.concatenate([token[head], token[part], token[tail]]),
            )
            for part in np.split(inner, _cuts(token[inner], room))
        ]


def case_of(token: str, index: int) -> int:
    """How a token is written: 1 in title or 2 in upper case, otherwise 0; plus 3 at the beginning."""
    case = 0 if token.islower() or not token[:1].isupper() else 2 if len(token) > 1 and token.isupper() else 1
    return case if index else 3 + case


def load_tokenizer(directory: Path) -> Any:
    """The fast tokenizer in an encoder's directory, set to read whole sentences of cut tokens."""
    from tokenizers import Tokenizer
    from tokenizers.pre_tokenizers import ByteLevel

    path = directory / "tokenizer.json"
    if not path.is_file():
        raise ModelError(
            f"{directory}: no tokenizer.json; expected a Hugging Face encoder with a fast tokenizer"
        )
    settings = read_json(path)
    if problem := _normalizer_problem(settings.get("normalizer") if isinstance(settings, dict) else None):
        raise ModelError(f"{path}: not a tokenizer that can be used: {problem}")
    with _errors_of_library(f"{path}: not a tokenizer that can be used"):
        tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    if isinstance(tokenizer.pre_tokenizer, ByteLevel):
        tokenizer.pre_tokenizer.add_prefix_space = True  # every token begins a word, as after a blank in text
    return tokenizer


@contextmanager
def _errors_of_library(what: str) -> Iterator[None]:
    """Turn an error of the tokenizers library into a ModelError; its panics are not even Exceptions."""
    try:
        yield
    except (ModelError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ModelError(f"{what}: {reason}") from error


def _normalizer_problem(settings: Any) -> str:
    """What makes a normalizer panic, allocate without bound or multiply text; usually nothing."""
    found = settings.get("normalizers", [settings]) if isinstance(settings, dict) else []
    parts = [part for part in found if isinstance(part, dict)] if isinstance(found, list) else []
    if any("normalizers" in part for part in parts) and parts != [settings]:
        return "a sequence of normalizers in another one"
    growing = [part for part in parts if part.get("type") in ("Replace", "Prepend")]
    inserted = [str(part.get("content", part.get("prepend", ""))) for part in growing]
    if len(growing) > _MOST_REPLACEMENTS or any(len(text) > _LONGEST_REPLACEMENT for text in inserted):
        return "its normalizer multiplies text"
    for part in parts:
        if part.get("type") == "Precompiled":
            try:
                charsmap = base64.b64decode(str(part.get("precompiled_charsmap")), validate=True)
            except ValueError:
                return "its character map is not base64"
            size = int.from_bytes(charsmap[:4], "little")  # of the table that follows
            if len(charsmap) < 4 or size % 4 or not 0 < size <= len(charsmap) - 4:
                return "its character map is damaged"
    return ""


def _readable(token: str) -> str:
    """A token as the tokenizer may see it: not endlessly long, and without halves of surrogate pairs."""
    return token[:_LONGEST_TOKEN].encode("utf-8", "replace").decode("utf-8")


def _cuts(token: IntArray, room: int) -> list[int]:
    """Where to cut pieces into runs of at most `room`, between two tokens; none has more pieces than that."""
    bounds = np.append(np.flatnonzero(np.diff(token)) + 1, len(token))
    cuts, begin = [], 0
    while len(token) - begin > room:
        begin = int(bounds[np.searchsorted(bounds, begin + room, side="right") - 1])
        cuts.append(begin)
    return cuts
