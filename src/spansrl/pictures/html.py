"""A sentence as HTML: every token is a column with its word on top and a cell a row below; columns wrap.

A fragment has no inline style and no script, so that it can stand in a page with a strict content security
policy; the page needs STYLE once. Everything that came with the sentence is escaped. Labels cannot be
selected, so that copying from a picture copies its words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from spansrl.pictures.characters import advance, runs_right_to_left, visible
from spansrl.pictures.marks import Mark, Meanings, glued, rows_of
from spansrl.pictures.style import LABEL_SIZE, PADDING, STYLE
from spansrl.structures import Sentence

_SPACE = 0.28  # a blank, in units of the font's size
_REPEAT = 20.0  # a bar says its label again after so much, for whoever sees it go on in a new line
_UNBROKEN = 14.0  # columns that should stay together do so up to this width

__all__ = ["STYLE", "document_html", "fragment_html", "sentence_html"]


def sentence_html(sent: Sentence, *, frames: Meanings | None = None) -> str:
    """The sentence as a fragment for a page that has STYLE; `frames` tells meanings of roles for hovering.

    >>> print(sentence_html(Sentence(("Hi",))))
    <div class="srl" dir="ltr"><span class="srl-w srl-s"><bdi class="srl-t">Hi</bdi></span></div>
    """
    lanes = [lane for row in rows_of(sent, frames) for lane in row.lanes]
    firsts = [k for row in rows_of(sent, frames) for k in range(len(row.lanes))]
    words = [visible(token) for token in sent.tokens]
    close = [*glued(sent)[1:], False]  # whether no space follows
    widths = [advance(word) + (0 if near else _SPACE) for word, near in zip(words, close, strict=True)]
    cells = [_lane_cells(lane, widths, first=k == 0) for lane, k in zip(lanes, firsts, strict=True)]
    columns = [
        f'<span class="srl-w{"" if near else " srl-s"}"><bdi class="srl-t">{escape(word)}</bdi>'
        f"{''.join(lane[k] for lane in cells)}</span>"
        for k, (word, near) in enumerate(zip(words, close, strict=True))
    ]
    direction = "rtl" if runs_right_to_left(sent.tokens) else "ltr"
    return (
        f'<div class="srl" dir="{direction}">{"".join(_keep_together(columns, widths, lanes, close))}</div>'
    )


def fragment_html(sentences: Iterable[Sentence], *, frames: Meanings | None = None) -> str:
    """Sentences with their style, for places that have no page of ours around them, such as notebooks."""
    return f"<style>{STYLE}</style>{''.join(sentence_html(sent, frames=frames) for sent in sentences)}"


def document_html(
    sentences: Iterable[Sentence], *, title: str = "Semantic roles", frames: Meanings | None = None
) -> str:
    """A whole page, to be written to a file as UTF-8."""
    shown = escape(visible(title))
    pictures = "\n".join(sentence_html(sent, frames=frames) for sent in sentences)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{shown}</title>\n<style>\n{STYLE}</style>\n</head>\n<body class="srl-page">\n'
        f"<h1>{shown}</h1>\n{pictures}\n</body>\n</html>\n"
    )


def _lane_cells(lane: tuple[Mark, ...], widths: list[float], *, first: bool) -> list[str]:
    """One cell a token; a proposition's first lane keeps a little distance from what is above it."""
    empty = "srl-c srl-n" if first else "srl-c"
    cells = [f'<span class="{empty}"></span>'] * len(widths)
    for mark in lane:
        title = escape(visible(mark.title))
        since = 0.0
        for k in range(mark.start, mark.end):
            classes = [empty, f"srl-m srl-{mark.group}"]
            classes += ["srl-b"] * (k == mark.start) + ["srl-e"] * (k == mark.end - 1)
            label = ""
            if k == mark.start or since >= _REPEAT:
                label, since = _label(mark, widths, k), 0.0
            since += widths[k]
            cells[k] = f'<span class="{" ".join(classes)}" title="{title}">{label}</span>'
    return cells


def _label(mark: Mark, widths: list[float], place: int) -> str:
    """The label at a token; it lies over the bar, but makes room for itself where the bar is too short."""
    wide = _label_width(mark) > sum(widths[mark.start : mark.end])
    again = ' aria-hidden="true"' if place > mark.start else ""
    return f'<span class="srl-l{" srl-f" if wide else ""}"{again}>{escape(visible(mark.label))}</span>'


def _label_width(mark: Mark) -> float:
    return advance(visible(mark.label)) * LABEL_SIZE * 1.08 + 2 * PADDING + _SPACE  # bold is wider


def _keep_together(
    columns: list[str], widths: list[float], lanes: list[tuple[Mark, ...]], close: list[bool]
) -> Iterator[str]:
    """Columns with those in one box that no line should end between: words without a space, label's tokens."""
    joined = list(close)  # whether the next column stays with this one
    for mark in (mark for lane in lanes for mark in lane):
        width, k = widths[mark.start], mark.start
        while width < _label_width(mark) and k + 1 < mark.end:
            joined[k], k = True, k + 1
            width += widths[k]
    box, width = [columns[0]] if columns else [], widths[0] if widths else 0.0
    for k in range(1, len(columns)):
        if joined[k - 1] and width + widths[k] <= _UNBROKEN:
            box.append(columns[k])
            width += widths[k]
        else:
            yield _box(box)
            box, width = [columns[k]], widths[k]
    if box:
        yield _box(box)


def _box(columns: list[str]) -> str:
    return columns[0] if len(columns) == 1 else f'<span class="srl-g">{"".join(columns)}</span>'
