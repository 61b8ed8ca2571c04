"""The input of an analysis: gold sentences, predictions, and optionally a model and training data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from spansrl.decoding import Order
from spansrl.errors import DataError, shortened
from spansrl.evaluation import Score, score
from spansrl.inference.model import Model
from spansrl.progress import Progress, no_progress
from spansrl.structures import Proposition, Sentence

Distance = Literal["cosine", "euclidean"]
Vectors = NDArray[np.floating[Any]]


class SpanModel(Protocol):
    """The parts of a trained span model that the analysis needs."""

    @property
    def model(self) -> Model:
        """Scores propositions."""

    @property
    def order(self) -> Order:
        """The order of its greedy search."""

    def role_vectors(self) -> Vectors:
        """W, one row per role of the model: (R, D)."""

    def argument_vectors(self, sentences: Sequence[Sentence], progress: Progress) -> Iterator[Vectors]:
        """The span representations of all arguments in the sentences, in order: blocks (n, D)."""


@dataclass(frozen=True, slots=True)
class System:
    """A system's predictions for the gold sentences, with their official score.

    `others` are further runs of the same system, with other seeds.
    """

    name: str
    sentences: Sequence[Sentence]
    score: Score
    others: tuple[System, ...] = ()

    @property
    def runs(self) -> tuple[System, ...]:
        return (self, *self.others)

    @property
    def total(self) -> Score:
        """The scores of all runs added up."""
        return sum((run.score for run in self.others), self.score)

    def per_run(self, total: int) -> int | float:
        """The mean over the runs of something that was added up over them."""
        return total / len(self.runs) if self.others else total


@dataclass(frozen=True, slots=True)
class ReportSettings:
    """ReportSettings with the names of the command line's options."""

    samples: int = 10_000  # of significance tests and intervals
    seed: int = 0
    min_count: int = 20  # gold arguments that a label needs to be listed among the frequent
    examples: int = 3  # sentences drawn for each kind of error
    neighbors: int = 10
    distance: Distance = "cosine"
    spans: tuple[str, ...] = ()  # texts of spans whose neighbors to list, besides misclassified ones


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything that sections are built from; `model_problem` is why a given model cannot be used."""

    gold: Sequence[Sentence]
    systems: Sequence[System]
    train: Sequence[Sentence] | None = None
    model: SpanModel | None = None
    model_problem: str = ""
    settings: ReportSettings = ReportSettings()
    progress: Progress = no_progress


def make_system(name: str, gold: Sequence[Sentence], *runs: Sequence[Sentence]) -> System:
    if not any(sent.props for sent in gold):
        raise DataError("gold has no propositions, so there is nothing to analyze; give a labeled file")
    try:
        first, *others = (System(name, predicted, score(gold, predicted)) for predicted in runs)
    except DataError as error:
        raise DataError(f"{name}: {error}") from error
    return replace(first, others=tuple(others))


def predicate_name(sent: Sentence, prop: Proposition) -> str:
    """The predicate's lemma, otherwise its word in lower case."""
    if prop.lemma is not None:
        return prop.lemma
    return sent.lemmas[prop.pred] if sent.lemmas is not None else sent.tokens[prop.pred].lower()


def span_text(sent: Sentence, start: int, end: int, longest: int = 80) -> str:
    """The words of a span; of a long one, its beginning and its end."""
    return shortened(" ".join(sent.tokens[start:end]), longest)
