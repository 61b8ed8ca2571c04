"""Tuning on development data, with a random model and by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_model import INVENTORY, FakeModel
from spansrl.evaluation import score
from spansrl.evaluation.calibrate import (
    HANDICAPS,
    argument_pairs,
    best_handicaps,
    best_min_prob,
    best_threshold,
    calibrate,
    predicate_pairs,
    sense_pairs,
    smoothed_best,
    with_handicap,
)
from spansrl.inference.calibration import Calibration
from spansrl.inference.pipeline import Pipeline
from spansrl.structures import Argument, Proposition, Sentence, Span

WORDS = ("they", "called", "it", "off", "again", "when", "she", "was", "keeping", "cats", "there")
SENTENCES = [
    Sentence(WORDS[k % 5 : k % 5 + 3 + k % 6], pos=("VB",) * min(3 + k % 6, len(WORDS) - k % 5))
    for k in range(40)
]
PIPELINE = Pipeline(FakeModel(spread=2.0), senses=INVENTORY)


def gold_from(pipeline: Pipeline) -> list[Sentence]:
    """The predictions of a pipeline without every third argument and with every fourth sense changed."""
    out = []
    for n, sent in enumerate(pipeline.label(SENTENCES)):
        props = [
            Proposition(
                prop.pred,
                tuple(arg for k, arg in enumerate(prop.args) if (n + k) % 3),
                lemma=prop.lemma,
                sense="other.09" if n % 4 == 0 else prop.sense,
            )
            for prop in sent.props
        ]
        out.append(replace(sent, props=tuple(props)))
    return out


GOLD = gold_from(PIPELINE)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=12))
def test_no_threshold_has_a_better_f1_than_the_best(pairs):
    probs, right = [prob for prob, _ in pairs], [yes for _, yes in pairs]

    def f1(threshold: float) -> float:
        found = [yes for prob, yes in pairs if prob >= threshold]
        return 2 * sum(found) / max(1, len(found) + sum(right))

    if any(right):
        assert f1(best_threshold(probs, right)) >= max(map(f1, probs)) - 1e-9


def test_the_handicap_is_the_one_with_the_best_f1_among_its_neighbors():
    flat = dict.fromkeys(HANDICAPS, 70.0)
    assert smoothed_best(flat) == 0.0
    assert smoothed_best(flat | {0.4: 71.0, 0.6: 71.2, 0.8: 71.0}) == 0.6
    assert smoothed_best(flat | {-0.8: 71.5, 0.4: 71.0, 0.6: 71.0, 0.8: 71.0}) == 0.6  # a single peak is luck
    assert smoothed_best(flat | {HANDICAPS[-1]: 72.0}) == HANDICAPS[-1]


def test_every_type_with_arguments_has_the_handicap_that_suits_it():
    assert best_handicaps(PIPELINE, GOLD)["by_type"] == {}  # too few arguments to choose by
    found = best_handicaps(PIPELINE, GOLD, least=1)

    def f1(handicap: float, type: str | None) -> float:
        labeled = list(with_handicap(PIPELINE, handicap).label(GOLD, predicates="given"))
        return score(*(with_type(GOLD, labeled, type) if type else (GOLD, labeled))).overall.f1

    assert len(found["by_type"]) > 1
    for type, limits in {None: found["limits"], **found["by_type"]}.items():
        assert limits.handicap == smoothed_best({handicap: f1(handicap, type) for handicap in HANDICAPS})


def test_scores_are_computed_once_however_often_they_are_decoded():
    model = FakeModel(spread=2.0)
    calibrate(Pipeline(model, senses=INVENTORY), GOLD)
    read = sum(sentences for sentences, _, _ in model.batches)
    with_predicates = sum(1 for sent in GOLD if sent.props)
    assert read == len(GOLD) + with_predicates  # once for the predicates, once for the arguments


def test_probabilities_of_a_tuned_pipeline_match_its_accuracy():
    calibration = calibrate(PIPELINE, GOLD)
    tuned = replace(PIPELINE, calibration=calibration, min_prob=0.0)
    probs, right = argument_pairs(GOLD, list(tuned.label(GOLD, predicates="given")))
    assert sum(probs) == pytest.approx(sum(right), rel=0.02)
    probs, right = sense_pairs(GOLD, list(tuned.label(GOLD, predicates="given")))
    assert sum(probs) == pytest.approx(sum(right), rel=0.02)


def test_min_prob_costs_little_f1_of_any_type_of_predicate():
    tuned = replace(PIPELINE, calibration=calibrate(PIPELINE, GOLD))
    types = {prop.type for sent in tuned.label(GOLD, predicates="given") for prop in sent.props}
    assert len(types) > 1

    def f1(type: str | None, **settings) -> float:
        labeled = list(tuned.label(GOLD, predicates="given", **settings))
        return score(*with_type(GOLD, labeled, type)).overall.f1

    for type in types:
        assert f1(type) >= max(f1(type, min_prob=p) for p in (0, 0.1, 0.2, 0.3, 0.4)) - 0.05


def test_min_prob_is_the_greatest_one_that_is_nearly_the_best():
    probs, right = [0.9, 0.8, 0.35, 0.3, 0.2], [True, True, False, False, True]
    args = [Argument("ARG1", Span(k, k + 1), prob) for k, prob in enumerate(probs)]
    known = tuple(arg for arg, yes in zip(args, right, strict=True) if yes)
    gold, labeled = (Sentence(WORDS, props=(Proposition(8, part),)) for part in (known, tuple(args)))
    # F1 is 6 / 8 with all arguments, 4 / 7 and 4 / 6 without the last one or two, and 4 / 5 with two of them.
    assert best_min_prob([gold], [labeled]) == 0.5
    assert best_min_prob([gold], [Sentence(WORDS, props=(Proposition(8, known),))]) == 0.2


def with_type(
    gold: list[Sentence], labeled: list[Sentence], type: str | None
) -> tuple[list[Sentence], list[Sentence]]:
    known, given = [], []
    for sent, found in zip(gold, labeled, strict=True):
        keep = [k for k, prop in enumerate(found.props) if prop.type == type]
        known.append(replace(sent, props=tuple(sent.props[k] for k in keep)))
        given.append(replace(found, props=tuple(found.props[k] for k in keep)))
    return known, given


def test_predicate_pairs_has_log_odds_of_every_token_and_whether_it_is_a_gold_predicate():
    probs, right = predicate_pairs(GOLD, PIPELINE)
    assert len(probs) == len(right) == sum(map(len, GOLD))
    assert sum(right) == sum(len(sent.props) for sent in GOLD)
    assert all(prob >= 0 for prob, yes in zip(probs, right, strict=True) if yes)


def test_a_model_that_does_not_find_predicates_keeps_the_default_threshold_and_curve():
    calibration = calibrate(Pipeline(FakeModel(finds=False), senses=INVENTORY), GOLD)
    assert calibration.threshold == 0.5
    assert calibration.predicates == Calibration().predicates


def test_pairs_of_arguments_and_senses_counted_by_hand():
    tokens = ("she", "kept", "cats")
    gold = [Sentence(tokens, (Proposition(1, (Argument("ARG0", Span(0, 1)),), sense="keep.01"),))]
    guess = Argument("ARG0", Span(0, 1), 0.75), Argument("ARG1", Span(2, 3), 0.25)
    given_labels = [Sentence(tokens, (Proposition(1, guess, sense="keep.02", sense_prob=0.5),))]
    assert argument_pairs(gold, given_labels) == ([0.75, 0.25], [True, False])
    assert sense_pairs(gold, given_labels) == ([0.5], [False])
