"""What every output layer offers. One file per layer; the table is in `spansrl.nn.outputs`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from torch import Tensor, nn

from spansrl.errors import ConfigError
from spansrl.inference.config import OutputConfig
from spansrl.nn.batch import Batch, Gold


class Output(nn.Module):
    """Token features h (N, T, D) -> scores of arguments; N propositions, T tokens, R roles.

    `decoding.SCORES` has the scores that `arrays` become.
    """

    scores_spans: ClassVar[bool] = False  # by span vectors and role vectors
    can_be_mixed: ClassVar[bool] = False  # a mixture of experts can have it
    # Parameters with axes of roles, or of tags (O, then B and I of each role): the kinds of their first axes.
    row_axes: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    @classmethod
    def of(cls, config: OutputConfig, width: int, n_roles: int) -> Self:
        """A new layer as the config describes it."""
        raise NotImplementedError

    def arrays(self, h: Tensor, mask: Tensor) -> dict[str, Tensor]:
        """The named arrays from which scores are rebuilt, exported or not; mask (N, T) is true at tokens."""
        raise NotImplementedError

    def gold_loss(self, h: Tensor, mask: Tensor, pred: Tensor, gold: Gold) -> Tensor:
        """Negative log-likelihood of the gold arguments, as the mean over propositions."""
        raise NotImplementedError

    def loss(self, h: Tensor, batch: Batch, teacher_weight: float = 0.0) -> Tensor:
        """The loss of a batch, in which a teacher's part has the given weight."""
        mask = batch.mask()
        gold = self.gold_loss(h, mask, batch.pred, batch.gold)
        if batch.teacher is None or batch.taught is None:
            return gold
        teacher = batch.teacher
        if not bool(batch.taught.all()):  # gold takes the place of a teacher that was not asked
            own = self.gold_targets(mask, batch.pred, batch.gold).flatten(2)
            teacher = teacher.where(batch.taught[:, None, None], own.to(teacher.dtype))
        return (1 - teacher_weight) * gold + teacher_weight * self.teacher_loss(h, mask, batch.pred, teacher)

    def role_vectors(self) -> Tensor:
        """W (R, 2D) of Eq. 8, where spans are scored by it."""
        raise NotImplementedError

    # Distillation: a teacher's distribution is known by numbers (N, T, C) per token.

    def target_shape(self, n_roles: int) -> tuple[int, ...]:
        """The shape of a token's targets; C is its product."""
        raise ConfigError(f"{self.name} output cannot be distilled; use a span or segmental output")

    def targets(self, h: Tensor, mask: Tensor, pred: Tensor) -> Tensor:
        """What a student learns from this layer: (N, T, *target_shape)"""
        raise NotImplementedError

    def gold_targets(self, mask: Tensor, pred: Tensor, gold: Gold) -> Tensor:
        """The targets of a teacher that predicts gold with certainty: (N, T, *target_shape)"""
        raise NotImplementedError

    def teacher_loss(self, h: Tensor, mask: Tensor, pred: Tensor, teacher: Tensor) -> Tensor:
        """Cross-entropy with a teacher's targets (N, T, C), as the mean over propositions."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """Its kind, for messages."""
        return type(self).__name__.removesuffix("Output").lower()

    def forward(self, *args: Any) -> Any:
        """Scores in torch, as the layer's own tests and losses use them."""
        raise NotImplementedError
