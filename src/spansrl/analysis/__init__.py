"""The paper's analysis (its Section 5) for any predictions and, where there is one, the model behind them.

    >>> from spansrl.analysis import Inputs, build_sections, make_system, write_report      # doctest: +SKIP
    >>> inputs = Inputs(gold, [make_system("span", gold, predicted)])                       # doctest: +SKIP
    >>> write_report(Path("report"), "EWT", {}, build_sections(inputs))                     # doctest: +SKIP

Each section has its own module; `tables` and `charts` are their parts, `report` writes the files. Only
`representations` needs torch, and only `charts.render` needs matplotlib.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from spansrl.analysis import (
    boundary_accuracy,
    confusion,
    decoders,
    embeddings,
    error_examples,
    label_accuracy,
    neighbors,
    overall,
    repairs,
)
from spansrl.analysis.report import write_report
from spansrl.analysis.report_inputs import Inputs, ReportSettings, System, make_system
from spansrl.analysis.tables import Section, Table

__all__ = [
    "SECTIONS",
    "Inputs",
    "ReportSettings",
    "Section",
    "System",
    "Table",
    "build_sections",
    "make_system",
    "write_report",
]


class Plan(NamedTuple):
    """A section: its name and title, how to build it, and what it needs besides gold and predictions."""

    name: str
    title: str
    build: Callable[[Inputs], Section]
    needs_model: bool = False
    needs_train: bool = False


PLANS = (
    Plan(overall.NAME, overall.TITLE, overall.overall),
    Plan(boundary_accuracy.NAME, boundary_accuracy.TITLE, boundary_accuracy.boundaries),
    Plan(label_accuracy.NAME, label_accuracy.TITLE, label_accuracy.labels),
    Plan(confusion.NAME, confusion.TITLE, confusion.confusion),
    Plan(repairs.NAME, repairs.TITLE, repairs.errors),
    Plan(neighbors.NAME, neighbors.TITLE, neighbors.neighbors, needs_model=True, needs_train=True),
    Plan(embeddings.NAME, embeddings.TITLE, embeddings.embeddings, needs_model=True),
    Plan(decoders.NAME, decoders.TITLE, decoders.decoders, needs_model=True),
    Plan(error_examples.NAME, error_examples.TITLE, error_examples.examples),
)
SECTIONS = tuple(plan.name for plan in PLANS)


def build_sections(inputs: Inputs, only: Sequence[str] = ()) -> list[Section]:
    """Build the requested sections, by default all; one that lacks something is `skipped` with the reason."""
    plans = [plan for plan in PLANS if not only or plan.name in only]
    return [
        Section(plan.name, plan.title, skipped=missing)
        if (missing := _missing(plan, inputs))
        else plan.build(inputs)
        for plan in plans
    ]


def _missing(plan: Plan, inputs: Inputs) -> str:
    """What a section needs and does not have, in one line; empty if nothing is missing."""
    if plan.needs_model and inputs.model_problem:
        return inputs.model_problem
    options = []
    if plan.needs_model and inputs.model is None:
        options.append("--model DIR (a span model)")
    if plan.needs_train and inputs.train is None:
        options.append("--train FILE (the model's training data)")
    return f"needs {' and '.join(options)}" if options else ""
