"""Significance: against exact enumeration on few sentences, and sensible at the edges."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from spansrl.errors import DataError
from spansrl.evaluation import (
    Counts,
    adjust_holm,
    compare,
    compare_counts,
    comparison_report,
    perfect_counts,
    score,
    sentence_counts,
    sum_by_document,
)
from spansrl.structures import Argument, Proposition, Sentence, Span

A = np.array([[3, 0, 1], [2, 1, 0], [1, 1, 2], [4, 0, 0], [0, 2, 1]])
B = np.array([[2, 1, 2], [2, 0, 0], [1, 2, 2], [2, 1, 2], [1, 1, 0]])


def f1(rows: np.ndarray) -> float:
    return Counts(*(int(n) for n in np.sum(rows, axis=0))).f1


def labeled(*roles: str) -> Sentence:
    args = tuple(Argument(role, Span(place + 1, place + 2)) for place, role in enumerate(roles))
    return Sentence(("_",) * 5, (Proposition(0, args),))


def test_the_difference_is_that_of_the_two_overall_f1() -> None:
    result = compare_counts(A, B, samples=10)
    assert (result.f1_a, result.f1_b) == (pytest.approx(f1(A)), pytest.approx(f1(B)))
    assert result.difference == pytest.approx(f1(A) - f1(B))
    assert (result.sentences, result.samples, result.seed) == (5, 10, 0)


def test_randomization_comes_close_to_all_ways_of_swapping() -> None:
    observed = abs(f1(A) - f1(B))
    differences = []
    for swaps in product([False, True], repeat=len(A)):
        mask = np.array(swaps)[:, None]
        differences.append(abs(f1(np.where(mask, B, A)) - f1(np.where(mask, A, B))))
    exact = np.mean([difference >= observed - 1e-9 for difference in differences])
    assert compare_counts(A, B, samples=20_000).randomization_p == pytest.approx(exact, abs=0.015)


def test_the_bootstrap_comes_close_to_all_ways_of_drawing() -> None:
    observed = f1(A) - f1(B)
    drawn = [f1(A[list(rows)]) - f1(B[list(rows)]) for rows in product(range(len(A)), repeat=len(A))]
    exact = np.mean([abs(difference - observed) >= abs(observed) - 1e-9 for difference in drawn])
    result = compare_counts(A, B, samples=20_000)
    assert result.bootstrap_p == pytest.approx(exact, abs=0.015)
    assert result.low == pytest.approx(np.percentile(drawn, 2.5), abs=1)
    assert result.high == pytest.approx(np.percentile(drawn, 97.5), abs=1)


def test_equal_systems_do_not_differ() -> None:
    result = compare_counts(A, A, samples=200)
    assert (result.difference, result.low, result.high) == (0, 0, 0)
    assert result.bootstrap_p == result.randomization_p == 1


def test_a_system_that_is_better_everywhere_is_significantly_better() -> None:
    good, bad = np.tile([3, 0, 1], (60, 1)), np.tile([1, 2, 3], (60, 1))
    result = compare_counts(good, bad, samples=999)
    assert result.low > 0
    assert result.bootstrap_p == result.randomization_p == 0.001  # the smallest that 999 samples allow


def test_the_seed_decides_the_samples() -> None:
    assert compare_counts(A, B, samples=500, seed=3) == compare_counts(A, B, samples=500, seed=3)
    assert compare_counts(A, B, samples=500, seed=3) != compare_counts(A, B, samples=500, seed=4)


def test_samples_in_several_chunks_are_as_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spansrl.evaluation.significance._CHUNK_CELLS", 64)
    assert compare_counts(A, A, samples=100).randomization_p == 1
    assert compare_counts(A, B, samples=20_000).randomization_p == pytest.approx(
        compare_counts(A, B, samples=20_000, seed=1).randomization_p, abs=0.02
    )


def test_with_several_runs_the_bootstrap_draws_runs_and_sentences() -> None:
    runs = [A, B]
    result = compare_counts(runs, np.zeros_like(A), samples=20_000)
    assert result.f1_a == result.difference == pytest.approx((f1(A) + f1(B)) / 2)
    drawn = [
        np.mean([f1(runs[run][list(rows)]) for run in chosen])
        for rows in product(range(len(A)), repeat=len(A))
        for chosen in product(range(2), repeat=2)
    ]
    assert (result.low, result.high) == pytest.approx(tuple(np.percentile(drawn, [2.5, 97.5])), abs=1)
    assert result.randomization_p is None


def test_a_run_alone_is_a_system() -> None:
    assert compare_counts([A], [B], samples=50) == compare_counts(A, B, samples=50)


def test_counts_of_sentences_leave_out_the_verb_and_add_up_to_the_score() -> None:
    gold = [labeled("A0", "A1"), labeled("A0")]
    a = [labeled("A0", "A2"), labeled("A0", "A1")]
    counts = sentence_counts(gold, a, gold)
    assert counts.tolist() == [[[1, 1, 1], [1, 1, 0]], [[2, 0, 0], [1, 0, 0]]]
    assert Counts(*counts[0].sum(axis=0).tolist()) == score(gold, a).overall
    assert compare(gold, a, gold, samples=10).difference < 0


def test_the_f1_of_perfect_counts_is_the_share_of_perfect_propositions() -> None:
    gold = [labeled("A0", "A1"), labeled("A0")]
    a = [labeled("A0", "A2"), labeled("A0")]
    counts = perfect_counts(gold, a, gold)
    assert counts.tolist() == [[[0, 1, 1], [1, 0, 0]], [[1, 0, 0], [1, 0, 0]]]
    result = compare_counts(*counts, samples=10)
    assert (result.f1_a, result.f1_b) == (score(gold, a).perfect_percent, 100.0)


def test_counts_are_summed_by_document() -> None:
    counts = np.arange(24).reshape(2, 4, 3)
    found = sum_by_document(counts, ["b", "a", "b", "b"])
    assert found.tolist() == [
        [counts[run, 1].tolist(), (counts[run, 0] + counts[run, 2] + counts[run, 3]).tolist()]
        for run in (0, 1)
    ]


def test_documents_are_a_wider_interval_than_their_sentences_when_these_are_alike() -> None:
    rng = np.random.default_rng(0)
    better = np.repeat(rng.integers(0, 2, 12), 20)  # a whole document is better or worse
    a = np.stack([5 + better, 2 - better, 2 - better], axis=1)
    b = np.broadcast_to([5, 2, 2], a.shape)
    documents = [str(k // 20) for k in range(len(a))]
    of_sentences = compare_counts(a, b, samples=500)
    of_documents = compare_counts(
        sum_by_document(a, documents), sum_by_document(np.array(b), documents), samples=500
    )
    assert of_documents.difference == pytest.approx(of_sentences.difference)
    assert of_documents.high - of_documents.low > 2 * (of_sentences.high - of_sentences.low)


def test_holm_multiplies_the_smallest_p_by_the_number_of_tests_and_keeps_the_order() -> None:
    assert adjust_holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert adjust_holm([0.9, 0.8]) == [1.0, 1.0]
    assert adjust_holm([]) == []


def test_no_sentences_are_an_error() -> None:
    with pytest.raises(DataError, match="no sentences to compare the systems on"):
        compare([], [], [])


def test_counts_of_different_sentences_are_an_error() -> None:
    with pytest.raises(
        DataError, match=r"counts \(sentences, 3\) of the same sentences, found \(5, 3\) and \(4, 3\)"
    ):
        compare_counts(A, B[:4])


def test_the_report_has_the_difference_its_interval_and_both_p_values() -> None:
    text = comparison_report(compare_counts(A, A, samples=99, seed=5), "a.jsonl", "b.jsonl")
    assert text == (
        "F1 of A                   :  71.43  a.jsonl\n"
        "F1 of B                   :  71.43  b.jsonl\n"
        "A - B                     :  +0.00  95 % interval +0.00 to +0.00\n"
        "Paired bootstrap          : p = 1.0000\n"
        "Approximate randomization : p = 1.0000\n"
        "Sentences: 5, samples: 99, seed: 5\n"
    )
