"""Text to sentences to tokens, with exact offsets, cut as the English Web Treebank cuts them.

    >>> [text[start:end] for sent in split(text) for start, end in sent.tokens]

Standard library only; linear in the length of the text; no string is refused, and whatever is not white space
is in exactly one token. See docs/tokenizing.md for the conventions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spansrl.errors import ConfigError
from spansrl.language.english.tokenizer.scanner import Token, scan
from spansrl.language.english.tokenizer.sentence_boundaries import Gap, Paragraph, gap_between, sentence_ends
from spansrl.language.protocol import MAX_TOKENS, Offsets, TextSentence

__all__ = ["MAX_TOKENS", "Offsets", "TextSentence", "iter_sentences", "split", "tokenize"]

_BLOCK = 2048  # tokens of a paragraph that are looked at together


def split(text: str, *, max_tokens: int = MAX_TOKENS) -> list[TextSentence]:
    """The sentences of a text; those of more than `max_tokens` tokens are cut into pieces."""
    return list(iter_sentences(text, max_tokens=max_tokens))


def tokenize(text: str) -> list[Offsets]:
    return [token for sent in iter_sentences(text) for token in sent.tokens]


def iter_sentences(text: str, *, max_tokens: int = MAX_TOKENS) -> Iterator[TextSentence]:
    """The sentences of a text one by one; memory does not grow with its length, except for the text."""
    if max_tokens < 1:
        raise ConfigError(f"max_tokens is {max_tokens}; a sentence needs room for at least 1 token")
    for tokens in _sentences(text, max(_BLOCK, 2 * max_tokens)):
        offsets = _offsets(text, tokens)
        pieces = list(_pieces(text, offsets, max_tokens))
        for piece in pieces:
            yield TextSentence(piece[0][0], piece[-1][1], tuple(piece), cut=len(pieces) > 1)


def _sentences(text: str, block: int) -> Iterator[Sequence[Token]]:
    """The tokens of each sentence, looking at no more than `block` of them at a time."""
    tokens: list[Token] = []
    gaps: list[Gap] = []
    for token in scan(text):
        gap = gap_between(text, tokens[-1].end, token.start) if tokens else Gap.BREAK
        if gap is Gap.BREAK and tokens:
            yield from _divided(text, tokens, gaps)
            tokens, gaps = [], []
        elif len(tokens) == block:
            *done, rest = _divided(text, tokens, gaps)
            yield from done
            # A longer rest is cut anyway, and looking at it again after every few tokens would be slow.
            kept = len(rest) if len(rest) <= block // 2 else 0
            if not kept:
                yield rest
            tokens, gaps = tokens[block - kept :], gaps[block - kept :]
        tokens.append(token)
        gaps.append(gap)
    if tokens:
        yield from _divided(text, tokens, gaps)


def _divided(text: str, tokens: Sequence[Token], gaps: Sequence[Gap]) -> Iterator[Sequence[Token]]:
    start = 0
    for end in sentence_ends(Paragraph.of(text, tokens, gaps)):
        yield tokens[start:end]
        start = end
    yield tokens[start:]


def _offsets(text: str, tokens: Sequence[Token]) -> list[Offsets]:
    """Return the offsets of a sentence's tokens; a full stop at its end is always a token."""
    offsets = [(token.start, token.end) for token in tokens]
    start, end, kind = tokens[-1]
    if kind in ("abbreviation", "acronym", "initial") and text[end - 1] == ".":
        offsets[-1:] = [(start, end - 1), (end - 1, end)]
    return offsets


def _pieces(text: str, offsets: list[Offsets], limit: int) -> Iterator[list[Offsets]]:
    """A sentence cut where it is too long, after punctuation if there is some in a piece's second half."""
    start = 0
    while len(offsets) - start > limit:
        ends = range(start + limit, start + limit // 2, -1)
        end = max(ends, key=lambda end: _cutting_rank(text, offsets[end - 1]))
        yield offsets[start:end]
        start = end
    yield offsets[start:]


def _cutting_rank(text: str, token: Offsets) -> int:
    """How well a sentence can be cut after a token."""
    mark = text[token[1] - 1]
    return 3 if mark in ".!?…" else 2 if mark in ";:" else 1 if mark in ",)]}–—" else 0
