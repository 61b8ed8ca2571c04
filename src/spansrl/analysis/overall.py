"""Section 1: the official score of every system, its interval, and whether systems differ.

A system may have several runs with different seeds. Its figures are then means over the runs, and tests
resample the runs as well as the documents (sentences, where gold does not name their documents).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from statistics import fmean, stdev

import numpy as np
from numpy.typing import NDArray

from spansrl.analysis.report_inputs import Inputs
from spansrl.analysis.tables import Cell, Section, Table, TableColumn, columns
from spansrl.errors import counted
from spansrl.evaluation import adjust_holm, compare_counts, perfect_counts, sentence_counts, sum_by_document

NAME, TITLE = "overall", "Overall"

Counts = NDArray[np.int64]


def overall(inputs: Inputs) -> Section:
    documents = [sent.extra.get("document") for sent in inputs.gold]
    unit = "documents" if all(documents) and len(set(documents)) > 1 else "sentences"

    def counts_of_runs(count: Callable[..., Counts]) -> list[Counts]:
        """The counts of each system: (R, N, 3)."""
        counts = count(inputs.gold, *(run.sentences for system in inputs.systems for run in system.runs))
        if unit == "documents":
            counts = sum_by_document(counts, list(map(str, documents)))
        rows = iter(counts)
        return [np.stack([next(rows) for _ in system.runs]) for system in inputs.systems]

    runs = counts_of_runs(sentence_counts)
    parts = [_scores(inputs, runs, unit)]
    if len(runs) > 1:
        perfect = counts_of_runs(perfect_counts)
        parts += [
            _comparisons(inputs, runs, unit, "significance", "Differences in F1"),
            _comparisons(inputs, perfect, unit, "significance-perfect", "Differences in perfect props %"),
        ]
    intro = "Precision, recall and F1 of the official CoNLL-2005 scorer."
    return Section(NAME, TITLE, intro, tuple(parts))


def _scores(inputs: Inputs, runs: Sequence[Counts], unit: str) -> Table:
    samples, seed = inputs.settings.samples, inputs.settings.seed
    several = any(len(own) > 1 for own in runs)
    rows: list[tuple[Cell, ...]] = []
    for done, (system, own) in enumerate(zip(inputs.systems, runs, strict=True), start=1):
        # Against a system that finds nothing, whose F1 is 0, the difference is the F1 itself.
        found = compare_counts(own, np.zeros_like(own[0]), samples=samples, seed=seed)
        results = [run.score.overall for run in system.runs]
        f1 = [result.f1 for result in results]
        spread: tuple[Cell, ...] = (len(f1), stdev(f1) if len(f1) > 1 else None) if several else ()
        rows.append(
            (
                system.name,
                fmean(result.precision for result in results),
                fmean(result.recall for result in results),
                fmean(f1),
                *spread,
                found.low,
                found.high,
                fmean(run.score.perfect_percent for run in system.runs),
                round(fmean(result.correct + result.excess for result in results)),
            )
        )
        inputs.progress("Confidence intervals", done, len(runs))
    score = inputs.systems[0].score
    resampled = f"{unit} and runs" if several else unit
    return Table(
        "overall",
        "Official score",
        (
            TableColumn("system"),
            *columns("precision", "recall", "F1", best=True),
            *(columns("runs", "± sd") if several else ()),
            *columns("95 % low", "95 % high"),
            *columns("perfect props %", best=True),
            TableColumn("arguments"),
        ),
        tuple(rows),
        note=("Means over runs with different seeds. " if several else "")
        + f"The interval of F1 is from {samples} bootstrap samples of the {resampled}, "
        f"seed {seed}. Gold has {counted(score.overall.gold, 'argument')} of "
        f"{counted(score.propositions, 'predicate')} in {counted(score.sentences, 'sentence')}.",
    )


def _comparisons(inputs: Inputs, runs: Sequence[Counts], unit: str, name: str, title: str) -> Table:
    samples, seed = inputs.settings.samples, inputs.settings.seed
    rows: list[tuple[Cell, ...]] = []
    pairs = list(combinations(range(len(runs)), 2))
    for done, (a, b) in enumerate(pairs, start=1):
        names = inputs.systems[a].name, inputs.systems[b].name
        found = compare_counts(runs[a], runs[b], samples=samples, seed=seed)
        figures = (found.difference, found.low, found.high, found.bootstrap_p, found.randomization_p)
        rows.append((*names, *figures))
        inputs.progress("Significance", done, len(pairs))
    several = any(len(own) > 1 for own in runs)
    holm = adjust_holm([float(row[5] or 0) for row in rows])
    return Table(
        name,
        title,
        (
            *columns("A", "B"),
            *columns("A − B", "95 % low", "95 % high", fractions="+.2f"),
            *columns("p (bootstrap)", "p (randomization)", "p (Holm)", fractions=".4f"),
        ),
        tuple((*row, p) for row, p in zip(rows, holm, strict=True)),
        note=f"Paired tests over {unit}, two-sided. p (Holm): of the bootstrap, corrected for all rows."
        + (f" With several runs, the bootstrap draws runs as well as {unit}." if several else ""),
    )
