"""Span selection against brute force over all spans, in double precision, values and gradients."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from oracles import all_spans
from spansrl.nn.batch import Gold
from spansrl.nn.outputs.boundaries import span_vectors
from spansrl.nn.outputs.span import (
    SpanLogits,
    SpanOutput,
    log_partition,
    span_logits,
    span_loss,
)

SPAN_ENDS = ("last", "next")


def make_gold(*args: tuple[int, int, int, int]) -> Gold:
    """Arguments as (proposition, role, first, last)."""
    return Gold(*torch.tensor(args, dtype=torch.long).reshape(-1, 4).T)


def make_mask(lengths: list[int], size: int | None = None) -> torch.Tensor:
    return torch.arange(size or max(lengths)) < torch.tensor(lengths)[:, None]


def random(*shape: int, seed: int = 0, scale: float = 1.0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (scale * torch.randn(*shape, generator=generator, dtype=torch.float64)).requires_grad_()


def paired_with(h: torch.Tensor, j: int, span_end: str) -> torch.Tensor:
    """The vector of the end of a span whose last token is j: h (T, D) without padding."""
    if span_end == "last":
        return h[j]
    return h[j + 1] if j + 1 < len(h) else torch.zeros_like(h[0])


def span_score(h: torch.Tensor, roles: torch.Tensor, i: int, j: int, span_end: str) -> torch.Tensor:
    """W[r]·[h_i + h_j ; h_i − h_j] of each role, word for word (Eqs. 7 and 8): (R,)"""
    other = paired_with(h, j, span_end)
    return roles @ torch.cat([h[i] + other, h[i] - other])


def brute_log_z(start: torch.Tensor, end: torch.Tensor) -> torch.Tensor:
    """From start (T, R) and end (T, R): (R,)"""
    return torch.stack([start[i] + end[j] for i, j in all_spans(len(start))]).logsumexp(0)


def brute_loss(h, roles, lengths, preds, args, span_end) -> torch.Tensor:
    """−Σ_r log P(gold span of r given r), Null where there is none, from every span's own score."""
    total = torch.zeros((), dtype=h.dtype)
    for n, (length, p) in enumerate(zip(lengths, preds, strict=True)):
        inside = h[n, :length]
        scores = {(i, j): span_score(inside, roles, i, j, span_end) for i, j in all_spans(length)}
        log_z = torch.stack(list(scores.values())).logsumexp(0)  # (R,)
        for r in range(len(roles)):
            gold = [(first, last) for prop, role, first, last in args if (prop, role) == (n, r)]
            for span in gold or [(p, p)]:
                total = total - (scores[span][r] - log_z[r])
    return total / len(lengths)


def assert_same_gradients(one: torch.Tensor, other: torch.Tensor, inputs: tuple[torch.Tensor, ...]) -> None:
    expected = torch.autograd.grad(other, inputs, retain_graph=True)
    for found, wanted in zip(torch.autograd.grad(one, inputs, retain_graph=True), expected, strict=True):
        torch.testing.assert_close(found, wanted)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 3),
    st.integers(1, 7),
    st.integers(1, 3),
    st.integers(0, 99),
    st.sampled_from([0.1, 1.0, 30.0]),
)
def test_log_z_and_its_gradient_are_those_of_a_sum_over_all_spans(N, T, R, seed, scale):
    start, end = random(N, T, R, seed=seed, scale=scale), random(N, T, R, seed=seed + 100, scale=scale)
    brute = torch.stack([brute_log_z(start[n], end[n]) for n in range(N)])
    fast = log_partition(start, end)
    torch.testing.assert_close(fast, brute)
    weights = random(N, R, seed=seed + 200).detach()  # so that every output has a gradient of its own
    assert_same_gradients((fast * weights).sum(), (brute * weights).sum(), (start, end))


def test_the_gradient_of_log_z_agrees_with_finite_differences():
    assert gradcheck(log_partition, (random(2, 5, 3), random(2, 5, 3, seed=1)))


def test_log_z_stays_exact_where_exponentials_would_overflow_or_vanish():
    start, end = random(1, 6, 2, scale=1000.0), random(1, 6, 2, seed=1, scale=1000.0)
    torch.testing.assert_close(log_partition(start, end)[0], brute_log_z(start[0], end[0]))


def test_log_z_in_single_precision_is_within_rounding_of_double():
    start, end = random(4, 60, 5, scale=5.0).detach(), random(4, 60, 5, seed=1, scale=5.0).detach()
    single = log_partition(start.float(), end.float())
    torch.testing.assert_close(single.double(), log_partition(start, end), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("span_end", SPAN_ENDS)
def test_padding_changes_neither_scores_nor_gradients(span_end):
    lengths = [3, 6, 1, 5]
    raw_start, raw_end = random(4, 9, 2), random(4, 9, 2, seed=1)
    logits = span_logits(raw_start, raw_end, make_mask(lengths, 9), span_end)
    alone = [
        span_logits(raw_start[n : n + 1, :t], raw_end[n : n + 1, :t], make_mask([t]), span_end)
        for n, t in enumerate(lengths)
    ]
    for n, (length, single) in enumerate(zip(lengths, alone, strict=True)):
        torch.testing.assert_close(logits.start[n, :length], single.start[0])
        torch.testing.assert_close(logits.end[n, :length], single.end[0])
        assert (logits.end[n, length:] == -torch.inf).all()
    together = torch.cat([single.log_z for single in alone])
    torch.testing.assert_close(logits.log_z, together)
    assert_same_gradients(logits.log_z.sum(), together.sum(), (raw_start, raw_end))


@pytest.mark.parametrize("span_end", SPAN_ENDS)
def test_padding_of_minus_infinity_brings_no_nan_into_the_gradients(span_end):
    h = random(3, 7, 4)
    output = SpanOutput(4, 2, span_end).double()
    mask = make_mask([1, 7, 4])
    logits = output(h, mask)
    span_loss(logits, torch.tensor([0, 6, 2]), make_gold((1, 0, 0, 6), (2, 1, 3, 3))).backward()
    assert torch.isfinite(output.roles.grad).all()
    assert torch.isfinite(h.grad).all()
    assert (h.grad[~mask] == 0).all()


def test_forbidden_starts_and_ends_bring_no_nan_into_the_gradients():
    start, end = random(1, 4, 1), random(1, 4, 1, seed=1)
    forbidden = torch.tensor([True, True, False, False])[None, :, None]
    logits = log_partition(
        start.masked_fill(forbidden, -torch.inf), end.masked_fill(forbidden.flip(1), -torch.inf)
    )
    assert logits.item() == -torch.inf  # no span starts before it ends
    start_only = log_partition(start.masked_fill(forbidden, -torch.inf), end)
    torch.testing.assert_close(start_only[0], brute_log_z(start[0, 2:], end[0, 2:]))
    start_only.sum().backward()
    assert torch.isfinite(start.grad).all()
    assert torch.isfinite(end.grad).all()
    assert (start.grad[0, :2] == 0).all()
    assert (end.grad[0, :2] == 0).all()


@pytest.mark.parametrize("span_end", SPAN_ENDS)
def test_the_sum_of_start_and_end_is_the_papers_score_of_every_span(span_end):
    lengths = [5, 2, 1]
    h, output = random(3, 5, 4), SpanOutput(4, 3, span_end).double()
    logits = output(h, make_mask(lengths))
    for n, length in enumerate(lengths):
        for i, j in all_spans(length):
            expected = span_score(h[n, :length], output.roles, i, j, span_end)
            torch.testing.assert_close(logits.start[n, i] + logits.end[n, j], expected)


def test_with_next_the_zero_row_follows_each_sentences_own_last_token():
    raw = torch.arange(1.0, 9.0).reshape(2, 4, 1)
    logits = span_logits(raw, raw, make_mask([4, 2]), "next")
    inf = torch.inf
    assert logits.end[:, :, 0].tolist() == [[2, 3, 4, 0], [6, 0, -inf, -inf]]


def test_span_vectors_are_the_papers_addition_and_subtraction():
    h = random(4, 3)
    first, last = torch.tensor([0, 1, 2]), torch.tensor([3, 1, 3])
    vectors = span_vectors(h, first, last)
    for k, (i, j) in enumerate([(0, 3), (1, 1), (2, 3)]):
        torch.testing.assert_close(vectors[k], torch.cat([h[i] + h[j], h[i] - h[j]]))


CASES = {
    "no arguments at all": [],
    "one span a role": [(0, 0, 0, 1), (0, 1, 3, 4), (1, 2, 1, 1)],
    "several spans of one role": [
        (0, 0, 0, 0),
        (0, 0, 3, 4),
        (0, 2, 1, 1),
        (2, 0, 0, 0),
        (1, 1, 0, 0),
        (1, 1, 1, 1),
    ],
    "a span that is Null's own": [(0, 1, 2, 2), (2, 2, 0, 0)],
    "the whole sentence": [(0, 0, 0, 4), (1, 0, 0, 1)],
}


@pytest.mark.parametrize("span_end", SPAN_ENDS)
@pytest.mark.parametrize("args", CASES.values(), ids=CASES.keys())
def test_the_loss_and_its_gradient_are_those_of_brute_force(args, span_end):
    lengths, preds = [5, 2, 1], [2, 1, 0]
    h, output = random(3, 5, 4), SpanOutput(4, 3, span_end).double()
    loss = span_loss(output(h, make_mask(lengths)), torch.tensor(preds), make_gold(*args))
    brute = brute_loss(h, output.roles, lengths, preds, args, span_end)
    torch.testing.assert_close(loss, brute)
    assert_same_gradients(loss, brute, (h, output.roles))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_the_loss_of_any_gold_is_that_of_brute_force(data):
    lengths = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    preds = [data.draw(st.integers(0, length - 1)) for length in lengths]
    spans = [(n, r, i, j) for n, length in enumerate(lengths) for r in range(2) for i, j in all_spans(length)]
    args = data.draw(st.lists(st.sampled_from(spans), max_size=6, unique=True))
    span_end = data.draw(st.sampled_from(SPAN_ENDS))
    h, output = (
        random(len(lengths), max(lengths), 3, seed=data.draw(st.integers(0, 9))),
        SpanOutput(3, 2, span_end),
    )
    output.double()
    loss = span_loss(output(h, make_mask(lengths)), torch.tensor(preds), make_gold(*args))
    brute = brute_loss(h, output.roles, lengths, preds, args, span_end)
    torch.testing.assert_close(loss, brute)
    assert_same_gradients(loss, brute, (h, output.roles))


@pytest.mark.parametrize("span_end", SPAN_ENDS)
def test_the_gradient_of_the_loss_agrees_with_finite_differences(span_end):
    mask, pred = make_mask([4, 2]), torch.tensor([1, 0])
    gold = make_gold((0, 0, 2, 3), (0, 0, 0, 0), (1, 1, 1, 1))

    def loss(start, end):
        return span_loss(span_logits(start, end, mask, span_end), pred, gold)

    assert gradcheck(loss, (random(2, 4, 2), random(2, 4, 2, seed=1)))


def test_the_probabilities_of_all_spans_sum_to_one():
    logits = SpanOutput(4, 3).double()(random(1, 6, 4), make_mask([6]))
    probs = [torch.exp(logits.start[0, i] + logits.end[0, j] - logits.log_z[0]) for i, j in all_spans(6)]
    torch.testing.assert_close(torch.stack(probs).sum(0), torch.ones(3, dtype=torch.float64))


def test_the_loss_of_a_batch_is_the_mean_over_its_propositions():
    start, end = random(2, 3, 2), random(2, 3, 2, seed=1)

    def loss(rows: slice, *args: tuple[int, int, int, int]) -> torch.Tensor:
        logits = SpanLogits(start[rows], end[rows], log_partition(start[rows], end[rows]))
        return span_loss(logits, torch.tensor([1, 2])[rows], make_gold(*args))

    both = loss(slice(0, 2), (0, 0, 0, 0), (1, 1, 0, 1))
    apart = loss(slice(0, 1), (0, 0, 0, 0)) + loss(slice(1, 2), (0, 1, 0, 1))
    torch.testing.assert_close(both, apart / 2)
