"""Fit the threshold of predicates and the calibration of probabilities on development data.

calibration = calibrate(spansrl.load("runs/text"), dev_sentences)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from spansrl.arrays import IntArray
from spansrl.decoding import Scores
from spansrl.evaluation import score
from spansrl.inference.calibration import Calibration, Curve, Exact, Limits, log_odds, sigmoid
from spansrl.inference.directory import MANIFEST, write_json, write_manifest
from spansrl.inference.loading import CALIBRATION, load
from spansrl.inference.model import Encoding, Floats, Model, Prepared, Senses, Tokens, encode_all
from spansrl.inference.pipeline import Pipeline
from spansrl.structures import Sentence

HANDICAPS = (-1.0, -0.8, -0.6, -0.4, -0.2, 0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2)
MIN_PROBS = tuple(k / 100 for k in range(51))
LEAST_OF_A_TYPE = 300  # gold arguments, or the type has no limits of its own
_F1_COST = 0.05
_LIKELY = -2.2  # log-odds of a probability of 0.1
_LEAST = -6.0  # … below which a token is never a predicate
_GROUP = 32  # sentences encoded at once

Pairs = tuple[list[float], list[bool]]  # probabilities, and whether each prediction was right
T = TypeVar("T")


def calibrate(pipeline: Pipeline, gold: Sequence[Sentence], partial: Sequence[Sentence] = ()) -> Calibration:
    """The calibration under which a pipeline's probabilities fit the gold sentences best.

    In the sentences `partial` not every predicate is labeled: they count for senses and arguments alone.
    """
    odds, right = predicate_pairs(gold, pipeline)
    gold = [*gold, *partial]
    known = pipeline.calibration
    exact = Calibration(
        arguments=Exact(),
        senses=Exact(),
        global_sense_weight=known.global_sense_weight,
        proper_noun_penalty=known.proper_noun_penalty,
    )
    plain = replace(pipeline, model=CachedModel(pipeline.model), calibration=exact, min_prob=0.0)
    found = replace(exact, **best_handicaps(plain, gold))
    given = list(replace(plain, calibration=found).label(gold, predicates="given"))
    arguments, senses = argument_pairs(gold, given), sense_pairs(gold, given)
    curves = replace(
        found,
        arguments=Curve.fit(log_odds(arguments[0]), arguments[1]),
        predicates=Curve.fit(*_likely(odds, right)),
        senses=Curve.fit(log_odds(senses[0]), senses[1]),
        threshold=best_threshold(sigmoid(np.array(odds)), right),
    )
    labeled = list(replace(plain, calibration=curves).label(gold, predicates="given"))
    return replace(
        curves,
        limits=replace(curves.limits, min_prob=best_min_prob(gold, labeled)),
        by_type={
            type: replace(own, min_prob=best_min_prob(*_of_type(gold, labeled, type)))
            for type, own in curves.by_type.items()
        },
    )


def best_handicaps(
    pipeline: Pipeline, gold: Sequence[Sentence], *, least: int = LEAST_OF_A_TYPE
) -> dict[str, Any]:
    """Limits with the best handicap of Null, for all predicates and for each type of them."""
    labeled = {
        handicap: list(with_handicap(pipeline, handicap).label(gold, predicates="given"))
        for handicap in HANDICAPS
    }
    counts = _arguments_by_type(gold, labeled[0.0])

    def best(type: str | None) -> Limits:
        return Limits(smoothed_best({h: _f1(gold, found, type) for h, found in labeled.items()}))

    return {"limits": best(None), "by_type": {type: best(type) for type, n in counts.items() if n >= least}}


def _arguments_by_type(gold: Sequence[Sentence], labeled: Sequence[Sentence]) -> dict[str, int]:
    """How many gold arguments the predicates have that are labeled as of each type."""
    counts: Counter[str] = Counter()
    for sent, given in zip(gold, labeled, strict=True):
        for prop, guess in zip(sent.props, given.props, strict=True):
            if guess.type is not None:
                counts[guess.type] += len(prop.args)
    return dict(sorted(counts.items()))


def _f1(gold: Sequence[Sentence], labeled: Sequence[Sentence], type: str | None) -> float:
    """F1 of the arguments of predicates of this type, or of all."""
    return score(*((gold, labeled) if type is None else _of_type(gold, labeled, type))).overall.f1


def smoothed_best(f1: Mapping[float, float]) -> float:
    """The handicap with the best mean of its own F1 and its neighbors', the smallest one if several have it.

    A single peak is often luck: a type may have a thousand arguments in development data.
    """
    values = [f1[handicap] for handicap in HANDICAPS]
    padded = [values[0], *values, values[-1]]
    smooth = dict(zip(HANDICAPS, (sum(padded[k : k + 3]) / 3 for k in range(len(values))), strict=True))
    return max(HANDICAPS, key=lambda handicap: (round(smooth[handicap], 6), -abs(handicap)))


def best_min_prob(gold: Sequence[Sentence], labeled: Sequence[Sentence]) -> float:
    """The greatest `min_prob` whose F1 of arguments is at most 0.05 below the best."""
    f1 = {p: score(gold, [_shown(sent, p) for sent in labeled]).overall.f1 for p in MIN_PROBS}
    return max(p for p in MIN_PROBS if f1[p] >= max(f1.values()) - _F1_COST)


def _of_type(
    gold: Sequence[Sentence], labeled: Sequence[Sentence], type: str
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


def recalibrate(directory: Path, gold: Sequence[Sentence], partial: Sequence[Sentence] = ()) -> Calibration:
    """Fit the calibration of an exported model again and store it in its directory."""
    calibration = calibrate(load(directory), gold, partial)
    write_json(directory / CALIBRATION, calibration.to_dict())
    if (directory / MANIFEST).exists():
        write_manifest(directory)
    return calibration


class CachedModel:
    """A model that keeps its scores, so that they can be decoded again."""

    def __init__(self, model: Model) -> None:
        self.roles = model.roles
        self.roles_of = model.roles_of
        self.finds_predicates = model.finds_predicates
        self._model = model
        self._known: dict[tuple[Any, ...], Any] = {}

    def prepare(self, sentences: Sequence[Tokens]) -> Prepared:
        return self._once(tuple(map(tuple, sentences)), self._model.prepare, sentences)

    def encode(self, prepared: Prepared, rows: IntArray) -> Encoding:
        return self._once((id(prepared), rows.tobytes()), self._model.encode, prepared, rows)

    def score_senses(self, encoding: Encoding, sentence: IntArray, pred: IntArray) -> Floats | None:
        key = id(encoding), sentence.tobytes(), pred.tobytes()
        return self._once(key, self._model.score_senses, encoding, sentence, pred)

    def score_arguments(
        self, encoding: Encoding, sentence: IntArray, pred: IntArray, senses: Senses
    ) -> Scores:
        key = id(encoding), sentence.tobytes(), pred.tobytes(), tuple(senses)
        return self._once(key, self._model.score_arguments, encoding, sentence, pred, senses)

    def _once(self, key: tuple[Any, ...], compute: Callable[..., T], *inputs: Any) -> T:
        if key not in self._known:
            self._known[key] = compute(*inputs)
        found: T = self._known[key]
        return found


def with_handicap(pipeline: Pipeline, handicap: float) -> Pipeline:
    """The pipeline with one handicap of Null for all types of predicates."""
    limits = replace(pipeline.calibration.limits, handicap=handicap)
    return replace(pipeline, calibration=replace(pipeline.calibration, limits=limits, by_type={}))


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
