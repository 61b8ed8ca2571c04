"""The baseline: a linear-chain CRF over BIO tags (Zhou and Xu 2015).

Transitions are free, as in the authors' code, or constrained so that I-r only follows B-r or I-r.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from spansrl.inference.config import OutputConfig
from spansrl.nn.batch import Gold
from spansrl.nn.initialization import init_linear
from spansrl.nn.outputs.output_base import Output
from spansrl.nn.outputs.tagging import gold_tags


@dataclass(frozen=True, slots=True)
class TagLogits:
    """Scores of a tag sequence y: first[y_0] + Σ_t emissions[n, t, y_t] + Σ_t transitions[y_t, y_t+1]."""

    emissions: Tensor  # (N, T, K)
    transitions: Tensor  # (K, K) from, to; −inf where forbidden
    first: Tensor  # (K,) −inf where forbidden


class CrfOutput(Output):
    """Emissions by a linear layer, and the chain's own scores."""

    row_axes: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "emit.weight": ("tag",),
        "emit.bias": ("tag",),
        "transitions": ("tag", "tag"),
        "first": ("tag",),
    }
    legal: Tensor
    legal_first: Tensor

    def __init__(self, width: int, n_roles: int, transitions: str = "free") -> None:
        super().__init__()
        n_tags = 1 + 2 * n_roles
        self.emit = nn.Linear(width, n_tags)
        self.transitions = nn.Parameter(torch.empty(n_tags, n_tags))
        self.first = nn.Parameter(torch.zeros(n_tags))
        init_linear(self.emit)
        nn.init.xavier_uniform_(self.transitions)
        legal, legal_first = _legal_moves(n_tags, transitions)
        self.register_buffer("legal", legal, persistent=False)
        self.register_buffer("legal_first", legal_first, persistent=False)

    @classmethod
    def of(cls, config: OutputConfig, width: int, n_roles: int) -> Self:
        return cls(width, n_roles, config.transitions)

    def arrays(self, h: Tensor, mask: Tensor) -> dict[str, Tensor]:
        """`emissions` (N, T, K), `transitions` (K, K), `first` (K,)"""
        logits = self(h)
        return {"emissions": logits.emissions, "transitions": logits.transitions, "first": logits.first}

    def gold_loss(self, h: Tensor, mask: Tensor, pred: Tensor, gold: Gold) -> Tensor:
        """−log P(gold tags), as the mean over propositions"""
        return crf_loss(self(h), gold_tags(gold, mask, pred), mask)

    def forward(self, h: Tensor) -> TagLogits:
        """h (N, T, D) -> scores of all tag sequences"""
        return TagLogits(
            emissions=self.emit(h),
            transitions=self.transitions.masked_fill(~self.legal, -torch.inf),
            first=self.first.masked_fill(~self.legal_first, -torch.inf),
        )


def crf_loss(logits: TagLogits, tags: Tensor, mask: Tensor) -> Tensor:
    """−log P(tags), as the mean over propositions: tags (N, T), mask (N, T)"""
    log_z = chain_log_partition(logits, mask)  # (N,)
    return (log_z - path_score(logits, tags, mask)).mean()


def path_score(logits: TagLogits, tags: Tensor, mask: Tensor) -> Tensor:
    """Score of one tag sequence per proposition: (N,)"""
    emitted = logits.emissions.gather(2, tags[:, :, None])[:, :, 0]  # (N, T)
    moves = logits.transitions[tags[:, :-1], tags[:, 1:]]  # (N, T − 1)
    inside = torch.where(mask, emitted, 0.0).sum(1) + torch.where(mask[:, 1:], moves, 0.0).sum(1)
    return logits.first[tags[:, 0]] + inside


def chain_log_partition(logits: TagLogits, mask: Tensor) -> Tensor:
    """log Σ over all tag sequences of exp(score): (N,)"""
    return _ChainLogPartition.apply(  # type: ignore[no-untyped-call]
        logits.emissions, logits.transitions, logits.first, mask
    )


def _legal_moves(n_tags: int, transitions: str) -> tuple[Tensor, Tensor]:
    """(K, K) and (K,) booleans: which tag may follow which, and which may come first."""
    legal = torch.ones(n_tags, n_tags, dtype=torch.bool)
    legal_first = torch.ones(n_tags, dtype=torch.bool)
    if transitions == "bio":
        inside = torch.arange(2, n_tags, 2)
        legal[:, inside] = False
        legal[inside, inside] = True
        legal[inside - 1, inside] = True
        legal_first[inside] = False
    return legal, legal_first


class _ChainLogPartition(torch.autograd.Function):
    """The forward algorithm as T small matrix products, its gradient by the backward one.

    In the log domain every step would need (N, K, K) exponentials; here a step is one (N, K) × (K, K) product
    of exponentials scaled by their maximum, in double precision so that what underflows could not matter.
    """

    @staticmethod
    def forward(ctx: Any, emissions: Tensor, transitions: Tensor, first: Tensor, mask: Tensor) -> Tensor:
        emit, move = emissions.double(), transitions.double().exp()
        alphas = [first.double() + emit[:, 0]]  # each (N, K)
        for t in range(1, emit.shape[1]):
            step = _log_product(alphas[-1], move) + emit[:, t]
            alphas.append(torch.where(mask[:, t, None], step, alphas[-1]))
        log_z = torch.logsumexp(alphas[-1], dim=1)  # (N,)
        ctx.save_for_backward(emit, move, torch.stack(alphas, 1), log_z, mask)
        ctx.dtypes = emissions.dtype, transitions.dtype, first.dtype
        return log_z.to(emissions.dtype)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        emit, move, alphas, log_z, mask = ctx.saved_tensors
        weight = grads[0].double()[:, None]  # (N, 1)
        beta = torch.zeros_like(log_z)[:, None].expand_as(emit[:, 0])  # (N, K)
        tag_grad = torch.empty_like(emit)
        pair_grad = torch.zeros_like(move)
        for t in range(emit.shape[1] - 1, -1, -1):
            inside = mask[:, t, None]
            tag_grad[:, t] = torch.where(
                inside, weight * torch.exp(alphas[:, t] + beta - log_z[:, None]), 0.0
            )
            if t > 0:
                ahead = emit[:, t] + beta
                top = alphas[:, t - 1].amax(1, keepdim=True)
                left = torch.exp(alphas[:, t - 1] - top)  # (N, K)
                right = torch.where(inside, weight * torch.exp(ahead + top - log_z[:, None]), 0.0)  # (N, K)
                pair_grad += left.T @ right
                beta = torch.where(inside, _log_product(ahead, move.T), beta)
        emit_type, move_type, first_type = ctx.dtypes
        return (
            tag_grad.to(emit_type),
            (pair_grad * move).to(move_type),
            tag_grad[:, 0].sum(0).to(first_type),
            None,
        )


def _log_product(log_vector: Tensor, matrix: Tensor) -> Tensor:
    """log( exp(log_vector) @ matrix ), safely: (N, K), (K, K) -> (N, K)"""
    top = log_vector.amax(1, keepdim=True)
    return torch.log(torch.exp(log_vector - top) @ matrix) + top
