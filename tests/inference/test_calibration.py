"""Calibration: curves that are recovered from what they made, the error by hand, damage that is refused."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spansrl.errors import ModelError
from spansrl.inference.calibration import Calibration, Curve, Limits, calibration_error, log_odds, sigmoid

CHANCES = st.floats(0, 1)


def log_likelihood(curve: Curve, prob, right) -> float:
    """In plain arithmetic, without the rounding of chances that are shown."""
    x = curve.slope * log_odds(prob) + curve.shift
    return float(-np.logaddexp(0, np.where(right, -x, x)).sum())


@pytest.mark.parametrize(("slope", "shift"), [(1, 0), (0.5, 0.3), (2, -1), (0.2, 2), (1.5, 0.8)])
def test_a_fit_recovers_the_curve_that_made_the_data(slope, shift):
    dice = np.random.default_rng(7)
    prob = dice.uniform(0.02, 0.98, 40_000)
    right = dice.uniform(size=len(prob)) < 1 / (1 + np.exp(-slope * np.log(prob / (1 - prob)) - shift))
    curve = Curve.fit(log_odds(prob), right)
    assert curve.slope == pytest.approx(slope, abs=0.06)
    assert curve.shift == pytest.approx(shift, abs=0.06)


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(CHANCES, st.booleans()), min_size=1, max_size=30))
def test_a_fit_is_finite_and_never_less_likely_than_no_curve(pairs):
    prob, right = zip(*pairs, strict=True)
    curve = Curve.fit(log_odds(prob), right)
    assert np.isfinite([curve.slope, curve.shift]).all()
    assert log_likelihood(curve, prob, right) >= log_likelihood(Curve(), prob, right) - 1e-6


def test_calibrated_chances_are_as_often_right_as_they_say():
    dice = np.random.default_rng(3)
    truth = dice.uniform(0.05, 0.95, 20_000)
    right = dice.uniform(size=len(truth)) < truth
    bold = 2.5 * log_odds(truth)  # a model that is too confident
    assert calibration_error(sigmoid(bold), right) > 0.08
    assert calibration_error(Curve.fit(bold, right)(bold), right) < 0.015


@pytest.mark.parametrize("right", [[], [True, True], [False, False]])
def test_where_nothing_can_be_learnt_nothing_changes(right):
    assert Curve.fit([-1.0, 2.0][: len(right)], right) == Curve()


@given(CHANCES, st.floats(-1e8, 1e8), st.floats(-1e8, 1e8))
def test_any_curve_gives_a_probability_of_four_digits(prob, slope, shift):
    (shown,) = Curve(slope, shift)([log_odds(prob)])
    assert 0 <= shown <= 1
    assert round(float(shown), 4) == shown


@given(CHANCES)
def test_the_default_curve_changes_nothing_but_digits(prob):
    assert Curve()(log_odds(prob)) == pytest.approx(prob, abs=5.2e-5)


@given(st.floats(-25, 25))
def test_log_odds_of_very_sure_answers_are_kept_apart(x):
    assert log_odds(sigmoid(np.array(x))) == pytest.approx(x, abs=1e-3)


def test_confident_answers_have_different_probabilities():
    shown = Curve(slope=0.37)(np.array([12.0, 14.0, 16.0, 18.0]))
    assert len(set(shown.tolist())) == 4


def test_the_calibration_error_of_a_case_by_hand():
    # Two bins of equal mass: .1 .2 .3 (one of three right) and .6 .8 1 (two of three).
    prob = [0.8, 0.1, 0.3, 1.0, 0.2, 0.6]
    right = [True, False, True, True, False, False]
    expected = (3 * abs(0.2 - 1 / 3) + 3 * abs(0.8 - 2 / 3)) / 6
    assert calibration_error(prob, right, bins=2) == pytest.approx(expected)


def test_more_bins_than_chances_are_a_bin_each():
    assert calibration_error([0.25, 1.0], [False, True]) == pytest.approx(0.125)
    assert calibration_error([], []) == 0.0


@given(st.lists(st.tuples(CHANCES, st.booleans()), min_size=1, max_size=40), st.integers(1, 20))
def test_the_calibration_error_is_between_0_and_1_whatever_the_order(pairs, bins):
    prob, right = map(np.array, zip(*sorted(pairs), strict=True))
    error = calibration_error(prob, right, bins=bins)
    assert 0 <= error <= 1
    if len(set(prob.tolist())) == len(prob):
        assert calibration_error(prob[::-1], right[::-1], bins=bins) == pytest.approx(error)


FULL = Calibration(
    Curve(0.9, 0.1),
    Curve(1.1, -0.2),
    Curve(2, 3),
    threshold=0.4,
    limits=Limits(handicap=0.2, min_prob=0.1),
    by_type={"noun": Limits(handicap=0.4, min_prob=0.3)},
)


def test_a_calibration_survives_the_way_through_json():
    assert Calibration.from_dict(json.loads(json.dumps(FULL.to_dict()))) == FULL
    assert replace(FULL, threshold=0.0) != FULL


def test_a_calibration_of_an_older_model_shows_every_argument():
    old = {name: value for name, value in FULL.to_dict().items() if name not in ("min_prob", "by_type")}
    assert Calibration.from_dict(old) == replace(FULL, limits=Limits(handicap=0.2), by_type={})


def test_a_type_without_limits_of_its_own_has_those_of_all():
    assert FULL.limits_of("noun").min_prob == 0.3
    assert FULL.limits_of("verb").min_prob == 0.1
    assert FULL.limits_of(None).min_prob == 0.1


def changed(**changes) -> dict:
    return json.loads(json.dumps(FULL.to_dict())) | changes


DAMAGE = {
    "no object": [],
    "nothing": None,
    "a missing entry": {key: value for key, value in changed().items() if key != "senses"},
    "an unknown entry": changed(more=1),
    "a threshold that is text": changed(threshold="0.5"),
    "a threshold that is true": changed(threshold=True),
    "a threshold that is no number": changed(threshold=float("nan")),
    "a threshold above 1": changed(threshold=1.5),
    "a threshold below 0": changed(threshold=-0.1),
    "a min_prob above 1": changed(min_prob=1.5),
    "an endless handicap": changed(handicap=float("inf")),
    "limits by type that are a list": changed(by_type=[]),
    "limits of a type without a handicap": changed(by_type={"noun": {"min_prob": 0.1}}),
    "limits of a type with a min_prob below 0": changed(by_type={"noun": {"handicap": 0, "min_prob": -0.1}}),
    "a handicap of 400 digits": changed(handicap=10**400),
    "a curve that is a list": changed(senses=[1, 0]),
    "a curve without its shift": changed(senses={"slope": 1}),
    "a curve with more": changed(senses={"slope": 1, "shift": 0, "more": 0}),
    "a slope that is nothing": changed(arguments={"slope": None, "shift": 0}),
    "an endless shift": changed(predicates={"slope": 1, "shift": float("-inf")}),
}


@pytest.mark.parametrize("data", DAMAGE.values(), ids=DAMAGE.keys())
def test_damage_is_refused_in_one_line(data):
    with pytest.raises(ModelError, match=r"calibration: .* get the model again") as caught:
        Calibration.from_dict(data)
    assert "\n" not in str(caught.value)
