"""What a picture has to show of a sentence: rows of marks, whatever they are drawn with.

A proposition is a row. A row has one lane, and more only where phrases overlap, since the marks of a lane
stand side by side. A mark is one labelled span: an argument, or a piece of the predicate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from spansrl.structures import Argument, Proposition, Sentence, Span
from spansrl.tags import base_role
from spansrl.visualize.palette import group_of


class Frames(Protocol):
    """Whoever knows what senses and roles mean; spansrl.language.frames has such."""

    def definition(self, sense: str, /) -> str | None:
        """What the sense means ("keep.01" -> "retain"), or None."""

    def meaning(self, sense: str | None, role: str, /) -> str | None:
        """What the role means there ("keep.01", "ARG1" -> "thing kept"), or None."""


PREDICATE = "predicate"


class Mark(NamedTuple):
    """A labelled span; `group` is of the palette, or PREDICATE; `title` is what hovering tells."""

    start: int
    end: int
    label: str
    group: str
    title: str

    @property
    def span(self) -> Span:
        """Where the mark is."""
        return Span(self.start, self.end)


class Row(NamedTuple):
    """One proposition: its name, and its marks in lanes."""

    name: str
    lanes: tuple[tuple[Mark, ...], ...]

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The marks of all lanes."""
        return tuple(mark for lane in self.lanes for mark in lane)

    @property
    def start(self) -> int:
        """The first token that the proposition has to do with."""
        return min(mark.start for mark in self.marks)

    @property
    def end(self) -> int:
        """The token after the last one."""
        return max(mark.end for mark in self.marks)


class Gloss(NamedTuple):
    """What a predicate's roles stand for, for pictures that nobody can point at."""

    name: str
    roles: tuple[tuple[str, str], ...]


def rows_of(sent: Sentence, frames: Frames | None = None) -> list[Row]:
    """One row a proposition, in the sentence's order; `frames` serves arguments without a meaning."""
    return [_row(sent, prop, frames) for prop in sent.props]


def glosses_of(sent: Sentence, frames: Frames | None = None) -> list[Gloss]:
    """One gloss a name of predicates whose roles have meanings; R- and C- roles mean what their role does."""
    found: dict[str, Gloss] = {}
    for prop in sent.props:
        name = name_of(sent, prop)
        meanings = ((base_role(arg.role), _meaning(arg, prop, frames)) for arg in prop.args)
        if known := {(role, meaning) for role, meaning in meanings if meaning}:
            before = found[name].roles if name in found else ()
            found[name] = Gloss(name, tuple(sorted(known.union(before))))
    return list(found.values())


def shelves(rows: Sequence[Row], *, shared: bool) -> list[list[tuple[int, Row]]]:
    """The rows with their numbers; with `shared`, those that are side by side stand on one shelf.

    A row goes to the first shelf that has room for it.
    """
    found: list[list[tuple[int, Row]]] = []
    for number, row in enumerate(rows):
        fitting = (
            shelf
            for shelf in found
            if all(row.end <= other.start or other.end <= row.start for _, other in shelf)
        )
        if shared and (shelf := next(fitting, None)) is not None:
            shelf.append((number, row))
        else:
            found.append([(number, row)])
    return found


def name_of(sent: Sentence, prop: Proposition) -> str:
    """What to call a proposition: its sense, lemma or word, the first that is not blank."""
    names = (prop.sense, prop.lemma, sent.tokens[prop.pred])
    return next((name for name in names if name and name.strip()), "V")


def glued(sent: Sentence) -> list[bool]:
    """For each token, whether it stands right behind the one before it, without a space."""
    if sent.offsets is None:
        return [False] * len(sent)
    ends = [-1, *(end for _, end in sent.offsets)]
    return [start == end for (start, _), end in zip(sent.offsets, ends, strict=False)]


def _row(sent: Sentence, prop: Proposition, frames: Frames | None) -> Row:
    name = name_of(sent, prop)
    pieces = prop.verb_spans or (Span(prop.pred, prop.pred + 1),)
    title = _predicate_title(prop, name, frames)
    marks = [Mark(*span, "C-V" if k else name, PREDICATE, title) for k, span in enumerate(pieces)]
    marks += [
        Mark(*arg.span, arg.role, group_of(arg.role), _argument_title(arg, prop, name, frames))
        for arg in prop.args
    ]
    return Row(name, _lanes(marks))


def _lanes(marks: list[Mark]) -> tuple[tuple[Mark, ...], ...]:
    """The predicate's pieces are placed first, so that the first lane has them; then outer before inner."""
    lanes: list[list[Mark]] = []
    for mark in sorted(marks, key=lambda mark: (mark.group != PREDICATE, mark.start, -mark.end)):
        for lane in lanes:
            if all(mark.end <= other.start or other.end <= mark.start for other in lane):
                lane.append(mark)
                break
        else:
            lanes.append([mark])
    return tuple(tuple(sorted(lane)) for lane in lanes)


def _predicate_title(prop: Proposition, name: str, frames: Frames | None) -> str:
    definition = frames.definition(prop.sense) if frames is not None and prop.sense is not None else None
    parts = [f"{name}: {definition}" if definition else name]
    if prop.type is not None:
        parts.append(prop.type)
    if prop.prob is not None:
        parts.append(f"predicate: {_percent(prop.prob)}")
    if prop.sense_prob is not None:
        parts.append(f"sense: {_percent(prop.sense_prob)}")
    return " · ".join(parts)


def _argument_title(arg: Argument, prop: Proposition, name: str, frames: Frames | None) -> str:
    meaning = _meaning(arg, prop, frames)
    parts = [f"{arg.role} of {name}" if meaning is None else f"{arg.role} of {name}: {meaning}"]
    if arg.prob is not None:
        parts.append(_percent(arg.prob))
    return " · ".join(parts)


def _meaning(arg: Argument, prop: Proposition, frames: Frames | None) -> str | None:
    if arg.meaning is None and frames is not None:
        return frames.meaning(prop.sense, arg.role)
    return arg.meaning


def _percent(prob: float) -> str:
    """A chance in whole per cent; what is not certain is not called 100 %, nor what is possible 0 %."""
    if 0 < prob < 1:
        prob = min(max(prob, 0.01), 0.99)
    return f"{prob:.0%}"
