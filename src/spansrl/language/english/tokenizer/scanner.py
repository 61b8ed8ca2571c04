"""Text to tokens, as the English Web Treebank cuts them: a scanner made of patterns, tried in order.

A pattern begins with a literal, or looks at a bounded number of characters before it fails, or consumes what
it looked at; so the time is linear in the length of the text, whatever the text is.

Python before 3.11.5 does not give back what a possessively repeated group has consumed when its last round
fails after a quantifier. In such a group, a lookahead therefore decides first whether a round succeeds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from spansrl.language.english.tokenizer.token_lists import (
    ABBREVIATIONS,
    ABBREVIATIONS_BEFORE_NUMBERS,
    CONTRACTIONS,
    CURRENCIES,
    DROPPED_G,
    ELIDED,
    EMOTICONS,
    FILE_ENDINGS,
    HYPHEN_PREFIXES,
    HYPHEN_SUFFIXES,
    NOT_CONTRACTED,
    TOP_DOMAINS,
    UNITS,
)


def _any_of(words: Iterable[str]) -> str:
    """Alternatives, longest first, so that none hides another."""
    return "(?:" + "|".join(map(re.escape, sorted(words, key=lambda word: (-len(word), word)))) + ")"


def _cut_offsets(cut: str) -> tuple[int, ...]:
    """The offsets of the bars in a word of the table, not counting the bars themselves."""
    return tuple(found.start() - k for k, found in enumerate(re.finditer(r"\|", cut)))


# Python's \w leaves out combining marks and joiners; without them Hindi and decomposed accents fall apart.
_MARKS = (
    "\u00ad\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u0900-\u0963\u0966-\u0dff\u0e31-\u0e3a\u0e47-\u0e4e"
    "\u0eb1-\u0ebc\u0ec8-\u0ecd\u0f71-\u0f84\u102b-\u103e\u17b4-\u17d3\u1ab0-\u1aff\u1dc0-\u1dff\u200b-\u200f\u2060-\u2064"
    "\u20d0-\u20ff\u302a-\u302f\u3099\u309a\ufe00-\ufe0f\ufe20-\ufe2f\ufeff"
)
_CHAR = rf"[\w{_MARKS}]"
_SOLID = rf"(?:[^\W_]|[{_MARKS}])"  # a character of a word that is not an underscore
_END = rf"(?!{_CHAR})"
_LETTER = r"[^\W\d_]"
_QUOTE = "['’`´]"
_WORD = rf"{_SOLID}{_CHAR}*(?<!_)"
_NUMBER = r"\d++(?:(?=[.,:]\d)[.,:]\d++)*+"
_APOSTROPHES = rf"(?:(?={_QUOTE}{_LETTER}){_QUOTE}{_LETTER}++)*+"
_EMOJI = (
    "[\u2600-\u27bf\u2b50\u2b55\u231a\u231b\u23e9-\u23f3"
    "\U0001f000-\U0001f0ff\U0001f18e-\U0001f1e5\U0001f200-\U0001faff]"
)
_TAIL = r"[\w/=&#%~+-]"  # what an address may end with

_DOTTED = r"(?=[\w~#%&!-]{0,64}+\.\w)"
_PREFIX = rf"(?=[A-Za-z]{{1,7}}+-)(?i:{_any_of(HYPHEN_PREFIXES)})-(?={_SOLID})"
_SUFFIX = rf"-(?i:{_any_of(HYPHEN_SUFFIXES)}){_END}"

# Tried in this order. Lookaheads at the beginning of a pattern only make it fail quickly.
_PATTERNS = {
    "space": r"\s++",
    "plain": r"[A-Za-z]++(?=[\s,;!?)\"])",
    "url": rf"(?:(?i:https?|ftps?|file)://|(?i:mailto|ymsgr):|(?i:www)\.)[^\s<>\"]*{_TAIL}",
    "email": r"(?=\w)[\w.+%~-]{1,64}+@(?=[A-Za-z])[\w.-]{0,250}\w",
    "domain": rf"{_DOTTED}(?:\w[\w-]{{0,62}}+\.){{1,6}}"
    rf"(?:{_any_of(TOP_DOMAINS)}|(?i:com|org|net|edu|gov)){_END}(?!-)(?:/[^\s<>\"]*{_TAIL}|/)?",
    "file": rf"{_DOTTED}(?:[\w~#%&!-]{{1,64}}+\.|\.){{1,6}}(?i:{_any_of(FILE_ENDINGS)}){_END}",
    "newsgroup": rf"(?:alt|ba|comp|misc|news|rec|sci|soc|talk|uk)(?:\.[a-z][\w-]{{0,30}}+){{1,8}}+{_END}",
    "emoticon": rf"(?=[A-Za-z8][-_:D])(?<!\w){_any_of(e for e in EMOTICONS if e[0].isalnum())}{_END}"
    rf"|(?![\w\s]){_any_of(e for e in EMOTICONS if not e[0].isalnum() and e[-1].isalnum())}{_END}"
    rf"|(?![\w\s]){_any_of(e for e in EMOTICONS if not e[0].isalnum() and not e[-1].isalnum())}(?![/\w])",
    "emoji": rf"[\U0001f1e6-\U0001f1ff]{{2}}|[0-9#*]\ufe0f?\u20e3|{_EMOJI}"
    rf"(?:[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]|\u200d{_EMOJI})*+",
    "tag": rf"[@#]{_LETTER}{_CHAR}*+",
    "dashed_number": r"(?<![\w.])(?:\d{1,4}(?:[-/]\d{1,5}){2,4}|\d{1,4}(?:\.\d{1,5}){2,4}"
    r"|(?:\d|\d{3}|\d{5})-\d{4}|\d{3}/\d{3}-\d{4})(?![\w/-])(?!\.\d)",
    "date": r"(?<![\w/])(?:(?:0?[1-9]|1[0-2])/(?:[6-9]|0[1-9]|[12]\d|3[01])|(?:[6-9]|1[0-2])/[1-5])"
    r"(?![\w/-])",
    "year": r"(?<![\d'’])['’]\d\ds?(?!\w)",
    "amount": rf"(?=[\d+.])\+?(?:{_NUMBER}|\.\d++)(?={_any_of(UNITS)}{_END})",
    "number": rf"(?=[\d+.])(?:(?<!\S)\+)?(?:{_NUMBER}|(?<!\w)\.\d++){_END}(?!{_QUOTE}[sS]{_END})",
    "decade": rf"\d++{_QUOTE}[sS]{_END}",
    "version": rf"(?<![\w.])(?:[vV]|[A-Za-z]{{2,12}}+(?=\d))\d{{1,4}}+(?:\.\d{{1,5}}){{1,4}}{_END}(?!\.\d)",
    "acronym": rf"(?:[A-Za-z]\.){{2,12}}+(?![A-Za-z]{_END})|(?:[A-Za-z]\.){{1,12}}[A-Za-z]{_END}",
    "initial": r"(?<![\w-])[A-Z]\.(?!\.)(?=(?:\r\n|\s)?[A-Z(]|-)",
    "abbreviation": rf"(?=[A-Za-z']{{1,6}}+\.)(?:{_any_of(ABBREVIATIONS)}\.(?!\.\.)"
    rf"|{_any_of(ABBREVIATIONS_BEFORE_NUMBERS)}\.(?=\s?\d)|(?i:ph\.?d)\.)",
    "slashed": rf"(?=[A-Za-z]/)(?i:w/(?:out|o|in|i){_END}|w/|(?!c/o)[a-z]/[a-z]{_END}(?!/))",
    "ampersand": rf"(?!B&[WN]){_LETTER}{{1,4}}&{_LETTER}{{1,2}}{_END}",
    "masked": rf"{_LETTER}{{1,12}}+[*$]{{1,6}}+{_LETTER}{{1,12}}+{_END}",
    "currency": rf"{_any_of(CURRENCIES)}\$",
    "elided": rf"(?<!\w)['’](?i:{_any_of(ELIDED)}){_END}(?!['’])",
    "dropped_g": rf"(?=[A-Za-z]{{2,10}}+['’])(?i:{_any_of(DROPPED_G)})['’]{_END}",
    "word": rf"(?:{_PREFIX})?{_WORD}{_APOSTROPHES}(?:{_SUFFIX})?",
    "foreign_stop": r"[。！？｡؟।॥۔]++",
    "stops": r"[.!?…‥]++",
    "drawing": r"[-=*~_+|<>{}#^]{4,}+|[-=]++>|<[-=]++",
    "run": "|".join(re.escape(mark) + "{2,}+" for mark in "-=*~_+<>'’‘`,#$%|^/\\") + "|‘’",
    "character": r"[\s\S]",
}
_SCANNER = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _PATTERNS.items()))

# Kinds of tokens with letters that cannot be predicates.
_NOT_WORDS = frozenset(
    {"url", "email", "domain", "file", "newsgroup", "tag", "version", "currency", "emoticon"}
)

_CLITIC = re.compile(rf"(?:[\s\S]{{0,2}}?)(n{_QUOTE}t|{_QUOTE}(?:s|re|ve|ll|m|d))\Z", re.IGNORECASE)
_QUOTES = re.compile(_QUOTE)
_CUTS = {cut.replace("|", ""): _cut_offsets(cut) for cut in CONTRACTIONS} | dict.fromkeys(NOT_CONTRACTED, ())
_LONGEST_CONTRACTION = max(map(len, _CUTS))


class Token(NamedTuple):
    """A token of the text, and the name of the pattern that found it."""

    start: int
    end: int
    kind: str


def scan(text: str) -> Iterator[Token]:
    """The tokens of a text, one after the other; every character that is not white space is in one."""
    for found in _SCANNER.finditer(text):
        kind = found.lastgroup or ""
        if kind in ("plain", "word"):
            start = found.start()
            for end in (*_cuts(text, start, found.end()), found.end()):
                yield Token(start, end, kind)
                start = end
        elif kind != "space":
            yield Token(found.start(), found.end(), kind)


def is_word(token: str) -> bool:
    """Whether a token is a word: not a number, a mark, an address, a file name, a hashtag or a handle."""
    if token[:1].isdigit() or not any(map(str.isalpha, token)):
        return False
    first = next(scan(token), None)
    return first is not None and first.kind not in _NOT_WORDS


def may_be_name(tokens: Sequence[str], index: int) -> bool:
    """Whether a token is capitalized within a sentence most of whose words are not."""
    if index == 0 or not tokens[index][:1].isupper():
        return False
    return sum(token[:1].islower() for token in tokens) > sum(token[:1].isupper() for token in tokens)


def _cuts(text: str, start: int, end: int) -> list[int]:
    """The offsets at which the parts of a contracted word begin, except the first."""
    if end - start <= _LONGEST_CONTRACTION:
        known = _CUTS.get(_QUOTES.sub("'", text[start:end]).lower())
        if known is not None:
            return [start + offset for offset in known]
    cuts: list[int] = []
    while found := _CLITIC.match(text, max(start, end - 3), end):
        end = found.start(1)
        if end == start:
            break
        cuts.append(end)
    return cuts[::-1]
