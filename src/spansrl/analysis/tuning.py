"""Fit the threshold of predicates and the calibration of probabilities on development data.

calibration = tune(spansrl.load("runs/text"), dev_sentences)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from spansrl.arrays import IntArray
from spansrl.evaluation import score
from spansrl.inference.calibration import Calibration, Curve, Exact, log_odds, sigmoid
from spansrl.inference.directory import MANIFEST, write_json, write_manifest
from spansrl.inference.loading import CALIBRATION, load
from spansrl.inference.model import Encoding, Model, PredicateScores, Prepared, Tokens, encode_all
from spansrl.inference.pipeline import Pipeline
from spansrl.structures import Sentence

HANDICAPS = (-1.0, -0.8, -0.6, -0.4, -0.2, 0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2)
MIN_PROBS = tuple(k / 100 for k in range(1, 51))
_F1_COST = 0.05
_LIKELY = -2.2  # log-odds of a probability of 0.1
_LEAST = -6.0  # … below which a token is never a predicate
_GROUP = 32  # sentences encoded at once

Pairs = tuple[list[float], list[bool]]  # probabilities, and whether each prediction was right
T = TypeVar("T")


def tune(pipeline: Pipeline, gold: Sequence[Sentence]) -> Calibration:
    """The calibration under which a pipeline's probabilities fit the gold sentences best."""
    odds, right = predicate_pairs(gold, pipeline)
    exact = Calibration(arguments=Exact(), senses=Exact())
    plain = replace(pipeline, model=CachedModel(pipeline.model), calibration=exact, min_prob=0.0)
    handicap = best_handicap(plain, gold)
    given = list(with_handicap(plain, handicap).label(gold, predicates="given"))
    arguments, senses = argument_pairs(gold, given), sense_pairs(gold, given)
    tuned = Calibration(
        arguments=Curve.fit(log_odds(arguments[0]), arguments[1]),
        predicates=Curve.fit(*_likely(odds, right)),
        senses=Curve.fit(log_odds(senses[0]), senses[1]),
        threshold=best_threshold(sigmoid(np.array(odds)), right),
        handicap=handicap,
    )
    return replace(tuned, min_prob=best_min_prob(replace(plain, calibration=tuned), gold))


def best_min_prob(pipeline: Pipeline, gold: Sequence[Sentence]) -> float:
    """The greatest `min_prob` that costs at most 0.05 F1 of arguments for every type of predicate.

    Types are looked at one by one: arguments of nouns are less probable than those of verbs, so a minimum
    that costs nothing overall may leave out too many of them.
    """
    labeled = list(pipeline.label(gold, predicates="given", min_prob=0))
    types = {prop.type for sent in labeled for prop in sent.props}
    parts = [_of_type(gold, labeled, type) for type in types]
    lowest = [score(*part).overall.f1 - _F1_COST for part in parts]
    chosen = 0.0
    for min_prob in MIN_PROBS:
        found = (
            score(known, [_shown(sent, min_prob) for sent in given]).overall.f1 for known, given in parts
        )
        if any(f1 < limit for f1, limit in zip(found, lowest, strict=True)):
            break
        chosen = min_prob
    return chosen


def _of_type(
    gold: Sequence[Sentence], labeled: Sequence[Sentence], type: str | None
) -> tuple[list[Sentence], list[Sentence]]:
    """Both with the predicates that are labeled as of this type."""
    pairs = [
        [(prop, guess) for prop, guess in zip(sent.props, given.props, strict=True) if guess.type == type]
        for sent, given in zip(gold, labeled, strict=True)
    ]
    known, found = (
        [
            replace(sent, props=tuple(pair[side] for pair in own))
            for sent, own in zip(sentences, pairs, strict=True)
        ]
        for side, sentences in enumerate((gold, labeled))
    )
    return known, found


def _shown(sent: Sentence, min_prob: float) -> Sentence:
    props = [
        replace(prop, args=tuple(arg for arg in prop.args if arg.prob is None or arg.prob >= min_prob))
        for prop in sent.props
    ]
    return replace(sent, props=tuple(props))


def recalibrate(directory: Path, gold: Sequence[Sentence]) -> Calibration:
    """Fit the calibration of an exported model again and store it in its directory."""
    calibration = tune(load(directory), gold)
    write_json(directory / CALIBRATION, calibration.to_dict())
    if (directory / MANIFEST).exists():
        write_manifest(directory)
    return calibration


class CachedModel:
    """A model that keeps its scores, so that they can be decoded again."""

    def __init__(self, model: Model) -> None:
        self.roles = model.roles
        self.finds_predicates = model.finds_predicates
        self._model = model
        self._known: dict[tuple[Any, ...], Any] = {}

    def prepare(self, sentences: Sequence[Tokens]) -> Prepared:
        return self._once(tuple(map(tuple, sentences)), self._model.prepare, sentences)

    def encode(self, prepared: Prepared, rows: IntArray) -> Encoding:
        return self._once((id(prepared), rows.tobytes()), self._model.encode, prepared, rows)

    def score(self, encoding: Encoding, sentence: IntArray, pred: IntArray) -> PredicateScores:
        key = id(encoding), sentence.tobytes(), pred.tobytes()
        return self._once(key, self._model.score, encoding, sentence, pred)

    def _once(self, key: tuple[Any, ...], compute: Callable[..., T], *inputs: Any) -> T:
        if key not in self._known:
            self._known[key] = compute(*inputs)
        found: T = self._known[key]
        return found


def best_handicap(pipeline: Pipeline, gold: Sequence[Sentence]) -> float:
    """The handicap of Null with the best F1 of arguments; the smallest one if several have it."""
    scores = {
        handicap: score(gold, with_handicap(pipeline, handicap).label(gold, predicates="given")).overall.f1
        for handicap in HANDICAPS
    }
    return max(HANDICAPS, key=lambda handicap: (scores[handicap], -abs(handicap)))


def with_handicap(pipeline: Pipeline, handicap: float) -> Pipeline:
    return replace(pipeline, calibration=replace(pipeline.calibration, handicap=handicap))


def best_threshold(probs: npt.ArrayLike, right: npt.ArrayLike) -> float:
    """The threshold with the best F1, halfway to the next lower probability."""
    p, y = np.asarray(probs, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if not len(p) or not y.any():
        return 0.5
    order = np.argsort(-p, kind="stable")
    ranked, below = p[order], np.append(p[order][1:], 0.0)
    f1 = 2 * np.cumsum(y[order]) / (np.arange(1, len(p) + 1) + y.sum())  # of the k + 1 most probable
    f1[:-1][ranked[:-1] == below[:-1]] = -1.0  # no threshold separates equal probabilities
    last = int(f1.argmax())
    halfway = (ranked[last] + below[last]) / 2
    return float(halfway if halfway > below[last] else ranked[last])


def argument_pairs(gold: Sequence[Sentence], given: Sequence[Sentence]) -> Pairs:
    """The probability of every argument of the given predicates, and whether its role and span are gold."""
    probs, right = [], []
    for sent, labeled in zip(gold, given, strict=True):
        for prop, guess in zip(sent.props, labeled.props, strict=True):
            known = {(arg.role, arg.span) for arg in prop.args}
            for arg in guess.args:
                if arg.prob is not None:
                    probs.append(arg.prob)
                    right.append((arg.role, arg.span) in known)
    return probs, right


def sense_pairs(gold: Sequence[Sentence], given: Sequence[Sentence]) -> Pairs:
    """The probability of every given predicate's sense, and whether it is the gold one."""
    pairs = [
        (guess.sense_prob, guess.sense == prop.sense)
        for sent, labeled in zip(gold, given, strict=True)
        for prop, guess in zip(sent.props, labeled.props, strict=True)
        if guess.sense_prob is not None and prop.sense is not None
    ]
    return [prob for prob, _ in pairs], [right for _, right in pairs]


def predicate_pairs(gold: Sequence[Sentence], pipeline: Pipeline) -> Pairs:
    """The log-odds of every token to be a predicate, after the pipeline's rules, and whether it is one."""
    odds: list[float] = []
    right: list[bool] = []
    sentences = sorted((sent for sent in gold if sent.tokens), key=len)
    for k in range(0, len(sentences), _GROUP):
        group = sentences[k : k + _GROUP]
        encoding = encode_all(pipeline.model, [sent.tokens for sent in group])
        if encoding.classes is None:
            return [], []
        found = pipeline.predicate_odds(encoding, at_least=_LEAST)  # (S, T)
        for sent, row in zip(group, found, strict=True):
            known = {prop.pred for prop in sent.props}
            odds.extend(row[: len(sent)].tolist())
            right.extend(t in known for t in range(len(sent)))
    return odds, right


def _likely(odds: Sequence[float], right: Sequence[bool]) -> Pairs:
    """The tokens that might be shown: most are clearly not predicates and would dominate a curve."""
    likely = [k for k, x in enumerate(odds) if x >= _LIKELY]
    return [odds[k] for k in likely], [right[k] for k in likely]
