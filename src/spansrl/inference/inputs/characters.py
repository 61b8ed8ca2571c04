"""Tokens in the characters that ELMo reads, as NumPy arrays; training and labeling share it.

A character is a byte of UTF-8, or one of the marks around words and sentences. The ids are those of bilm-tf
and AllenNLP, where 0 is padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spansrl.arrays import IntArray

MAX_CHARS = 50
"""Characters per word, including its begin and end marks."""

N_CHARS = 261
"""The number of characters: bytes and marks."""

# Bytes are 0 .. 255. Outside this module every id is one higher, so that 0 is padding.
_SENTENCE_BEGIN, _SENTENCE_END, _WORD_BEGIN, _WORD_END, _PADDING = range(256, N_CHARS)
_BEGIN, _END = "<S>", "</S>"
_SENTENCE_MARKS = {_BEGIN: _SENTENCE_BEGIN, _END: _SENTENCE_END}


@dataclass(frozen=True, slots=True)
class CharacterBatch:
    """S sentences of at most T tokens, between their begin and end marks; each distinct word appears once."""

    chars: IntArray  # (W, 50) ids of the distinct words' characters
    words: IntArray  # (S, T + 2) which of the W words; any of them at padding
    mask: npt.NDArray[np.bool_]  # (S, T + 2) true at words

    @classmethod
    def of(cls, sentences: Sequence[Sequence[str]]) -> CharacterBatch:
        sizes = np.array([len(tokens) + 2 for tokens in sentences], dtype=np.int64)
        mask = np.arange(sizes.max(initial=2)) < sizes[:, None]  # (S, T + 2)
        found = {_BEGIN: 0, _END: 1}
        words = np.zeros(mask.shape, dtype=np.int64)
        words[mask] = [
            found.setdefault(word, len(found)) for tokens in sentences for word in (_BEGIN, *tokens, _END)
        ]
        return cls(char_ids(list(found)), words, mask)


def char_ids(tokens: Sequence[str]) -> IntArray:
    """The tokens' characters (T, 50): UTF-8 bytes between begin and end of word; long words are cut."""
    ids = np.full((len(tokens), MAX_CHARS), _PADDING, dtype=np.int64)
    for row, token in zip(ids, tokens, strict=True):
        chars = _word_chars(token)
        row[: len(chars)] = chars
    return ids + 1


def _word_chars(token: str) -> list[int]:
    mark = _SENTENCE_MARKS.get(token)
    chars = token.encode("utf-8", "ignore")[: MAX_CHARS - 2] if mark is None else [mark]
    return [_WORD_BEGIN, *chars, _WORD_END]
