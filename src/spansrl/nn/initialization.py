"""Initial weights that several layers share."""

from __future__ import annotations

from torch import nn


def init_linear(linear: nn.Module) -> None:
    """Glorot weights and a zero bias (Appendix C.1)."""
    assert isinstance(linear, nn.Linear)
    nn.init.xavier_uniform_(linear.weight)
    if linear.bias is not None:
        nn.init.zeros_(linear.bias)
