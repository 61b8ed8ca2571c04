"""Section 9: the sentences behind the tables: propositions that a system got wrong, drawn beside gold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from spansrl.analysis import confusion, repairs
from spansrl.analysis.inputs import Inputs, predicate_name
from spansrl.analysis.tables import Example, Examples, Section
from spansrl.evaluation.counts import aligned, pair, propositions
from spansrl.evaluation.frames import Arg
from spansrl.structures import Proposition, Sentence
from spansrl.tags import VERB

NAME, TITLE = "examples", "Examples"


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
        "Search for words and labels, or for a kind of error; cells of the matrices and rows of the tables "
        "lead here as well."
    )
    return Section(NAME, TITLE, intro, (Examples(tuple(items), _note(limit, len(items))),))


def _note(limit: int, found: int) -> str:
    if not limit:
        return "No examples were asked for (--examples 0)."
    return f"The first {limit} of each kind of error, in the order of the corpus." if found else "No errors."


def _wrong(inputs: Inputs) -> Iterator[Example]:
    """Every proposition with an error of some system."""
    systems = [system.sentences for system in inputs.systems]
    for place, (gold_frames, found) in enumerate(aligned(inputs.gold, *systems)):
        sent = inputs.gold[place]
        answers = [{prop.pred: prop for prop in sentences[place].props} for sentences in systems]
        pairs = [propositions(gold_frames, frames, "index") for frames in found]
        for prop, *rows in zip(sent.props, *pairs, strict=True):
            tags: list[str] = []
            for system, answer, (_, gold_args, own_args) in zip(inputs.systems, answers, rows, strict=True):
                tags += _confusions(system.name, gold_args, own_args)
                kinds = repairs.kinds_needed(repairs.spans_of(prop), repairs.spans_of(answer.get(prop.pred)))
                tags += [repairs.tag_of(system.name, kind) for kind in kinds]
            if tags:
                yield _example(inputs, sent, prop, answers, tuple(dict.fromkeys(tags)))


def _confusions(system: str, gold: list[Arg], predicted: list[Arg]) -> list[str]:
    matched = pair(gold, predicted, same_role=False).matched
    return [
        confusion.tag_of(system, right.role, wrong.role)
        for right, wrong in matched
        if right.role != wrong.role and VERB not in (right.role, wrong.role)
    ]


def _example(
    inputs: Inputs,
    sent: Sentence,
    prop: Proposition,
    answers: Sequence[Mapping[int, Proposition]],
    tags: tuple[str, ...],
) -> Example:
    """The sentence with one row for gold and one for each system, named in the place of the sense."""
    rows = [_row("gold", prop, prop)]
    rows += [
        _row(system.name, prop, answer.get(prop.pred))
        for system, answer in zip(inputs.systems, answers, strict=True)
    ]
    title = prop.sense or predicate_name(sent, prop)
    return Example(
        f"{title} · {sent.id}" if sent.id else title, tags, replace(sent, props=tuple(rows), text=None)
    )


def _row(name: str, gold: Proposition, own: Proposition | None) -> Proposition:
    return Proposition(gold.pred, () if own is None else own.args, sense=name, v=gold.v)
