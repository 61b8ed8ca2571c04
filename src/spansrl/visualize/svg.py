"""A sentence as a stand-alone SVG image, wrapped to a given width.

An image cannot know the reader's fonts, so widths come from a table and every word is told how long to be;
another font is then a little narrower or wider, and never out of place. Light or dark follows the reader.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import NamedTuple

from spansrl.structures import Sentence
from spansrl.visualize.characters import advance, is_measured, runs_right_to_left, visible
from spansrl.visualize.lines import Line, break_lines
from spansrl.visualize.marks import PREDICATE, Frames, Mark, Row, glued, rows_of
from spansrl.visualize.palette import GROUPS, INK, PAPER, THREAD, css, shades

# Fonts with the widths of the table come first.
_FONT = 'Arial, Helvetica, "Liberation Sans", system-ui, sans-serif'
_WORD, _LABEL = 16.0, 11.0  # font sizes, and the unit of all that follows: pixels
_BOLD = 1.08  # how much wider bold letters are
_SPACE, _MARGIN, _PAD = 4.5, 16.0, 5.0
_WORDS_HEIGHT, _ROW, _BAR, _BETWEEN = 24.0, 24.0, 20.0, 12.0
_NARROWEST = 160.0


def sentence_svg(sent: Sentence, *, width: float = 720, frames: Frames | None = None) -> str:
    """The sentence as an SVG document of at most `width` pixels (160 if that is less).

    Pointing at a bar tells meaning and probability. A word that is longer than a line is cut.
    """
    limit = max(width, _NARROWEST) - 2 * _MARGIN
    predicates = {prop.pred for prop in sent.props}
    words = [_word(token, limit, bold=k in predicates) for k, token in enumerate(sent.tokens)]
    rows = rows_of(sent, frames)
    lines = break_lines(
        [word.width for word in words],
        [0 if near else _SPACE for near in glued(sent)],
        rows,
        limit=limit,
        label_width=lambda mark: min(_label_width(mark.label), limit),
    )
    return _document(lines, words, rows, mirrored=runs_right_to_left(sent.tokens))


class _Word(NamedTuple):
    text: str
    width: float
    bold: bool


def _word(token: str, limit: float, *, bold: bool) -> _Word:
    text, size = visible(token), _WORD * (_BOLD if bold else 1)
    width = advance(text) * size
    if width > limit:
        text = text[: int(len(text) * (limit - size) / width)] + "…"
        width = min(advance(text) * size, limit)
    return _Word(text, width, bold)


def _document(lines: list[Line], words: list[_Word], rows: list[Row], *, mirrored: bool) -> str:
    across = max((line.width for line in lines), default=0.0) + 2 * _MARGIN
    body: list[str] = []
    top = _MARGIN
    for line in lines:
        canvas = _Canvas(across, top, mirrored)
        body += canvas.words(line, words)
        body += canvas.rows(line, rows)
        top = canvas.top + _BETWEEN
    down = max(top - _BETWEEN, _MARGIN) + _MARGIN
    size = f'width="{across:.0f}" height="{down:.0f}" viewBox="0 0 {across:.0f} {down:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" '
        f'aria-label="{escape(" ".join(word.text for word in words))}">'
        f'<style>{_STYLE}</style><rect class="paper" width="100%" height="100%" rx="8"/>'
        f"{''.join(body)}</svg>\n"
    )


class _Canvas:
    """Where the next thing goes; mirrored for scripts that run from right to left."""

    def __init__(self, across: float, top: float, mirrored: bool) -> None:
        self.across, self.top, self.mirrored = across, top, mirrored

    def left(self, place: float, width: float) -> float:
        """The left edge of what begins at `place` of a line."""
        return self.across - _MARGIN - place - width if self.mirrored else _MARGIN + place

    def words(self, line: Line, words: list[_Word]) -> Iterator[str]:
        base = self.top + _WORD
        for word, place in zip(words[line.start : line.end], line.places, strict=True):
            yield self.text("word bold" if word.bold else "word", place, base, word.width, word.text)
        self.top += _WORDS_HEIGHT

    def rows(self, line: Line, rows: list[Row]) -> Iterator[str]:
        """The bars of one line; rows that have nothing here are left out. A thread joins those of a row."""
        for row in rows:
            whole = line.extent(row.start, row.end)
            for lane in row.lanes:
                there = [(mark, extent) for mark in lane if (extent := line.extent(*mark.span)) is not None]
                if there:
                    if whole is not None and lane is row.lanes[0]:
                        yield self.box("thread", *whole, _BAR / 2, 1)
                    yield from (self.bar(mark, line, *extent, row) for mark, extent in there)
                    self.top += _ROW

    def bar(self, mark: Mark, line: Line, begin: float, end: float, row: Row) -> str:
        """A mark, or its part on this line; a part that goes on from the line before says whose it is."""
        label = visible(mark.label)
        longer = f"{label} of {visible(row.name)}"
        if mark.start < line.start and _label_width(longer) <= end - begin:
            label = longer
        room = min(advance(label) * _LABEL * _BOLD, end - begin - 2 * _PAD)
        return (
            f'<g class="{mark.group}"><title>{escape(visible(mark.title))}</title>'
            f"{self.box('bar', begin, end, 0, _BAR)}{self.rules(mark, begin, end)}"
            f"{self.text('label', begin + _PAD, self.top + 14.5, room, label)}</g>"
        )

    def rules(self, mark: Mark, begin: float, end: float) -> str:
        """The line on top of a bar: one thick for core roles, two thin for adjuncts, none for predicates."""
        if mark.group == PREDICATE:
            return ""
        heights = [(0, 1), (2, 1)] if GROUPS[mark.group].adjunct else [(0, 3)]
        return "".join(self.box("line", begin, end, down, thick) for down, thick in heights)

    def box(self, kind: str, begin: float, end: float, down: float, height: float) -> str:
        """A rectangle between two places of a line, `down` from the top of the row."""
        x, y = self.left(begin, end - begin), self.top + down
        rounded = ' rx="3"' if kind == "bar" else ""
        size = f'width="{end - begin:.1f}" height="{height:.0f}"'
        return f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" {size}{rounded}/>'

    def text(self, kind: str, place: float, base: float, width: float, text: str) -> str:
        """A text; it fills `width` if the table knows its letters, else it is as wide as the font has it."""
        x = self.left(place, width)
        fitted = f' textLength="{width:.1f}" lengthAdjust="spacingAndGlyphs"' if is_measured(text) else ""
        if self.mirrored:
            x, fitted = x + width, f' text-anchor="end"{fitted}'
        return f'<text class="{kind}" x="{x:.1f}" y="{base:.1f}"{fitted}>{escape(text)}</text>'


def _label_width(label: str) -> float:
    return advance(visible(label)) * _LABEL * _BOLD + 2 * _PAD


def _theme(theme: str) -> str:
    ink, paper = css(INK[theme]), css(PAPER[theme])
    out = f".paper{{fill:{paper}}}.word{{fill:{ink}}}.thread{{fill:{THREAD[theme]}}}"
    out += f".predicate .bar{{fill:{ink}}}.predicate .label{{fill:{paper}}}"
    for group in GROUPS:
        line, tint, label = shades(group, theme)
        out += f".{group} .line{{fill:{line}}}.{group} .bar{{fill:{tint}}}.{group} .label{{fill:{label}}}"
    return out


_STYLE = (
    f"text{{font-family:{_FONT};white-space:pre}}.word{{font-size:{_WORD:.0f}px}}"
    f".bold{{font-weight:bold}}"
    f".label{{font-size:{_LABEL:.0f}px;font-weight:bold}}"
    f"{_theme('light')}@media(prefers-color-scheme:dark){{{_theme('dark')}}}"
)
