"""Section 3: where systems are right and wrong: by label (the paper's Table 6), predicate, length, distance.

A breakdown by predicate or by sentence is the official score of that part of gold: what a system predicts for
other predicates does not count there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from spansrl.analysis.charts import Bars
from spansrl.analysis.report_inputs import Inputs, predicate_name
from spansrl.analysis.tables import Picture, Section, Table, columns, comparison_table
from spansrl.evaluation import Counts, breakdown, score
from spansrl.evaluation.breakdown import By, bin_of
from spansrl.language.english.lemmas import predicate_type
from spansrl.structures import PREDICATE_TYPES, Proposition, Sentence
from spansrl.tags import VERB

NAME, TITLE = "labels", "By label, predicate, length and distance"

SENTENCE_BINS = (("1-10", 10), ("11-20", 20), ("21-30", 30), ("31-40", 40), ("41+", None))
OTHER = "other"

Part = Callable[[Sentence, Proposition], str]  # which part of the corpus a proposition belongs to
Bins = Mapping[str, Sequence[Sequence[Counts]]]  # name of a bin -> counts of each run of each system


def labels(inputs: Inputs) -> Section:
    parts: list[Table | Picture] = [*_frequent_labels(inputs), _all_labels(inputs)]
    if any(predicate_type(sent, prop) for sent in inputs.gold for prop in sent.props):
        parts += _drawn("part-of-speech", "By the predicate's part of speech", inputs, _by_pos(inputs))
    parts += _drawn("argument-length", "By length of the argument, in tokens", inputs, _by(inputs, "length"))
    parts += _drawn("distance", "By tokens between predicate and argument", inputs, _by(inputs, "distance"))
    lengths = _by_sentence_length(inputs)
    parts += _drawn("sentence-length", "By length of the sentence, in tokens", inputs, lengths)
    intro = "F1 by the official scorer, of each part alone; the counts are those of gold."
    if inputs.train is None:
        intro += " Pass --train FILE for predicates that are and are not in the training data."
    else:
        parts += _drawn("seen", "By whether training data has the predicate", inputs, _by_seen(inputs))
    return Section(NAME, TITLE, intro, tuple(parts))


def restricted(gold: Sequence[Sentence], part: Part, name: str) -> list[Sentence]:
    """The sentences with the propositions of one part only."""
    return [
        replace(sent, props=tuple(prop for prop in sent.props if part(sent, prop) == name)) for sent in gold
    ]


def _by(inputs: Inputs, by: By) -> Bins:
    found = [
        [breakdown(inputs.gold, run.sentences, by=by) for run in system.runs] for system in inputs.systems
    ]
    return {name: [[counts[name] for counts in runs] for runs in found] for name in found[0][0]}


def _by_pos(inputs: Inputs) -> Bins:
    names = (*PREDICATE_TYPES, OTHER)
    return _by_predicate(inputs, lambda sent, prop: predicate_type(sent, prop) or OTHER, names)


def _by_seen(inputs: Inputs) -> Bins:
    known = {predicate_name(sent, prop) for sent in inputs.train or () for prop in sent.props}

    def seen(sent: Sentence, prop: Proposition) -> str:
        return "seen" if predicate_name(sent, prop) in known else "unseen"

    return _by_predicate(inputs, seen, ("seen", "unseen"))


def _by_sentence_length(inputs: Inputs) -> Bins:
    def length(sent: Sentence, _: Proposition) -> str:
        return bin_of(len(sent), SENTENCE_BINS)

    return _by_predicate(inputs, length, [name for name, _ in SENTENCE_BINS])


def _by_predicate(inputs: Inputs, part: Part, names: Sequence[str]) -> Bins:
    bins = {}
    for name in names:
        gold = restricted(inputs.gold, part, name)
        bins[name] = [
            [score(gold, run.sentences).overall for run in system.runs] for system in inputs.systems
        ]
    return bins


def _frequent_labels(inputs: Inputs) -> list[Table | Picture]:
    gold = inputs.systems[0].score.roles
    frequent = [role for role, own in gold.items() if own.gold >= inputs.settings.min_count and role != VERB]
    frequent.sort(key=lambda role: (-gold[role].gold, role))
    bins = {
        role: [[run.score.roles.get(role, Counts()) for run in system.runs] for system in inputs.systems]
        for role in frequent
    }
    title = f"F1 of labels with {inputs.settings.min_count} or more arguments (Table 6 of the paper)"
    return _drawn("labels", title, inputs, bins, overall=True)


def _all_labels(inputs: Inputs) -> Table:
    names = ("correct", "excess", "missed", "precision", "recall", "f1")
    rows = []
    for role in sorted({role for system in inputs.systems for role in system.score.roles} - {VERB}):
        for system in inputs.systems:
            counts = system.score.roles.get(role, Counts())
            rows.append((role, system.name, *(getattr(counts, name) for name in names)))
    heads = columns("label", "system", *names[:-1], "F1")
    return Table("all-labels", "Every label", heads, tuple(rows), shown=0, grouped=1)


def _drawn(
    name: str, title: str, inputs: Inputs, bins: Bins, *, overall: bool = False
) -> list[Table | Picture]:
    """A table with one row per bin, and its picture; bins without gold arguments have no F1."""
    kept = {part: counts for part, counts in bins.items() if counts[0][0].gold}
    last = {"overall": [[run.score.overall for run in own.runs] for own in inputs.systems]} if overall else {}
    systems = tuple(system.name for system in inputs.systems)
    rows = [
        (part, counts[0][0].gold, [fmean(own.f1 for own in runs) for runs in counts])
        for part, counts in (kept | last).items()
    ]
    note = "Means over the runs of a system." if any(system.others for system in inputs.systems) else ""
    table = comparison_table(name, title, (name.replace("-", " "), "gold"), systems, rows, note=note)
    series = tuple(
        (system, tuple(f1[k] for _, _, f1 in rows[: len(kept)])) for k, system in enumerate(systems)
    )
    return [table, Picture(name, title, Bars(tuple(kept), series, "F1"))] if kept else [table]
