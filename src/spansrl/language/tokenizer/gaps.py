"""The white space between two tokens: a paragraph break, or only a space."""

from __future__ import annotations

import re
from enum import IntEnum


class Gap(IntEnum):
    """What is between a token and the previous one."""

    NONE = 0
    SPACE = 1  # also a line break inside running text
    BREAK = 2  # a blank line, a line that ends early, a list item, the beginning of the text


_PARAGRAPH_END = re.compile(r"[\f\u2029]")
_LINE_MARKS = "\n\r\v\x1c\x1d\x1e\x85\u2028"
_LINE_END = re.compile(rf"\r\n|[{_LINE_MARKS}]")
_WORD_END = re.compile(r"\s")
_LIST_ITEM = re.compile(r"(?:[-*•·–—>]|\(?(?:\d{1,3}|[A-Za-z])[.)]|#{1,6})\s")
_FULL_LINE = 60  # running text is rarely wrapped at less
_FAR = 200  # nor at more; no need to look any further


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
