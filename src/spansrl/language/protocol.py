"""What words and sentences are: the protocol that a language implements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

MAX_TOKENS = 256  # of a sentence
Offsets = tuple[int, int]


@dataclass(frozen=True, slots=True)
class TextSentence:
    """A sentence of a text; all offsets are half-open, in code points of the whole text.

    `cut` means that the sentence was longer than allowed and this is one of its pieces.
    """

    start: int
    end: int
    tokens: tuple[Offsets, ...]
    cut: bool = False

    def words(self, text: str) -> tuple[str, ...]:
        """The tokens as strings, given the text that the sentence was found in."""
        return tuple(text[start:end] for start, end in self.tokens)


class Language(Protocol):
    """What labeling text needs to know of a language."""

    @property
    def name(self) -> str:
        """As in the config.json of a model: "english"."""

    def split(self, text: str) -> Iterator[TextSentence]:
        """The sentences of a text with their tokens; none is longer than MAX_TOKENS."""

    def lemma(self, word: str, type: str | None) -> str:
        """The base form of a predicate of this type, or of unknown type."""

    def looks_right(self, tokens: Sequence[str]) -> bool:
        """Whether a text of these tokens may be in this language."""

    def can_be_predicate(self, word: str, type: str) -> bool:
        """Whether a word can be a predicate of this type."""

    def may_be_name(self, tokens: Sequence[str], index: int) -> bool:
        """Whether a noun of a sentence may be a proper one."""
