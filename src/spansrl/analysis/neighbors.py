"""Section 6: the training spans nearest to predicted spans (the paper's Table 7), by exact search.

For every predicted span of the first system: its nearest arguments of the training data by the model's span
representation, with their gold labels; and how their agreeing with the predicted label goes with its being
right.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spansrl.analysis.charts import Bars
from spansrl.analysis.inputs import Inputs, predicate_name, span_text
from spansrl.analysis.search import Nearest, nearest
from spansrl.analysis.tables import Cell, Column, Picture, Section, Table, columns
from spansrl.errors import counted
from spansrl.evaluation.counts import percent
from spansrl.structures import Argument, Proposition, Sentence

NAME, TITLE = "neighbors", "Nearest neighbors of spans"
_SHOWN = 12  # spans whose neighbors stand on the page


@dataclass(frozen=True, slots=True)
class Query:
    """A predicted argument; `gold` is the label of its span in gold, None where gold has nothing there."""

    sent: Sentence
    prop: Proposition
    arg: Argument
    gold: str | None

    @property
    def is_right(self) -> bool:
        """Whether boundaries and label are both gold's."""
        return self.gold == self.arg.role

    @property
    def text(self) -> str:
        """The span's words."""
        return " ".join(self.sent.tokens[self.arg.start : self.arg.end])


def neighbors(inputs: Inputs) -> Section:
    """What training data says about the spans that a model finds."""
    assert inputs.model is not None
    assert inputs.train is not None
    system = inputs.systems[0]
    queries = predicted_arguments(inputs.gold, system.sentences)
    keys = [(sent, prop, arg) for sent in inputs.train for prop in sent.props for arg in prop.args]
    if lack := _lack(inputs, len(queries), len(keys)):
        return Section(NAME, TITLE, skipped=lack)
    vectors = np.concatenate(list(inputs.model.argument_vectors(system.sentences, inputs.progress)))
    found = nearest(
        vectors[[place for place, _ in queries]],
        inputs.model.argument_vectors(inputs.train, inputs.progress),
        inputs.settings.neighbors,
        distance=inputs.settings.distance,
        progress=lambda done: inputs.progress("Nearest neighbors", done, len(keys)),
    )
    asked = [query for _, query in queries]
    agreeing = _agreement(asked, keys, found)
    intro = (
        f"For each argument that {system.name} predicts, its {inputs.settings.neighbors} nearest arguments "
        f"among the {len(keys)} of the training data, by the model's span representation (Eq. 7) and "
        f"{inputs.settings.distance} distance."
    )
    parts = (
        *_consistency(inputs, asked, agreeing),
        _means(asked, agreeing, _votes(asked, keys, found), inputs.settings.neighbors),
        _listing(inputs, asked, keys, found),
    )
    return Section(NAME, TITLE, intro, parts)


_Keys = Sequence[tuple[Sentence, Proposition, Argument]]


def _lack(inputs: Inputs, n_queries: int, n_keys: int) -> str:
    """Why there is nothing to search for, or too little to search in; nothing if all is well."""
    if not n_queries:
        return f"{inputs.systems[0].name} predicts no arguments of gold's predicates"
    if n_keys < inputs.settings.neighbors:
        few = f"{counted(n_keys, 'argument')} in the training data"
        return f"{few}, fewer than {inputs.settings.neighbors} neighbors; pass all of it by --train"
    return ""


def predicted_arguments(gold: Sequence[Sentence], predicted: Sequence[Sentence]) -> list[tuple[int, Query]]:
    """The predicted arguments of gold predicates, each with its place among all that are predicted."""
    queries = []
    place = -1
    for sent, answer in zip(gold, predicted, strict=False):
        labels = {prop.pred: {arg.span: arg.role for arg in prop.args} for prop in sent.props}
        for prop in answer.props:
            for arg in prop.args:
                place += 1
                if prop.pred in labels:
                    queries.append((place, Query(sent, prop, arg, labels[prop.pred].get(arg.span))))
    return queries


def _agreement(queries: Sequence[Query], keys: _Keys, found: Nearest) -> NDArray[np.int64]:
    """How many of its neighbors have each query's predicted label: (Q,)"""
    labels = np.array([arg.role for _, _, arg in keys])[found.keys]  # (Q, k)
    asked = np.array([query.arg.role for query in queries])
    return np.asarray((labels == asked[:, None]).sum(axis=1))


def _votes(queries: Sequence[Query], keys: _Keys, found: Nearest) -> list[str]:
    """The label that most neighbors of each query have; of equally many, that of the nearest."""
    return [Counter(keys[k][2].role for k in row).most_common(1)[0][0] for row in found.keys.tolist()]


def _consistency(
    inputs: Inputs, queries: Sequence[Query], agreeing: NDArray[np.int64]
) -> tuple[Table, Picture]:
    k = inputs.settings.neighbors
    rows: list[tuple[Cell, ...]] = []
    for n in range(k + 1):
        own = [query for query, agree in zip(queries, agreeing, strict=True) if agree == n]
        bounded = [query for query in own if query.gold is not None]
        right = sum(query.is_right for query in own)
        rows.append(
            (
                n,
                len(bounded),
                percent(right, len(bounded)) if bounded else None,
                len(own),
                percent(right, len(own)) if own else None,
            )
        )
    title = "Neighbors with the predicted label, and how often the prediction is right"
    heads = (f"of {k} neighbors agree", "right boundaries", "label right %", "all predicted", "right %")
    series = (
        ("label right, of right boundaries", tuple(_number(row[2]) for row in rows)),
        ("right, of all predicted", tuple(_number(row[4]) for row in rows)),
    )
    chart = Bars(tuple(str(row[0]) for row in rows), series, "%")
    return Table("consistency", title, columns(*heads), tuple(rows)), Picture("consistency", title, chart)


def _number(cell: Cell) -> float | None:
    return cell if isinstance(cell, float) else None


def _means(queries: Sequence[Query], agreeing: NDArray[np.int64], votes: Sequence[str], k: int) -> Table:
    groups: dict[str, list[int]] = {"right": [], "wrong label": [], "wrong boundaries": []}
    for place, query in enumerate(queries):
        kind = "right" if query.is_right else "wrong boundaries" if query.gold is None else "wrong label"
        groups[kind].append(place)
    rows: list[tuple[Cell, ...]] = []
    for name, places in groups.items():
        n = len(places)
        agree = agreeing[places]
        voted = [votes[place] == queries[place].gold for place in places]
        rows.append(
            (
                name,
                n,
                float(agree.mean()) if n else None,
                percent(int((agree == k).sum()), n),
                percent(sum(voted), n) if name != "wrong boundaries" else None,
            )
        )
    return Table(
        "consistency-means",
        "Agreement of the neighbors, by what became of the prediction",
        columns(
            "prediction",
            "spans",
            f"mean agreeing of {k}",
            "all agree %",
            "most neighbors have gold's label %",
        ),
        tuple(rows),
        note="Pieces of split arguments (C-) count as spans of their own.",
    )


def _listing(inputs: Inputs, queries: Sequence[Query], keys: _Keys, found: Nearest) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for place in _chosen(inputs, queries):
        query = queries[place]
        head = (
            span_text(query.sent, *query.arg.span),
            predicate_name(query.sent, query.prop),
            query.gold or "no argument",
            query.arg.role,
        )
        for rank, (k, value) in enumerate(
            zip(found.keys[place].tolist(), found.values[place].tolist(), strict=True), start=1
        ):
            sent, prop, arg = keys[k]
            rows.append(
                (*head, rank, arg.role, span_text(sent, *arg.span), predicate_name(sent, prop), value)
            )
    near = "cosine" if inputs.settings.distance == "cosine" else "distance"
    return Table(
        "neighbors",
        "Nearest training spans of misclassified spans (Table 7 of the paper)",
        (
            *columns("span", "predicate", "gold", "predicted", "rank", "label", "neighbour", "its predicate"),
            Column(near, ".4f"),
        ),
        tuple(rows),
        note="Spans asked for with --span come first, then one of each labelling error, the frequent first."
        + _not_predicted(inputs, queries),
        shown=_SHOWN * inputs.settings.neighbors,
        grouped=4,
    )


def _chosen(inputs: Inputs, queries: Sequence[Query]) -> Iterator[int]:
    """Spans asked for by their text, then the misclassified, a round of all kinds of errors at a time."""
    wanted = {_plain(text) for text in inputs.settings.spans}
    asked = dict.fromkeys(place for place, query in enumerate(queries) if _plain(query.text) in wanted)
    yield from asked
    kinds: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for place, query in enumerate(queries):
        if query.gold is not None and not query.is_right and place not in asked:
            kinds[query.gold, query.arg.role].append(place)
    frequent = sorted(kinds, key=lambda kind: (-len(kinds[kind]), kind))
    for turn in range(max(map(len, kinds.values()), default=0)):
        yield from (kinds[kind][turn] for kind in frequent if turn < len(kinds[kind]))


def _not_predicted(inputs: Inputs, queries: Sequence[Query]) -> str:
    """Which of the spans that were asked for are nowhere to be found, if any."""
    found = {_plain(query.text) for query in queries} if inputs.settings.spans else set()
    missing = [text for text in inputs.settings.spans if _plain(text) not in found]
    return f" Not predicted anywhere: {', '.join(missing)}." if missing else ""


def _plain(text: str) -> str:
    return " ".join(text.lower().split())
