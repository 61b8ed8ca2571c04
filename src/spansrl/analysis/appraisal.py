"""How well a pipeline labels a gold corpus: the figures of a model card, computed in one go.

Arguments and senses are scored with the gold predicates given, predicates as they are found, and arguments
end to end by the two-way convention (docs/scoring.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spansrl.analysis.tuning import Pairs, argument_pairs, sense_pairs
from spansrl.evaluation import Counts, end_to_end, score
from spansrl.inference.calibration import calibration_error
from spansrl.inference.pipeline import Pipeline
from spansrl.language.lemmas import predicate_type
from spansrl.progress import Progress, no_progress
from spansrl.structures import PREDICATE_TYPES, Proposition, Sentence
from spansrl.tags import VERB


@dataclass(frozen=True, slots=True)
class Appraisal:
    """The figures, in percent; calibration errors are shares."""

    sentences: int
    predicates: int
    arguments: Mapping[str, float]  # precision, recall, f1 with gold predicates
    found: Mapping[str, float]  # precision, recall, f1 of predicates
    senses: float  # accuracy on gold predicates
    end_to_end: Mapping[str, float]  # precision, recall, f1 of arguments of found predicates
    calibration: Mapping[str, float]  # expected calibration error of arguments, senses and predicates
    by_role: Mapping[str, Mapping[str, float]]
    by_type: Mapping[str, Mapping[str, float]]  # of the predicate: arguments and predicates

    def to_dict(self) -> dict[str, Any]:
        """All figures with two digits (errors of calibration with four), as a model card states them."""
        return {
            "sentences": self.sentences,
            "predicates": self.predicates,
            "arguments": _rounded(self.arguments),
            "found": _rounded(self.found),
            "senses": round(self.senses, 2),
            "end_to_end": _rounded(self.end_to_end),
            "calibration": {name: round(value, 4) for name, value in self.calibration.items()},
            "by_role": {role: _rounded(values) for role, values in self.by_role.items()},
            "by_type": {type: _rounded(values) for type, values in self.by_type.items()},
        }


def appraise(pipeline: Pipeline, gold: Sequence[Sentence], progress: Progress = no_progress) -> Appraisal:
    """Label the sentences with gold predicates and with found ones, and score both."""

    def watched(labelled: Iterator[Sentence], what: str) -> Iterator[Sentence]:
        for done, sent in enumerate(labelled, start=1):
            progress(what, done, len(gold))
            yield sent

    given = list(watched(pipeline.label(gold, predicates="given"), "gold predicates"))
    found = list(watched(pipeline.label(gold), "found predicates"))
    arguments = score(gold, given)
    both = end_to_end(gold, found)
    senses = sense_pairs(gold, given)
    roles = {role: counts for role, counts in arguments.roles.items() if role != VERB}
    return Appraisal(
        sentences=len(gold),
        predicates=sum(len(sent.props) for sent in gold),
        arguments=_percentages(arguments.overall),
        found=_percentages(_found_counts(gold, found)),
        senses=_accuracy(senses),
        end_to_end={"precision": both.precision, "recall": both.recall, "f1": both.f1},
        calibration={
            "arguments": calibration_error(*argument_pairs(gold, given)),
            "senses": calibration_error(*senses),
            "predicates": calibration_error(*_found_pairs(gold, found)),
        },
        by_role={role: _with_count(counts) for role, counts in sorted(roles.items())},
        by_type=dict(_by_type(gold, given, found)),
    )


def _by_type(
    gold: Sequence[Sentence], given: Sequence[Sentence], found: Sequence[Sentence]
) -> Iterator[tuple[str, dict[str, float]]]:
    for type in PREDICATE_TYPES:
        own = [_only(sent, type) for sent in gold]
        guesses = [
            _keep(guess, {prop.pred for prop in sent.props}) for sent, guess in zip(own, given, strict=True)
        ]
        predicates = sum(len(sent.props) for sent in own)
        right = sum(
            len({prop.pred for prop in sent.props} & {prop.pred for prop in guess.props})
            for sent, guess in zip(own, found, strict=True)
        )
        figures = {
            "predicates": predicates,
            "found": 100 * right / max(1, predicates),
            "senses": _accuracy(sense_pairs(own, guesses)),
        }
        if any(prop.args for sent in own for prop in sent.props):  # auxiliaries have none
            figures["arguments_f1"] = score(own, guesses).overall.f1
        yield type, figures


def _only(sent: Sentence, type: str) -> Sentence:
    return _keep(sent, {prop.pred for prop in sent.props if (predicate_type(sent, prop) or "verb") == type})


def _keep(sent: Sentence, preds: set[int]) -> Sentence:
    props: list[Proposition] = [prop for prop in sent.props if prop.pred in preds]
    return Sentence(sent.tokens, tuple(props), pos=sent.pos)


def _found_counts(gold: Iterable[Sentence], found: Iterable[Sentence]) -> Counts:
    total = Counts()
    for sent, guess in zip(gold, found, strict=True):
        known, seen = ({prop.pred for prop in item.props} for item in (sent, guess))
        total += Counts(len(known & seen), len(seen - known), len(known - seen))
    return total


def _found_pairs(gold: Iterable[Sentence], found: Iterable[Sentence]) -> Pairs:
    """The probability of every predicate that was found, and whether it is one."""
    pairs = [
        (prop.prob or 0.0, prop.pred in {own.pred for own in sent.props})
        for sent, guess in zip(gold, found, strict=True)
        for prop in guess.props
    ]
    return [prob for prob, _ in pairs], [right for _, right in pairs]


def _accuracy(pairs: Pairs) -> float:
    return 100 * sum(pairs[1]) / max(1, len(pairs[1]))


def _percentages(counts: Counts) -> dict[str, float]:
    return {"precision": counts.precision, "recall": counts.recall, "f1": counts.f1}


def _with_count(counts: Counts) -> dict[str, float]:
    return {"gold": counts.correct + counts.missed, **_percentages(counts)}


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 2) for name, value in values.items()}
