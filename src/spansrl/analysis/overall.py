"""Section 1: the official score of every system, its interval, and whether systems differ."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from spansrl.analysis.inputs import Inputs
from spansrl.analysis.tables import Column, Section, Table, columns
from spansrl.errors import counted
from spansrl.evaluation import compare_counts, sentence_counts

NAME, TITLE = "overall", "Overall"


def overall(inputs: Inputs) -> Section:
    """Scores with intervals, and every pair of systems compared."""
    settings = inputs.settings
    counts = sentence_counts(inputs.gold, *(system.sentences for system in inputs.systems))  # (S, N, 3)
    total = len(inputs.systems)
    rows = []
    for done, (system, own) in enumerate(zip(inputs.systems, counts, strict=True)):
        inputs.progress("Confidence intervals", done, total)
        # Against a system that finds nothing, whose F1 is 0, the difference is the F1 itself.
        found = compare_counts(own, np.zeros_like(own), samples=settings.samples, seed=settings.seed)
        result = system.score.overall
        rows.append(
            (
                system.name,
                result.precision,
                result.recall,
                result.f1,
                found.low,
                found.high,
                system.score.perfect_percent,
                result.correct + result.excess,
            )
        )
    inputs.progress("Confidence intervals", total, total)
    score = inputs.systems[0].score
    arguments = score.overall.correct + score.overall.missed
    scores = Table(
        "overall",
        "Official score",
        (
            *columns("system", "precision", "recall", "F1", "95 % low", "95 % high", "perfect props %"),
            Column("arguments"),
        ),
        tuple(rows),
        note=f"The interval of F1 is of {settings.samples} bootstrap samples of the sentences, "
        f"seed {settings.seed}. Gold has {counted(arguments, 'argument')} of "
        f"{counted(score.propositions, 'predicate')} in {counted(score.sentences, 'sentence')}.",
    )
    intro = "Precision, recall and F1 as the official CoNLL-2005 scorer counts them."
    parts = (scores, _comparisons(inputs, counts)) if total > 1 else (scores,)
    return Section(NAME, TITLE, intro, parts)


def _comparisons(inputs: Inputs, counts: np.typing.NDArray[np.int64]) -> Table:
    rows = []
    pairs = list(combinations(range(len(inputs.systems)), 2))
    for done, (a, b) in enumerate(pairs):
        inputs.progress("Significance", done, len(pairs))
        found = compare_counts(
            counts[a], counts[b], samples=inputs.settings.samples, seed=inputs.settings.seed
        )
        names = inputs.systems[a].name, inputs.systems[b].name
        rows.append(
            (*names, found.difference, found.low, found.high, found.bootstrap_p, found.randomization_p)
        )
    inputs.progress("Significance", len(pairs), len(pairs))
    return Table(
        "significance",
        "Differences in F1",
        (
            *columns("A", "B"),
            *columns("A − B", "95 % low", "95 % high", fractions="+.2f"),
            *columns("p (bootstrap)", "p (randomization)", fractions=".4f"),
        ),
        tuple(rows),
        note="Paired tests over sentences, two-sided.",
    )
