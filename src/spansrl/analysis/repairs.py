"""Section 5: kinds of errors, told apart by the repairs that they need (He+ 2017, Section 4.1).

Seven repairs are made by somebody who knows gold, one kind after the other, and F1 is measured after each:

- *fix labels*: a predicted span is a gold span with another label: it gets that label;
- *move core arguments*: a core label, once in gold and once predicted, stands somewhere else altogether;
- *merge spans*: two predicted spans with at most one token between them make up a gold span;
- *split spans*: a predicted span is made up of two gold spans with at most one token between them;
- *fix boundaries*: a predicted span overlaps a gold span of its label: it gets the gold boundaries;
- *drop arguments*: a predicted span overlaps no gold span;
- *add arguments*: a gold span overlaps no predicted span.

Pieces of split arguments (C-X) are spans like all others here; the score is the official one throughout.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import permutations

from spansrl.analysis.charts import Bars
from spansrl.analysis.inputs import Inputs
from spansrl.analysis.tables import Cell, Column, Picture, Section, Table, columns
from spansrl.evaluation import score
from spansrl.evaluation.counts import percent
from spansrl.evaluation.frames import frames_of
from spansrl.structures import Argument, Proposition, Sentence, Span
from spansrl.tags import Phrase, is_core

NAME, TITLE = "errors", "Kinds of errors"
BEYOND = "more than one repair"  # what is still wrong after all of them
_GAP = 1  # tokens that may stand between spans which are merged or split

Spans = tuple[Phrase, ...]
Repair = Callable[[Spans, Spans], tuple[Spans, int]]  # (gold, predicted) -> (repaired, how many repairs)


def errors(inputs: Inputs) -> Section:
    """How many repairs of each kind a system needs, and what they are worth."""
    found = [_Repaired(inputs, place) for place in range(len(inputs.systems))]
    intro = (
        "Errors by the repairs that they need, in the manner of He+ 2017. Repairs are made in the order of "
        "the rows, each kind upon those before it; a repair alone is made upon the system's own answers."
    )
    names = [name for name, _ in REPAIRS]
    curves = tuple((result.system.name, tuple(result.f1)) for result in found)
    picture = Picture(
        "repairs",
        "F1 after each kind of repair, one upon the other",
        Bars(("as predicted", *names), curves, "F1"),
    )
    return Section(NAME, TITLE, intro, (*(result.table(k) for k, result in enumerate(found, 1)), picture))


def tag_of(system: str, kind: str) -> str:
    """The name by which the examples of a kind are found."""
    return f"{system}: {kind}"


def spans_of(prop: Proposition | None) -> Spans:
    """The labeled spans of a proposition; none of a predicate that was not predicted."""
    return () if prop is None else tuple(Phrase(arg.role, *arg.span) for arg in prop.args)


def kinds_needed(gold: Spans, predicted: Spans) -> list[str]:
    """The kinds of repairs that a proposition needs, in their order; BEYOND if they are not enough."""
    needed = []
    for name, repair in REPAIRS:
        predicted, times = repair(gold, predicted)
        needed += [name] * (times > 0)
    return needed if sorted(predicted) == sorted(gold) else [*needed, BEYOND]


def fix_labels(gold: Spans, predicted: Spans) -> tuple[Spans, int]:
    """A right span with a wrong label gets the right one."""
    role_at = {(start, end): role for role, start, end in gold}
    fixed = tuple(Phrase(role_at.get((p.start, p.end), p.role), p.start, p.end) for p in predicted)
    return fixed, _changes(predicted, fixed)


def move_core(gold: Spans, predicted: Spans) -> tuple[Spans, int]:
    """A core label that both have once, but in different places, goes where gold has it."""
    in_gold, in_predicted = (Counter(phrase.role for phrase in side) for side in (gold, predicted))
    target = {p.role: p for p in gold if is_core(p.role) and in_gold[p.role] == in_predicted[p.role] == 1}
    moved = tuple(p if _overlap(p, target.get(p.role, p)) else target[p.role] for p in predicted)
    return moved, _changes(predicted, moved)


def merge_spans(gold: Spans, predicted: Spans) -> tuple[Spans, int]:
    """Two neighbouring spans become the gold span that they make up."""
    times = 0
    for target in _missing(gold, predicted):
        for first, second in permutations(predicted, 2):
            if _makes_up(first, second, target):
                predicted = (*(p for p in predicted if p not in (first, second)), target)
                times += 1
                break
    return predicted, times


def split_spans(gold: Spans, predicted: Spans) -> tuple[Spans, int]:
    """A span that is made up of two gold spans becomes these two."""
    times = 0
    for phrase in predicted:
        for first, second in permutations(gold, 2):
            if phrase not in gold and _makes_up(first, second, phrase):
                parts = [part for part in (first, second) if part not in predicted]
                predicted = (*(p for p in predicted if p != phrase), *parts)
                times += 1
                break
    return predicted, times


def fix_boundaries(gold: Spans, predicted: Spans) -> tuple[Spans, int]:
    """A span that overlaps a gold span of its label gets that span's boundaries."""
    open_gold = _missing(gold, predicted)
    fixed = []
    for phrase in predicted:
        near = [p for p in open_gold if p.role == phrase.role and _overlap(p, phrase)]
        if phrase in gold or not near:
            fixed.append(phrase)
        else:
            open_gold.remove(near[0])
            fixed.append(near[0])
    return tuple(fixed), _changes(predicted, fixed)


def drop_arguments(gold: Spans, predicted: Spans) -> tuple[Spans, int]:
    """Spans where gold has nothing disappear."""
    kept = tuple(p for p in predicted if any(_overlap(p, other) for other in gold))
    return kept, len(predicted) - len(kept)


def add_arguments(gold: Spans, predicted: Spans) -> tuple[Spans, int]:
    """Gold spans where nothing was predicted appear."""
    added = [p for p in gold if not any(_overlap(p, other) for other in predicted)]
    return (*predicted, *added), len(added)


REPAIRS: tuple[tuple[str, Repair], ...] = (
    ("fix labels", fix_labels),
    ("move core arguments", move_core),
    ("merge spans", merge_spans),
    ("split spans", split_spans),
    ("fix boundaries", fix_boundaries),
    ("drop arguments", drop_arguments),
    ("add arguments", add_arguments),
)


class _Repaired:
    """A system's answers with one kind of error after the other taken away."""

    def __init__(self, inputs: Inputs, place: int) -> None:
        """`place` is the system's among all, by which progress is told."""
        gold, system = inputs.gold, inputs.systems[place]
        self.system = system
        self._gold = [frames_of(sent) for sent in gold]  # which is scored with many times
        self.f1 = [system.score.overall.f1]
        self.times: list[int] = []
        self.alone: list[float] = []
        original = _answers(gold, system.sentences)
        current = original
        for done, (_, repair) in enumerate(REPAIRS, start=1 + place * len(REPAIRS)):
            self.alone.append(self._f1(_repaired(gold, original, repair)[0]))
            current, times = _repaired(gold, current, repair)
            self.times.append(times)
            self.f1.append(self._f1(current))
            inputs.progress("Repairs", done, len(inputs.systems) * len(REPAIRS))

    def _f1(self, answers: Sequence[Sentence]) -> float:
        return score(self._gold, answers).overall.f1

    def table(self, number: int) -> Table:
        """A row a kind, in order."""
        total = sum(self.times)
        start: list[tuple[Cell, ...]] = [("as predicted", None, None, self.f1[0], None, None)]
        rows = [
            (name, n, percent(n, total), after, after - before, alone - self.f1[0])
            for (name, _), n, before, after, alone in zip(
                REPAIRS, self.times, self.f1, self.f1[1:], self.alone, strict=False
            )
        ]
        return Table(
            f"repairs-{number}",
            f"Repairs of {self.system.name}",
            (
                *columns("repair", "times", "% of repairs", "F1 afterwards"),
                Column("gain", "+.2f"),
                Column("gain alone", "+.2f"),
            ),
            (*start, *rows),
            note="Pieces of split arguments (C-) count as spans of their own. What is missing to 100 in the "
            f"end needs more than one repair of a span at once; its examples are found by '{BEYOND}'.",
            finds=("", *(tag_of(self.system.name, name) for name, _ in REPAIRS)),
        )


def _answers(gold: Sequence[Sentence], predicted: Sequence[Sentence]) -> list[Sentence]:
    """The gold sentences with the arguments that a system gives to their predicates."""
    return [
        replace(sent, props=tuple(_answer(prop, found) for prop in sent.props))
        for sent, other in zip(gold, predicted, strict=False)
        for found in [{prop.pred: prop for prop in other.props}]
    ]


def _answer(prop: Proposition, found: dict[int, Proposition]) -> Proposition:
    own = found.get(prop.pred)
    return replace(prop, args=() if own is None else own.args)


def _repaired(
    gold: Sequence[Sentence], answers: Sequence[Sentence], repair: Repair
) -> tuple[list[Sentence], int]:
    out, total = [], 0
    for sent, answer in zip(gold, answers, strict=True):
        props = []
        for prop, own in zip(sent.props, answer.props, strict=True):
            spans, times = repair(spans_of(prop), spans_of(own))
            args = tuple(Argument(role, Span(start, end)) for role, start, end in spans)
            props.append(replace(own, args=args) if times else own)
            total += times
        out.append(replace(answer, props=tuple(props)))
    return out, total


def _missing(gold: Spans, predicted: Spans) -> list[Phrase]:
    return [phrase for phrase in gold if phrase not in predicted]


def _overlap(a: Phrase, b: Phrase) -> bool:
    return a.start < b.end and b.start < a.end


def _makes_up(first: Phrase, second: Phrase, whole: Phrase) -> bool:
    gap = second.start - first.end
    return 0 <= gap <= _GAP and (first.start, second.end) == (whole.start, whole.end)


def _changes(before: Sequence[Phrase], after: Sequence[Phrase]) -> int:
    return sum(a != b for a, b in zip(before, after, strict=True))
