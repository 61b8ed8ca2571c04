"""Calibrated probabilities: how often a model as confident as this was right on held-out data.

A `Curve` is Platt scaling of log-odds, fit by maximum likelihood. Log-odds are computed from the model's
scores in double precision, so very confident answers still differ. How good probabilities are is measured
by their expected calibration error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from spansrl.errors import ModelError

Floats = npt.NDArray[np.float64]

# For models that state no others; chosen on EWT's development set by likelihood.
GLOBAL_SENSE_WEIGHT = 0.1
PROPER_NOUN_PENALTY = 1.8

_EDGE = 1e-12  # probabilities are kept this far from 0 and 1
_LARGEST = 1e9  # no fit comes near it
_SMALLEST_STEP = 1e-9


@dataclass(frozen=True, slots=True)
class Curve:
    """Platt scaling of log-odds: x -> σ(slope · x + shift); the default changes nothing."""

    slope: float = 1.0
    shift: float = 0.0

    def __call__(self, x: npt.ArrayLike) -> Floats:
        """Calibrated probabilities, rounded to four digits: batching changes none but the last of them."""
        return np.round(sigmoid(self.slope * np.asarray(x, dtype=np.float64) + self.shift), 4)

    @classmethod
    def fit(cls, x: npt.ArrayLike, right: npt.ArrayLike) -> Curve:
        """The curve of greatest likelihood for log-odds and outcomes: Newton's method on two parameters.

        A step that lowers the likelihood is halved until it does not; otherwise the log-odds of a model that
        is far too confident would send the parameters to infinity.
        """
        x, y = np.asarray(x, dtype=np.float64), np.asarray(right, dtype=np.float64)
        if not len(x) or y.min() == y.max():
            return cls()
        design = np.stack([x, np.ones_like(x)], axis=1)  # (K, 2)
        theta = np.array([1.0, 0.0])
        for _ in range(50):
            expected = sigmoid(design @ theta)
            gradient = design.T @ (y - expected)
            curvature = (design * (expected * (1 - expected))[:, None]).T @ design + 1e-9 * np.eye(2)
            step = np.linalg.solve(curvature, gradient)
            likely = _log_likelihood(design @ theta, y)
            while (
                np.abs(step).max() > _SMALLEST_STEP and _log_likelihood(design @ (theta + step), y) < likely
            ):
                step /= 2
            if np.abs(step).max() <= _SMALLEST_STEP:
                break
            theta += step
        return cls(float(theta[0]), float(theta[1]))


class Exact(Curve):
    """No calibration and no rounding, for what is to be calibrated."""

    def __call__(self, x: npt.ArrayLike) -> Floats:
        return sigmoid(np.asarray(x, dtype=np.float64))


@dataclass(frozen=True, slots=True)
class Limits:
    """Which arguments are found and which of them are shown."""

    handicap: float = 0.0  # subtracted from Null's score: above 0, less likely arguments are found too
    min_prob: float = 0.0  # arguments that are less probable are not shown, unless requested

    @classmethod
    def from_dict(cls, data: Any) -> Limits:
        found = cls(**_numbers(data, {"handicap", "min_prob"}))
        if not 0 <= found.min_prob <= 1:
            raise ValueError("'min_prob' must be a probability")
        return found


@dataclass(frozen=True, slots=True)
class Calibration:
    """The curves of a model, and what decides which predicates and arguments are shown.

    The best F1 is reached with a threshold of about half that F1 (Lipton et al. 2014), and some types of
    predicates have arguments that are harder to find. So each type may have limits of its own.
    """

    arguments: Curve = field(default_factory=Curve)
    predicates: Curve = field(default_factory=Curve)
    senses: Curve = field(default_factory=Curve)
    threshold: float = 0.5  # of the model's own probability that a token is a predicate
    limits: Limits = field(default_factory=Limits)
    by_type: Mapping[str, Limits] = field(default_factory=dict)  # of predicates, instead of `limits`
    global_sense_weight: float = GLOBAL_SENSE_WEIGHT  # of a sense's log-odds among all senses
    proper_noun_penalty: float = PROPER_NOUN_PENALTY  # off the log-odds of nouns that may be names

    def limits_of(self, type: str | None) -> Limits:
        """The limits of the arguments of predicates of this type."""
        return self.limits if type is None else self.by_type.get(type, self.limits)

    def to_dict(self) -> dict[str, Any]:
        data = asdict(self)
        limits: dict[str, float] = data.pop("limits")
        return {**data, **limits}  # beside the threshold, as in models without limits by type

    @classmethod
    def from_dict(cls, data: Any) -> Calibration:
        """Read what `to_dict` wrote; raises ModelError for anything else."""
        try:
            weights = {"global_sense_weight": GLOBAL_SENSE_WEIGHT, "proper_noun_penalty": PROPER_NOUN_PENALTY}
            values = {"min_prob": 0.0, "by_type": {}, **weights, **data}  # which older models do not have
            arguments, predicates, senses = (
                Curve(**_numbers(values.pop(name), {"slope", "shift"}))
                for name in ("arguments", "predicates", "senses")
            )
            by_type = {type: Limits.from_dict(own) for type, own in values.pop("by_type").items()}
            threshold = _numbers({"threshold": values.pop("threshold")}, {"threshold"})["threshold"]
            weights = _numbers({name: values.pop(name) for name in weights}, set(weights))
            found = cls(
                arguments, predicates, senses, threshold, Limits.from_dict(values), by_type, **weights
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ModelError(f"calibration: damaged ({error}); get the model again") from error
        if not 0 <= found.threshold <= 1:
            raise ModelError("calibration: the threshold is not a probability; get the model again")
        return found


def _numbers(data: Any, names: set[str]) -> dict[str, float]:
    """The entries of an object, which must have exactly these names and be finite numbers."""
    if data.keys() != names:
        raise ValueError(f"expected an object with {', '.join(sorted(names))}")
    for name, value in data.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < _LARGEST:
            raise ValueError(f"'{name}' must be a number")
    return {name: float(value) for name, value in data.items()}


def calibration_error(prob: npt.ArrayLike, right: npt.ArrayLike, *, bins: int = 15) -> float:
    """Expected calibration error with bins of equal mass: the mean of |how sure − how often right|."""
    p, y = np.asarray(prob, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if not len(p):
        return 0.0
    order = np.argsort(p, kind="stable")
    parts = [part for part in np.array_split(order, bins) if len(part)]
    return float(sum(len(part) * abs(p[part].mean() - y[part].mean()) for part in parts) / len(p))


def log_odds(prob: npt.ArrayLike) -> Floats:
    """log p / (1 − p), finite for 0 and 1 too."""
    p = np.clip(np.asarray(prob, dtype=np.float64), _EDGE, 1 - _EDGE)
    return np.log(p) - np.log1p(-p)


def sigmoid(x: Floats) -> Floats:
    """The probability of log-odds."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * x)))


def _log_likelihood(x: Floats, right: Floats) -> float:
    return float(-np.logaddexp(0, np.where(right > 0, -x, x)).sum())
