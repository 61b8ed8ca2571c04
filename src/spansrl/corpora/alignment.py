"""Align two tokenizations of one sentence by part-of-speech tags, where the left side has no words.

PropBank's skeletons have tags but no words; Universal Dependencies has words, sometimes split differently.
An alignment is a list of blocks in order: one token to one, several left tokens to one word (``where - ever``
to ``where-ever``), one left token to several words (``Posts`` to ``Post s``), or a token without a partner.
The cheapest list of blocks is found by dynamic programming.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from spansrl.structures import Span

MAX_MERGED = 6  # left tokens in one word; "SS - N - 22" needs five
MAX_SPLIT = 4  # words for one left token; "2 / 3" needs three
_DRIFT = 8

# Set on the sentences of EWT that the two sources split differently: a wrong tag must stay cheaper than a
# regrouping, since many tags were corrected later ("of course" from RB RB to IN NN) and few tokens were.
_ALONE = 2.5
_REGROUPED = 1.5
_PER_TOKEN = 0.1
_OTHER_TAG = 0.2
_LIKELY_SHAPE = 0.2
_SAME_LEMMA = 0.5

_PIECES = re.compile(r"[^\W_]+|[\W_]")
_ALPHANUMERIC = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class AlignedToken:
    """One token; on the left side it has a tag, and a lemma if it is a predicate."""

    tag: str
    lemma: str | None = None
    form: str | None = None
    glued: bool = False  # written without a space after the token before it


class Block(NamedTuple):
    """Left tokens and the right tokens that correspond to them; one side may be empty, but not both."""

    left: Span
    right: Span

    @property
    def is_regrouped(self) -> bool:
        return (self.left.end - self.left.start, self.right.end - self.right.start) != (1, 1)

    def shifted(self, left: int, right: int) -> Block:
        return Block(
            Span(self.left.start + left, self.left.end + left),
            Span(self.right.start + right, self.right.end + right),
        )


class Alignment(NamedTuple):
    """Blocks that cover both sides, in order, and their total cost."""

    blocks: list[Block]
    cost: float


def align(left: Sequence[AlignedToken], right: Sequence[AlignedToken]) -> Alignment:
    """Return the cheapest alignment; ties are broken deterministically."""
    best: dict[tuple[int, int], tuple[float, int, int]] = {(0, 0): (0.0, 0, 0)}
    longer = len(right) - len(left)
    for i in range(len(left) + 1):
        # Two tokenizations of the same text do not drift apart further than this.
        for j in range(max(0, i + min(0, longer) - _DRIFT), min(len(right), i + max(0, longer) + _DRIFT) + 1):
            if (i, j) not in best:
                continue
            so_far = best[i, j][0]
            for di, dj, cost in _moves(left, right, i, j):
                there = (i + di, j + dj)
                # Rounded, so that sums which are equal on paper tie, and the first found wins.
                total = round(so_far + cost, 6)
                if there not in best or total < best[there][0]:
                    best[there] = (total, i, j)
    blocks = []
    i, j = len(left), len(right)
    while (i, j) != (0, 0):
        _, before_i, before_j = best[i, j]
        blocks.append(Block(Span(before_i, i), Span(before_j, j)))
        i, j = before_i, before_j
    return Alignment(blocks[::-1], best[len(left), len(right)][0])


def align_by_position(left: Sequence[AlignedToken], right: Sequence[AlignedToken]) -> Alignment:
    blocks = [Block(Span(index, index + 1), Span(index, index + 1)) for index in range(len(left))]
    cost = sum(_pair_cost(token, word) for token, word in zip(left, right, strict=True))
    return Alignment(blocks, round(cost, 6))


def _moves(
    left: Sequence[AlignedToken], right: Sequence[AlignedToken], i: int, j: int
) -> Iterator[tuple[int, int, float]]:
    """Yield every block that can begin at (i, j): its tokens on either side, and its cost."""
    if i < len(left):
        yield 1, 0, _ALONE
    if j < len(right):
        yield 0, 1, _ALONE
    if i == len(left) or j == len(right):
        return
    yield 1, 1, _pair_cost(left[i], right[j])
    for n in range(2, min(_most_tokens(right[j]), len(left) - i) + 1):
        if all(_is_punctuation(token) == _is_punctuation(right[j]) for token in left[i : i + n]):
            yield n, 1, _merge_cost(left[i : i + n], right[j])
    for m in range(2, min(MAX_SPLIT, len(right) - j) + 1):
        if not _is_punctuation(left[i]) or all(_is_punctuation(word) for word in right[j : j + m]):
            yield 1, m, _split_cost(left[i], right[j : j + m])


def _pair_cost(left: AlignedToken, right: AlignedToken) -> float:
    cost = 0.0 if left.tag == right.tag else 0.5 if left.tag[:1] == right.tag[:1] else 1.0
    return cost - _SAME_LEMMA if left.lemma is not None and left.lemma == right.lemma else cost


def _merge_cost(left: Sequence[AlignedToken], word: AlignedToken) -> float:
    form = word.form or ""
    # Split at its punctuation, with and without the punctuation.
    pieces = len(_PIECES.findall(form)), len(_ALPHANUMERIC.findall(form))
    likely = len(left) in pieces or _ends_in_clitic(left, form)
    return _group_cost(len(left), any(token.tag == word.tag for token in left), likely)


def _split_cost(token: AlignedToken, words: Sequence[AlignedToken]) -> float:
    return _group_cost(
        len(words), any(word.tag == token.tag for word in words), all(w.glued for w in words[1:])
    )


def _group_cost(size: int, same_tag: bool, likely: bool) -> float:
    cost = _REGROUPED + _PER_TOKEN * (size - 1)
    return cost + (0.0 if same_tag else _OTHER_TAG) - (_LIKELY_SHAPE if likely else 0.0)


def _most_tokens(word: AlignedToken) -> int:
    """Return the largest number of left tokens for a word: not more than it has characters."""
    return MAX_MERGED if word.form is None else min(MAX_MERGED, len(word.form))


def _is_punctuation(token: AlignedToken) -> bool:
    """Whether the tag is punctuation, like ``,`` and ``.``; hyphens and brackets have tags with letters."""
    return not token.tag.strip("-$").isalpha()


def _ends_in_clitic(left: Sequence[AlignedToken], form: str) -> bool:
    """Two tokens of which the second is a written-on ``s``: ``it's``, ``Dinners'``."""
    return len(left) == 2 and left[1].tag in ("POS", "VBZ") and form.rstrip("'’").endswith("s")
