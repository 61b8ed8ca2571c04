"""What every output layer offers. One file per layer; the table is in `spansrl.nn.outputs`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, NoReturn, Self

import torch
from torch import Tensor, nn

from spansrl.errors import ConfigError
from spansrl.inference.config import OutputConfig
from spansrl.nn.batch import Batch, Gold


class Output(nn.Module, ABC):
    """Token features h (N, T, D) -> scores of arguments; N propositions, T tokens, R roles.

    `decoding.SCORES` has the scores that `arrays` become.
    """

    scores_spans: ClassVar[bool] = False  # by span vectors and role vectors
    can_be_mixed: ClassVar[bool] = False  # a mixture of experts can have it
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
        """The loss of a batch: by gold, or by targets that are partly a teacher's."""
        mask = batch.mask()
        if batch.teacher is None:
            return self.gold_loss(h, mask, batch.pred, batch.gold)
        gold = self.gold_targets(mask, batch.pred, batch.gold).flatten(2)  # (N, T, C)
        weight = batch.teacher.weight[:, None, None]
        # Both losses are linear in their targets, so the mean of the losses is the loss of the mean.
        targets = torch.lerp(gold.to(weight.dtype), batch.teacher.targets, weight)
        return self.teacher_loss(h, mask, batch.pred, targets)

    def role_vectors(self) -> Tensor:
        """W (R, 2D) of Eq. 8, where spans are scored by it."""
        raise ConfigError(f"{self.name} output has no role vectors; use a span, label or segmental output")

    # Distillation: a teacher's distribution is known by numbers (N, T, C) per token.

    def target_shape(self, n_roles: int) -> tuple[int, ...]:
        """The shape of a token's targets; C is its product."""
        self._cannot_be_distilled()

    def targets(self, h: Tensor, mask: Tensor, pred: Tensor) -> Tensor:
        """What a student learns from this layer: (N, T, *target_shape)"""
        self._cannot_be_distilled()

    def gold_targets(self, mask: Tensor, pred: Tensor, gold: Gold) -> Tensor:
        """The targets of a teacher that predicts gold with certainty: (N, T, *target_shape)"""
        self._cannot_be_distilled()

    def teacher_loss(self, h: Tensor, mask: Tensor, pred: Tensor, teacher: Tensor) -> Tensor:
        """Cross-entropy with a teacher's targets (N, T, C), as the mean over propositions."""
        self._cannot_be_distilled()

    def _cannot_be_distilled(self) -> NoReturn:
        raise ConfigError(f"{self.name} output cannot be distilled; use a span or segmental output")

    @property
    def name(self) -> str:
        """Its kind, for messages."""
        return type(self).__name__.removesuffix("Output").lower()
