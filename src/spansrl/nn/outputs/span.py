"""Span selection, the paper's output: P(i, j | r) as an exact softmax over all spans, in linear time.

log Z_r = logsumexp_j( end_r(j) + logcumsumexp_{i<=j} start_r(i) ) costs O(T·R); nothing is approximate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from spansrl.decoding import SpanScores
from spansrl.nn.batch import Gold
from spansrl.nn.outputs.boundaries import BoundaryOutput, boundary_scores, with_ends
from spansrl.nn.outputs.output_base import DistillableOutput


@dataclass(frozen=True, slots=True)
class SpanLogits:
    """F(i, j, r) = start[n, i, r] + end[n, j, r] for the span of tokens i .. j, j included."""

    start: Tensor  # (N, T, R)
    end: Tensor  # (N, T, R); −inf at padding
    log_z: Tensor  # (N, R)


class SpanOutput(BoundaryOutput, DistillableOutput):
    """The paper's labeling function."""

    can_be_mixed = True

    def forward(self, h: Tensor, mask: Tensor) -> SpanLogits:
        """h (N, T, D), mask (N, T) -> scores of all spans"""
        return span_logits(*boundary_scores(h, self.roles), mask, self.span_end)

    def gold_loss(self, h: Tensor, mask: Tensor, pred: Tensor, gold: Gold) -> Tensor:
        return span_loss(self(h, mask), pred, gold)

    @property
    def n_targets(self) -> int:
        return 2 * len(self.roles)

    def targets(self, scores: SpanScores) -> Tensor:
        """The marginals of starts and ends: (N, T, 2R)"""
        start, end, lengths = map(torch.from_numpy, (scores.start, scores.end, scores.lengths))
        mask = torch.arange(start.shape[1]) < lengths[:, None]
        # Scores have their ends where spans end, whatever `span_end` is.
        return torch.cat(boundary_marginals(span_logits(start, end, mask, "last")), dim=2)

    def gold_targets(self, mask: Tensor, pred: Tensor, gold: Gold) -> Tensor:
        """A role's gold spans share its probability evenly; an absent role's span is the predicate's own."""
        out = torch.zeros(*mask.shape, self.n_targets, device=mask.device)
        boundaries = gold.prop.repeat(2), torch.cat([gold.first, gold.last])
        column = torch.cat([gold.role, len(self.roles) + gold.role])
        out.index_put_((*boundaries, column), out.new_ones(()), accumulate=True)
        counts = out.sum(dim=1)  # (N, 2R)
        out[torch.arange(len(pred), device=mask.device), pred] += (counts == 0).float()
        return out / counts.clamp(min=1)[:, None]

    def teacher_loss(self, h: Tensor, mask: Tensor, pred: Tensor, teacher: Tensor) -> Tensor:
        return distillation_loss(self(h, mask), teacher, mask)


def span_logits(start: Tensor, end: Tensor, mask: Tensor, span_end: str) -> SpanLogits:
    """Span scores with their log Z, from raw scores (N, T, R) of tokens as starts and as ends."""
    end = with_ends(end, mask, span_end).masked_fill(~mask[:, :, None], -torch.inf)
    return SpanLogits(start, end, log_partition(start, end))


def log_partition(start: Tensor, end: Tensor) -> Tensor:
    """log Σ_{i<=j} exp(start_i + end_j) along dimension 1: (N, T, R), (N, T, R) -> (N, R)"""
    return _LogPartition.apply(start, end)  # type: ignore[no-untyped-call]


def span_loss(logits: SpanLogits, pred: Tensor, gold: Gold) -> Tensor:
    """−Σ_r log P(gold span of r), with Null = (p, p) for absent roles, as the mean over propositions (Eq. 3).

    A role with several gold spans adds a term for each.
    """
    N, _, R = logits.start.shape
    counts = logits.log_z.new_zeros(N * R)
    counts.index_add_(0, gold.prop * R + gold.role, counts.new_ones(len(gold.role)))
    counts = counts.view(N, R)
    props = torch.arange(N, device=pred.device)
    null = logits.start[props, pred] + logits.end[props, pred]  # (N, R)
    starts = logits.start[gold.prop, gold.first, gold.role]  # (K,)
    chosen = starts + logits.end[gold.prop, gold.last, gold.role]  # (K,)
    absent = torch.where(counts == 0, null, 0.0)
    return ((logits.log_z * counts.clamp(min=1)).sum() - chosen.sum() - absent.sum()) / N


def distillation_loss(logits: SpanLogits, teacher: Tensor, mask: Tensor) -> Tensor:
    """Cross-entropy of a teacher's distributions over spans with ours, as the mean over propositions.

    The teacher is given by the marginals of its starts and ends, (N, T, 2R), and this is exact: with
    F(i, j) = s_i + e_j, −Σ_{i<=j} P(i, j)·F(i, j) + log Z = log Z − Σ_i P(start i)·s_i − Σ_j P(end j)·e_j.
    """
    inside = mask[:, :, None]  # (N, T, 1)
    starts, ends = teacher.chunk(2, dim=2)  # (N, T, R), (N, T, R)
    expected = starts * logits.start + ends * logits.end.masked_fill(~inside, 0.0)
    return (logits.log_z.sum() - (expected * inside).sum()) / len(mask)


class _LogPartition(torch.autograd.Function):
    """log Z with its gradient in closed form: the probabilities that a span starts at i and ends at j.

    Autograd through logcumsumexp costs several times as much, and yields NaN where a whole prefix is −inf.
    """

    @staticmethod
    def forward(ctx: Any, start: Tensor, end: Tensor) -> Tensor:
        before = torch.logcumsumexp(start, dim=1)  # (N, T, R) all starts up to j
        log_z = torch.logsumexp(end + before, dim=1)  # (N, R)
        ctx.save_for_backward(start, end, before, log_z)
        return log_z

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor]:
        start, end, before, log_z = ctx.saved_tensors
        shared = grads[0][:, None]
        starts_at, ends_at = _marginals(start, end, before, log_z)
        return shared * starts_at, shared * ends_at


def boundary_marginals(logits: SpanLogits) -> tuple[Tensor, Tensor]:
    """The probabilities (N, T, R) that a role's span starts at a token, and that it ends there."""
    before = torch.logcumsumexp(logits.start, dim=1)
    return _marginals(logits.start, logits.end, before, logits.log_z)


def _marginals(start: Tensor, end: Tensor, before: Tensor, log_z: Tensor) -> tuple[Tensor, Tensor]:
    after = torch.logcumsumexp(end.flip(1), dim=1).flip(1)  # (N, T, R) all ends from i on
    return torch.exp(start + after - log_z[:, None]), torch.exp(end + before - log_z[:, None])
