"""Where words, bars and labels go, on lines of a given width.

Words keep their natural spacing. A bar lies below the words of its span; its label is below the bar and
begins under it. A label moves to the right or is shortened where the label before it needs the space, and
takes a line of its own only if that does not help. Widths are in the unit of the picture: columns of a
terminal, or pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from spansrl.structures import Sentence
from spansrl.visualize.marks import Mark, Row, glued
from spansrl.visualize.palette import PREDICATE

Measure = Callable[[str], float]


class Bar(NamedTuple):
    """A mark, or the part of it that is on this line."""

    mark: Mark
    begin: float
    end: float
    opened: bool  # it began on an earlier line
    goes_on: bool  # it ends on a later line


class BarLabel(NamedTuple):
    """A text below its bar."""

    mark: Mark
    begin: float
    text: str


class Strip(NamedTuple):
    """One lane of a proposition on one line: its bars, and one or more lines of labels."""

    row: Row
    bars: tuple[Bar, ...]
    labels: tuple[tuple[BarLabel, ...], ...]
    thread: tuple[float, float] | None  # from the first to the last mark of the proposition


class DrawnLine(NamedTuple):
    """Tokens start .. end-1, the offset and the width of each, and the strips below them."""

    start: int
    end: int
    offsets: tuple[float, ...]
    widths: tuple[float, ...]
    strips: tuple[Strip, ...] = ()

    def extent(self, start: int, end: int) -> tuple[float, float] | None:
        """Where a span, or the part of it that is on this line, begins and ends; None if it is elsewhere."""
        first, last = max(start, self.start) - self.start, min(end, self.end) - self.start - 1
        return (self.offsets[first], self.offsets[last] + self.widths[last]) if first <= last else None


def lay_out(
    sent: Sentence,
    rows: Sequence[Row],
    widths: Sequence[float],
    measure: Measure,
    *,
    limit: float,
    space: float,
) -> list[DrawnLine]:
    """Lay out words and labels; `measure` returns the width of a label, `space` is the width of a space."""
    gaps = [0.0 if near else space for near in glued(sent)]
    return [_with_strips(line, rows, measure, limit, space) for line in _break(widths, gaps, limit)]


def fit(text: str, limit: float, measure: Measure, ellipsis: str = "…") -> str:
    """The text, cut if it is too wide."""
    if measure(text) <= limit:
        return text
    while text and (width := measure(text + ellipsis)) > limit:
        text = text[: min(len(text) - 1, int(len(text) * limit / width))]
    return text + ellipsis


def unexplained(rows: Sequence[Row], lines: Sequence[DrawnLine]) -> list[tuple[str, list[Mark]]]:
    """The predicates with those of their roles whose meaning no label shows, once each."""
    shown = {
        (strip.row.name, label.mark.base)
        for line in lines
        for strip in line.strips
        for labels in strip.labels
        for label in labels
        if label.mark.meaning and label.mark.meaning in label.text
    }
    found: dict[str, dict[str, Mark]] = {}
    for row in rows:
        for mark in sorted(mark for lane in row.lanes for mark in lane):
            role = mark.base
            if mark.meaning and (row.name, role) not in shown:
                found.setdefault(row.name, {}).setdefault(role, mark._replace(label=role))
    return [(name, [roles[role] for role in sorted(roles)]) for name, roles in found.items()]


def _break(widths: Sequence[float], gaps: Sequence[float], limit: float) -> Iterator[DrawnLine]:
    """Lines of at least one word; none ends between words without a space, if possible."""
    start = 0
    while start < len(widths):
        end, width = start + 1, widths[start]
        while end < len(widths) and (width := width + gaps[end] + widths[end]) <= limit:
            end += 1
        better = end
        while better < len(gaps) and gaps[better] == 0 and better > start:
            better -= 1
        end = better if better > start else end
        offsets = [0.0]
        for k in range(start + 1, end):
            offsets.append(offsets[-1] + widths[k - 1] + gaps[k])
        yield DrawnLine(start, end, tuple(offsets), tuple(widths[start:end]))
        start = end


def _with_strips(
    line: DrawnLine, rows: Sequence[Row], measure: Measure, limit: float, space: float
) -> DrawnLine:
    strips = []
    for row in rows:
        own = [mark for lane in row.lanes for mark in lane if mark.group == PREDICATE]
        named = any(line.extent(mark.start, mark.end) for mark in own)
        for lane in row.lanes:
            bars = tuple(
                Bar(mark, *extent, mark.start < line.start, mark.end > line.end)
                for mark in lane
                if (extent := line.extent(mark.start, mark.end)) is not None
            )
            if bars:
                labels = [_texts(bar, "" if named else row.name) for bar in bars]
                thread = line.extent(*row.span) if lane is row.lanes[0] else None
                strips.append(Strip(row, bars, _labels(bars, labels, measure, limit, space), thread))
    return line._replace(strips=tuple(strips))


def _labels(
    bars: Sequence[Bar], choices: Sequence[list[str]], measure: Measure, limit: float, space: float
) -> tuple[tuple[BarLabel, ...], ...]:
    """Labels on one line if possible, with shorter texts if that helps."""
    shorter = ([texts[k:] or texts[-1:] for texts in choices] for k in range(3))
    return min((_lines_of_labels(bars, texts, measure, limit, space) for texts in shorter), key=len)


def _lines_of_labels(
    bars: Sequence[Bar], choices: Sequence[list[str]], measure: Measure, limit: float, space: float
) -> tuple[tuple[BarLabel, ...], ...]:
    lines: list[list[BarLabel]] = [[]]
    ends = [-space]
    for bar, texts, following in zip(bars, choices, [*bars[1:], None], strict=True):
        for text in texts:
            width = measure(text)
            begin = max(ends[0] + space, min(bar.begin, limit - width))
            room = limit
            if following is not None:  # leave the next label a beginning under its own bar
                reach = following.begin if text != texts[-1] and " " in text else following.end - space
                room = max(following.begin, reach) - space
            if begin < bar.end and begin + width <= room:
                lines[0].append(BarLabel(bar.mark, begin, text))
                ends[0] = begin + width
                break
        else:
            text = bar.mark.label
            width = measure(text)
            begin = max(0.0, min(bar.begin, limit - width))
            line = next((k for k in range(1, len(lines)) if ends[k] + space <= begin), len(lines))
            if line == len(lines):
                lines.append([])
                ends.append(0.0)
            lines[line].append(BarLabel(bar.mark, begin, text))
            ends[line] = begin + width
    return tuple(tuple(line) for line in lines if line)


def _texts(bar: Bar, owner: str) -> list[str]:
    """The possible texts of a label, longest first; `owner` names a predicate that is on another line."""
    mark = bar.mark
    if mark.group == PREDICATE:
        return [mark.label]
    roles = list(dict.fromkeys((mark.label, mark.short)))
    known = [f"{role} {mark.percent}" if mark.percent else role for role in roles]
    if owner:
        return [f"{known[0]} of {owner}", *roles]
    if bar.opened:
        return roles
    meaning = [f"{mark.label} {mark.meaning} {mark.percent}".strip()] if mark.meaning else []
    return [*meaning, *known, *(roles[1:] if mark.percent else [])]
