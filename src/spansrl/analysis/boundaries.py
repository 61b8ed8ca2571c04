"""Section 2: boundaries without labels (the paper's Table 4), labels on right boundaries (its Table 5).

Both are the figures of the official scorer's option -C.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spansrl.analysis.inputs import Inputs
from spansrl.analysis.tables import Cell, Column, Section, Table, columns
from spansrl.evaluation import Score
from spansrl.evaluation.counts import NONE, percent
from spansrl.tags import VERB

NAME, TITLE = "boundaries", "Span boundaries and labels on right boundaries"


def boundaries(inputs: Inputs) -> Section:
    """Who finds the spans, and who names them."""
    intro = (
        "A predicted span is right here if its boundaries are those of a gold argument, whatever its label; "
        "the label's accuracy is then measured on the right spans alone."
    )
    return Section(NAME, TITLE, intro, (_boundaries(inputs), _accuracies(inputs), _by_label(inputs)))


def differences(values: Sequence[float]) -> list[Cell]:
    """The first value minus each of the others."""
    return [values[0] - other for other in values[1:]]


def difference_columns(inputs: Inputs) -> tuple[Column, ...]:
    """A head for each of the `differences` between systems."""
    first, *others = inputs.systems
    return tuple(Column(f"{first.name} − {other.name}", "+.2f") for other in others)


def right_boundaries(score: Score) -> Mapping[tuple[str, str], int]:
    """How often arguments with equal boundaries have each pair of gold and predicted label."""
    return {pair: n for pair, n in score.confusion.items() if NONE not in pair and VERB not in pair}


def _boundaries(inputs: Inputs) -> Table:
    found = [system.score.unlabeled for system in inputs.systems]
    gaps = _gaps([counts.f1 for counts in found])
    return Table(
        "boundaries",
        "Boundaries only (Table 4 of the paper)",
        (*columns("system", "precision", "recall", "F1"), *_gap_column(inputs)),
        tuple(
            (system.name, counts.precision, counts.recall, counts.f1, *gap)
            for system, counts, gap in zip(inputs.systems, found, gaps, strict=True)
        ),
    )


def _accuracies(inputs: Inputs) -> Table:
    accuracies = [system.score.label_accuracy for system in inputs.systems]
    rows = []
    for system, accuracy, gap in zip(inputs.systems, accuracies, _gaps(accuracies), strict=True):
        right = system.score.unlabeled.correct
        wrong = sum(n for (gold, found), n in right_boundaries(system.score).items() if gold != found)
        rows.append((system.name, right, wrong, accuracy, *gap))
    return Table(
        "label-accuracy",
        "Labels on right boundaries (Table 5 of the paper)",
        (*columns("system", "right boundaries", "wrong labels", "accuracy %"), *_gap_column(inputs)),
        tuple(rows),
    )


def _by_label(inputs: Inputs) -> Table:
    pairs = [right_boundaries(system.score) for system in inputs.systems]
    totals = [_gold_totals(found) for found in pairs]
    labels = sorted(totals[0], key=lambda label: (-totals[0][label], label))
    rows = []
    for label in labels:
        if totals[0][label] < inputs.settings.min_count:
            break
        values = [
            percent(p.get((label, label), 0), t.get(label, 0)) for p, t in zip(pairs, totals, strict=True)
        ]
        rows.append((label, totals[0][label], *values, *differences(values)))
    names = columns(*(system.name for system in inputs.systems))
    return Table(
        "label-accuracy-by-label",
        "Accuracy by gold label",
        (*columns("label", f"found by {inputs.systems[0].name}"), *names, *difference_columns(inputs)),
        tuple(rows),
        note=f"Labels with {inputs.settings.min_count} or more right boundaries.",
    )


def _gold_totals(pairs: Mapping[tuple[str, str], int]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for (gold, _), n in pairs.items():
        totals[gold] = totals.get(gold, 0) + n
    return totals


def _gap_column(inputs: Inputs) -> tuple[Column, ...]:
    """A head for the `_gaps`, where there are systems to compare."""
    first, *others = inputs.systems
    return (Column(f"{first.name} − it", "+.2f"),) if others else ()


def _gaps(figures: Sequence[float]) -> list[tuple[Cell, ...]]:
    """The cell under `_gap_column` in each system's row: how far the first one's figure is above its own."""
    if len(figures) == 1:
        return [()]
    return [(None,), *((gap,) for gap in differences(figures))]
