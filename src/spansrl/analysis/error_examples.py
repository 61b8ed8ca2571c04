"""Section 9: the sentences behind the tables: propositions that a system got wrong, drawn next to gold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from spansrl.analysis import confusion, repairs
from spansrl.analysis.report_inputs import Inputs, predicate_name
from spansrl.analysis.tables import ExampleList, Section, TaggedExample
from spansrl.evaluation.counts import aligned, pair, propositions
from spansrl.evaluation.scorable import Arg
from spansrl.structures import Proposition, Sentence
from spansrl.tags import VERB

NAME, TITLE = "examples", "ExampleList"


def examples(inputs: Inputs) -> Section:
    """A few propositions for each cell of the confusion matrices and each kind of error."""
    limit = inputs.settings.examples
    left: Counter[str] = Counter()
    items = []
    for example in _wrong(inputs):
        if any(left[tag] < limit for tag in example.tags):
            left.update(example.tags)
            items.append(example)
    intro = (
        "Under each sentence there is a row for gold and one for every system, named at the predicate. "
        "Search for words, labels or a kind of error, or click a cell of a matrix or a row of a table."
    )
    return Section(NAME, TITLE, intro, (ExampleList(tuple(items), _note(limit, len(items))),))


def _note(limit: int, found: int) -> str:
    if not limit:
        return "No examples were requested (--examples 0)."
    return f"The first {limit} of each kind of error, in the order of the corpus." if found else "No errors."


def _wrong(inputs: Inputs) -> Iterator[TaggedExample]:
    """Every proposition with an error of some system."""
    systems = [system.sentences for system in inputs.systems]
    for index, (gold_frames, found) in enumerate(aligned(inputs.gold, *systems)):
        sent = inputs.gold[index]
        by_pred = [{prop.pred: prop for prop in sentences[index].props} for sentences in systems]
        pairs = [propositions(gold_frames, frames, "index") for frames in found]
        for prop, *rows in zip(sent.props, *pairs, strict=True):
            tags: list[str] = []
            answers = []
            for system, own, (_, gold_args, own_args) in zip(inputs.systems, by_pred, rows, strict=True):
                answer = own.get(prop.pred)
                answers.append((system.name, answer))
                tags += _confusions(system.name, gold_args, own_args)
                kinds = repairs.kinds_needed(repairs.spans_of(prop), repairs.spans_of(answer))
                tags += [repairs.tag_of(system.name, kind) for kind in kinds]
            if tags:
                yield _example(sent, prop, answers, tags)


def _confusions(system: str, gold: list[Arg], predicted: list[Arg]) -> list[str]:
    matched = pair(gold, predicted, same_role=False).matched
    return [
        confusion.tag_of(system, right.role, wrong.role)
        for right, wrong in matched
        if right.role != wrong.role and VERB not in (right.role, wrong.role)
    ]


def _example(
    sent: Sentence, prop: Proposition, answers: Iterable[tuple[str, Proposition | None]], tags: Iterable[str]
) -> TaggedExample:
    """The sentence with one row for gold and one for each system, with its name instead of the sense."""
    rows = [
        Proposition(prop.pred, () if own is None else own.args, sense=name, v=prop.v)
        for name, own in [("gold", prop), *answers]
    ]
    title = prop.sense or predicate_name(sent, prop)
    title += f" · {sent.id}" if sent.id else ""
    return TaggedExample(title, tuple(dict.fromkeys(tags)), replace(sent, props=tuple(rows), text=None))
