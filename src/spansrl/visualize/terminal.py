"""A sentence as text: words, under them bars with labels for each proposition, and the meanings of roles.

Control characters are made visible first, and characters are measured in terminal columns. Bars are
box-drawing characters, or ASCII if the encoding has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple

from spansrl.inventory import RoleInventory
from spansrl.structures import Sentence
from spansrl.visualize.layout import Bar, DrawnLine, fit, lay_out, unexplained
from spansrl.visualize.marks import Mark, rows_of
from spansrl.visualize.palette import GROUPS, PREDICATE
from spansrl.visualize.printable import columns, visible

_NARROWEST = 16  # columns; in fewer, no label could be read
_INDENT = 2  # columns before a list of meanings
_BOLD, _FAINT, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"


class Pen(NamedTuple):
    """For each kind of bar: its left end, its line, its right end, and a bar of one column."""

    predicate: str
    core: str
    modifier: str
    ellipsis: str


_BOX = Pen("╚═╝╩", "╰─╯┴", "╰┄╯┴", "…")
_ASCII = Pen("[=]=", "(-)-", "(.).", "...")


def sentence_text(
    sent: Sentence,
    *,
    width: int = 80,
    color: bool = False,
    encoding: str = "utf-8",
    frames: RoleInventory | None = None,
    auxiliaries: bool = False,
) -> str:
    """Draw a sentence in lines of at most `width` columns (at least 16), without a final newline.

    Meanings of roles that do not fit a label are listed below. `encoding` is the terminal's; other
    characters are written as escapes. A word that is longer than a line is cut. Colors only repeat the
    labels.
    """
    width = max(width, _NARROWEST)
    pen = _BOX if _encodes(encoding) else _ASCII
    clean = partial(_shown, width=width, encoding=encoding, pen=pen)
    rows = rows_of(sent, frames, auxiliaries=auxiliaries, clean=clean)
    words = [clean(token) for token in sent.tokens]
    bold = {sent.props[row.number].pred for row in rows} if color else set()
    lines = lay_out(sent, rows, [columns(word) for word in words], columns, limit=width, space=1)
    drawn = ["\n".join(_drawn(line, words, bold, pen, color)) for line in lines]
    if listed := [part for item in unexplained(rows, lines) for part in _listed(*item, width, pen, color)]:
        drawn.append("\n".join(listed))
    return ("\n\n" if rows else "\n").join(drawn)


def _drawn(line: DrawnLine, words: list[str], bold: set[int], pen: Pen, color: bool) -> Iterator[str]:
    numbered = enumerate(line.offsets, line.start)
    yield _set((offset, words[k], _BOLD if k in bold else "") for k, offset in numbered)
    for strip in line.strips:
        yield _set((bar.begin, _bar(bar, pen), _code(bar.mark, color)) for bar in strip.bars)
        for labels in strip.labels:
            yield _set((label.begin, label.text, _code(label.mark, color)) for label in labels)


def _set(pieces: Iterable[tuple[float, str, str]]) -> str:
    """Texts at their columns, each with the escape code before it, if any."""
    out, at = "", 0
    for offset, text, code in pieces:
        out += " " * (int(offset) - at) + (f"{code}{text}{_PLAIN}" if code else text)
        at = int(offset) + columns(text)
    return out


def _bar(bar: Bar, pen: Pen) -> str:
    """A bar, open where it continues on another line."""
    group = bar.mark.group
    kind = pen.predicate if group == PREDICATE else pen.modifier if GROUPS[group].modifier else pen.core
    left, line, right, dot = tuple(kind)
    width = int(bar.end - bar.begin)
    if width < 2:
        return dot * width
    return (line if bar.opened else left) + line * (width - 2) + (line if bar.goes_on else right)


def _listed(name: str, marks: list[Mark], width: int, pen: Pen, color: bool) -> Iterator[str]:
    """A predicate's roles with their meanings, wrapped between roles if possible."""
    parts = [[(f"{name}:", _BOLD if color else "")]]
    for number, mark in enumerate(marks, start=1):
        meaning = f"{mark.meaning};" if number < len(marks) else mark.meaning
        parts.append([(mark.label, _code(mark, color)), *((word, "") for word in meaning.split())])
    line: list[tuple[float, str, str]] = []
    at = _INDENT
    for part in parts:
        needed = len(part) - 1 + sum(columns(word) for word, _ in part)
        for word, code in part:
            word = fit(word, width - 2 * _INDENT, columns, pen.ellipsis)
            if line and at + max(needed, columns(word)) > width:
                yield _set(line)
                line, at = [], 2 * _INDENT
            line.append((at, word, code))
            at += columns(word) + 1
            needed = 0
    yield _set(line)


def _code(mark: Mark, color: bool) -> str:
    if not color:
        return ""
    if mark.group == PREDICATE:
        return _BOLD
    return (_FAINT if mark.percent else "") + f"\x1b[38;5;{GROUPS[mark.group].terminal}m"


def _encodes(encoding: str) -> bool:
    try:
        "".join(_BOX).encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _shown(text: str, *, width: int, encoding: str, pen: Pen) -> str:
    """The text as the terminal can show it, in no more than `width` columns."""
    text = visible(text).encode(encoding, "backslashreplace").decode(encoding)
    return fit(text, width, columns, pen.ellipsis)
