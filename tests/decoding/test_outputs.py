"""Scores of the other outputs, and constraints, against brute force."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from builders import role_table
from spansrl.decoding import LabelScores, SegmentalScores, SpanScores, TagScores, make_scores
from spansrl.inventory import PROPBANK

ROLES = ("A0", "C-A0", "R-A0")
TABLE = role_table(ROLES)
CORE = [PROPBANK.role(role).is_core for role in ROLES]
seeds = st.integers(0, 2**32)


def segmental(seed: int, *, max_tokens: int = 5, scale: float = 1.5) -> SegmentalScores:
    rng = np.random.default_rng(seed)
    N, T, R = 2, int(rng.integers(1, max_tokens + 1)), len(ROLES)
    lengths = rng.integers(1, T + 1, size=N)
    start, end = rng.normal(size=(2, N, T, R)) * scale
    outside = rng.normal(size=(N, T))
    padding = np.arange(T) >= lengths[:, None]
    start[padding] = end[padding] = outside[padding] = rng.choice([0.0, 99.0, np.inf])
    return SegmentalScores(start, end, lengths, rng.integers(lengths), outside=outside)


def labeling_scores(scores: SegmentalScores, n: int) -> dict[tuple[oracles.Labeled, ...], float]:
    """Every labeling of a proposition with its score: all sets of spans that do not overlap."""
    T, p = int(scores.lengths[n]), int(scores.pred[n])
    spans = [
        oracles.Labeled(i, j, r)
        for i, j in oracles.all_spans(T)
        for r in range(scores.start.shape[2])
        if not i <= p <= j
    ]
    found = {}
    for labeling in oracles.legal_sets(spans, [False] * scores.start.shape[2]):
        covered = {t for i, j, _ in labeling for t in range(i, j + 1)}
        inside = math.fsum(scores.start[n, i, r] + scores.end[n, j, r] for i, j, r in labeling)
        found[labeling] = inside + math.fsum(scores.outside[n, t] for t in range(T) if t not in covered)
    return found


def found_spans(args) -> set[tuple[int, int, int]]:
    return {(arg.start, arg.end - 1, ROLES.index(arg.role)) for arg in args}


def roles_in_order(spans) -> list[str]:
    return [ROLES[r] for _, _, r in sorted(spans)]


def is_linked(roles: list[str]) -> bool:
    """U, C and R, said plainly, for the roles A0, C-A0 and R-A0."""
    if roles.count("A0") > 1 or ("R-A0" in roles and "A0" not in roles):
        return False
    return "C-A0" not in roles or "A0" in roles[: roles.index("C-A0")]


@given(seeds)
@settings(max_examples=40, deadline=None)
def test_segmental_marginals_are_those_of_all_labelings(seed):
    scores = segmental(seed)
    marginals = scores.marginals()
    for n in range(2):
        labelings = labeling_scores(scores, n)
        log_z = oracles.log_sum_exp(labelings.values())
        assert marginals.log_z[n] == pytest.approx(log_z, abs=1e-10)
        totals: dict[oracles.Labeled, float] = {}
        for labeling, score in labelings.items():
            for span in labeling:
                totals[span] = totals.get(span, 0.0) + math.exp(score - log_z)
        for (i, j, r), prob in totals.items():
            found = marginals.log_prob(*(np.array([k]) for k in (n, r, i, j)))
            assert math.exp(found[0]) == pytest.approx(prob, abs=1e-10)


@given(seeds)
@settings(max_examples=40, deadline=None)
def test_segmental_greedy_takes_spans_more_probable_than_not(seed):
    scores = segmental(seed)
    for n, args in enumerate(scores.decode(TABLE)):
        labelings = labeling_scores(scores, n)
        log_z = oracles.log_sum_exp(labelings.values())
        spans = {span for labeling in labelings for span in labeling}
        prob = {
            span: math.fsum(
                math.exp(score - log_z) for labeling, score in labelings.items() if span in labeling
            )
            for span in spans
        }
        likely = {span for span in spans if prob[span] > 0.5}
        assert found_spans(args) == oracles.greedy_search(
            {s: prob[s] for s in likely}, prob.__getitem__, CORE
        )
        for arg in args:
            key = oracles.Labeled(arg.start, arg.end - 1, ROLES.index(arg.role))
            assert arg.prob == pytest.approx(prob[key], abs=1e-10)


@given(seeds, st.sampled_from(["exact", "constrained"]))
@settings(max_examples=60, deadline=None)
def test_segmental_exact_finds_the_most_probable_legal_labeling(seed, decoder):
    scores = segmental(seed)
    for n, args in enumerate(scores.decode(TABLE, decoder=decoder)):
        labelings = labeling_scores(scores, n)
        # Spans that score no more than their tokens outside are not candidates.
        outside = scores.outside[n]
        useful = {
            (i, j, r)
            for labeling in labelings
            for i, j, r in labeling
            if scores.start[n, i, r] + scores.end[n, j, r] > outside[i : j + 1].sum()
        }
        legal = [
            labeling
            for labeling in labelings
            if set(labeling) <= useful
            and oracles.is_legal(labeling, CORE)
            and (decoder == "exact" or is_linked(roles_in_order(labeling)))
        ]
        best = max(legal, key=labelings.__getitem__)
        assert found_spans(args) == set(best)


def test_a_handicap_lets_less_probable_spans_into_a_segmental_answer():
    scores = SegmentalScores(*np.zeros((2, 1, 2, 3)), np.array([2]), np.array([1]), outside=np.zeros((1, 2)))
    assert scores.decode(TABLE) == [()]  # each of four labelings has 0.25
    assert len(scores.with_handicap(np.full(len(scores.pred), 1.2)).decode(TABLE, decoder="argmax")[0]) == 3


def label_scores(seed: int) -> LabelScores:
    part = segmental(seed)
    return LabelScores(part.start - 0.5, part.end - 0.5, part.lengths, part.pred)


@given(seeds, st.sampled_from(["greedy", "argmax", "exact", "constrained"]))
@settings(max_examples=100, deadline=None)
def test_label_selection_against_brute_force(seed, decoder):
    scores = label_scores(seed)
    for n, args in enumerate(scores.decode(TABLE, decoder=decoder)):
        T, p = int(scores.lengths[n]), int(scores.pred[n])
        F = {
            oracles.Labeled(i, j, r): float(scores.start[n, i, r] + scores.end[n, j, r])
            for i, j in oracles.all_spans(T)
            for r in range(len(ROLES))
        }

        def log_prob(span, F=F):
            i, j, _ = span
            return F[span] - oracles.log_sum_exp(
                [0.0, *(F[oracles.Labeled(i, j, r)] for r in range(len(ROLES)))]
            )

        candidates = {span: F[span] for span in F if F[span] > 0 and not span[0] <= p <= span[1]}
        if decoder == "greedy":
            expected = oracles.greedy_search(candidates, log_prob, CORE)
        elif decoder == "argmax":
            expected = oracles.argmax_search({span: log_prob(span) for span in candidates})
        else:
            legal = [
                spans
                for spans in oracles.legal_sets(sorted(candidates), CORE)
                if decoder == "exact" or is_linked(roles_in_order(spans))
            ]
            expected = set(max(legal, key=lambda spans: math.fsum(F[span] for span in spans)))
        assert found_spans(args) == expected
        for arg in args:
            key = oracles.Labeled(arg.start, arg.end - 1, ROLES.index(arg.role))
            assert math.log(arg.prob) == pytest.approx(log_prob(key), abs=1e-10)


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_constrained_search_over_span_scores_against_brute_force(seed):
    part = segmental(seed)
    scores = make_scores("span", {"start": part.start, "end": part.end}, part.lengths, part.pred)
    for n, args in enumerate(scores.decode(TABLE, decoder="constrained")):
        T, p = int(scores.lengths[n]), int(scores.pred[n])
        candidates = oracles.span_candidates(scores.start[n, :T], scores.end[n, :T], p)
        gain = {span: score - scores.null[n, span[2]] for span, score in candidates.items()}
        legal = [
            spans
            for spans in oracles.legal_sets(sorted(candidates), CORE)
            if is_linked(roles_in_order(spans))
        ]
        best = max(math.fsum(gain[span] for span in spans) for spans in legal)
        assert is_linked(roles_in_order(found_spans(args)))
        assert math.fsum(gain[span] for span in found_spans(args)) == pytest.approx(best, abs=1e-9)


@given(seeds, st.booleans())
@settings(max_examples=40, deadline=None)
def test_constrained_tags_are_the_best_legal_ones(seed, has_transitions):
    rng = np.random.default_rng(seed)
    T, K = int(rng.integers(1, 5)), 7
    lengths, pred = np.array([T, max(1, T - 1)]), np.array([int(rng.integers(T)), 0])
    arrays = {"emissions": rng.normal(size=(2, T, K)) * 2}
    if has_transitions:
        arrays |= {"transitions": rng.normal(size=(K, K)), "first": rng.normal(size=K)}
    scores = make_scores("crf" if has_transitions else "softmax", arrays, lengths, pred)
    assert isinstance(scores, TagScores)
    for n, args in enumerate(scores.decode(TABLE, decoder="constrained")):
        best, answer = -math.inf, None
        for path in product(range(K), repeat=int(lengths[n])):
            bio = all(
                tag in (0, 1, 3, 5) or (t and path[t - 1] in (tag, tag - 1)) for t, tag in enumerate(path)
            )
            roles = [ROLES[(tag - 1) // 2] for tag in path if tag % 2]
            if not bio or path[pred[n]] or not is_linked(roles):
                continue
            score = sum(arrays["emissions"][n, t, tag] for t, tag in enumerate(path))
            if has_transitions:
                score += arrays["first"][path[0]]
                score += sum(arrays["transitions"][a, b] for a, b in pairwise(path))
            if score > best:
                best, answer = score, path
        tags = [0] * int(lengths[n])
        for arg in args:
            r = ROLES.index(arg.role)
            tags[arg.start : arg.end] = [1 + 2 * r, *[2 + 2 * r] * (arg.end - arg.start - 1)]
        assert tuple(tags) == answer


@pytest.mark.parametrize("kind", ["span", "segmental", "label", "crf", "softmax"])
def test_ruled_out_roles_never_occur_and_a_handicap_adds_arguments(kind):
    rng = np.random.default_rng(2)
    arrays = {
        "start": rng.normal(size=(4, 6, 3)),
        "end": rng.normal(size=(4, 6, 3)),
        "outside": rng.normal(size=(4, 6)),
        "emissions": rng.normal(size=(4, 6, 7)),
    }
    if kind == "crf":
        arrays |= {"transitions": np.zeros((7, 7)), "first": np.zeros(7)}
    if kind == "span":
        del arrays["outside"], arrays["emissions"]
    scores = make_scores(kind, arrays, np.full(4, 6), np.array([0, 2, 3, 5]))
    eager = scores.with_handicap(np.full(len(scores.pred), 3.0))
    assert sum(map(len, eager.decode(TABLE))) > sum(map(len, scores.decode(TABLE)))
    ruled_out = np.zeros((4, 3), dtype=bool)
    ruled_out[:2, 0] = True
    for decoder in ("greedy", "argmax", "exact", "constrained"):
        found = eager.without_roles(ruled_out).decode(TABLE, decoder=decoder)
        assert "A0" not in {arg.role for args in found[:2] for arg in args}
        assert "A0" in {arg.role for args in found[2:] for arg in args}


@pytest.mark.parametrize("kind", ["span", "segmental", "label", "crf", "softmax"])
def test_roles_in_another_order_give_the_same_arguments(kind):
    rng = np.random.default_rng(1)
    arrays = {
        "span": {"start": rng.normal(size=(3, 5, 3)), "end": rng.normal(size=(3, 5, 3))},
        "crf": {
            "emissions": rng.normal(size=(3, 5, 7)),
            "transitions": rng.normal(size=(7, 7)),
            "first": rng.normal(size=7),
        },
        "softmax": {"emissions": rng.normal(size=(3, 5, 7))},
    }
    arrays["label"] = arrays["span"]
    arrays["segmental"] = arrays["span"] | {"outside": rng.normal(size=(3, 5))}
    lengths, pred, order = np.array([5, 4, 3]), np.array([0, 1, 2]), np.array([2, 0, 1])
    scores = make_scores(kind, arrays[kind], lengths, pred)
    other = make_scores(kind, type(scores).take_roles(arrays[kind], order), lengths, pred)
    swapped = [ROLES[k] for k in order]
    assert [{(a.role, a.span) for a in args} for args in scores.decode(TABLE)] == [
        {(a.role, a.span) for a in args} for args in other.decode(role_table(swapped))
    ]
    assert isinstance(scores, SpanScores | SegmentalScores | LabelScores | TagScores)
