"""A sentence as text: words, under them a line of brackets for each proposition, and what their roles mean.

Everything that a terminal would act upon is made visible first, and all characters are counted as the cells
that they take. Brackets are box-drawing characters, or ASCII where the encoding has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from spansrl.structures import Sentence
from spansrl.visualize.characters import columns, visible
from spansrl.visualize.lines import Line, break_lines
from spansrl.visualize.marks import PREDICATE, Frames, Gloss, Mark, Row, glosses_of, glued, rows_of
from spansrl.visualize.palette import GROUPS, group_of

_NARROWEST = 16  # columns; in fewer, no label could be read
_INDENT = 2  # columns before a list of meanings, which sets it apart from words
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


class Bracket(NamedTuple):
    """How a mark begins, goes on and ends."""

    left: str
    line: str
    right: str


class Pen(NamedTuple):
    """What can be drawn with: one bracket a kind of mark, and what stands for words left out."""

    predicate: Bracket
    core: Bracket
    adjunct: Bracket
    ellipsis: str


_BOX = Pen(Bracket("╚", "═", "╝"), Bracket("╰", "─", "╯"), Bracket("╰", "┄", "╯"), "…")
_ASCII = Pen(Bracket("[", "=", "]"), Bracket("(", "-", ")"), Bracket("(", ".", ")"), "...")


def sentence_text(
    sent: Sentence,
    *,
    width: int = 80,
    colour: bool = False,
    encoding: str = "utf-8",
    frames: Frames | None = None,
) -> str:
    """The drawing, in lines of at most `width` columns (16 if that is less), without a last line end.

    Where meanings of roles are known, a list of them follows, by predicate.

    `encoding` is the terminal's; what it cannot hold is written as an escape. A word that is longer than a
    line is cut. Colours are of the 256 that terminals know, and only repeat what the labels say.
    """
    width = max(width, _NARROWEST)
    pen = _BOX if _encodes(encoding) else _ASCII
    words = [_shown(token, width, encoding, pen) for token in sent.tokens]
    rows = [_written(row, width, encoding, pen) for row in rows_of(sent)]
    lines = break_lines(
        [columns(word) for word in words],
        [0 if near else 1 for near in glued(sent)],
        rows,
        limit=width,
        label_width=lambda mark: columns(mark.label) + 2,
    )
    drawn = ["\n".join(_drawn(line, words, rows, pen, colour)) for line in lines]
    if glosses := glosses_of(sent, frames):
        told = (line for gloss in glosses for line in _told(gloss, width, encoding, pen, colour))
        drawn.append("\n".join(told))
    return ("\n\n" if rows else "\n").join(drawn)


def _drawn(line: Line, words: list[str], rows: list[Row], pen: Pen, colour: bool) -> Iterator[str]:
    """The words of one line, and the brackets below them: rows that have nothing here are left out."""
    predicates = {
        mark.start for row in rows for lane in row.lanes for mark in lane if mark.group == PREDICATE
    }
    yield _set(
        (place, words[k], _BOLD if colour and k in predicates else "")
        for k, place in enumerate(line.places, line.start)
    )
    for row in rows:
        for lane in row.lanes:
            pieces = [
                (
                    extent[0],
                    _bracket(mark, line, int(extent[1] - extent[0]), row, pen),
                    _code(mark.group, colour),
                )
                for mark in lane
                if (extent := line.extent(*mark.span)) is not None
            ]
            if pieces:
                yield _set(pieces)


def _set(pieces: Iterable[tuple[float, str, str]]) -> str:
    """Texts at their columns; a code before a text has it coloured."""
    out, at = "", 0
    for place, text, code in pieces:
        out += " " * (int(place) - at) + (f"{code}{text}{_PLAIN}" if code else text)
        at = int(place) + columns(text)
    return out


def _bracket(mark: Mark, line: Line, width: int, row: Row, pen: Pen) -> str:
    """A mark in `width` columns, open where another line has more of it; a later part says whose it is."""
    kind = (
        pen.predicate if mark.group == PREDICATE else pen.adjunct if GROUPS[mark.group].adjunct else pen.core
    )
    left = kind.left if mark.start >= line.start else kind.line
    right = kind.right if mark.end <= line.end else kind.line
    label = mark.label
    if left == kind.line and columns(longer := f"{label} of {row.name}") + 4 <= width:
        label = longer
    room = width - 2 - columns(label)
    return left + kind.line * (room // 2) + label + kind.line * (room - room // 2) + right


def _told(gloss: Gloss, width: int, encoding: str, pen: Pen, colour: bool) -> Iterator[str]:
    """A predicate's name, its roles and their meanings; a role begins a line if it does not fit the last."""
    line: list[tuple[int, str, str]] = []
    at = _INDENT
    for part in _parts(gloss, colour):
        words = [(_shown(word, width - 2 * _INDENT, encoding, pen), code) for word, code in part]
        needed = len(words) - 1 + sum(columns(word) for word, _ in words)
        for word, code in words:
            if line and at + max(needed, columns(word)) > width:
                yield _set(line)
                line, at = [], 2 * _INDENT
            line.append((at, word, code))
            at += columns(word) + 1
            needed = 0
    yield _set(line)


def _parts(gloss: Gloss, colour: bool) -> Iterator[list[tuple[str, str]]]:
    """What stays together on a line if it can, in words with their colour."""
    yield [(f"{gloss.name}:", _code(PREDICATE, colour))]
    for number, (role, meaning) in enumerate(gloss.roles, start=1):
        text = f"{meaning};" if number < len(gloss.roles) else meaning
        yield [(role, _code(group_of(role), colour)), *((word, "") for word in text.split())]


def _code(group: str, colour: bool) -> str:
    if not colour:
        return ""
    return _BOLD if group == PREDICATE else f"\x1b[38;5;{GROUPS[group].terminal}m"


def _encodes(encoding: str) -> bool:
    try:
        "".join(_BOX.predicate + _BOX.core + _BOX.adjunct + (_BOX.ellipsis,)).encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _written(row: Row, width: int, encoding: str, pen: Pen) -> Row:
    """The row with labels that can be shown."""
    lanes = tuple(
        tuple(mark._replace(label=_shown(mark.label, width - 2, encoding, pen)) for mark in lane)
        for lane in row.lanes
    )
    return Row(_shown(row.name, width, encoding, pen), lanes)


def _shown(text: str, width: int, encoding: str, pen: Pen) -> str:
    """The text as the terminal can show it, in no more than `width` columns."""
    text = visible(text).encode(encoding, "backslashreplace").decode(encoding)
    if columns(text) <= width:
        return text
    limit = width - columns(pen.ellipsis)
    while columns(text) > limit:
        text = text[: max(limit // 2, len(text) - (columns(text) - limit + 1) // 2)]
    return text + pen.ellipsis
