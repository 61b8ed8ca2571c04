"""Section 4: which labels are confused with each other (the paper's Figure 2).

As in He+ 2017, only arguments with correct boundaries and a wrong label count: a row has the distribution of
a gold label's errors, in percent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from spansrl.analysis.boundary_accuracy import gold_totals, labeling_errors, right_boundaries
from spansrl.analysis.charts import HeatMap
from spansrl.analysis.report_inputs import Inputs, System
from spansrl.analysis.tables import Cell, Picture, Section, Table, columns
from spansrl.evaluation.counts import percent
from spansrl.inventory import PROPBANK

NAME, TITLE = "confusion", "Label confusion"
LARGEST = 16  # labels in a matrix; the others share one row and one column
OTHER = "other"


def confusion(inputs: Inputs) -> Section:
    intro = (
        "Of the arguments with correct boundaries and a wrong label: which label they got instead. "
        "Each row of a matrix adds up to 100%."
    )
    parts: list[Table | Picture] = []
    for number, system in enumerate(inputs.systems, start=1):
        parts += [_matrix(system, number), _cells(system, number)]
    return Section(NAME, TITLE, intro, (_pairs(inputs), *parts))


def tag_of(system: str, gold: str, predicted: str) -> str:
    """The tag of a cell's examples."""
    return f"{system}: {gold} labeled {predicted}"


def short_name(role: str) -> str:
    """The label for the axes of pictures: TMP for ARGM-TMP and AM-TMP."""
    return role.replace("ARGM-", "").replace("AM-", "")


def _matrix(system: System, number: int) -> Picture:
    errors = labeling_errors(system.total)
    chosen = _listed(errors)
    folded: Counter[tuple[str, str]] = Counter()
    for (gold, found), n in errors.items():
        folded[gold if gold in chosen else OTHER, found if found in chosen else OTHER] += n
    totals = gold_totals(folded)
    names = [role for role in [*chosen, OTHER] if any(role in pair for pair in folded)]
    rows = [role for role in names if totals[role]]

    def share(gold: str, found: str) -> float | None:
        return None if gold == found != OTHER else percent(folded[gold, found], totals[gold])

    chart = HeatMap(
        tuple(f"{short_name(role)} ({totals[role]})" for role in rows),
        tuple(map(short_name, names)),
        tuple(tuple(share(gold, found) for found in names) for gold in rows),
    )
    title = f"Labeling errors of {system.name}, in percent of the errors of each gold label"
    return Picture(f"confusion-{number}", title, chart, "In brackets: labeling errors of the gold label.")


def _listed(errors: Mapping[tuple[str, str], int]) -> list[str]:
    """The labels with the most errors on either side, core labels before the others."""
    weights: Counter[str] = Counter()
    for pair, n in errors.items():
        for role in pair:
            weights[role] += n
    most = sorted(weights, key=lambda role: (-weights[role], role))[:LARGEST]
    return sorted(most, key=lambda role: (not PROPBANK.role(role).is_core, short_name(role)))


def _cells(system: System, number: int) -> Table:
    errors = labeling_errors(system.total)
    totals, wrong = gold_totals(right_boundaries(system.total)), gold_totals(errors)
    ordered = sorted(errors, key=lambda pair: (-errors[pair], pair))
    return Table(
        f"confusion-{number}",
        f"Most frequent labeling errors of {system.name}",
        columns(
            "gold", "predicted", "times", "% of the label's errors", "% of the label's correct boundaries"
        ),
        tuple(
            (g, f, system.per_run(n), percent(n, wrong[g]), percent(n, totals[g]))
            for g, f in ordered
            for n in (errors[g, f],)
        ),
        shown=15,
        tags=tuple(tag_of(system.name, *pair) for pair in ordered),
    )


def _pairs(inputs: Inputs) -> Table:
    """Both directions of a confusion together: the paper asks which labels are close to each other."""
    found = [_undirected(system) for system in inputs.systems]
    pairs = sorted(
        set().union(*found), key=lambda pair: (-found[0][pair], -sum(c[pair] for c in found), pair)
    )
    rows: list[tuple[Cell, ...]] = []
    for pair in pairs:
        figures: list[Cell] = []
        for system, counts in zip(inputs.systems, found, strict=True):
            figures += [system.per_run(counts[pair]), percent(counts[pair], counts.total())]
        rows.append((" – ".join(pair), *figures))
    heads = [name for system in inputs.systems for name in (f"{system.name} times", f"{system.name} %")]
    return Table(
        "confused-pairs",
        "Labels that are confused with each other, in either direction",
        columns("labels", *heads),
        tuple(rows),
        note="In percent of all labeling errors of the system; means over its runs.",
        shown=15,
    )


def _undirected(system: System) -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    for pair, n in labeling_errors(system.total).items():
        counts[min(pair), max(pair)] += n
    return counts
