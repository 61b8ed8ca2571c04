from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from builders import role_table
from spansrl.decoding import TagScores, arguments_from_tags, bio_transitions, viterbi
from spansrl.errors import DataError


@st.composite
def chains(draw) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    N, T, K = draw(st.integers(1, 3)), draw(st.integers(1, 5)), draw(st.integers(1, 4))
    chain = {
        "emissions": rng.normal(size=(N, T, K)),
        "transitions": rng.normal(size=(K, K)) * 2,
        "start_scores": rng.normal(size=K),
        "lengths": rng.integers(1, T + 1, size=N),
    }
    if draw(st.booleans()):
        forbidden = rng.random((K, K)) < 0.3
        forbidden[:, 0] = False  # some path stays open
        chain["transitions"][forbidden] = -np.inf
    chain["emissions"][np.arange(T) >= chain["lengths"][:, None]] = draw(
        st.sampled_from([99.0, np.inf, -np.inf])
    )
    return chain


@given(chains())
@settings(max_examples=100, deadline=None)
def test_viterbi_finds_the_best_of_all_paths(chain):
    found = viterbi(**chain)
    lengths, emissions = chain.pop("lengths"), chain.pop("emissions")
    for n, T in enumerate(lengths):
        paths = oracles.all_paths(T, emissions.shape[2])
        scored = {path: oracles.path_score(path, emissions[n, :T], **chain) for path in paths}
        best = max(scored, key=scored.__getitem__)
        assert tuple(found[n, :T]) == best
        assert (found[n, T:] == -1).all()


@given(chains())
@settings(max_examples=50, deadline=None)
def test_viterbi_gives_the_same_alone_and_batched(chain):
    batched = viterbi(**chain)
    for n, T in enumerate(chain["lengths"]):
        one = {"emissions": chain["emissions"][n : n + 1, :T], "lengths": chain["lengths"][n : n + 1]}
        single = viterbi(**chain | one)
        assert single[0].tolist() == batched[n, :T].tolist()


def test_viterbi_of_equal_paths_takes_the_smallest_tags():
    found = viterbi(np.zeros((1, 3, 4)), np.zeros((4, 4)), np.zeros(4), lengths=np.array([3]))
    assert found.tolist() == [[0, 0, 0]]


def test_viterbi_refuses_transitions_of_other_tags():
    with pytest.raises(DataError, match="3 tags need transitions"):
        viterbi(np.zeros((1, 2, 3)), np.zeros((2, 2)), np.zeros(3), lengths=np.array([2]))


# BIO tags

TAGS = ("O", "B-A0", "I-A0", "B-C-A0", "I-C-A0")


def test_bio_lets_an_inside_tag_follow_its_own_role_only():
    allowed, first = bio_transitions(TAGS)
    forbidden = {(TAGS[a], TAGS[b]) for a, b in zip(*np.nonzero(~allowed), strict=True)}
    assert forbidden == {
        ("O", "I-A0"),
        ("B-C-A0", "I-A0"),
        ("I-C-A0", "I-A0"),
        ("O", "I-C-A0"),
        ("B-A0", "I-C-A0"),
        ("I-A0", "I-C-A0"),
    }
    assert first.tolist() == [True, True, False, True, False]


@given(st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_viterbi_under_bio_constraints_has_no_stray_inside_tag(seed):
    allowed, first = bio_transitions(TAGS)
    emissions = np.random.default_rng(seed).normal(size=(3, 6, len(TAGS)))
    barred = np.where(allowed, 0, -np.inf), np.where(first, 0, -np.inf)
    found = viterbi(emissions, *barred, lengths=np.array([6, 6, 6]))
    assert first[found[:, 0]].all()
    assert allowed[found[:, :-1], found[:, 1:]].all()


def tagged(*sequences: str, pred: list[int]) -> list[list[tuple[str, tuple[int, int]]]]:
    """Arguments of space-separated tag sequences, padded to one length."""
    rows = [[TAGS.index(tag) for tag in sequence.split()] for sequence in sequences]
    lengths = np.array([len(row) for row in rows])
    ids = np.array([row + [-1] * (lengths.max() - len(row)) for row in rows])
    found = arguments_from_tags(ids, TAGS, lengths=lengths, pred=np.array(pred))
    return [[(arg.role, tuple(arg.span)) for arg in args] for args in found]


def test_tags_become_arguments_up_to_each_length():
    assert tagged("B-A0 I-A0 O B-A0 B-C-A0", "O B-A0", pred=[2, 0]) == [
        [("A0", (0, 2)), ("A0", (3, 4)), ("C-A0", (4, 5))],
        [("A0", (1, 2))],
    ]


def test_a_stray_inside_tag_begins_an_argument():
    assert tagged("I-A0 I-A0 I-C-A0 O I-A0", pred=[3]) == [[("A0", (0, 2)), ("C-A0", (2, 3)), ("A0", (4, 5))]]


def test_a_tagged_span_that_covers_its_predicate_is_left_out():
    assert tagged("B-A0 I-A0 I-A0 B-A0", pred=[1]) == [[("A0", (3, 4))]]


@given(st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_the_best_tags_with_the_predicate_outside_make_the_arguments(seed):
    rng = np.random.default_rng(seed)
    roles, lengths, pred = ("A0", "C-A0"), np.array([4, 2]), np.array([1, 0])
    emissions, transitions = rng.normal(size=(2, 4, 5)), rng.normal(size=(5, 5))
    first = rng.normal(size=5)
    found = TagScores(emissions, transitions, first, lengths, pred).decode(role_table(roles))
    for n, (T, p) in enumerate(zip(lengths, pred, strict=True)):
        paths = [path for path in oracles.all_paths(T, 5) if path[p] == 0]
        best = max(
            paths,
            key=lambda path: oracles.path_score(path, emissions[n], transitions, first),
        )
        expected = tagged(" ".join(TAGS[tag] for tag in best), pred=[p])[0]
        assert [(arg.role, tuple(arg.span)) for arg in found[n]] == expected
