"""A sentence as HTML: every token is a column with its word on top and a cell a row below; columns wrap.

A fragment has no inline style and no script, so that it can stand in a page with a strict content security
policy; the page needs STYLE once. Everything that came with the sentence is escaped. Labels cannot be
selected, so that copying from a picture copies its words.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from spansrl.structures import Sentence
from spansrl.visualize.characters import runs_right_to_left, visible
from spansrl.visualize.flow import flow, label_places
from spansrl.visualize.marks import Frames, Mark, Row, glued, rows_of, shelves
from spansrl.visualize.style import STYLE

__all__ = ["STYLE", "document_html", "fragment_html", "sentence_html"]

# In units of the font's size: longer sentences wrap on most screens, and there propositions side by side
# share a row.
_LONG = 45.0
_EMPTY = "<i></i>"
_THREAD = '<i class="srl-k"></i>'


def sentence_html(sent: Sentence, *, frames: Frames | None = None) -> str:
    """The sentence as a fragment for a page that has STYLE; `frames` tells meanings of roles for hovering.

    >>> print(sentence_html(Sentence(("Hi",))))
    <div class="srl" dir="ltr"><span class="srl-w srl-s"><bdi class="srl-t">Hi</bdi></span></div>
    """
    words = [visible(token) for token in sent.tokens]
    spaced = [not near for near in [*glued(sent)[1:], False]][: len(words)]
    rows = rows_of(sent, frames)
    flowing = flow(words, spaced, [mark for row in rows for mark in row.marks])
    lanes = [
        _cells(shelf, lane, flowing.widths)
        for shelf in shelves(rows, shared=sum(flowing.widths) > _LONG)
        for lane in range(max(len(row.lanes) for _, row in shelf))
    ]
    predicates = {prop.pred for prop in sent.props}

    def column(k: int) -> str:
        classes = "srl-w" + " srl-s" * spaced[k] + f" srl-x{flowing.spacers[k]}" * (flowing.spacers[k] > 0)
        word = f'<bdi class="srl-t{" srl-v" * (k in predicates)}">{escape(words[k])}</bdi>'
        return f'<span class="{classes}">{word}{"".join(cells[k] for cells in lanes)}</span>'

    body = "".join(
        column(box.start) if len(box) == 1 else f'<span class="srl-g">{"".join(map(column, box))}</span>'
        for box in flowing.boxes()
    )
    direction = "rtl" if runs_right_to_left(sent.tokens) else "ltr"
    return f'<div class="srl" dir="{direction}">{body}</div>'


def fragment_html(sentences: Iterable[Sentence], *, frames: Frames | None = None) -> str:
    """Sentences with their style, for places that have no page of ours around them, such as notebooks."""
    return f"<style>{STYLE}</style>{''.join(sentence_html(sent, frames=frames) for sent in sentences)}"


def document_html(
    sentences: Iterable[Sentence], *, title: str = "Semantic roles", frames: Frames | None = None
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


def _cells(shelf: list[tuple[int, Row]], lane: int, widths: list[float]) -> list[str]:
    """One cell a token for one lane of a shelf; a thin thread joins what belongs to one proposition."""
    cells = [_EMPTY] * len(widths)
    for number, row in shelf:
        if lane == 0:
            cells[row.start : row.end] = [_THREAD] * (row.end - row.start)
        for mark in row.lanes[lane] if lane < len(row.lanes) else ():
            cells[mark.start : mark.end] = _bar(mark, number, widths)
    return cells


def _bar(mark: Mark, number: int, widths: list[float]) -> list[str]:
    """The cells of one mark; `number` tells the style which proposition it belongs to."""
    title = escape(visible(mark.title))
    cells = []
    places = label_places(mark, widths)
    for k in range(mark.start, mark.end):
        ends = " srl-b" * (k == mark.start) + " srl-e" * (k == mark.end - 1)
        label = _label(mark, again=k > mark.start) if k in places else ""
        cells.append(
            f'<span class="srl-m srl-{mark.group} srl-{number}{ends}" title="{title}">{label}</span>'
        )
    return cells


def _label(mark: Mark, *, again: bool) -> str:
    """The label lies over its bar; where that is one column, it is part of it and keeps it wide enough."""
    classes = "srl-l srl-f" if mark.end - mark.start == 1 else "srl-l"
    hidden = ' aria-hidden="true"' if again else ""
    return f'<span class="{classes}"{hidden}>{escape(visible(mark.label))}</span>'
