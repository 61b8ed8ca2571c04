"""Tuning on development data and the figures of a card, with a model made of dice and by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_model import INVENTORY, FakeModel
from spansrl.analysis.appraisal import appraise
from spansrl.analysis.tuning import (
    HANDICAPS,
    argument_pairs,
    best_handicap,
    best_threshold,
    predicate_pairs,
    sense_pairs,
    tune,
    with_handicap,
)
from spansrl.evaluation import end_to_end, score
from spansrl.inference.calibration import Calibration
from spansrl.inference.pipeline import Pipeline
from spansrl.structures import Argument, Proposition, Sentence, Span

WORDS = ("they", "called", "it", "off", "again", "when", "she", "was", "keeping", "cats", "there")
SENTENCES = [
    Sentence(WORDS[k % 5 : k % 5 + 3 + k % 6], pos=("VB",) * min(3 + k % 6, len(WORDS) - k % 5))
    for k in range(40)
]
PIPELINE = Pipeline(FakeModel(spread=2.0), inventory=INVENTORY)


def gold_from(pipeline: Pipeline) -> list[Sentence]:
    """Gold that a pipeline is right about, but for every third argument and every fourth sense."""
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
    chances, right = [chance for chance, _ in pairs], [yes for _, yes in pairs]

    def f1(threshold: float) -> float:
        found = [yes for chance, yes in pairs if chance >= threshold]
        return 2 * sum(found) / max(1, len(found) + sum(right))

    if any(right):
        assert f1(best_threshold(chances, right)) >= max(map(f1, chances)) - 1e-9


def test_the_handicap_is_the_one_with_the_best_f1_on_the_data():
    def f1(handicap: float) -> float:
        return score(GOLD, with_handicap(PIPELINE, handicap).label(GOLD, predicates="given")).overall.f1

    assert f1(best_handicap(PIPELINE, GOLD)) == max(map(f1, HANDICAPS))


def test_scores_are_computed_once_however_often_they_are_decoded():
    model = FakeModel(spread=2.0)
    tune(Pipeline(model, inventory=INVENTORY), GOLD)
    read = sum(sentences for sentences, _, _ in model.batches)
    with_predicates = sum(1 for sent in GOLD if sent.props)
    assert read == len(GOLD) + with_predicates  # once for the predicates, once for the arguments


def test_a_tuned_pipeline_says_how_often_it_is_right():
    calibration = tune(PIPELINE, GOLD)
    tuned = replace(PIPELINE, calibration=calibration, min_prob=0.0)
    chances, right = argument_pairs(GOLD, list(tuned.label(GOLD, predicates="given")))
    assert sum(chances) == pytest.approx(sum(right), rel=0.02)
    chances, right = sense_pairs(GOLD, list(tuned.label(GOLD, predicates="given")))
    assert sum(chances) == pytest.approx(sum(right), rel=0.02)


def test_min_prob_costs_little_f1():
    tuned = replace(PIPELINE, calibration=tune(PIPELINE, GOLD))

    def f1(**settings) -> float:
        return score(GOLD, tuned.label(GOLD, predicates="given", **settings)).overall.f1

    assert f1() >= f1(min_prob=0) - 0.05


def test_every_token_has_a_chance_and_is_right_where_gold_has_a_predicate():
    chances, right = predicate_pairs(GOLD, PIPELINE.model)
    assert len(chances) == len(right) == sum(map(len, GOLD))
    assert sum(right) == sum(len(sent.props) for sent in GOLD)
    assert all(chance >= 0 for chance, yes in zip(chances, right, strict=True) if yes)


def test_without_scores_of_predicates_there_is_nothing_to_fit_for_them():
    calibration = tune(Pipeline(FakeModel(finds=False), inventory=INVENTORY), GOLD)
    assert calibration.threshold == 0.5
    assert calibration.predicates == Calibration().predicates


def test_the_figures_are_those_of_the_scorer():
    figures = appraise(PIPELINE, GOLD)
    given_labels = list(PIPELINE.label(GOLD, predicates="given"))
    overall = score(GOLD, given_labels).overall
    both = end_to_end(GOLD, list(PIPELINE.label(GOLD)))
    assert figures.arguments == {
        "precision": overall.precision,
        "recall": overall.recall,
        "f1": overall.f1,
    }
    assert figures.end_to_end["f1"] == both.f1
    assert figures.found["f1"] == 100
    assert figures.predicates == sum(len(sent.props) for sent in GOLD)
    wrong = sum(len(sent.props) for sent in GOLD[::4])
    assert figures.senses == pytest.approx(100 * (1 - wrong / figures.predicates))
    assert sum(row["gold"] for row in figures.by_role.values()) == overall.correct + overall.missed


def test_a_case_by_hand():
    tokens = ("she", "kept", "cats")
    gold = [Sentence(tokens, (Proposition(1, (Argument("ARG0", Span(0, 1)),), sense="keep.01"),))]
    guess = Argument("ARG0", Span(0, 1), 0.75), Argument("ARG1", Span(2, 3), 0.25)
    given_labels = [Sentence(tokens, (Proposition(1, guess, sense="keep.02", sense_prob=0.5),))]
    assert argument_pairs(gold, given_labels) == ([0.75, 0.25], [True, False])
    assert sense_pairs(gold, given_labels) == ([0.5], [False])
