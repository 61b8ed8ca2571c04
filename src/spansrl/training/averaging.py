"""An exponential moving average of a model's parameters, evaluated and saved instead of the last ones."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

import torch
from torch import Tensor, nn


class WeightAverage:
    """The average of the trained parameters over the last 1 / (1 - decay) steps or so.

    The first steps use a lower decay, so that the average does not remember the initial weights.
    A decay of 0 keeps no average: `applied` then changes nothing.
    """

    def __init__(self, parameters: Iterable[tuple[str, nn.Parameter]], decay: float) -> None:
        self.decay = decay
        self.steps = 0
        self._parameters = {name: p for name, p in parameters if p.requires_grad and decay > 0}
        self.tensors: dict[str, Tensor] = {name: p.detach().clone() for name, p in self._parameters.items()}

    @torch.no_grad()
    def update(self) -> None:
        """Move the average toward the current parameters; call it after every step of the optimizer."""
        if not self.tensors:
            return
        self.steps += 1
        decay = min(self.decay, self.steps / (self.steps + 9))
        current = [self._parameters[name].detach() for name in self.tensors]
        torch._foreach_lerp_(list(self.tensors.values()), current, 1 - decay)

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """Swap the average into the model inside this block."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    @torch.no_grad()
    def _swap(self) -> None:
        for name, average in self.tensors.items():
            parameter = self._parameters[name]
            kept = parameter.detach().clone()
            parameter.copy_(average)
            average.copy_(kept)
