"""Words cut into lines that fit a width, with room for the labels below them.

For pictures that are measured here and not by a browser; widths are in whatever unit the picture counts in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from spansrl.visualize.marks import Mark, Row


class Line(NamedTuple):
    """Tokens start .. end-1, where each begins, how much room it has, and where the line ends."""

    start: int
    end: int
    places: tuple[float, ...]
    rooms: tuple[float, ...]

    @property
    def width(self) -> float:
        """From the first word's beginning to the end of the last one's room."""
        return self.places[-1] + self.rooms[-1]

    def extent(self, start: int, end: int) -> tuple[float, float] | None:
        """Where a span, or the part of it that is on this line, begins and ends; None if it is elsewhere."""
        first, last = max(start, self.start) - self.start, min(end, self.end) - self.start - 1
        return (self.places[first], self.places[last] + self.rooms[last]) if first <= last else None


def break_lines(
    widths: Sequence[float],
    gaps: Sequence[float],
    rows: Sequence[Row],
    *,
    limit: float,
    label_width: Callable[[Mark], float],
) -> list[Line]:
    """As many words a line as fit `limit`, at least one; `gaps` are before the words."""
    marks = sorted(
        (mark for row in rows for lane in row.lanes for mark in lane), key=lambda m: m.end - m.start
    )
    lines: list[Line] = []
    start = 0
    while start < len(widths):
        reach = _reach(start, widths, gaps, limit)
        marks = [mark for mark in marks if mark.end > start]
        near = [mark for mark in marks if mark.start < reach]
        line = _set_line(start, start + 1, widths, gaps, near, label_width)
        while line.end < reach:
            longer = _set_line(start, line.end + 1, widths, gaps, near, label_width)
            if longer.width > limit:
                break
            line = longer
        end = _before_glued(start, line.end, gaps)
        lines.append(line if end == line.end else _set_line(start, end, widths, gaps, near, label_width))
        start = end
    return lines


def _reach(start: int, widths: Sequence[float], gaps: Sequence[float], limit: float) -> int:
    """Where a line would end if labels needed no room: what is behind that need not be looked at."""
    end, width = start + 1, widths[start]
    while end < len(widths) and (width := width + gaps[end] + widths[end]) <= limit:
        end += 1
    return end


def _before_glued(start: int, end: int, gaps: Sequence[float]) -> int:
    """Where to end a line instead of between words that are written without a space, if there is a place."""
    better = end
    while better < len(gaps) and gaps[better] == 0 and better > start:
        better -= 1
    return better if better > start else end


def _set_line(
    start: int,
    end: int,
    widths: Sequence[float],
    gaps: Sequence[float],
    marks: Sequence[Mark],
    label_width: Callable[[Mark], float],
) -> Line:
    """Short marks are served first, since the room that they make is inside the longer ones too."""
    rooms = list(widths[start:end])
    for mark in marks:
        first, last = max(mark.start, start) - start, min(mark.end, end) - start
        if first < last:
            has = sum(rooms[first:last]) + sum(gaps[start + first + 1 : start + last])
            rooms[last - 1] += max(0.0, label_width(mark) - has)
    places = [0.0]
    for k in range(1, end - start):
        places.append(places[-1] + rooms[k - 1] + gaps[start + k])
    return Line(start, end, tuple(places), tuple(rooms))
