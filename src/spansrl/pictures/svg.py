"""A sentence as a stand-alone SVG image, wrapped to a given width.

An image cannot know the reader's fonts, so widths come from a table and every word is told how long to be;
another font is then a little narrower or wider, and never out of place. Light or dark follows the reader.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from spansrl.pictures.characters import advance, runs_right_to_left, visible
from spansrl.pictures.lines import Line, break_lines
from spansrl.pictures.marks import PREDICATE, Mark, Row, glued, rows_of
from spansrl.pictures.palette import GROUPS, INK, PAPER, css, shades
from spansrl.structures import Sentence

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'
_WORD, _LABEL = 16.0, 11.0  # font sizes, and the unit of all that follows: pixels
_SPACE, _MARGIN, _PAD = 4.5, 16.0, 5.0
_WORDS_HEIGHT, _ROW, _BAR, _BETWEEN = 26.0, 24.0, 20.0, 14.0
_NARROWEST = 160.0


def sentence_svg(sent: Sentence, *, width: float = 720) -> str:
    """The sentence as an SVG document of at most `width` pixels; hovering tells meanings and probabilities."""
    limit = max(width, _NARROWEST) - 2 * _MARGIN
    words = [visible(token) for token in sent.tokens]
    rows = rows_of(sent)
    lines = break_lines(
        [min(advance(word) * _WORD, limit) for word in words],
        [0 if near else _SPACE for near in glued(sent)],
        rows,
        limit=limit,
        label_width=lambda mark: min(_label_width(mark.label), limit),
    )
    return _document(lines, words, rows, mirrored=runs_right_to_left(sent.tokens))


def _document(lines: list[Line], words: list[str], rows: list[Row], *, mirrored: bool) -> str:
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
        f'aria-label="{escape(" ".join(words))}">'
        f'<style>{_STYLE}</style><rect class="paper" width="100%" height="100%" rx="8"/>{"".join(body)}</svg>\n'
    )


class _Canvas:
    """Where the next thing goes; mirrored for scripts that run from right to left."""

    def __init__(self, across: float, top: float, mirrored: bool) -> None:
        self.across, self.top, self.mirrored = across, top, mirrored

    def left(self, place: float, width: float) -> float:
        """The left edge of what begins at `place` of a line."""
        return self.across - _MARGIN - place - width if self.mirrored else _MARGIN + place

    def words(self, line: Line, words: list[str]) -> Iterator[str]:
        base = self.top + _WORD
        for k, place in enumerate(line.places, line.start):
            width = min(advance(words[k]) * _WORD, line.rooms[k - line.start])
            yield _text("word", self.left(place, width), base, width, words[k])
        self.top += _WORDS_HEIGHT

    def rows(self, line: Line, rows: list[Row]) -> Iterator[str]:
        for row in rows:
            for lane in row.lanes:
                there = [(mark, extent) for mark in lane if (extent := line.extent(mark)) is not None]
                for mark, (begin, end) in there:
                    yield self.bar(mark, line, begin, end, row)
                self.top += _ROW if there else 0

    def bar(self, mark: Mark, line: Line, begin: float, end: float, row: Row) -> str:
        """A mark, or its part on this line; a part that goes on from the line before says whose it is."""
        label = visible(mark.label)
        if (
            mark.start < line.start
            and _label_width(longer := f"{label} of {visible(row.name)}") <= end - begin
        ):
            label = longer
        width = end - begin
        x = self.left(begin, width)
        shape = f'x="{x:.1f}" y="{self.top:.1f}" width="{width:.1f}"'
        rules = _rules(mark, x, self.top, width)
        room = min(advance(label) * _LABEL * 1.08, width - 2 * _PAD)
        at = x + width - _PAD - room if self.mirrored else x + _PAD
        return (
            f'<g class="{mark.group}"><title>{escape(visible(mark.title))}</title>'
            f'<rect class="bar" {shape} height="{_BAR:.0f}" rx="3"/>{rules}'
            f"{_text('label', at, self.top + 14.5, room, label)}</g>"
        )


def _rules(mark: Mark, x: float, y: float, width: float) -> str:
    """The line on top of a bar: one thick for core roles, two thin for adjuncts, none for predicates."""
    if mark.group == PREDICATE:
        return ""
    heights = [(0, 1), (2, 1)] if GROUPS[mark.group].adjunct else [(0, 3)]
    return "".join(
        f'<rect class="line" x="{x:.1f}" y="{y + down:.1f}" width="{width:.1f}" height="{thick}"/>'
        for down, thick in heights
    )


def _text(kind: str, x: float, y: float, length: float, text: str) -> str:
    fitted = f' textLength="{length:.1f}" lengthAdjust="spacingAndGlyphs"' if text.strip() else ""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}"{fitted}>{escape(text)}</text>'


def _label_width(label: str) -> float:
    return advance(visible(label)) * _LABEL * 1.08 + 2 * _PAD  # bold is wider


def _theme(theme: str) -> str:
    ink, paper = css(INK[theme]), css(PAPER[theme])
    out = f".paper{{fill:{paper}}}.word{{fill:{ink}}}"
    out += f".predicate .bar{{fill:{ink}}}.predicate .label{{fill:{paper}}}"
    for group in GROUPS:
        line, tint, label = shades(group, theme)
        out += f".{group} .line{{fill:{line}}}.{group} .bar{{fill:{tint}}}.{group} .label{{fill:{label}}}"
    return out


_STYLE = (
    f"text{{font-family:{FONT};white-space:pre}}.word{{font-size:{_WORD:.0f}px}}"
    f".label{{font-size:{_LABEL:.0f}px;font-weight:600}}"
    f"{_theme('light')}@media(prefers-color-scheme:dark){{{_theme('dark')}}}"
)
