"""Marginals of segments against enumeration of all tag sequences."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from builders import role_table
from spansrl.decoding import TagScores
from spansrl.decoding.tag_marginals import segment_marginals
from spansrl.tags import phrases_from_bio

ROLES = ("A0", "AM-TMP")
TABLE = role_table(ROLES)
TAGS = ("O", "B-A0", "I-A0", "B-AM-TMP", "I-AM-TMP")


def random_scores(seed: int, *, bio: bool = False) -> TagScores:
    rng = np.random.default_rng(seed)
    N, T, K = 2, 5, len(TAGS)
    transitions, first = rng.normal(size=(K, K)), rng.normal(size=K)
    if bio:
        stray = np.array([[tag[:2] == "I-" and other[2:] != tag[2:] for tag in TAGS] for other in TAGS])
        transitions[stray] = first[2::2] = -np.inf
    lengths = rng.integers(1, T + 1, size=N)
    emissions = rng.normal(size=(N, T, K)) * 2
    emissions[np.arange(T) >= lengths[:, None]] = rng.choice([np.inf, -np.inf, 99.0])
    return TagScores(emissions, transitions, first, lengths, np.array([rng.integers(n) for n in lengths]))


def enumerate_marginals(scores: TagScores, n: int) -> dict[tuple[str, int, int], float]:
    """Probability of each segment (role, start, end), from every tag sequence with the predicate as O."""
    length, pred = int(scores.lengths[n]), int(scores.pred[n])
    mass: dict[tuple[str, int, int], float] = {}
    total = 0.0
    for path in oracles.all_paths(length, len(TAGS)):
        if path[pred]:
            continue
        weight = np.exp(
            oracles.path_score(path, scores.emissions[n, :length], scores.transitions, scores.first)
        )
        total += weight
        for phrase in phrases_from_bio([TAGS[tag] for tag in path]):
            mass[tuple(phrase)] = mass.get(tuple(phrase), 0.0) + weight
    return {segment: weight / total for segment, weight in mass.items()}


@given(st.integers(0, 2**32), st.booleans())
@settings(max_examples=40, deadline=None)
def test_marginals_are_the_mass_of_all_sequences_with_the_segment(seed, bio):
    scores = random_scores(seed, bio=bio)
    found = segment_marginals(scores.emissions, scores.transitions, scores.first, scores.lengths, scores.pred)
    for n in range(2):
        for (role, start, end), prob in enumerate_marginals(scores, n).items():
            cell = (np.array([x]) for x in (n, ROLES.index(role), start, end - 1))
            assert np.exp(found.log_prob(*cell)[0]) == pytest.approx(prob, rel=1e-9, abs=1e-300)


@given(st.integers(0, 2**32), st.booleans())
@settings(max_examples=40, deadline=None)
def test_decoding_by_marginals_takes_the_segments_that_are_more_probable_than_not(seed, bio):
    scores = random_scores(seed, bio=bio)
    for n, args in enumerate(scores.decode(TABLE, decoder="marginals")):
        likely = {segment: p for segment, p in enumerate_marginals(scores, n).items() if p > 0.5}
        twice = [segment for segment in likely if segment[0] == "A0"][1:]
        found = {(arg.role, arg.start, arg.end): arg.prob for arg in args}
        assert found.keys() <= likely.keys()
        assert len(found) == len(likely) - len(twice)
        assert all(prob == pytest.approx(likely[segment]) for segment, prob in found.items())


@given(st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_a_handicap_lowers_the_threshold_and_keeps_answers_legal(seed):
    scores = random_scores(seed).with_handicap(np.full(2, 3.0))
    least = 1 / (1 + np.exp(3.0))
    for n, args in enumerate(scores.decode(TABLE, decoder="marginals")):
        likely = {segment for segment, p in enumerate_marginals(scores, n).items() if p > least}
        assert {(arg.role, arg.start, arg.end) for arg in args} <= likely
        assert all(a.end <= b.start for a, b in pairwise(args))
        assert sum(arg.role == "A0" for arg in args) <= 1


@given(st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_arguments_of_the_best_sequence_have_their_marginals(seed):
    scores = random_scores(seed)
    for n, args in enumerate(scores.decode(TABLE)):
        marginals = enumerate_marginals(scores, n)
        assert all(arg.prob == pytest.approx(marginals[arg.role, arg.start, arg.end]) for arg in args)


def test_a_role_that_is_ruled_out_is_not_found():
    scores = random_scores(3).without_roles(np.array([[True, False], [True, False]]))
    for args in scores.with_handicap(np.full(2, 9.0)).decode(TABLE, decoder="marginals"):
        assert {arg.role for arg in args} == {"AM-TMP"}
