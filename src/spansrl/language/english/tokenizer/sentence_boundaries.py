"""Where paragraphs end, by their white space, and sentences, by a small linear model of the gaps in between.

`boundaries.json` has the weights of features, trained by logistic regression on the training documents of the
English Web Treebank (`experiments/train_boundaries.py`). A gap ends a sentence if the weights of its features
add up to more than zero.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from importlib.resources import files

from spansrl.language.english.tokenizer.scanner import Token
from spansrl.language.english.tokenizer.token_lists import (
    ENDING_ABBREVIATIONS,
    INNER_ACRONYMS,
    SENTENCE_STARTERS,
)

_CATEGORY_OF_PATTERN = {
    pattern: category
    for category, patterns in {
        "EMO": "emoticon emoji",
        "URL": "url email domain file newsgroup",
        "NUM": "dashed_number date year amount number version decade",
        "ABBR": "abbreviation",
        "ACRO": "acronym",
        "INIT": "initial",
        "DRAW": "drawing",
        "STOP": "foreign_stop",
    }.items()
    for pattern in patterns.split()
}
# The treebank has few curved quotes and ellipsis characters; the model treats them like their plain forms.
_PLAIN_FORM = {"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "…": "...", "‥": "..."}
_MARKS = frozenset(",:;()[]{}<>\"'`-–—/\\&*|@$%#+=~_•·")
_OPENING = frozenset("([{<“‘„«`")
_CLOSING = frozenset(")]}>\"'")
_STOPS = frozenset((".", "?", "!", "?!"))
_INSIDE = frozenset(("low", "clitic", "mix"))  # categories between two of which no sentence ends
_QUOTE = '"'
_NEAR = 60  # how many tokens back brackets and quotes are looked for
_WORD = 20  # how many characters of a word are looked at
_LENGTHS = (30, 12, 7, 4)  # a length counts as the first of these that it reaches

_PARAGRAPH_END = re.compile(r"[\f\u2029]")
_LINE_MARKS = "\n\r\v\x1c\x1d\x1e\x85\u2028"
_LINE_END = re.compile(rf"\r\n|[{_LINE_MARKS}]")
_WORD_END = re.compile(r"\s")
_LIST_ITEM = re.compile(r"(?:[-*•·–—>]|\(?(?:\d{1,3}|[A-Za-z])[.)]|#{1,6})\s")
_FULL_LINE = 60  # running text is rarely wrapped at less
_FAR = 200  # nor at more; no need to look any further


class Gap(IntEnum):
    """What is between a token and the previous one."""

    NONE = 0
    SPACE = 1  # also a line break inside running text
    BREAK = 2  # a blank line, a line that ends early, a list item, the beginning of the text


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Tokens without a break between them, with the category of each and the gap before it."""

    text: str
    tokens: Sequence[Token]
    gaps: Sequence[Gap]
    categories: Sequence[str]

    @classmethod
    def of(cls, text: str, tokens: Sequence[Token], gaps: Sequence[Gap]) -> Paragraph:
        return cls(text, tokens, gaps, [_category(text, token) for token in tokens])

    def category(self, index: int, start: int = 0) -> str:
        """Return the category of a token, or a mark before `start` and after the end."""
        if index < start:
            return "^"
        return self.categories[index] if index < len(self.categories) else "$"

    def word(self, index: int, start: int = 0) -> str:
        if index < start:
            return "^"
        token = self.tokens[index]
        return self.text[token.start : min(token.end, token.start + _WORD)]


def gap_between(text: str, left: int, right: int) -> Gap:
    """The kind of text[left:right], where a token ends at `left` and the next begins at `right`."""
    if left == right:
        return Gap.NONE
    space = text[left:right]
    if space == " ":
        return Gap.SPACE
    lines = len(_LINE_END.findall(space))
    if lines > 1 or _PARAGRAPH_END.search(space):
        return Gap.BREAK
    return Gap.BREAK if lines and _line_ends_early(text, left, right) else Gap.SPACE


def _line_ends_early(text: str, left: int, right: int) -> bool:
    """Whether the line break before `right` was meant: the next word had room, or a list item follows."""
    if _LIST_ITEM.match(text, right):
        return True
    if text[right].islower() or text[left - 1] == ",":
        return False
    begin = max(0, left - _FAR, *(text.rfind(mark, max(0, left - _FAR), left) + 1 for mark in _LINE_MARKS))
    next_line = _distance(_LINE_END, text, right)
    next_word = _distance(_WORD_END, text, right)
    return left - begin + 1 + next_word <= max(next_line, _FULL_LINE)


def _distance(pattern: re.Pattern[str], text: str, index: int) -> int:
    """How far the next match is, but not more than `_FAR`."""
    found = pattern.search(text, index, index + _FAR)
    return found.start() - index if found else min(len(text) - index, _FAR)


def sentence_ends(paragraph: Paragraph) -> Iterator[int]:
    """Yield the index of each token that begins a sentence, except the first."""
    weights = _weights()
    start = 0
    for index in range(1, len(paragraph.tokens)):
        if _ends_before(paragraph, start, index, weights):
            yield index
            start = index


def _ends_before(paragraph: Paragraph, start: int, index: int, weights: Mapping[str, float]) -> bool:
    if paragraph.categories[index - 1] == "STOP":
        return paragraph.categories[index] not in _CLOSING
    if not is_candidate(paragraph, index):
        return False
    if _starts_after_abbreviation(paragraph, index):
        return True
    return sum(weights.get(feature, 0.0) for feature in features(paragraph, start, index)) > 0


def _starts_after_abbreviation(paragraph: Paragraph, index: int) -> bool:
    """Whether a word like "They" follows an abbreviation ("at 5 p.m. They"): too rare to be learned."""
    left, category = paragraph.word(index - 1), paragraph.categories[index - 1]
    if not left.endswith(".") or paragraph.word(index) not in SENTENCE_STARTERS:
        return False
    if category == "ABBR":
        return left[:-1] in ENDING_ABBREVIATIONS
    return category == "INIT" or (category == "ACRO" and left[:-1].lower() not in INNER_ACRONYMS)


def is_candidate(paragraph: Paragraph, index: int) -> bool:
    """Whether a sentence can end before a token, so that the model decides."""
    left, right = paragraph.category(index - 1), paragraph.category(index)
    if paragraph.gaps[index] is Gap.NONE:  # a forgotten space: "the end.The beginning"
        return left in _STOPS and right == "Cap" and paragraph.category(index - 2) == "low"
    return (
        left != ","
        and not (left in _INSIDE and right in _INSIDE)
        and paragraph.word(index - 1) not in _OPENING
    )


def features(paragraph: Paragraph, start: int, index: int) -> list[str]:
    """The features of the gap before token `index` in a sentence that began with token `start`."""
    category = paragraph.category
    a, b, c = (category(index - k, start) for k in (3, 2, 1))
    d, e, f = (category(index + k) for k in range(3))
    left, right = paragraph.word(index - 1).lower(), paragraph.word(index)
    near = paragraph.categories[max(start, index - _NEAR) : index]
    capitals = all(name not in _INSIDE for name in paragraph.categories[start : min(index, start + 12)])
    length, rest = _bucket(index - start), _bucket(min(8, len(paragraph.tokens) - index))
    return [
        "bias",
        f"cd {c} {d}",
        f"bcd {b} {c} {d}",
        f"cde {c} {d} {e}",
        f"bcde {b} {c} {d} {e}",
        f"abcd {a} {b} {c} {d}",
        f"cdef {c} {d} {e} {f}",
        f"left {left} {d}",
        f"right {c} {right}",
        f"words {left} {right.lower()}",
        f"before {paragraph.word(index - 2, start).lower()} {c}",
        f"length {c} {d} {length}",
        f"capitals {c} {d} {capitals} {length}",
        f"rest {c} {d} {rest}",
        f"first {paragraph.gaps[start] is Gap.BREAK} {capitals} {c} {d}",
        f"open {near.count('(') > near.count(')')} {c} {d}",
        f"quoted {near.count(_QUOTE) % 2} {c} {d}",
        f"glued {paragraph.gaps[index - 1] is Gap.NONE} {c} {d}",
    ]


def _bucket(count: int) -> int:
    return next((length for length in _LENGTHS if count >= length), count)


def _category(text: str, token: Token) -> str:
    """The category of a token: its kind, its case if it is a word, or the punctuation mark itself."""
    name = _CATEGORY_OF_PATTERN.get(token.kind)
    if name == "NUM":
        return "INT" if token.end - token.start <= 2 else name
    if name is not None:
        return name
    first = text[token.start]
    if token.kind in ("plain", "word"):
        return _case(text, token)
    if token.kind == "stops":
        stops = text[token.start : token.end]
        if len(stops) > 1:
            return "?!" if "?" in stops or "!" in stops else "..."
    mark = _PLAIN_FORM.get(first, first)
    return mark if mark in _MARKS or token.kind == "stops" else "sym"


def _case(text: str, token: Token) -> str:
    first = text[token.start]
    if first.islower():
        return "low"
    if not first.isupper():
        return "clitic" if first in "'’" else "mix"
    if token.end - token.start == 1:
        return "I" if first == "I" else "A"
    return "UP" if text[token.start : token.end].isupper() else "Cap"


@cache
def _weights() -> Mapping[str, float]:
    source = files("spansrl.language.english.tokenizer").joinpath("boundaries.json")
    weights: dict[str, float] = json.loads(source.read_text(encoding="utf-8"))["weights"]
    return weights
