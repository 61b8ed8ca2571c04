"""Section 6: the training spans nearest to predicted spans (the paper's Table 7), by exact search.

For every predicted span of the first system: its nearest arguments in the training data by the model's span
representation, with their gold labels; and how often the prediction is right when these agree with it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from spansrl.analysis.charts import Bars
from spansrl.analysis.report_inputs import Inputs, predicate_name, span_text
from spansrl.analysis.search import Nearest, nearest
from spansrl.analysis.tables import Cell, Picture, Section, Table, TableColumn, columns
from spansrl.errors import counted
from spansrl.evaluation.counts import percent
from spansrl.structures import Argument, Proposition, Sentence

NAME, TITLE = "neighbors", "Nearest neighbors of spans"
_SHOWN = 12  # spans whose neighbors are on the page


@dataclass(frozen=True, slots=True)
class Query:
    """A predicted argument; `gold` is the label of its span in gold, None where gold has no argument."""

    sent: Sentence
    prop: Proposition
    arg: Argument
    gold: str | None

    @property
    def is_right(self) -> bool:
        return self.gold == self.arg.role

    @property
    def text(self) -> str:
        return _plain(" ".join(self.sent.tokens[self.arg.start : self.arg.end]))


_Keys = Sequence[tuple[Sentence, Proposition, Argument]]


def neighbors(inputs: Inputs) -> Section:
    assert inputs.model is not None
    assert inputs.train is not None
    system, k = inputs.systems[0], inputs.settings.neighbors
    indexed = predicted_arguments(inputs.gold, system.sentences)
    keys = [(sent, prop, arg) for sent in inputs.train for prop in sent.props for arg in prop.args]
    if not indexed:
        return Section(NAME, TITLE, skipped=f"{system.name} predicts no arguments of gold's predicates")
    if len(keys) < k:
        few = f"{counted(len(keys), 'argument')} in the training data, fewer than {k} neighbors"
        return Section(NAME, TITLE, skipped=f"{few}; pass all of it with --train")
    vectors = np.concatenate(list(inputs.model.argument_vectors(system.sentences, inputs.progress)))
    found = nearest(
        vectors[[index for index, _ in indexed]],
        inputs.model.argument_vectors(inputs.train, inputs.progress),
        k,
        distance=inputs.settings.distance,
        progress=lambda done: inputs.progress("Nearest neighbors", done, len(keys)),
    )
    queries = [query for _, query in indexed]
    labels = np.array([arg.role for _, _, arg in keys])[found.keys]  # (Q, k)
    agreeing = (labels == np.array([query.arg.role for query in queries])[:, None]).sum(axis=1)  # (Q,)
    intro = (
        f"For each argument that {system.name} predicts, its {k} nearest arguments among the {len(keys)} of "
        "the training data, by the model's span representation (Eq. 7) and "
        f"{inputs.settings.distance} distance."
    )
    parts = (
        *_consistency(queries, agreeing, k),
        _means(queries, agreeing, labels),
        _listing(inputs, queries, keys, found),
    )
    return Section(NAME, TITLE, intro, parts)


def predicted_arguments(gold: Sequence[Sentence], predicted: Sequence[Sentence]) -> list[tuple[int, Query]]:
    """The predicted arguments of gold predicates, each with its index among all predicted arguments."""
    queries = []
    index = -1
    for sent, answer in zip(gold, predicted, strict=False):
        labels = {prop.pred: {arg.span: arg.role for arg in prop.args} for prop in sent.props}
        for prop in answer.props:
            for arg in prop.args:
                index += 1
                if prop.pred in labels:
                    queries.append((index, Query(sent, prop, arg, labels[prop.pred].get(arg.span))))
    return queries


def _consistency(queries: Sequence[Query], agreeing: NDArray[np.int64], k: int) -> tuple[Table, Picture]:
    rows: list[tuple[Cell, ...]] = []
    labels, predictions = [], []
    for n in range(k + 1):
        own = [query for query, agree in zip(queries, agreeing, strict=True) if agree == n]
        bounded = [query for query in own if query.gold is not None]
        right = sum(query.is_right for query in own)
        labels.append(percent(right, len(bounded)) if bounded else None)
        predictions.append(percent(right, len(own)) if own else None)
        rows.append((n, len(bounded), labels[-1], len(own), predictions[-1]))
    title = "Neighbors with the predicted label, and how often the prediction is right"
    heads = (f"of {k} neighbors agree", "correct boundaries", "label correct %", "all predicted", "correct %")
    series = (
        ("label correct, of correct boundaries", tuple(labels)),
        ("correct, of all predicted", tuple(predictions)),
    )
    chart = Bars(tuple(str(n) for n in range(k + 1)), series, "%")
    return Table("consistency", title, columns(*heads), tuple(rows)), Picture("consistency", title, chart)


def _means(queries: Sequence[Query], agreeing: NDArray[np.int64], labels: NDArray[np.str_]) -> Table:
    k = labels.shape[1]
    groups: dict[str, list[int]] = {"right": [], "wrong label": [], "wrong boundaries": []}
    for index, query in enumerate(queries):
        kind = "right" if query.is_right else "wrong boundaries" if query.gold is None else "wrong label"
        groups[kind].append(index)
    rows: list[tuple[Cell, ...]] = []
    for name, own in groups.items():
        agree = agreeing[own]
        # The label that most neighbors have; of equally frequent labels, that of the nearest neighbor.
        votes = [Counter(labels[index].tolist()).most_common(1)[0][0] for index in own]
        voted = sum(vote == queries[index].gold for vote, index in zip(votes, own, strict=True))
        mean, all_agree = float(agree.mean()) if own else None, percent(int((agree == k).sum()), len(own))
        gold_voted = percent(voted, len(own)) if name != "wrong boundaries" else None
        rows.append((name, len(own), mean, all_agree, gold_voted))
    agreement = (f"mean agreeing of {k}", "all agree %", "most neighbors have gold's label %")
    return Table(
        "consistency-means",
        "Agreement of the neighbors, by correctness of the prediction",
        columns("prediction", "spans", *agreement),
        tuple(rows),
        note="Pieces of split arguments (C-) count as spans of their own.",
    )


def _listing(inputs: Inputs, queries: Sequence[Query], keys: _Keys, found: Nearest) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for index in _chosen(inputs, queries):
        query = queries[index]
        head = (
            span_text(query.sent, *query.arg.span),
            predicate_name(query.sent, query.prop),
            query.gold or "no argument",
            query.arg.role,
        )
        neighbors = zip(found.keys[index].tolist(), found.values[index].tolist(), strict=True)
        for rank, (k, value) in enumerate(neighbors, start=1):
            sent, prop, arg = keys[k]
            text = span_text(sent, *arg.span)
            rows.append((*head, rank, arg.role, text, predicate_name(sent, prop), value))
    heads = ("span", "predicate", "gold", "predicted", "rank", "label", "neighbor", "its predicate")
    value = "cosine" if inputs.settings.distance == "cosine" else "distance"
    return Table(
        "neighbors",
        "Nearest training spans of misclassified spans (Table 7 of the paper)",
        (*columns(*heads), TableColumn(value, ".4f")),
        tuple(rows),
        note="Spans requested with --span come first, then one of each labeling error, by frequency."
        + _not_predicted(inputs, queries),
        shown=_SHOWN * inputs.settings.neighbors,
        grouped=4,
    )


def _chosen(inputs: Inputs, queries: Sequence[Query]) -> Iterator[int]:
    """Spans requested by their text, then misclassified ones, in rounds of one per kind of error."""
    wanted = set(map(_plain, inputs.settings.spans))
    requested = [index for index, query in enumerate(queries) if query.text in wanted]
    yield from requested
    kinds: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for index in sorted(set(range(len(queries))).difference(requested)):
        query = queries[index]
        if query.gold is not None and not query.is_right:
            kinds[query.gold, query.arg.role].append(index)
    frequent = sorted(kinds, key=lambda kind: (-len(kinds[kind]), kind))
    for turn in zip_longest(*(kinds[kind] for kind in frequent)):
        yield from (index for index in turn if index is not None)


def _not_predicted(inputs: Inputs, queries: Sequence[Query]) -> str:
    found = {query.text for query in queries} if inputs.settings.spans else set()
    missing = [text for text in inputs.settings.spans if _plain(text) not in found]
    return f" Not predicted anywhere: {', '.join(missing)}." if missing else ""


def _plain(text: str) -> str:
    return " ".join(text.lower().split())
