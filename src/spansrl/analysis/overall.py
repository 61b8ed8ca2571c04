"""Section 1: the official score of every system, its interval, and whether systems differ.

A system may have several runs with different seeds. Its figures are then means over the runs, and tests
resample the runs as well as the sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from statistics import fmean, stdev

import numpy as np
from numpy.typing import NDArray

from spansrl.analysis.inputs import Inputs
from spansrl.analysis.tables import Cell, Column, Section, Table, columns
from spansrl.errors import counted
from spansrl.evaluation import compare_counts, sentence_counts

NAME, TITLE = "overall", "Overall"

Counts = NDArray[np.int64]


def overall(inputs: Inputs) -> Section:
    sentences = [run.sentences for system in inputs.systems for run in system.runs]
    counts = iter(sentence_counts(inputs.gold, *sentences))  # of each run: (N, 3)
    runs = [np.stack([next(counts) for _ in system.runs]) for system in inputs.systems]  # (R, N, 3)
    intro = "Precision, recall and F1 of the official CoNLL-2005 scorer."
    parts = (_scores(inputs, runs), *([_comparisons(inputs, runs)] if len(runs) > 1 else []))
    return Section(NAME, TITLE, intro, parts)


def _scores(inputs: Inputs, runs: Sequence[Counts]) -> Table:
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
    resampled = "sentences and runs" if several else "sentences"
    return Table(
        "overall",
        "Official score",
        (
            Column("system"),
            *columns("precision", "recall", "F1", best=True),
            *(columns("runs", "± sd") if several else ()),
            *columns("95 % low", "95 % high"),
            *columns("perfect props %", best=True),
            Column("arguments"),
        ),
        tuple(rows),
        note=("Means over runs with different seeds. " if several else "")
        + f"The interval of F1 is from {samples} bootstrap samples of the {resampled}, "
        f"seed {seed}. Gold has {counted(score.overall.gold, 'argument')} of "
        f"{counted(score.propositions, 'predicate')} in {counted(score.sentences, 'sentence')}.",
    )


def _comparisons(inputs: Inputs, runs: Sequence[Counts]) -> Table:
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
    return Table(
        "significance",
        "Differences in F1",
        (
            *columns("A", "B"),
            *columns("A − B", "95 % low", "95 % high", fractions="+.2f"),
            *columns("p (bootstrap)", "p (randomization)", fractions=".4f"),
        ),
        tuple(rows),
        note="Paired tests over sentences, two-sided."
        + (" With several runs, the bootstrap draws runs as well as sentences." if several else ""),
    )
