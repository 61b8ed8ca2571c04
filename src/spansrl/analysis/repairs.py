"""Section 5: kinds of errors by the repairs that they need (He+ 2017, Section 4.1).

An oracle makes seven kinds of repairs, one after the other, and F1 is measured after each:

- *fix labels*: a predicted span is a gold span with another label: it gets that label;
- *move core arguments*: a core label, once in gold and once predicted, is on spans that do not overlap;
- *merge spans*: two predicted spans with at most one token between them make up a gold span;
- *split spans*: a predicted span is made up of two gold spans with at most one token between them;
- *fix boundaries*: a predicted span overlaps a gold span of its label: it gets the gold boundaries;
- *drop arguments*: a predicted span overlaps no gold span;
- *add arguments*: a gold span overlaps no predicted span.

Pieces of split arguments (C-X) are spans like any others here; the score is the official one throughout.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import permutations
from statistics import fmean
from typing import NamedTuple

from spansrl.analysis.charts import Bars
from spansrl.analysis.report_inputs import Inputs, System
from spansrl.analysis.tables import Picture, Section, Table, columns
from spansrl.evaluation import score
from spansrl.evaluation.scorable import ScoredSentence, frames_of
from spansrl.inventory import PROPBANK
from spansrl.structures import Argument, Proposition, Sentence, Span
from spansrl.tags import Phrase

NAME, TITLE = "errors", "Kinds of errors"
BEYOND = "more than one repair"  # errors that remain after all of them
_GAP = 1  # tokens allowed between spans that are merged or split

Spans = tuple[Phrase, ...]
Repair = Callable[[Spans, Spans], tuple[Spans, int]]  # (gold, predicted) -> (repaired, number of repairs)


def errors(inputs: Inputs) -> Section:
    """How many repairs of each kind every system needs, and how much F1 they gain."""
    intro = (
        "Errors by the repairs that they need, as in He+ 2017. Repairs are made in the order of the rows, "
        "each kind after those above it; a repair alone is made on the system's original predictions."
    )
    repaired = [_repair_all(inputs, number) for number in range(len(inputs.systems))]
    curves = tuple((system.name, f1) for system, (_, f1) in zip(inputs.systems, repaired, strict=True))
    chart = Bars(("as predicted", *(name for name, _ in REPAIRS)), curves, "F1")
    picture = Picture("repairs", "F1 after each kind of repair, in this order", chart)
    return Section(NAME, TITLE, intro, (*(table for table, _ in repaired), picture))


def tag_of(system: str, kind: str) -> str:
    """The tag of a kind's examples."""
    return f"{system}: {kind}"


def spans_of(prop: Proposition | None) -> Spans:
    """The labeled spans of a proposition; none if the predicate was not predicted."""
    return () if prop is None else tuple(Phrase(arg.role, *arg.span) for arg in prop.args)


def kinds_needed(gold: Spans, predicted: Spans) -> list[str]:
    """The kinds of repairs that a proposition needs, in their order; BEYOND if they are not enough."""
    needed = []
    for name, repair in REPAIRS:
        predicted, times = repair(gold, predicted)
        needed += [name] * (times > 0)
    return needed if sorted(predicted) == sorted(gold) else [*needed, BEYOND]


def fix_labels(gold: Spans, predicted: Spans) -> tuple[Spans, int]:
    role_at = {(start, end): role for role, start, end in gold}
    fixed = tuple(Phrase(role_at.get((p.start, p.end), p.role), p.start, p.end) for p in predicted)
    return fixed, _changes(predicted, fixed)


def move_core(gold: Spans, predicted: Spans) -> tuple[Spans, int]:
    in_gold, in_predicted = (Counter(phrase.role for phrase in side) for side in (gold, predicted))
    target = {
        p.role: p
        for p in gold
        if PROPBANK.role(p.role).is_core and in_gold[p.role] == in_predicted[p.role] == 1
    }
    moved = tuple(p if _overlap(p, target.get(p.role, p)) else target[p.role] for p in predicted)
    return moved, _changes(predicted, moved)


def merge_spans(gold: Spans, predicted: Spans) -> tuple[Spans, int]:
    times = 0
    for target in _missing(gold, predicted):
        for first, second in permutations(predicted, 2):
            if _makes_up(first, second, target):
                predicted = (*(p for p in predicted if p not in (first, second)), target)
                times += 1
                break
    return predicted, times


def split_spans(gold: Spans, predicted: Spans) -> tuple[Spans, int]:
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
    kept = tuple(p for p in predicted if any(_overlap(p, other) for other in gold))
    return kept, len(predicted) - len(kept)


def add_arguments(gold: Spans, predicted: Spans) -> tuple[Spans, int]:
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


def _repair_all(inputs: Inputs, number: int) -> tuple[Table, tuple[float, ...]]:
    """The table of one system's repairs, and its F1 before the first and after each of them, as means."""
    system = inputs.systems[number]
    gold_frames = [frames_of(sent) for sent in inputs.gold]  # once, because it is scored many times
    runs = [_repair_run(inputs.gold, gold_frames, run) for run in system.runs]
    inputs.progress("Repairs", number + 1, len(inputs.systems))
    f1 = [fmean(own) for own in zip(*(run.f1 for run in runs), strict=True)]
    alone = [fmean(own) for own in zip(*(run.alone for run in runs), strict=True)]
    times = [system.per_run(sum(own)) for own in zip(*(run.times for run in runs), strict=True)]
    rows = [
        (name, times[k], (f1[k + 1], f1[k + 1] - f1[k], alone[k] - f1[0]))
        for k, (name, _) in enumerate(REPAIRS)
    ]
    table = Table(
        f"repairs-{number + 1}",
        f"Repairs of {system.name}",
        (
            *columns("repair", "times", "% of repairs", "F1 afterwards"),
            *columns("gain", "gain alone", fractions="+.2f"),
        ),
        (
            ("as predicted", None, None, f1[0], None, None),
            *((name, n, 100 * n / (sum(times) or 1), *figures) for name, n, figures in rows),
        ),
        note="Pieces of split arguments (C-) count as spans of their own. Errors that remain at the end need "
        f"more than one repair of a span; search for '{BEYOND}' to see examples.",
        tags=("", *(tag_of(system.name, name) for name, _ in REPAIRS)),
    )
    return table, tuple(f1)


class _RepairedRun(NamedTuple):
    """The times of each repair, F1 before the first and after each one, and after each one alone."""

    times: list[int]
    f1: list[float]
    alone: list[float]


def _repair_run(gold: Sequence[Sentence], gold_frames: Sequence[ScoredSentence], run: System) -> _RepairedRun:
    current = original = _answers(gold, run.sentences)
    found = _RepairedRun([], [run.score.overall.f1], [])
    for _, repair in REPAIRS:
        found.alone.append(score(gold_frames, _repaired(gold, original, repair)[0]).overall.f1)
        current, times = _repaired(gold, current, repair)
        found.times.append(times)
        found.f1.append(score(gold_frames, current).overall.f1)
    return found


def _answers(gold: Sequence[Sentence], predicted: Sequence[Sentence]) -> list[Sentence]:
    """The gold sentences with the arguments that a system gives to their predicates."""
    answers = []
    for sent, other in zip(gold, predicted, strict=False):
        args = {prop.pred: prop.args for prop in other.props}
        props = tuple(replace(prop, args=args.get(prop.pred, ())) for prop in sent.props)
        answers.append(replace(sent, props=props))
    return answers


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
