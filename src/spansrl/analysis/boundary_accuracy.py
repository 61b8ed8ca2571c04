"""Section 2: boundaries without labels (the paper's Table 4), labels on correct boundaries (its Table 5).

Both are the figures of the official scorer's option -C, as means over the runs of a system.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev

from spansrl.analysis.report_inputs import Inputs
from spansrl.analysis.tables import Cell, Section, Table, TableColumn, columns, comparison_table
from spansrl.evaluation import Score
from spansrl.evaluation.counts import NONE, aligned, pair, percent, propositions
from spansrl.tags import VERB

NAME, TITLE = "boundaries", "Span boundaries and labels on correct boundaries"


def boundaries(inputs: Inputs) -> Section:
    intro = (
        "A predicted span is correct here if its boundaries are those of a gold argument, whatever its "
        "label. The accuracy of labels is measured on the correct spans alone."
    )
    common = (_common(inputs),) if len(inputs.systems) > 1 else ()
    parts = (_boundaries(inputs), _accuracies(inputs), *common, _by_label(inputs))
    return Section(NAME, TITLE, intro, parts)


def right_boundaries(score: Score) -> Mapping[tuple[str, str], int]:
    """How often arguments with equal boundaries have each pair of gold and predicted label."""
    return {pair: n for pair, n in score.confusion.items() if NONE not in pair and VERB not in pair}


def labeling_errors(score: Score) -> Mapping[tuple[str, str], int]:
    """How often an argument with correct boundaries has each wrong label."""
    return {(gold, found): n for (gold, found), n in right_boundaries(score).items() if gold != found}


def gold_totals(pairs: Mapping[tuple[str, str], int]) -> Counter[str]:
    totals: Counter[str] = Counter()
    for (gold, _), n in pairs.items():
        totals[gold] += n
    return totals


def _boundaries(inputs: Inputs) -> Table:
    rows = [
        (
            [
                fmean(getattr(run.score.unlabeled, name) for run in system.runs)
                for name in ("precision", "recall")
            ],
            [run.score.unlabeled.f1 for run in system.runs],
        )
        for system in inputs.systems
    ]
    heads = (TableColumn("system"), *columns("precision", "recall", "F1", best=True))
    return _per_system(inputs, "boundaries", "Boundaries only (Table 4 of the paper)", heads, rows)


def _accuracies(inputs: Inputs) -> Table:
    rows = []
    for system in inputs.systems:
        right = fmean(run.score.unlabeled.correct for run in system.runs)
        wrong = fmean(sum(labeling_errors(run.score).values()) for run in system.runs)
        rows.append(([round(right), round(wrong)], [run.score.label_accuracy for run in system.runs]))
    heads = (*columns("system", "correct boundaries", "wrong labels"), TableColumn("accuracy %", best=True))
    title = "Labels on correct boundaries (Table 5 of the paper)"
    note = "Each system on its own correct boundaries."
    return _per_system(inputs, "label-accuracy", title, heads, rows, note=note)


def common_labels(inputs: Inputs) -> list[tuple[str, list[str]]]:
    """The gold arguments whose boundaries all runs get right: their gold label, and each run's label."""
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
    """Systems find different spans, so only on common spans are their accuracies comparable."""
    found = common_labels(inputs)
    n_runs = sum(len(system.runs) for system in inputs.systems)
    right = [sum(labels[k] == gold for gold, labels in found) for k in range(n_runs)]
    accuracies = iter([percent(n, len(found)) for n in right])
    rows = [([len(found)], [next(accuracies) for _ in system.runs]) for system in inputs.systems]
    heads = (*columns("system", "common boundaries"), TableColumn("accuracy %", best=True))
    title = "Labels on the boundaries that all systems get right"
    return _per_system(inputs, "label-accuracy-common", title, heads, rows)


def _per_system(
    inputs: Inputs,
    name: str,
    title: str,
    heads: tuple[TableColumn, ...],
    rows: Sequence[tuple[Sequence[Cell], Sequence[float]]],
    *,
    note: str = "",
) -> Table:
    """One row per system: its cells and the mean of its runs' values.

    With several runs there is a column for the standard deviation of the values, and with several systems one
    for the difference between the first system and each other one.
    """
    first = inputs.systems[0]
    has_runs = any(system.others for system in inputs.systems)
    means = [fmean(values) for _, values in rows]
    table: list[tuple[Cell, ...]] = []
    for k, (cells, values) in enumerate(rows):
        row: list[Cell] = [inputs.systems[k].name, *cells, means[k]]
        if has_runs:
            row.append(stdev(values) if len(values) > 1 else None)
        if len(rows) > 1:
            row.append(means[0] - means[k] if k else None)
        table.append(tuple(row))
    spread = columns("± sd") if has_runs else ()
    gap = (TableColumn(f"{first.name} − it", "+.2f"),) if len(rows) > 1 else ()
    return Table(name, title, (*heads, *spread, *gap), tuple(table), note=note)


def _by_label(inputs: Inputs) -> Table:
    pairs = [right_boundaries(system.total) for system in inputs.systems]
    totals = [gold_totals(found) for found in pairs]
    n_runs = len(inputs.systems[0].runs)
    frequent = [label for label, n in totals[0].items() if n >= inputs.settings.min_count * n_runs]
    rows = []
    for label in sorted(frequent, key=lambda label: (-totals[0][label], label)):
        values = [percent(p.get((label, label), 0), t[label]) for p, t in zip(pairs, totals, strict=True)]
        rows.append((label, round(totals[0][label] / n_runs), values))
    names = [system.name for system in inputs.systems]
    return comparison_table(
        "label-accuracy-by-label",
        "Accuracy by gold label",
        ("label", f"found by {names[0]}"),
        names,
        rows,
        note=f"Labels with {inputs.settings.min_count} or more correct boundaries.",
    )
