"""How well a pipeline labels a gold corpus: the figures of a model card.

Arguments and senses are scored on gold predicates, predicates as found, and arguments end to end in both
directions (docs/scoring.md), from the corpus's tokens and, where it has the text, from plain text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from spansrl.evaluation import Counts, end_to_end, score
from spansrl.evaluation.calibrate import Pairs, argument_pairs, sense_pairs
from spansrl.evaluation.counts import EndToEnd
from spansrl.evaluation.scorable import documents_of, frames_by_characters, has_text
from spansrl.inference.calibration import calibration_error
from spansrl.inference.pipeline import Pipeline
from spansrl.language.english.lemmas import predicate_type
from spansrl.progress import Progress, no_progress
from spansrl.structures import PREDICATE_TYPES, Proposition, Sentence
from spansrl.tags import VERB

T = TypeVar("T")


def evaluate_model(
    pipeline: Pipeline, gold: Sequence[Sentence], progress: Progress = no_progress
) -> dict[str, Any]:
    """Label the sentences with gold predicates, with found ones, and as plain text, and score the results.

    Figures are percentages with two digits, except expected calibration errors, which are shares.
    """
    given = list(
        _with_progress(pipeline.label(gold, predicates="given"), "gold predicates", len(gold), progress)
    )
    found = list(_with_progress(pipeline.label(gold), "found predicates", len(gold), progress))
    arguments = score(gold, given)
    senses = sense_pairs(gold, given)
    errors = {
        "arguments": calibration_error(*argument_pairs(gold, given)),
        "senses": calibration_error(*senses),
        "predicates": calibration_error(*_found_pairs(gold, found)),
    }
    roles = sorted((role, counts) for role, counts in arguments.roles.items() if role != VERB)
    return {
        "sentences": len(gold),
        "predicates": sum(len(sent.props) for sent in gold),
        "arguments": _percentages(arguments.overall),
        "found": _percentages(_found_counts(gold, found)),
        "senses": round(_accuracy(senses), 2),
        "particle_senses": _particle_senses(gold, given),
        "end_to_end": _percentages(end_to_end(gold, found)),
        "from_text": _from_text(pipeline, gold, progress),
        "calibration": {name: round(error, 4) for name, error in errors.items()},
        "by_role": {role: {"gold": counts.gold, **_percentages(counts)} for role, counts in roles},
        "by_type": {type: _of_type(type, gold, given, found) for type in PREDICATE_TYPES},
        "by_genre": _by_genre(gold, given, found),
    }


def _with_progress(labeled: Iterator[T], step: str, total: int, progress: Progress) -> Iterator[T]:
    for done, item in enumerate(labeled, start=1):
        progress(step, done, total)
        yield item


def _from_text(pipeline: Pipeline, gold: Sequence[Sentence], progress: Progress) -> dict[str, float]:
    """End to end from the documents' text, with sentences and tokens of the pipeline's own."""
    if not all(map(has_text, gold)):
        return {}
    documents = list(documents_of(gold))
    labeled = _with_progress(
        pipeline.pipe(doc.text for doc in documents), "plain text", len(documents), progress
    )
    return _percentages(end_to_end(map(frames_by_characters, documents), map(frames_by_characters, labeled)))


def _particle_senses(gold: Sequence[Sentence], given: Sequence[Sentence]) -> dict[str, int]:
    """How many senses of verbs with a particle (`give_up.07`) there are, and how many are right."""
    _, right = sense_pairs(*_selected(gold, given, lambda _, prop: "_" in (prop.sense or "")))
    return {"predicates": len(right), "right": sum(right)}


def _by_genre(
    gold: Sequence[Sentence], given: Sequence[Sentence], found: Sequence[Sentence]
) -> dict[str, dict[str, float]]:
    """Figures of each genre, where the corpus has several."""
    rows = defaultdict(list)
    for triple in zip(gold, given, found, strict=True):
        rows[_genre(triple[0])].append(triple)
    out = {}
    for genre in sorted(rows) if len(rows) > 1 else ():
        own, with_gold, alone = (list(part) for part in zip(*rows[genre], strict=True))
        out[genre] = {
            "predicates": sum(len(sent.props) for sent in own),
            "arguments_f1": round(score(own, with_gold).overall.f1, 2),
            "end_to_end_f1": round(end_to_end(own, alone).f1, 2),
        }
    return out


def _genre(sent: Sentence) -> str:
    """The genre in the corpus, or the directory that the document was in."""
    named = sent.extra.get("genre")
    return str(named) if named else (sent.id or "").rpartition("#")[0].partition("/")[0]


def _of_type(
    type: str, gold: Sequence[Sentence], given: Sequence[Sentence], found: Sequence[Sentence]
) -> dict[str, float]:
    own, guesses = _selected(gold, given, lambda sent, prop: (predicate_type(sent, prop) or "verb") == type)
    predicates = sum(len(sent.props) for sent in own)
    right = sum(len(_preds(sent) & _preds(guess)) for sent, guess in zip(own, found, strict=True))
    figures = {
        "predicates": predicates,
        "found": 100 * right / max(1, predicates),
        "senses": _accuracy(sense_pairs(own, guesses)),
    }
    if any(prop.args for sent in own for prop in sent.props):  # auxiliaries have none
        figures["arguments_f1"] = score(own, guesses).overall.f1
    return {name: round(value, 2) for name, value in figures.items()}


def _preds(sent: Sentence) -> set[int]:
    return {prop.pred for prop in sent.props}


def _selected(
    gold: Sequence[Sentence], given: Sequence[Sentence], wanted: Callable[[Sentence, Proposition], bool]
) -> tuple[list[Sentence], list[Sentence]]:
    """Gold and labeled sentences with those of the gold predicates that are wanted."""
    own, guesses = [], []
    for sent, guess in zip(gold, given, strict=True):
        own.append(replace(sent, props=tuple(prop for prop in sent.props if wanted(sent, prop))))
        kept = _preds(own[-1])
        guesses.append(replace(guess, props=tuple(prop for prop in guess.props if prop.pred in kept)))
    return own, guesses


def _found_counts(gold: Iterable[Sentence], found: Iterable[Sentence]) -> Counts:
    total = Counts()
    for sent, guess in zip(gold, found, strict=True):
        known, seen = _preds(sent), _preds(guess)
        total += Counts(len(known & seen), len(seen - known), len(known - seen))
    return total


def _found_pairs(gold: Iterable[Sentence], found: Iterable[Sentence]) -> Pairs:
    """The probability of every found predicate, and whether it is one."""
    pairs = [
        (prop.prob or 0.0, prop.pred in _preds(sent))
        for sent, guess in zip(gold, found, strict=True)
        for prop in guess.props
    ]
    return [prob for prob, _ in pairs], [right for _, right in pairs]


def _accuracy(pairs: Pairs) -> float:
    return 100 * sum(pairs[1]) / max(1, len(pairs[1]))


def _percentages(counts: Counts | EndToEnd) -> dict[str, float]:
    figures = {"precision": counts.precision, "recall": counts.recall, "f1": counts.f1}
    return {name: round(value, 2) for name, value in figures.items()}
