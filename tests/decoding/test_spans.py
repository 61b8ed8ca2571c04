from __future__ import annotations

import math
import tracemalloc
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from builders import role_table
from spansrl.decoding import SpanScores, log_partition
from spansrl.errors import ConfigError, DataError
from spansrl.inventory import PROPBANK
from spansrl.structures import Argument, Span

ROLES = ("A0", "A1", "AM-TMP", "R-A0")
TABLE = role_table(ROLES)
CORE = [PROPBANK.role(role).is_core for role in ROLES]
DECODERS = ("argmax", "greedy", "exact")


def make_scores(start, end, pred, lengths=None) -> SpanScores:
    """Scores of a batch, with log Z worked out."""
    start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    lengths = np.full(len(start), start.shape[1]) if lengths is None else np.asarray(lengths)
    log_z = log_partition(start, end, lengths)
    return SpanScores(start, end, lengths, np.asarray(pred), log_z=log_z)


def alone(scores: SpanScores, n: int) -> SpanScores:
    """One proposition of a batch, without its padding."""
    T = scores.lengths[n]
    one = slice(n, n + 1)
    ends = scores.start[one, :T], scores.end[one, :T]
    return SpanScores(*ends, scores.lengths[one], scores.pred[one], log_z=scores.log_z[one])


def labeled(args: tuple[Argument, ...], roles=ROLES) -> set[oracles.Labeled]:
    return {oracles.Labeled(arg.start, arg.end - 1, roles.index(arg.role)) for arg in args}


@st.composite
def batches(draw, max_tokens: int = 6, levels: int | None = None) -> SpanScores:
    """Random scores with random padding; with `levels`, multiples of 1 or 0.1, so that ties abound.

    Tenths have no exact binary form: what is level on paper is so only up to rounding, or just so.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    N, T, R = draw(st.integers(1, 4)), draw(st.integers(1, max_tokens)), len(ROLES)
    lengths = rng.integers(1, T + 1, size=N)
    pred = rng.integers(lengths)
    if levels:
        start, end = rng.integers(levels, size=(2, N, T, R)) * draw(st.sampled_from([1.0, 0.1]))
    else:
        start, end = rng.normal(size=(2, N, T, R)) * draw(st.sampled_from([0.1, 1.0, 30.0]))
    null_bonus = draw(st.sampled_from([-1.0, 0.0, 1.0, 2.0]))  # how rare candidates are
    start[np.arange(N), pred] += null_bonus
    scores = make_scores(start, end, pred, lengths)
    padding = np.arange(T) >= lengths[:, None]
    start[padding], end[padding] = draw(st.sampled_from([(0, 0), (99, 99), (-np.inf, 9), (np.inf, -np.inf)]))
    return scores


any_batch = st.one_of(batches(), batches(levels=2), batches(levels=4))


def sum_of_odds(start: np.ndarray, end: np.ndarray, pred: int, spans) -> float:
    return math.fsum(start[i, r] + end[j, r] - start[pred, r] - end[pred, r] for i, j, r in spans)


# What the decoders find, against brute force


@given(any_batch, st.sampled_from(["prob", "raw"]))
@settings(max_examples=200, deadline=None)
def test_greedy_follows_algorithm_1(scores, order):
    found = scores.decode(TABLE, decoder="greedy", order=order)
    for n, args in enumerate(found):
        T, p = scores.lengths[n], scores.pred[n]
        candidates = oracles.span_candidates(scores.start[n, :T], scores.end[n, :T], p)
        offset = scores.log_z[n] if order == "prob" else np.zeros(len(ROLES))
        expected = oracles.greedy_search(candidates, lambda span: candidates[span] - offset[span[2]], CORE)  # noqa: B023
        assert labeled(args) == expected


@given(any_batch)
@settings(max_examples=100, deadline=None)
def test_argmax_takes_each_roles_best_span(scores):
    for n, args in enumerate(scores.decode(TABLE, decoder="argmax")):
        T = scores.lengths[n]
        candidates = oracles.span_candidates(scores.start[n, :T], scores.end[n, :T], scores.pred[n])
        assert labeled(args) == oracles.argmax_search(candidates)


@given(st.one_of(batches(max_tokens=4), batches(max_tokens=4, levels=2), batches(max_tokens=4, levels=4)))
@settings(max_examples=60, deadline=None)
def test_exact_reaches_the_greatest_sum_of_all_legal_sets(scores):
    for n, args in enumerate(scores.decode(TABLE, decoder="exact")):
        T, p = scores.lengths[n], scores.pred[n]
        start, end = scores.start[n, :T], scores.end[n, :T]
        candidates = oracles.span_candidates(start, end, p)
        greatest = max(
            sum_of_odds(start, end, p, spans) for spans in oracles.legal_sets(sorted(candidates), CORE)
        )
        assert labeled(args) <= set(candidates)
        assert sum_of_odds(start, end, p, labeled(args)) == pytest.approx(greatest, abs=1e-9)


@given(any_batch)
@settings(max_examples=100, deadline=None)
def test_exact_is_never_below_greedy(scores):
    exact, greedy = (scores.decode(TABLE, decoder=decoder) for decoder in ("exact", "greedy"))
    for n, p in enumerate(scores.pred):
        T = scores.lengths[n]
        sums = [
            sum_of_odds(scores.start[n, :T], scores.end[n, :T], p, labeled(args))
            for args in (exact[n], greedy[n])
        ]
        assert sums[0] >= sums[1] - 1e-9


def test_exact_finds_what_greedy_misses():
    # One wide span of AM-TMP scores 3; the two spans within it that A0 and A1 offer score 2 each.
    start, end = np.full((1, 4, 4), -9.0), np.full((1, 4, 4), -9.0)
    start[0, 3], end[0, 3] = 0, 0
    start[0, 0, 2], end[0, 2, 2] = 1.5, 1.5
    start[0, 0, 0], end[0, 0, 0] = 1, 1
    start[0, 1, 1], end[0, 2, 1] = 1, 1
    scores = make_scores(start, end, [3])
    assert labeled(scores.decode(TABLE, decoder="greedy", order="raw")[0]) == {(0, 2, 2)}
    assert labeled(scores.decode(TABLE, decoder="exact")[0]) == {(0, 0, 0), (1, 2, 1)}


def test_greedy_order_by_probability_and_by_raw_score_differ():
    # A0's span has the higher score; A1's, which it overlaps, has nearly all of its role's probability.
    start, end = np.zeros((1, 3, 2)), np.zeros((1, 3, 2))
    start[0, :, 0] = [6, 6, 5.9]
    start[0, :, 1] = [5, -9, -9]
    scores = make_scores(start, end, [2])
    assert [arg.role for arg in scores.decode(role_table(("A0", "A1")), order="raw")[0]] == [
        "A0",
    ]
    assert scores.decode(role_table(("A0", "A1")), order="prob")[0][0].role == "A1"


def test_exact_on_modifiers_alone_is_weighted_interval_scheduling():
    rng = np.random.default_rng(5)
    T, p, roles = 30, 11, ("AM-TMP", "AM-LOC", "AM-MNR", "R-A0", "C-A1")
    start, end = rng.normal(size=(2, 1, T, len(roles)))
    null = start[0, p] + end[0, p]
    candidates = oracles.span_candidates(start[0], end[0], p)
    best = [0.0]  # over the tokens so far
    for j in range(T):
        closing = [best[i] + score - null[r] for (i, last, r), score in candidates.items() if last == j]
        best.append(max([best[-1], *closing]))
    found = labeled(make_scores(start, end, [p]).decode(role_table(roles), decoder="exact")[0], roles)
    assert sum_of_odds(start[0], end[0], p, found) == pytest.approx(best[-1])


def test_exact_leaves_out_a_span_that_only_rounding_lifts_above_null():
    # AM-TMP at token 0 is level with Null, −0.9 − 0.7 both, but −0.9 + (−0.7 − (−1.6)) rounds to above 0.
    start = [[[0.5, -0.9], [-0.9, -0.5], [0.3, -0.8], [0.8, -0.7]]]
    end = [[[0.5, -0.7], [-0.5, -0.3], [0.6, -0.5], [0.3, -0.9]]]
    assert -0.9 + (-0.7 - (-0.7 - 0.9)) > 0
    found = make_scores(start, end, [3]).decode(role_table(("A0", "AM-TMP")), decoder="exact")[0]
    assert [(arg.role, tuple(arg.span)) for arg in found] == [("AM-TMP", (1, 2)), ("AM-TMP", (2, 3))]


# What holds for every answer


@given(any_batch, st.sampled_from(DECODERS))
@settings(max_examples=150, deadline=None)
def test_answers_are_legal_sorted_and_carry_probabilities(scores, decoder):
    for n, args in enumerate(scores.decode(TABLE, decoder=decoder)):
        assert list(args) == sorted(args, key=lambda arg: arg.span)
        for arg in args:
            assert 0 <= arg.start < arg.end <= scores.lengths[n]
            assert not arg.start <= scores.pred[n] < arg.end
            r = ROLES.index(arg.role)
            others = [other for other in args if other.role == arg.role and other != arg]
            weight = {
                (i, j): math.exp(scores.start[n, i, r] + scores.end[n, j, r])
                for i, j in oracles.all_spans(int(scores.lengths[n]))
                if not any(i < other.end and other.start <= j for other in others)
            }
            expected = weight[arg.start, arg.end - 1] / math.fsum(weight.values())
            assert arg.prob == pytest.approx(expected)
            assert type(arg.prob) is float
            assert 0 <= arg.prob <= 1
        if decoder != "argmax":
            assert oracles.is_legal(labeled(args), CORE)


@given(any_batch, st.sampled_from(DECODERS))
@settings(max_examples=100, deadline=None)
def test_alone_equals_batched_whatever_the_padding_holds(scores, decoder):
    batched = scores.decode(TABLE, decoder=decoder)
    assert batched == [alone(scores, n).decode(TABLE, decoder=decoder)[0] for n in range(len(batched))]


@given(batches(), st.sampled_from(DECODERS))
@settings(max_examples=30, deadline=None)
def test_single_precision_gives_what_its_values_give_in_double(scores, decoder):
    single = SpanScores(
        scores.start.astype(np.float32),
        scores.end.astype(np.float32),
        scores.lengths.astype(np.int32),
        scores.pred.astype(np.int32),
        log_z=scores.log_z.astype(np.float32),
    )
    start, end, log_z = (np.asarray(x, dtype=float) for x in (single.start, single.end, single.log_z))
    double = SpanScores(start, end, scores.lengths, scores.pred, log_z=log_z)
    assert single.decode(TABLE, decoder=decoder) == double.decode(TABLE, decoder=decoder)


# Corners


@pytest.mark.parametrize("decoder", DECODERS)
def test_a_sentence_of_one_token_has_no_arguments(decoder):
    scores = make_scores(np.ones((1, 1, 4)), np.ones((1, 1, 4)), [0])
    assert scores.decode(TABLE, decoder=decoder) == [()]


@pytest.mark.parametrize(("decoder", "pred"), [*product(DECODERS, (0, 3))])
def test_a_predicate_at_either_end_leaves_the_other_side_whole(decoder, pred):
    first, last = (1, 3) if pred == 0 else (0, 2)
    start, end = np.zeros((1, 4, 4)), np.zeros((1, 4, 4))
    start[0, first, 1] = end[0, last, 1] = 2
    end[0, pred] = 3.5  # every other span stays below Null
    (arg,) = make_scores(start, end, [pred]).decode(TABLE, decoder=decoder)[0]
    assert (arg.role, arg.span) == ("A1", Span(first, last + 1))


@pytest.mark.parametrize("decoder", DECODERS)
def test_a_span_that_ties_with_null_is_not_an_argument(decoder):
    scores = make_scores(np.zeros((2, 5, 4)), np.zeros((2, 5, 4)), [0, 2])
    assert scores.decode(TABLE, decoder=decoder) == [(), ()]


@pytest.mark.parametrize("decoder", DECODERS)
def test_of_equal_spans_the_first_and_shortest_then_the_first_role_wins(decoder):
    start, end = np.ones((1, 3, 2)), np.zeros((1, 3, 2))
    start[0, 2] = 0  # the predicate: everything else scores 1 above Null
    found = make_scores(start, end, [2]).decode(role_table(("A0", "A1")), decoder=decoder)[0]
    spans = [(arg.role, tuple(arg.span)) for arg in found]
    if decoder == "argmax":
        assert spans == [("A0", (0, 1)), ("A1", (0, 1))]
    elif decoder == "greedy":
        assert spans == [("A0", (0, 1)), ("A1", (1, 2))]
    else:
        assert sorted(span for _, span in spans) == [(0, 1), (1, 2)]


@pytest.mark.parametrize("decoder", DECODERS)
def test_a_role_may_be_ruled_out_by_minus_infinity(decoder):
    start, end = np.random.default_rng(0).normal(size=(2, 3, 6, 4))
    end[:, :, 1] = -np.inf
    found = make_scores(start, end, [0, 3, 5]).decode(TABLE, decoder=decoder)
    assert all(found)
    assert "A1" not in {arg.role for args in found for arg in args}


def test_an_empty_batch_has_no_arguments():
    scores = make_scores(np.zeros((0, 3, 4)), np.zeros((0, 3, 4)), np.zeros(0, dtype=int))
    assert scores.decode(TABLE) == []


@pytest.mark.parametrize("decoder", DECODERS)
def test_a_long_sentence_full_of_candidates_takes_far_less_memory_than_its_spans(decoder):
    roles = ("A0", "A1", "A2", "A3", "A4", "A5", "AM-TMP", "AM-LOC")
    start, end = np.random.default_rng(1).normal(size=(2, 1, 500, len(roles)))
    scores = make_scores(start, end, [250])
    tracemalloc.start()
    spans = labeled(scores.decode(role_table(roles), decoder=decoder)[0], roles)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(spans) >= len(roles)
    assert decoder == "argmax" or oracles.is_legal(spans, [PROPBANK.role(role).is_core for role in roles])
    assert peak < 0.25 * (500 * 501 / 2) * len(roles) * 8


@pytest.mark.parametrize("scale", [5.0, 50.0, 500.0])
def test_an_argument_is_as_probable_beside_a_certain_one_of_its_role_as_without_it(scale):
    # "red": 2 · scale, with other boundaries scale; "ripe": 2; Null, between them: 0
    start, end = np.array([scale, 0.0, scale + 2]), np.array([scale, 0.0, -scale])
    scores = make_scores(start.reshape(1, 3, 1), end.reshape(1, 3, 1), [1])
    red, ripe = scores.decode(role_table(("AM-ADJ",)))[0]
    assert red.prob == pytest.approx(1 / (1 + math.exp(-scale)), rel=1e-4)
    assert ripe.prob == pytest.approx(math.exp(2) / (math.exp(2) + 1 + math.exp(-scale)))


@pytest.mark.parametrize("decoder", DECODERS)
def test_a_log_z_that_is_a_little_too_small_gives_no_probability_above_one(decoder):
    start, end = np.zeros((1, 2, 4)), np.zeros((1, 2, 4))
    start[0, 0, 0] = end[0, 0, 0] = 50
    exact = make_scores(start, end, [1])
    scores = SpanScores(start, end, exact.lengths, exact.pred, log_z=exact.log_z - 1e-5)
    assert [arg.prob for arg in scores.decode(TABLE, decoder=decoder)[0]] == [1.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"end": np.zeros((2, 3, 5))}, "must both be"),
        ({"log_z": np.zeros((2, 5))}, "log_z"),
        ({"pred": np.array([0])}, "pred"),
        ({"pred": np.array([0, 2])}, "within its sentence"),
        ({"lengths": np.array([3, 4])}, "within 3 tokens"),
    ],
)
def test_scores_that_do_not_fit_together_are_refused(change, message):
    good = {
        "start": np.zeros((2, 3, 4)),
        "end": np.zeros((2, 3, 4)),
        "log_z": np.zeros((2, 4)),
        "lengths": np.array([3, 2]),
        "pred": np.array([0, 1]),
    }
    SpanScores(**good)
    with pytest.raises(DataError, match=message):
        SpanScores(**good | change)


def test_wrong_roles_decoders_and_orders_are_rejected():
    scores = make_scores(np.zeros((1, 2, 4)), np.zeros((1, 2, 4)), [0])
    with pytest.raises(DataError, match="expected 4 role names"):
        scores.decode(role_table(ROLES[:3]))
    with pytest.raises(ConfigError, match="unknown decoder"):
        scores.decode(TABLE, decoder="beam")
    with pytest.raises(ConfigError, match="unknown order"):
        scores.decode(TABLE, order="best")


# log Z


@given(any_batch)
@settings(max_examples=60, deadline=None)
def test_log_partition_sums_over_all_spans(scores):
    found = log_partition(scores.start, scores.end, scores.lengths)
    for n, T in enumerate(scores.lengths):
        expected = oracles.span_log_partition(scores.start[n, :T], scores.end[n, :T])
        np.testing.assert_allclose(found[n], expected, rtol=1e-12, atol=1e-12)


def test_log_partition_is_stable_where_one_boundary_dwarfs_the_others():
    start = np.array([[[-4000.0], [0.0], [3000.0]]])
    end = np.array([[[9000.0], [1.0], [-3000.0]]])
    expected = oracles.span_log_partition(start[0], end[0])
    np.testing.assert_allclose(log_partition(start, end, np.array([3])), [expected])


def test_log_partition_of_a_role_ruled_out_is_minus_infinity():
    start = np.array([[[0.0, -np.inf], [1.0, -np.inf]]])
    assert log_partition(start, np.zeros((1, 2, 2)), np.array([2])).tolist()[0][1] == -np.inf
