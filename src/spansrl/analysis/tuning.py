"""What a text model learns from development data: when to call a token a predicate, and calibrated chances.

calibration = tune(spansrl.load("runs/text", frames=False), dev_sentences)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from spansrl.arrays import IntArray
from spansrl.evaluation import score
from spansrl.inference.calibration import Calibration, Curve
from spansrl.inference.model import Encoding, Model, PredicateScores, Prepared, Tokens, encode_all
from spansrl.inference.pipeline import Pipeline, predicate_probs
from spansrl.structures import Argument, Sentence

HANDICAPS = (-1.0, -0.8, -0.6, -0.4, -0.2, 0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2)
_LIKELY = 0.1
_GROUP = 32  # sentences encoded at once

Pairs = tuple[list[float], list[bool]]  # chances, and whether what they were of was right


def tune(pipeline: Pipeline, gold: Sequence[Sentence]) -> Calibration:
    """The calibration under which a pipeline's chances fit the gold sentences best."""
    chances, right = predicate_pairs(gold, pipeline.model)
    plain = replace(pipeline, model=Remembering(pipeline.model), calibration=Calibration())
    handicap = best_handicap(plain, gold)
    given = list(with_handicap(plain, handicap).label(gold, predicates="given"))
    # Most tokens are plainly no predicates; the curve is for those that might be shown.
    likely = [k for k, chance in enumerate(chances) if chance >= _LIKELY]
    return Calibration(
        arguments=Curve.fit(*argument_pairs(gold, given)),
        predicates=Curve.fit([chances[k] for k in likely], [right[k] for k in likely]),
        senses=Curve.fit(*sense_pairs(gold, given)),
        threshold=best_threshold(chances, right),
        handicap=handicap,
    )


class Remembering:
    """A model that remembers its scores, for decoding the same scores again."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.roles = model.roles
        self.finds_predicates = model.finds_predicates
        self._prepared: dict[tuple[Tokens, ...], Prepared] = {}
        self._encodings: dict[tuple[int, bytes], Encoding] = {}
        self._scores: dict[tuple[int, bytes, bytes], PredicateScores] = {}

    def prepare(self, sentences: Sequence[Tokens]) -> Prepared:
        """Tokenize sentences for the encoder."""
        key = tuple(map(tuple, sentences))
        if key not in self._prepared:
            self._prepared[key] = self.model.prepare(sentences)
        return self._prepared[key]

    def encode(self, prepared: Prepared, rows: IntArray) -> Encoding:
        """Run the encoder on a batch, once."""
        key = id(prepared), rows.tobytes()
        if key not in self._encodings:
            self._encodings[key] = self.model.encode(prepared, rows)
        return self._encodings[key]

    def score(self, encoding: Encoding, sentence: IntArray, pred: IntArray) -> PredicateScores:
        """Score predicates, once."""
        key = id(encoding), sentence.tobytes(), pred.tobytes()
        if key not in self._scores:
            self._scores[key] = self.model.score(encoding, sentence, pred)
        return self._scores[key]


def best_handicap(pipeline: Pipeline, gold: Sequence[Sentence]) -> float:
    """The handicap of Null with the best F1 of arguments; the smallest of those that share it."""
    scores = {
        handicap: score(gold, with_handicap(pipeline, handicap).label(gold, predicates="given")).overall.f1
        for handicap in HANDICAPS
    }
    return max(HANDICAPS, key=lambda handicap: (scores[handicap], -abs(handicap)))


def with_handicap(pipeline: Pipeline, handicap: float) -> Pipeline:
    """The same pipeline with another handicap of Null."""
    return replace(pipeline, calibration=replace(pipeline.calibration, handicap=handicap))


def best_threshold(chances: npt.ArrayLike, right: npt.ArrayLike) -> float:
    """The threshold with the best F1, halfway to the next lower chance."""
    p, y = np.asarray(chances, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if not len(p) or not y.any():
        return 0.5
    order = np.argsort(-p, kind="stable")
    surest, below = p[order], np.append(p[order][1:], 0.0)
    f1 = 2 * np.cumsum(y[order]) / (np.arange(1, len(p) + 1) + y.sum())  # of the k + 1 surest
    f1[:-1][surest[:-1] == below[:-1]] = -1.0  # equal chances cannot be told apart
    last = int(f1.argmax())
    halfway = (surest[last] + below[last]) / 2
    return float(halfway if halfway > below[last] else surest[last])


def argument_pairs(gold: Sequence[Sentence], given: Sequence[Sentence]) -> Pairs:
    """The chance of every argument of the given predicates, and whether its role and span are gold."""
    chances, right = [], []
    for sent, labelled in zip(gold, given, strict=True):
        for prop, guess in zip(sent.props, labelled.props, strict=True):
            known = {(arg.role, arg.span) for arg in prop.args}
            for arg in _sure(guess.args):
                chances.append(arg.prob or 0.0)
                right.append((arg.role, arg.span) in known)
    return chances, right


def sense_pairs(gold: Sequence[Sentence], given: Sequence[Sentence]) -> Pairs:
    """The chance of every given predicate's sense, and whether it is the gold one."""
    pairs = [
        (guess.sense_prob, guess.sense == prop.sense)
        for sent, labelled in zip(gold, given, strict=True)
        for prop, guess in zip(sent.props, labelled.props, strict=True)
        if guess.sense_prob is not None and prop.sense is not None
    ]
    return [chance for chance, _ in pairs], [right for _, right in pairs]


def predicate_pairs(gold: Sequence[Sentence], model: Model) -> Pairs:
    """The chance of every token to be a predicate, and whether it is one."""
    chances: list[float] = []
    right: list[bool] = []
    sentences = sorted((sent for sent in gold if sent.tokens), key=len)
    for k in range(0, len(sentences), _GROUP):
        group = sentences[k : k + _GROUP]
        encoding = encode_all(model, [sent.tokens for sent in group])
        if encoding.classes is None:
            return [], []
        probs = predicate_probs(encoding.classes)  # (S, T)
        for sent, row in zip(group, probs, strict=True):
            known = {prop.pred for prop in sent.props}
            chances.extend(row[: len(sent)].tolist())
            right.extend(t in known for t in range(len(sent)))
    return chances, right


def _sure(args: Sequence[Argument]) -> list[Argument]:
    return [arg for arg in args if arg.prob is not None]
