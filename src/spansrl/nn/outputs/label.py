"""Label selection: within each span, a softmax over the roles and "no role", which scores 0 (He et al. 2018).

The loss is Σ over all spans of log(1 + Σ_r exp F(i, j, r)), minus F of the gold arguments. As F is a sum, the
inner sum over roles is a matrix product of exp(start) and exp(end): O(T²·R) time, but only O(T²) memory for
each chunk of propositions, and never an array with both a span and a role axis.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from spansrl.nn.batch import Gold
from spansrl.nn.outputs.boundaries import BoundaryOutput

PAIRS = 1 << 20  # pairs of tokens, over all propositions of a chunk


class LabelOutput(BoundaryOutput):
    """The paper's score with the normalization that the paper argues against."""

    def gold_loss(self, h: Tensor, mask: Tensor, pred: Tensor, gold: Gold) -> Tensor:
        """−Σ over all spans of log P(its role or none), as the mean over propositions"""
        return label_loss(**self.arrays(h, mask), mask=mask, gold=gold)


def label_loss(start: Tensor, end: Tensor, mask: Tensor, gold: Gold) -> Tensor:
    """The loss from start and end scores (N, T, R); a span with several gold roles counts once for each."""
    N, T, _ = start.shape
    chosen = start[gold.prop, gold.first, gold.role] + end[gold.prop, gold.last, gold.role]  # (K,)
    scores = start[gold.prop, gold.first] + end[gold.prop, gold.last]  # (K, R)
    log_z = torch.logsumexp(torch.nn.functional.pad(scores, (1, 0)), dim=1)  # with "no role"
    spans = (gold.prop * T + gold.first) * T + gold.last  # (K,)
    weight = 1 - 1 / (spans[:, None] == spans).sum(1)  # all spans count once below
    total: Tensor = sum_of_normalizers(start, end, mask) + (weight * log_z).sum() - chosen.sum()
    return total / N


def sum_of_normalizers(start: Tensor, end: Tensor, mask: Tensor) -> Tensor:
    """Σ_n Σ_{i<=j} log(1 + Σ_r exp(start[n, i, r] + end[n, j, r])), without padding"""
    return _SumOfNormalizers.apply(start, end, mask)  # type: ignore[no-untyped-call]


class _SumOfNormalizers(torch.autograd.Function):
    """Value and gradient in one pass over chunks of propositions, in double precision."""

    @staticmethod
    def forward(ctx: Any, start: Tensor, end: Tensor, mask: Tensor) -> Tensor:
        N, T, _ = start.shape
        step = max(1, PAIRS // (T * T))
        parts = [
            _chunk(start[k : k + step], end[k : k + step], mask[k : k + step]) for k in range(0, N, step)
        ]
        totals, starts, ends = zip(*parts, strict=True)
        ctx.save_for_backward(torch.cat(starts), torch.cat(ends))
        return torch.stack(totals).sum().to(start.dtype)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None]:
        starts, ends = ctx.saved_tensors
        return grads[0] * starts, grads[0] * ends, None


def _chunk(start: Tensor, end: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The sum, and its gradients (n, T, R), of a few propositions."""
    top_start, top_end = (part.double().amax(2, keepdim=True) for part in (start, end))  # (n, T, 1) each
    from_start, from_end = (start.double() - top_start).exp(), (end.double() - top_end).exp()  # (n, T, R)
    top = top_start + top_end.transpose(1, 2)  # (n, T, T)
    of_roles = top + torch.log(from_start @ from_end.transpose(1, 2))  # (n, T, T) log Σ_r exp F
    log_z = torch.logaddexp(of_roles, torch.zeros_like(of_roles))
    spans = torch.triu(mask[:, :, None] & mask[:, None])  # (n, T, T) i <= j, no padding
    weight = torch.where(spans, (top - log_z).exp(), 0.0)
    starts = from_start * (weight @ from_end)
    ends = from_end * (weight.transpose(1, 2) @ from_start)
    return torch.where(spans, log_z, 0.0).sum(), starts.to(start.dtype), ends.to(end.dtype)
