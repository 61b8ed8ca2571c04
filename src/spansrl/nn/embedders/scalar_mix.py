"""A learned average of an encoder's layers: gamma · Σ_k softmax(w)_k · layer_k (Peters+ 2018, Eq. 1)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from spansrl.errors import ModelError


class ScalarMix(nn.Module):
    """Mixes `n_layers` layers into one; starts as their mean."""

    def __init__(self, n_layers: int) -> None:
        super().__init__()
        if n_layers < 1:
            raise ModelError(f"a scalar mix needs at least one layer, not {n_layers}")
        self.weights = nn.Parameter(torch.zeros(n_layers))
        self.gamma = nn.Parameter(torch.ones(()))

    def forward(self, layers: Tensor) -> Tensor:
        """Layers (L, ..., D) -> (..., D)."""
        if layers.shape[0] != len(self.weights):
            raise ModelError(
                f"this scalar mix is for {len(self.weights)} layers; it was given {layers.shape[0]}"
            )
        mixed: Tensor = torch.tensordot(self.weights.softmax(dim=0), layers, dims=1)
        return self.gamma * mixed
