"""Where the sentences of a paragraph end: a small linear model of the gaps between its tokens.

`boundaries.json` has the weights of features, trained by logistic regression on the training documents of the
English Web Treebank (`experiments/train_boundaries.py`). A gap ends a sentence if the weights of its features
add up to more than zero.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from spansrl.language.tokenizer.gaps import Gap
from spansrl.language.tokenizer.lexicon import ENDING_ABBREVIATIONS, INNER_ACRONYMS, SENTENCE_STARTERS
from spansrl.language.tokenizer.words import Token

_CATEGORY_OF_PATTERN = {
    "emoticon": "EMO",
    "emoji": "EMO",
    "url": "URL",
    "email": "URL",
    "domain": "URL",
    "file": "URL",
    "newsgroup": "URL",
    "dashed_number": "NUM",
    "date": "NUM",
    "year": "NUM",
    "amount": "NUM",
    "number": "NUM",
    "version": "NUM",
    "decade": "NUM",
    "abbreviation": "ABBR",
    "acronym": "ACRO",
    "initial": "INIT",
    "drawing": "DRAW",
    "foreign_stop": "STOP",
}
# The treebank has few curved quotes and single dots; to the model they are what their plain forms are.
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


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Tokens without a break between them, with the category of each and the gap before it."""

    text: str
    tokens: Sequence[Token]
    gaps: Sequence[Gap]
    categories: Sequence[str]

    @classmethod
    def of(cls, text: str, tokens: Sequence[Token], gaps: Sequence[Gap]) -> Paragraph:
        """A paragraph of tokens of a text."""
        return cls(text, tokens, gaps, [_category(text, token) for token in tokens])

    def category(self, place: int, start: int = 0) -> str:
        """The category of a token; marks for places before `start` and after the end."""
        if place < start:
            return "^"
        return self.categories[place] if place < len(self.categories) else "$"

    def word(self, place: int, start: int = 0) -> str:
        """The beginning of a token's text."""
        if place < start:
            return "^"
        token = self.tokens[place]
        return self.text[token.start : min(token.end, token.start + _WORD)]


def sentence_ends(paragraph: Paragraph) -> Iterator[int]:
    """The places where a new sentence begins, but for the first."""
    weights = _weights()
    start = 0
    for place in range(1, len(paragraph.tokens)):
        if _ends_before(paragraph, start, place, weights):
            yield place
            start = place


def _ends_before(paragraph: Paragraph, start: int, place: int, weights: Mapping[str, float]) -> bool:
    if paragraph.categories[place - 1] == "STOP":
        return paragraph.categories[place] not in _CLOSING
    if not is_candidate(paragraph, place):
        return False
    if _starts_after_abbreviation(paragraph, place):
        return True
    return sum(weights.get(feature, 0.0) for feature in features(paragraph, start, place)) > 0


def _starts_after_abbreviation(paragraph: Paragraph, place: int) -> bool:
    """Whether a word like "They" follows an abbreviation ("at 5 p.m. They"): too rare to be learned."""
    left, category = paragraph.word(place - 1), paragraph.categories[place - 1]
    if not left.endswith(".") or paragraph.word(place) not in SENTENCE_STARTERS:
        return False
    if category == "ABBR":
        return left[:-1] in ENDING_ABBREVIATIONS
    return category == "INIT" or (category == "ACRO" and left[:-1].lower() not in INNER_ACRONYMS)


def is_candidate(paragraph: Paragraph, place: int) -> bool:
    """Whether the model is asked about the gap before a token; elsewhere no sentence ends."""
    left, right = paragraph.category(place - 1), paragraph.category(place)
    if paragraph.gaps[place] is Gap.NONE:  # a forgotten space: "the end.The beginning"
        return left in _STOPS and right == "Cap" and paragraph.category(place - 2) == "low"
    return (
        left != ","
        and not (left in _INSIDE and right in _INSIDE)
        and paragraph.word(place - 1) not in _OPENING
    )


def features(paragraph: Paragraph, start: int, place: int) -> list[str]:
    """What is known of the gap before token `place` in a sentence that began with token `start`."""
    category = paragraph.category
    a, b, c = (category(place - k, start) for k in (3, 2, 1))
    d, e, f = (category(place + k) for k in range(3))
    left, right = paragraph.word(place - 1).lower(), paragraph.word(place)
    near = paragraph.categories[max(start, place - _NEAR) : place]
    capitals = all(name not in _INSIDE for name in paragraph.categories[start : min(place, start + 12)])
    length, rest = _bucket(place - start), _bucket(min(8, len(paragraph.tokens) - place))
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
        f"before {paragraph.word(place - 2, start).lower()} {c}",
        f"length {c} {d} {length}",
        f"capitals {c} {d} {capitals} {length}",
        f"rest {c} {d} {rest}",
        f"first {paragraph.gaps[start] is Gap.BREAK} {capitals} {c} {d}",
        f"open {near.count('(') > near.count(')')} {c} {d}",
        f"quoted {near.count(_QUOTE) % 2} {c} {d}",
        f"glued {paragraph.gaps[place - 1] is Gap.NONE} {c} {d}",
    ]


def _bucket(count: int) -> int:
    return next((length for length in _LENGTHS if count >= length), count)


def _category(text: str, token: Token) -> str:
    """What a token is to the model: a kind of thing, a kind of word by its case, or a mark itself."""
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
    source = files("spansrl.language.tokenizer").joinpath("boundaries.json")
    weights: dict[str, float] = json.loads(source.read_text(encoding="utf-8"))["weights"]
    return weights
