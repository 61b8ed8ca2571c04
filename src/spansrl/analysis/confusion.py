"""Section 4: which labels are taken for which (the paper's Figure 2).

As in He+ 2017, only arguments with right boundaries count, and of these only the wrong labels: a row says how
the labeling errors of a gold label are spread, in percent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from spansrl.analysis.boundaries import right_boundaries
from spansrl.analysis.charts import HeatMap
from spansrl.analysis.inputs import Inputs, System
from spansrl.analysis.tables import Picture, Section, Table, columns
from spansrl.evaluation.counts import percent
from spansrl.tags import is_core

NAME, TITLE = "confusion", "Label confusion"
LARGEST = 16  # labels that a matrix has room for; the others are one row and one column
OTHER = "other"


def confusion(inputs: Inputs) -> Section:
    """A matrix for each system, and the pairs that are confused most."""
    intro = (
        "Of the arguments with right boundaries and a wrong label: which label they got instead. "
        "Each row of a matrix adds up to 100 %."
    )
    parts: list[Table | Picture] = []
    for number, system in enumerate(inputs.systems, start=1):
        parts += [_matrix(system, number), _cells(system, number)]
    return Section(NAME, TITLE, intro, (_pairs(inputs), *parts))


def tag_of(system: str, gold: str, predicted: str) -> str:
    """The name by which the examples of a cell are found."""
    return f"{system}: {gold} labeled {predicted}"


def labeling_errors(system: System) -> Mapping[tuple[str, str], int]:
    """How often an argument with right boundaries has each wrong label."""
    return {(gold, found): n for (gold, found), n in right_boundaries(system.score).items() if gold != found}


def short_name(role: str) -> str:
    """A label as the axes of pictures write it: TMP for ARGM-TMP and AM-TMP."""
    return role.replace("ARGM-", "").replace("AM-", "")


def _matrix(system: System, number: int) -> Picture:
    errors = labeling_errors(system)
    chosen = _listed(errors)
    folded: Counter[tuple[str, str]] = Counter()
    for (gold, found), n in errors.items():
        folded[gold if gold in chosen else OTHER, found if found in chosen else OTHER] += n
    seen = {role for pair in folded for role in pair}
    names = [role for role in [*chosen, OTHER] if role in seen]
    rows = [role for role in names if any(gold == role for gold, _ in folded)]
    cells = tuple(tuple(_share(folded, gold, found) for found in names) for gold in rows)
    totals = [sum(n for (gold, _), n in folded.items() if gold == role) for role in rows]
    title = f"Labeling errors of {system.name}, in percent of the errors of each gold label"
    heads = tuple(f"{short_name(role)} ({total})" for role, total in zip(rows, totals, strict=True))
    chart = HeatMap(heads, tuple(map(short_name, names)), cells)
    return Picture(f"confusion-{number}", title, chart, "In brackets: labeling errors of the gold label.")


def _listed(errors: Mapping[tuple[str, str], int]) -> list[str]:
    """The labels with the most errors on either side, core labels before the others."""
    weights: Counter[str] = Counter()
    for pair, n in errors.items():
        for role in pair:
            weights[role] += n
    most = sorted(weights, key=lambda role: (-weights[role], role))[:LARGEST]
    return sorted(most, key=lambda role: (not is_core(role), short_name(role)))


def _share(counts: Mapping[tuple[str, str], int], gold: str, found: str) -> float | None:
    if gold == found != OTHER:
        return None
    total = sum(count for (role, _), count in counts.items() if role == gold)
    return percent(counts.get((gold, found), 0), total)


def _cells(system: System, number: int) -> Table:
    errors = labeling_errors(system)
    right = right_boundaries(system.score)
    totals: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for (gold, found), n in right.items():
        totals[gold] += n
        wrong[gold] += n if gold != found else 0
    ordered = sorted(errors, key=lambda pair: (-errors[pair], pair))
    return Table(
        f"confusion-{number}",
        f"Most frequent labeling errors of {system.name}",
        columns("gold", "predicted", "times", "% of the label's errors", "% of the label's right boundaries"),
        tuple(
            (g, f, errors[g, f], percent(errors[g, f], wrong[g]), percent(errors[g, f], totals[g]))
            for g, f in ordered
        ),
        shown=15,
        finds=tuple(tag_of(system.name, *pair) for pair in ordered),
    )


def _pairs(inputs: Inputs) -> Table:
    """Both directions of a confusion together: the paper's question is which labels are near each other."""
    found = [_undirected(system) for system in inputs.systems]
    pairs = sorted(
        set().union(*found), key=lambda pair: (-found[0][pair], -sum(c[pair] for c in found), pair)
    )
    totals = [sum(counts.values()) for counts in found]
    heads = [name for system in inputs.systems for name in (f"{system.name} times", f"{system.name} %")]
    return Table(
        "confused-pairs",
        "Labels that are taken for each other, either way",
        columns("labels", *heads),
        tuple((" – ".join(pair), *_times(pair, found, totals)) for pair in pairs),
        note="In percent of all labeling errors of the system.",
        shown=15,
    )


def _undirected(system: System) -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    for (gold, found), n in labeling_errors(system).items():
        first, second = sorted((gold, found))
        counts[first, second] += n
    return counts


def _times(
    pair: tuple[str, str], found: Sequence[Counter[tuple[str, str]]], totals: Sequence[int]
) -> list[int | float]:
    return [
        value
        for counts, total in zip(found, totals, strict=True)
        for value in (counts[pair], percent(counts[pair], total))
    ]
