"""Characters in pictures: which are safe to show, and how wide they are.

`columns` counts the columns of a terminal; `advance` estimates the width in a proportional font, in units
of the font size, with the widths of Helvetica (Arial's are the same).
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_ZWJ, _EMOJI_STYLE = "\u200d", "\ufe0f"
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # control characters, among them the one that begins terminal escapes
    "\u2028\u2029\u202a-\u202e\u2066-\u2069"  # line separators and bidirectional overrides
    "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"  # halves of pairs and non-characters, which XML cannot hold
)

# Widths of " " to "~", in thousandths of the font's size.
_HELVETICA = (
    "278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 "
    "278 278 584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 722 "
    "667 611 722 667 944 667 667 611 278 278 278 469 556 333 556 556 500 556 556 278 556 556 222 222 500 222 "
    "833 556 556 556 556 333 500 278 556 500 722 500 500 500 334 260 334 584"
)
_WIDTHS = {chr(32 + k): int(width) / 1000 for k, width in enumerate(_HELVETICA.split())}
_WIDTHS |= {"‘": 0.222, "’": 0.222, "“": 0.333, "”": 0.333, "–": 0.556, "—": 1.0, "…": 1.0}
_EMOJI = 1.25
_OTHER = 0.62  # a narrow character of another script; rather too wide than too narrow


def visible(text: str) -> str:
    """The text with control characters replaced by visible ones.

    >>> visible("red \\x1b[31m")
    'red ␛[31m'
    """
    return _UNSAFE.sub(_stand_in, text)


def _stand_in(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)  # Unicode has pictures of these
    return "␡" if code == 0x7F else "\ufffd"


def columns(text: str) -> int:
    """The width of the text in columns of a terminal.

    >>> columns("naïve"), columns("日本"), columns("👩‍🔬")
    (5, 4, 2)
    """
    if text.isascii():
        return len(text)
    total, last, joined, flag = 0, 0, False, False
    for char in text:
        width = 0 if joined else _cells(char)
        if char == _EMOJI_STYLE and last == 1:
            total, last = total + 1, 2
        if "\U0001f1e6" <= char <= "\U0001f1ff":  # two of these letters make one flag
            width, flag = (0, False) if flag else (2, True)
        elif "\U0001f3fb" <= char <= "\U0001f3ff" and last == 2:  # skin, part of the emoji before
            width = 0
        joined = char == _ZWJ and last == 2
        total += width
        last = width or last
    return total


@lru_cache(maxsize=4096)
def _cells(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf") or "\u1160" <= char <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


@lru_cache(maxsize=16384)
def advance(text: str) -> float:
    """The estimated width of the text in a proportional font, in units of the font size."""
    if text.isascii():
        return sum(_WIDTHS.get(char, _OTHER) for char in text)
    if columns(text) != sum(map(_cells, text)):  # emoji made of several characters
        return columns(text) * _EMOJI / 2
    return sum(_advance(char) for char in text)


def _advance(char: str) -> float:
    if "\U0001f000" <= char <= "\U0001faff":
        return _EMOJI
    cells = _cells(char)
    if cells != 1:
        return cells / 2  # East Asian characters are as wide as the font is high
    return _WIDTHS.get(_base(char), _OTHER)


def is_measured(text: str) -> bool:
    """Whether the table of widths has all letters of the text, with or without accents."""
    return bool(text.strip()) and all(_base(char) in _WIDTHS for char in text)


def _base(char: str) -> str:
    return unicodedata.normalize("NFD", char)[0]


def runs_right_to_left(words: tuple[str, ...]) -> bool:
    """Whether the first character with a direction of its own is of a script written from right to left."""
    directions = (unicodedata.bidirectional(char) for word in words for char in word)
    return next((found for found in directions if found in ("L", "R", "AL")), "L") != "L"
