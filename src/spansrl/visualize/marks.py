"""The contents of a picture: rows of marks, independent of how they are drawn.

A proposition is a row. A row has one lane, and more only if its phrases overlap, because the marks of a
lane are side by side. A mark is one labeled span: an argument, or a piece of the predicate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from spansrl.inventory import PROPBANK, RoleInventory
from spansrl.structures import Proposition, Sentence, Span
from spansrl.visualize.palette import PREDICATE
from spansrl.visualize.printable import visible

FAINT = 0.5  # arguments below this probability are drawn faintly


class Mark(NamedTuple):
    """A labeled span; `group` is of the palette or PREDICATE; `title` is shown on hover.

    Of an argument, `base` is the role without what continues or refers to it, and `short` has fewer letters.
    """

    start: int
    end: int
    label: str
    group: str
    title: str
    meaning: str = ""
    percent: str = ""  # the probability, if it is low enough to be mentioned
    base: str = ""
    short: str = ""


class Row(NamedTuple):
    """One proposition: its index in the sentence, its name, and its marks in lanes."""

    number: int
    name: str
    lanes: tuple[tuple[Mark, ...], ...]

    @property
    def span(self) -> Span:
        """From the first to the last token of the proposition."""
        marks = [mark for lane in self.lanes for mark in lane]
        return Span(min(mark.start for mark in marks), max(mark.end for mark in marks))


def rows_of(
    sent: Sentence,
    frames: RoleInventory | None = None,
    *,
    auxiliaries: bool = False,
    clean: Callable[[str], str] = visible,
) -> list[Row]:
    """One row per proposition; auxiliaries without arguments are left out unless requested or alone.

    `frames` provides meanings that arguments do not have themselves; `clean` makes texts safe to show.
    """
    shown = sent.props if auxiliaries else sent.without_auxiliaries().props
    return [_row(number, prop, frames, clean) for number, prop in enumerate(sent.props) if prop in shown]


def glued(sent: Sentence) -> list[bool]:
    """For each token, whether it follows the token before it without a space."""
    if sent.offsets is None:
        return [False] * len(sent)
    ends = [-1, *(end for _, end in sent.offsets)]
    return [start == end for (start, _), end in zip(sent.offsets, ends, strict=False)]


def _row(number: int, prop: Proposition, frames: RoleInventory | None, clean: Callable[[str], str]) -> Row:
    name = clean(prop.predicate)
    pieces = prop.verb_spans or (Span(prop.pred, prop.pred + 1),)
    title = clean(_predicate_title(prop, frames))
    marks = [Mark(*span, "C-V" if k else name, PREDICATE, title) for k, span in enumerate(pieces)]
    inventory = PROPBANK if frames is None else frames
    for arg in prop.args:
        found = arg.meaning
        if found is None and frames is not None:
            found = frames.meaning(prop.sense, arg.role)
        meaning = clean(" ".join((found or "").split()))
        percent = "" if arg.prob is None else _percent(arg.prob)
        title = (
            f"{clean(arg.role)} of {name}" + f": {meaning}" * bool(meaning) + f" · {percent}" * bool(percent)
        )
        faint = arg.prob is not None and arg.prob < FAINT
        group = inventory.group(arg.role)
        names = clean(inventory.role(arg.role).base), clean(inventory.short(arg.role))
        marks.append(
            Mark(*arg.span, clean(arg.role), group, title, meaning, percent if faint else "", *names)
        )
    return Row(number, name, _lanes(marks))


def _lanes(marks: list[Mark]) -> tuple[tuple[Mark, ...], ...]:
    """The predicate's pieces come first, so that they are in the first lane; then outer before inner."""
    lanes: list[list[Mark]] = []
    for mark in sorted(marks, key=lambda mark: (mark.group != PREDICATE, mark.start, -mark.end)):
        for lane in lanes:
            if all(mark.end <= other.start or other.end <= mark.start for other in lane):
                lane.append(mark)
                break
        else:
            lanes.append([mark])
    return tuple(tuple(sorted(lane)) for lane in lanes)


def _predicate_title(prop: Proposition, frames: RoleInventory | None) -> str:
    definition = frames.definition(prop.sense) if frames is not None and prop.sense is not None else None
    parts = [f"{prop.predicate}: {definition}" if definition else prop.predicate]
    if prop.type is not None:
        parts.append(prop.type)
    if prop.prob is not None:
        parts.append(f"predicate: {_percent(prop.prob)}")
    if prop.sense_prob is not None:
        parts.append(f"sense: {_percent(prop.sense_prob)}")
    return " · ".join(parts)


def _percent(prob: float) -> str:
    """A probability in percent; only what is certain is 100 %, and only what is impossible 0 %."""
    if 0 < prob < 1:
        prob = min(max(prob, 0.01), 0.99)
    return f"{prob:.0%}"
