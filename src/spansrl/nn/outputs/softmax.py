"""A tagger without a chain: a softmax over BIO tags at each token (He et al. 2017)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

import torch
from torch import Tensor, nn

from spansrl.inference.config import OutputConfig
from spansrl.nn.batch import Gold
from spansrl.nn.initialization import init_linear
from spansrl.nn.outputs.output_base import Output
from spansrl.nn.outputs.tagging import gold_tags


class SoftmaxOutput(Output):
    """Scores of tags by a linear layer; BIO constrains decoding, not learning."""

    row_axes: ClassVar[Mapping[str, tuple[str, ...]]] = {"emit.weight": ("tag",), "emit.bias": ("tag",)}

    def __init__(self, width: int, n_roles: int) -> None:
        super().__init__()
        self.emit = nn.Linear(width, 1 + 2 * n_roles)
        init_linear(self.emit)

    @classmethod
    def of(cls, config: OutputConfig, width: int, n_roles: int) -> Self:
        return cls(width, n_roles)

    def forward(self, h: Tensor) -> Tensor:
        """h (N, T, D) -> log-probabilities of tags (N, T, K)"""
        return self.emit(h).log_softmax(dim=2)

    def arrays(self, h: Tensor, mask: Tensor) -> dict[str, Tensor]:
        """`emissions` (N, T, K)"""
        return {"emissions": self(h)}

    def gold_loss(self, h: Tensor, mask: Tensor, pred: Tensor, gold: Gold) -> Tensor:
        """−Σ_t log P(gold tag of t), as the mean over propositions"""
        chosen = self(h).gather(2, gold_tags(gold, mask, pred)[:, :, None])[:, :, 0]  # (N, T)
        return -torch.where(mask, chosen, 0.0).sum() / len(pred)
