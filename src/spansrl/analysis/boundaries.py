"""Section 2: boundaries without labels (the paper's Table 4), labels on right boundaries (its Table 5).

Both are the figures of the official scorer's option -C, means over the runs of a system.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev

from spansrl.analysis.inputs import Inputs
from spansrl.analysis.tables import Cell, Column, Section, Table, columns
from spansrl.evaluation import Score
from spansrl.evaluation.counts import NONE, aligned, pair, percent, propositions
from spansrl.tags import VERB

NAME, TITLE = "boundaries", "Span boundaries and labels on right boundaries"


def boundaries(inputs: Inputs) -> Section:
    """Who finds the spans, and who names them."""
    intro = (
        "A predicted span is right here if its boundaries are those of a gold argument, whatever its label; "
        "the label's accuracy is then measured on the right spans alone."
    )
    common = (_common(inputs),) if len(inputs.systems) > 1 else ()
    parts = (_boundaries(inputs), _accuracies(inputs), *common, _by_label(inputs))
    return Section(NAME, TITLE, intro, parts)


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
    figures = [
        [
            fmean(getattr(run.score.unlabeled, name) for run in system.runs)
            for name in ("precision", "recall", "f1")
        ]
        for system in inputs.systems
    ]
    spreads = [_spread([run.score.unlabeled.f1 for run in system.runs]) for system in inputs.systems]
    gaps = _gaps([f1 for _, _, f1 in figures])
    return Table(
        "boundaries",
        "Boundaries only (Table 4 of the paper)",
        (
            Column("system"),
            *columns("precision", "recall", "F1", best=True),
            *_spread_column(inputs),
            *_gap_column(inputs),
        ),
        tuple(
            (system.name, *own, *(spread if _has_runs(inputs) else ()), *gap)
            for system, own, spread, gap in zip(inputs.systems, figures, spreads, gaps, strict=True)
        ),
    )


def _accuracies(inputs: Inputs) -> Table:
    accuracies = [[run.score.label_accuracy for run in system.runs] for system in inputs.systems]
    rows = []
    for system, own, gap in zip(inputs.systems, accuracies, _gaps(list(map(fmean, accuracies))), strict=True):
        right = fmean(run.score.unlabeled.correct for run in system.runs)
        wrong = fmean(_n_wrong(run.score) for run in system.runs)
        spread = _spread(own) if _has_runs(inputs) else ()
        rows.append((system.name, round(right), round(wrong), fmean(own), *spread, *gap))
    return Table(
        "label-accuracy",
        "Labels on right boundaries (Table 5 of the paper)",
        (
            *columns("system", "right boundaries", "wrong labels"),
            Column("accuracy %", best=True),
            *_spread_column(inputs),
            *_gap_column(inputs),
        ),
        tuple(rows),
        note="Each system on its own right boundaries.",
    )


def _n_wrong(score: Score) -> int:
    return sum(n for (gold, found), n in right_boundaries(score).items() if gold != found)


def common_labels(inputs: Inputs) -> list[tuple[str, list[str]]]:
    """The gold arguments whose boundaries all runs have right: their gold label, and each run's label."""
    found: list[tuple[str, list[str]]] = []
    sentences = [run.sentences for system in inputs.systems for run in system.runs]
    for gold_frames, answers in aligned(inputs.gold, *sentences):
        rows = [propositions(gold_frames, frames, "index") for frames in answers]
        for props in zip(*rows, strict=True):
            matches = [pair(gold, own, same_role=False).matched for _, gold, own in props]
            labels = [{right: own.role for right, own in matched} for matched in matches]
            common = [arg for arg in labels[0] if arg.role != VERB and all(arg in own for own in labels)]
            found += [(arg.role, [own[arg] for own in labels]) for arg in common]
    return found


def _common(inputs: Inputs) -> Table:
    """Systems are right on different spans, so that their own accuracies are not of the same arguments."""
    found = common_labels(inputs)
    n_runs = sum(len(system.runs) for system in inputs.systems)
    right = [sum(labels[k] == gold for gold, labels in found) for k in range(n_runs)]
    accuracies = iter([percent(n, len(found)) for n in right])
    own = [[next(accuracies) for _ in system.runs] for system in inputs.systems]
    gaps = _gaps(list(map(fmean, own)))
    return Table(
        "label-accuracy-common",
        "Labels on the boundaries that all systems have right",
        (
            *columns("system", "common boundaries"),
            Column("accuracy %", best=True),
            *_spread_column(inputs),
            *_gap_column(inputs),
        ),
        tuple(
            (system.name, len(found), fmean(part), *(_spread(part) if _has_runs(inputs) else ()), *gap)
            for system, part, gap in zip(inputs.systems, own, gaps, strict=True)
        ),
    )


def _has_runs(inputs: Inputs) -> bool:
    return any(system.others for system in inputs.systems)


def _spread_column(inputs: Inputs) -> tuple[Column, ...]:
    return columns("± sd") if _has_runs(inputs) else ()


def _spread(values: Sequence[float]) -> tuple[Cell, ...]:
    return (stdev(values) if len(values) > 1 else None,)


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
    names = columns(*(system.name for system in inputs.systems), best=True)
    return Table(
        "label-accuracy-by-label",
        "Accuracy by gold label",
        (*columns("label", f"found by {inputs.systems[0].name}"), *names, *difference_columns(inputs)),
        tuple(rows),
        note=f"Labels with {inputs.settings.min_count} or more right boundaries.",
        systems=True,
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
