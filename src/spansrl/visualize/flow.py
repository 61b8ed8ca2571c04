"""Columns of an HTML picture before a browser sets them: room for labels, and where a line may end.

The browser breaks the lines; what it cannot do without a script is to keep a label inside its bar. So widths
are estimated here, in units of the font's size: short bars get spacers, and the columns that a label lies
over stay together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from spansrl.visualize.characters import advance, visible
from spansrl.visualize.marks import Mark

LABEL_SIZE = 0.68  # of a label's font
PADDING = 0.28  # left and right of a label
SPACE = 0.28  # between words
SPACER = 0.25  # room is made in steps of this,
SPACERS = 32  # and in no more than these

_BOLD = 1.1  # how much wider bold letters are
_UNBROKEN = 16.0  # columns that should stay together do so up to this width
_REPEAT = 13.0  # a bar says its label again after so much, for whoever sees it go on in a new line


class Flow(NamedTuple):
    """For every column its estimated width, its spacers, and whether the next one stays on its line."""

    widths: list[float]
    spacers: list[int]
    stays: list[bool]

    def boxes(self) -> list[range]:
        """The columns, with those in one range that no line should end between."""
        boxes: list[range] = []
        width = 0.0
        for k, own in enumerate(self.widths):
            width += own
            if k and self.stays[k - 1] and width <= _UNBROKEN:
                boxes[-1] = range(boxes[-1].start, k + 1)
            else:
                boxes.append(range(k, k + 1))
                width = own
        return boxes


def flow(words: Sequence[str], spaced: Sequence[bool], marks: Sequence[Mark]) -> Flow:
    """Measure the columns of words, each with a space after it or not, under the marks.

    Short marks are served first, since the room that they make is inside the longer ones too. A bar of one
    column needs no spacer: there the label itself keeps the column wide.
    """
    widths = [advance(word) + SPACE * space for word, space in zip(words, spaced, strict=True)]
    spacers = [0] * len(words)
    for mark in sorted(marks, key=lambda mark: mark.end - mark.start):
        lacking = _label_width(mark) - sum(widths[mark.start : mark.end])
        if lacking > 0 and mark.end - mark.start > 1:
            count = min(math.ceil(lacking / SPACER), SPACERS - spacers[mark.end - 1])
            spacers[mark.end - 1] += count
            lacking = count * SPACER
        widths[mark.end - 1] += max(lacking, 0.0)
    return Flow(widths, spacers, _stays(widths, spaced, marks))


def label_places(mark: Mark, widths: Sequence[float]) -> list[int]:
    """The columns where a bar's label stands: the first, and further ones along a bar that is long."""
    places = [mark.start]
    since, left = 0.0, sum(widths[mark.start : mark.end])
    for k in range(mark.start, mark.end):
        if since >= _REPEAT and left >= _label_width(mark):
            places.append(k)
            since = 0.0
        since += widths[k]
        left -= widths[k]
    return places


def _stays(widths: Sequence[float], spaced: Sequence[bool], marks: Sequence[Mark]) -> list[bool]:
    """No line ends inside what is written without a space, nor under a label."""
    stays = [not space for space in spaced]
    for mark in marks:
        for place in label_places(mark, widths):
            under, k = widths[place], place
            while under < _label_width(mark) and k + 1 < mark.end:
                stays[k], k = True, k + 1
                under += widths[k]
    return stays


def _label_width(mark: Mark) -> float:
    return advance(visible(mark.label)) * LABEL_SIZE * _BOLD + 2 * PADDING + SPACE
