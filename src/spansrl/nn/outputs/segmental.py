"""The segmental model: one distribution over whole labelings of a sentence, in linear time.

A labeling is a set of labeled spans that do not overlap and do not cover the predicate; it scores Σ F over
them plus Σ outside over the tokens that remain. With F(i, j, r) = s_r(i) + e_r(j), an open span only has to
remember its role:

    B_r(t) = logaddexp(B_r(t−1), A(t) + s_r(t))               spans of role r that are open at token t
    A(t+1) = logsumexp(A(t) + o(t), {B_r(t) + e_r(t)}_r)      labelings of t + 1 tokens; log Z = A(T)

and from the right, C_r(t) = logaddexp(C_r(t+1), e_r(t) + K(t+1)), K(t) = logsumexp(K(t+1) + o(t), {C_r(t) +
s_r(t)}_r). A(0) = K(T) = 0; B_r and C_r are −∞ at the predicate. The gradient of log Z is the marginals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from spansrl.decoding import SegmentalScores
from spansrl.nn.batch import Gold
from spansrl.nn.initialization import init_linear
from spansrl.nn.outputs.boundaries import BoundaryOutput
from spansrl.nn.outputs.output_base import DistillableOutput
from spansrl.nn.outputs.tagging import gold_tags


@dataclass(frozen=True, slots=True)
class SegmentalLogits:
    """Scores of labelings, undefined at padding."""

    start: Tensor  # (N, T, R)
    end: Tensor  # (N, T, R)
    outside: Tensor  # (N, T)


class SegmentalOutput(BoundaryOutput, DistillableOutput):
    """Role rows as in span selection, and a score of each token outside all arguments."""

    def __init__(self, width: int, n_roles: int, span_end: str = "last") -> None:
        super().__init__(width, n_roles, span_end)
        self.outside = nn.Linear(width, 1)
        init_linear(self.outside)

    def arrays(self, h: Tensor, mask: Tensor) -> dict[str, Tensor]:
        """`start` and `end` (N, T, R), `outside` (N, T)"""
        return super().arrays(h, mask) | {"outside": self.outside(h)[:, :, 0]}

    def forward(self, h: Tensor, mask: Tensor) -> SegmentalLogits:
        """h (N, T, D), mask (N, T) -> scores of all labelings"""
        return SegmentalLogits(**self.arrays(h, mask))

    def gold_loss(self, h: Tensor, mask: Tensor, pred: Tensor, gold: Gold) -> Tensor:
        """−log P(gold labeling), as the mean over propositions; nested arguments count as for taggers."""
        return self.teacher_loss(h, mask, pred, self.gold_targets(mask, pred, gold))

    @property
    def n_targets(self) -> int:
        return 2 * len(self.roles) + 1

    def targets(self, scores: SegmentalScores) -> Tensor:
        """The marginals of starts, ends and outside tokens: (N, T, 2R + 1)"""
        logits = SegmentalLogits(*map(torch.from_numpy, (scores.start, scores.end, scores.outside)))
        lengths, pred = torch.from_numpy(scores.lengths), torch.from_numpy(scores.pred)
        mask = torch.arange(logits.start.shape[1]) < lengths[:, None]
        return torch.cat(marginals(logits, mask, pred), dim=2).to(logits.start.dtype)

    def gold_targets(self, mask: Tensor, pred: Tensor, gold: Gold) -> Tensor:
        """Ones at gold starts, ends and outside tokens, zero elsewhere: (N, T, 2R + 1)"""
        tags = gold_tags(gold, mask, pred)  # (N, T)
        R = len(self.roles)
        role = (tags - 1).div(2, rounding_mode="floor").clamp(min=0)  # (N, T)
        is_role = nn.functional.one_hot(role, R) * (tags > 0)[:, :, None]  # (N, T, R)
        follows = nn.functional.pad(tags[:, 1:], (0, 1))  # the next tag; 0 after the last
        ends = (tags > 0) & (follows != 2 * role + 2)
        starts = tags % 2 == 1
        parts = [is_role * starts[:, :, None], is_role * ends[:, :, None], (tags == 0)[:, :, None]]
        return torch.cat([part.to(self.roles.dtype) for part in parts], dim=2)

    def teacher_loss(self, h: Tensor, mask: Tensor, pred: Tensor, teacher: Tensor) -> Tensor:
        """log Z − Σ P(start)·s − Σ P(end)·e − Σ P(outside)·o, exact as everything is linear in the scores"""
        logits = self(h, mask)
        R = len(self.roles)
        starts, ends, outside = teacher[:, :, :R], teacher[:, :, R : 2 * R], teacher[:, :, -1]
        expected = (starts * logits.start + ends * logits.end).sum(2) + outside * logits.outside
        return (log_partition(logits, mask, pred).sum() - torch.where(mask, expected, 0.0).sum()) / len(pred)


def log_partition(logits: SegmentalLogits, mask: Tensor, pred: Tensor) -> Tensor:
    """log Σ over all labelings of exp(score): (N,)"""
    return _SegmentalLogPartition.apply(  # type: ignore[no-untyped-call]
        logits.start, logits.end, logits.outside, mask, pred
    )


def marginals(logits: SegmentalLogits, mask: Tensor, pred: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Probabilities of starts (N, T, R), ends (N, T, R) and outside tokens (N, T, 1)."""
    scores = _masked(logits.start, logits.end, logits.outside, mask)
    starts, ends, outside = _marginals(*scores, mask, pred, *_from_the_left(*scores, pred))
    return starts, ends, outside[:, :, None]


class _SegmentalLogPartition(torch.autograd.Function):
    """log Z with its gradient in closed form, in double precision."""

    @staticmethod
    def forward(ctx: Any, start: Tensor, end: Tensor, outside: Tensor, mask: Tensor, pred: Tensor) -> Tensor:
        scores = _masked(start, end, outside, mask)
        before, opened = _from_the_left(*scores, pred)
        ctx.save_for_backward(*scores, mask, pred, before, opened)
        ctx.dtype = start.dtype
        return before[:, -1].to(start.dtype)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        weight = grads[0].double()[:, None]  # (N, 1)
        starts, ends, outside = _marginals(*ctx.saved_tensors)
        shared = weight[:, :, None]
        return (
            (shared * starts).to(ctx.dtype),
            (shared * ends).to(ctx.dtype),
            (weight * outside).to(ctx.dtype),
            None,
            None,
        )


def _masked(start: Tensor, end: Tensor, outside: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Double precision; a padding token is outside, and scores nothing."""
    padding = ~mask
    return (
        start.double().masked_fill(padding[:, :, None], -torch.inf),
        end.double().masked_fill(padding[:, :, None], -torch.inf),
        outside.double().masked_fill(padding, 0.0),
    )


def _from_the_left(start: Tensor, end: Tensor, outside: Tensor, pred: Tensor) -> tuple[Tensor, Tensor]:
    """A (N, T + 1) and B (N, T, R)"""
    N, T, _ = start.shape
    is_pred = torch.arange(T, device=pred.device)[:, None, None] == pred[:, None]  # (T, N, 1)
    before = [outside.new_zeros(N)]
    opened = [torch.full_like(start[:, 0], -torch.inf)]
    for t in range(T):
        begun = torch.logaddexp(opened[-1], before[-1][:, None] + start[:, t])  # (N, R)
        opened.append(begun.masked_fill(is_pred[t], -torch.inf))
        closed = torch.logsumexp(opened[-1] + end[:, t], dim=1)  # (N,)
        before.append(torch.logaddexp(before[-1] + outside[:, t], closed))
    return torch.stack(before, dim=1), torch.stack(opened[1:], dim=1)


def _marginals(
    start: Tensor, end: Tensor, outside: Tensor, mask: Tensor, pred: Tensor, before: Tensor, opened: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Probabilities of starts (N, T, R), ends (N, T, R) and outside tokens (N, T), 0 at padding."""
    T = start.shape[1]
    is_pred = torch.arange(T, device=pred.device)[:, None, None] == pred[:, None]  # (T, N, 1)
    after = [torch.zeros_like(before[:, 0])]  # K, from the right
    closing = [torch.full_like(start[:, 0], -torch.inf)]  # C, from the right
    for t in range(T - 1, -1, -1):
        ended = torch.logaddexp(closing[-1], end[:, t] + after[-1][:, None])  # (N, R)
        closing.append(ended.masked_fill(is_pred[t], -torch.inf))
        chosen = torch.logsumexp(closing[-1] + start[:, t], dim=1)
        after.append(torch.logaddexp(after[-1] + outside[:, t], chosen))
    following = torch.stack(after[::-1], dim=1)  # (N, T + 1)
    from_here = torch.stack(closing[:0:-1], dim=1)  # (N, T, R)
    log_z = before[:, -1, None]
    starts = torch.exp(before[:, :-1, None] + start + from_here - log_z[:, :, None])
    ends = torch.exp(opened + end + following[:, 1:, None] - log_z[:, :, None])
    none = torch.exp(before[:, :-1] + outside + following[:, 1:] - log_z)
    return starts, ends, torch.where(mask, none, 0.0)
