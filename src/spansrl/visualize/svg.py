"""A sentence as a stand-alone SVG image, wrapped to a given width.

The reader's fonts are unknown, so widths come from a table and every word has a fixed length: another font
is a little narrower or wider, but nothing is out of place. Light or dark follows the reader's setting.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from html import escape
from typing import NamedTuple

from spansrl.inventory import RoleInventory
from spansrl.structures import Sentence
from spansrl.visualize.layout import Bar, DrawnLine, Strip, fit, lay_out, unexplained
from spansrl.visualize.marks import Mark, rows_of
from spansrl.visualize.palette import GROUPS, PREDICATE, themed
from spansrl.visualize.printable import advance, is_measured, runs_right_to_left, visible

# Fonts with the widths of the table come first.
_FONT = 'Arial, Helvetica, "Liberation Sans", system-ui, sans-serif'
_WORD, _LABEL = 16.0, 11.0  # font sizes, and the unit of everything that follows: pixels
_BOLD = 1.08  # how much wider bold letters are
_SPACE, _MARGIN = 4.5, 14.0
_WORDS_HEIGHT, _BAR, _LABELS, _ROW_GAP, _LINE_GAP = 24.0, 4.0, 14.0, 6.0, 12.0
_NARROWEST = 160.0
_DASH, _DASH_GAP = 7.0, 3.0

LEGEND = "Solid bar: core role · dashed bar: modifier, such as time or place · faint: probability below 50%"


def sentence_svg(
    sent: Sentence,
    *,
    width: float = 720,
    frames: RoleInventory | None = None,
    auxiliaries: bool = False,
) -> str:
    """Draw a sentence as an SVG document of at most `width` pixels (at least 160).

    Pointing at a bar shows its meaning and probability. A word that is longer than a line is cut.
    """
    body = svg_element(sent, width=width, frames=frames, auxiliaries=auxiliaries, legend=True)
    return body.replace(">", f"><style>{_style()}</style>", 1) + "\n"


def svg_element(
    sent: Sentence,
    *,
    width: float,
    frames: RoleInventory | None = None,
    auxiliaries: bool = False,
    legend: bool = False,
    classes: str = "",
) -> str:
    """The image without its style, for a page that has it."""
    limit = max(width, _NARROWEST) - 2 * _MARGIN
    rows = rows_of(
        sent, frames, auxiliaries=auxiliaries, clean=lambda text: fit(visible(text), limit, _label_width)
    )
    predicates = {sent.props[row.number].pred for row in rows}
    words = [_word(token, limit, bold=k in predicates) for k, token in enumerate(sent.tokens)]
    lines = lay_out(sent, rows, [word.width for word in words], _label_width, limit=limit, space=_SPACE)
    notes = [
        f"{name}: " + "; ".join(f"{mark.label} {mark.meaning}" for mark in marks)
        for name, marks in unexplained(rows, lines)
    ]
    if legend and any(
        mark.percent or _is_modifier(mark) for row in rows for lane in row.lanes for mark in lane
    ):
        notes.append(LEGEND)
    notes = [part for note in notes for part in _wrapped(note, limit)]
    across = max([0.0, *(end for line in lines for end in _ends(line)), *map(_note_width, notes)])
    canvas = _Canvas(across + 2 * _MARGIN, runs_right_to_left(sent.tokens))
    body = "".join(part for line in lines for part in canvas.line(line, words))
    body += "".join(canvas.note(note) for note in notes)
    down = canvas.top + _MARGIN - (0 if notes else _LINE_GAP)
    size = f'width="{canvas.across:.0f}" height="{down:.0f}" viewBox="0 0 {canvas.across:.0f} {down:.0f}"'
    label = escape(" ".join(word.text for word in words))
    name = f' class="{classes}"' if classes else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg"{name} {size} role="img" aria-label="{label}">'
        f'<rect class="paper" width="100%" height="100%" rx="8"/>{body}</svg>'
    )


class _Word(NamedTuple):
    text: str
    width: float
    bold: bool


def _word(token: str, limit: float, *, bold: bool) -> _Word:
    size = _WORD * (_BOLD if bold else 1)
    text = fit(visible(token), limit, lambda text: advance(text) * size)
    return _Word(text, min(advance(text) * size, limit), bold)


def _label_width(text: str) -> float:
    return advance(text) * _LABEL * _BOLD


def _note_width(text: str) -> float:
    return advance(text) * _LABEL


def _ends(line: DrawnLine) -> Iterator[float]:
    """Where the words and the labels of a line end."""
    yield line.offsets[-1] + line.widths[-1]
    for strip in line.strips:
        yield from (label.begin + _label_width(label.text) for labels in strip.labels for label in labels)


def _wrapped(text: str, limit: float) -> Iterator[str]:
    """A note in lines that fit."""
    line = ""
    for word in text.split():
        longer = f"{line} {word}" if line else word
        if line and _note_width(longer) > limit:
            yield line
            longer = word
        line = fit(longer, limit, _note_width)
    if line:
        yield line


def _is_modifier(mark: Mark) -> bool:
    return mark.group != PREDICATE and GROUPS[mark.group].modifier


class _Canvas:
    """Draws from top to bottom; mirrored for scripts that run from right to left."""

    def __init__(self, across: float, mirrored: bool) -> None:
        self.across, self.mirrored, self.top = across, mirrored, _MARGIN

    def line(self, line: DrawnLine, words: list[_Word]) -> Iterator[str]:
        base = self.top + _WORD
        pieces = (
            self.text("tspan", "bold" if word.bold else "", offset, word.text, word.width)
            for word, offset in zip(words[line.start : line.end], line.offsets, strict=True)
        )
        # The spaces are for readers who copy the words.
        yield f'<text class="word" y="{base:.1f}">{" ".join(pieces)}</text>'
        self.top += _WORDS_HEIGHT
        for strip in line.strips:
            yield f'<g class="row p{strip.row.number}">{"".join(self.strip(strip))}</g>'
            self.top += _BAR + _LABELS * len(strip.labels) + _ROW_GAP
        self.top += _LINE_GAP - (_ROW_GAP if line.strips else 0)

    def strip(self, strip: Strip) -> Iterator[str]:
        if strip.thread is not None:
            yield self.box("thread", *strip.thread, down=_BAR / 2 - 0.5, height=1)
        for bar in strip.bars:
            yield self.group(bar.mark, "".join(self.bar(bar)))
        for number, labels in enumerate(strip.labels, start=1):
            base = self.top + _BAR + _LABELS * number - 3
            for label in labels:
                width = _label_width(label.text)
                text = self.text("text", "label", label.begin, label.text, width, base)
                yield self.group(label.mark, text)

    def group(self, mark: Mark, body: str) -> str:
        faint = " faint" if mark.percent else ""
        return f'<g class="{mark.group}{faint}"><title>{escape(mark.title)}</title>{body}</g>'

    def bar(self, bar: Bar) -> Iterator[str]:
        """A solid bar, or a dashed one for modifiers; both can be pointed at as a whole."""
        yield self.box("hit", bar.begin, bar.end, down=-2, height=_BAR + 4)
        begin = bar.begin
        while _is_modifier(bar.mark) and bar.end - begin > 1.5 * _DASH + _DASH_GAP:
            yield self.box("bar", begin, begin + _DASH, height=_BAR)
            begin += _DASH + _DASH_GAP
        yield self.box("bar", begin, bar.end, height=_BAR)

    def note(self, text: str) -> str:
        base = self.top + _LABEL - 2
        self.top += _LABELS
        return self.text("text", "note", 0, text, _note_width(text), base)

    def left(self, offset: float, width: float) -> float:
        return self.across - _MARGIN - offset - width if self.mirrored else _MARGIN + offset

    def box(self, kind: str, begin: float, end: float, *, down: float = 0, height: float) -> str:
        x, y = self.left(begin, end - begin), self.top + down
        rounded = ' rx="1.5"' if kind == "bar" else ""
        size = f'width="{end - begin:.1f}" height="{height:.0f}"'
        return f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" {size}{rounded}/>'

    def text(
        self, tag: str, kind: str, offset: float, text: str, width: float, base: float | None = None
    ) -> str:
        """A text that fills `width` if the table has its letters, otherwise as wide as the font makes it."""
        x = self.left(offset, width)
        fitted = f' textLength="{width:.1f}" lengthAdjust="spacingAndGlyphs"' if is_measured(text) else ""
        if self.mirrored:
            x, fitted = x + width, f' text-anchor="end"{fitted}'
        y = "" if base is None else f' y="{base:.1f}"'
        name = f' class="{kind}"' if kind else ""
        return f'<{tag}{name} x="{x:.1f}"{y}{fitted}>{escape(text)}</{tag}>'


def rules(scope: str = "") -> str:
    """The style of an image, in variables for the colors; `scope` comes before every selector."""
    ink, paper, thread = (f"var(--srl-{name})" for name in ("ink", "paper", "thread"))
    found = [
        (".paper", f"fill:{paper}"),
        (".hit", "fill:transparent"),
        (".thread", f"fill:{thread}"),
        ("text", f"fill:{ink};font:{_WORD:.0f}px {_FONT};white-space:pre"),
        (".bold", "font-weight:bold"),
        ("text.label", f"font-size:{_LABEL:.0f}px;font-weight:bold"),
        ("text.note", f"font-size:{_LABEL:.0f}px"),
        (f".{PREDICATE} .bar", f"fill:{ink}"),
        (".faint .bar", "opacity:.35"),
        (".faint text.label", "font-weight:normal;font-style:italic"),
    ]
    for name in GROUPS:
        found.append((f".{name} .bar", f"fill:var(--srl-{name}-line)"))
        found.append((f".{name} text.label", f"fill:var(--srl-{name}-label)"))
    return "".join(f"{scope}{selector}{{{body}}}\n" for selector, body in found)


@cache
def _style() -> str:
    light, dark = (themed(rules(), theme).replace("\n", "") for theme in ("light", "dark"))
    return f"{light}@media(prefers-color-scheme:dark){{{dark}}}"
