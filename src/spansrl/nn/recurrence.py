"""What recurrent networks share: steps over a sequence, and sequences read from right to left."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch._higher_order_ops.scan import scan

Tensors = tuple[Tensor, ...]
Step = Callable[[Tensors, Tensor], tuple[Tensors, Tensor]]  # state, input of a step -> state, output


def run_steps(step: Step, state: Tensors, inputs: Tensor) -> Tensor:
    """Take a step for each row of the inputs (T, ...); return the outputs (T, ...).

    In an exported graph this is one operator for any number of steps. Its states and outputs must not share
    memory, hence the copies.
    """
    if torch.compiler.is_exporting():

        def copying(state: Tensors, now: Tensor) -> tuple[Tensors, Tensor]:
            state, output = step(state, now)
            return state, output.clone()

        _, stacked = scan(copying, tuple(part.clone() for part in state), inputs)
        return stacked
    outputs = []
    for now in inputs:
        state, output = step(state, now)
        outputs.append(output)
    return torch.stack(outputs)


def reversal(lengths: Tensor, size: int) -> Tensor:
    """(N, T) indices that reverse each sentence within its own length and leave the padding alone."""
    steps = torch.arange(size, device=lengths.device).expand(len(lengths), size)
    return torch.where(steps < lengths[:, None], lengths[:, None] - 1 - steps, steps)


def take(x: Tensor, indices: Tensor) -> Tensor:
    """x (N, T, D) reordered along T by indices (N, T)."""
    return x.gather(1, indices[:, :, None].expand(-1, -1, x.shape[2]))
