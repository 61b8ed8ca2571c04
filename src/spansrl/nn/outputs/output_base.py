"""What every output layer offers. One file per layer; the table is in `spansrl.nn.outputs`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from spansrl.inference.config import OutputConfig
from spansrl.nn.batch import Batch, Gold


class Output(nn.Module, ABC):
    """Token features h (N, T, D) -> scores of arguments; N propositions, T tokens, R roles.

    `decoding.SCORES` lists the classes that decode what `arrays` returns.
    """

    can_be_mixed: ClassVar[bool] = False  # whether a mixture of experts supports it
    # Parameters with axes of roles, or of tags (O, then B and I of each role): the kinds of their first axes.
    row_axes: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    @classmethod
    @abstractmethod
    def of(cls, config: OutputConfig, width: int, n_roles: int) -> Self:
        """A new layer as the config describes it."""

    @abstractmethod
    def arrays(self, h: Tensor, mask: Tensor) -> dict[str, Tensor]:
        """The named arrays from which scores are rebuilt, exported or not; mask (N, T) is true at tokens."""

    @abstractmethod
    def gold_loss(self, h: Tensor, mask: Tensor, pred: Tensor, gold: Gold) -> Tensor:
        """Negative log-likelihood of the gold arguments, as the mean over propositions."""

    def loss(self, h: Tensor, batch: Batch) -> Tensor:
        """The loss of a batch."""
        return self.gold_loss(h, batch.mask(), batch.pred, batch.gold)


class DistillableOutput(Output):
    """An output whose distribution is determined by C expected values per token, its targets (N, T, C)."""

    @property
    @abstractmethod
    def n_targets(self) -> int:
        """C"""

    @abstractmethod
    def targets(self, scores: Any) -> Tensor:
        """What a student learns from a teacher's scores, which are those of `decoding.SCORES`: (N, T, C)"""

    @abstractmethod
    def gold_targets(self, mask: Tensor, pred: Tensor, gold: Gold) -> Tensor:
        """The targets of a teacher that predicts gold with certainty: (N, T, C)"""

    @abstractmethod
    def teacher_loss(self, h: Tensor, mask: Tensor, pred: Tensor, teacher: Tensor) -> Tensor:
        """Cross-entropy with a teacher's targets (N, T, C), as the mean over propositions."""

    def loss(self, h: Tensor, batch: Batch) -> Tensor:
        """The loss of a batch: by gold, or by a mean of gold and teachers."""
        if batch.teacher is None:
            return super().loss(h, batch)
        mask, weight = batch.mask(), batch.teacher.weight[:, None, None]
        gold = self.gold_targets(mask, batch.pred, batch.gold)
        # Both losses are linear in their targets, so the mean of the losses is the loss of the mean.
        targets = torch.lerp(gold.to(weight.dtype), batch.teacher.targets, weight)
        return self.teacher_loss(h, mask, batch.pred, targets)
