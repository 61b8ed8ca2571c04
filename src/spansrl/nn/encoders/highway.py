"""The highway BiLSTM of He et al. 2017: interleaved directions, and a gate past every LSTM.

    r_t = σ(W_r x_t + U_r h_{t−1} + b_r),   h_t = r_t ∘ o_t ∘ tanh(c_t) + (1 − r_t) ∘ W_h x_t

The gated h_t is what the next step sees. Recurrent dropout uses one mask per sequence (Gal and Ghahramani
2016). Initialized as the paper does: orthonormal matrices, zero biases.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from spansrl.inference.config import EncoderConfig
from spansrl.nn.recurrence import Tensors, reversal, run_steps, take


class HighwayLSTM(nn.Module):
    """Layers that read left to right and right to left in turn."""

    def __init__(self, in_width: int, config: EncoderConfig) -> None:
        super().__init__()
        widths = [in_width] + [config.width] * (config.layers - 1)
        self.layers = nn.ModuleList(HighwayLayer(w, config.width, config.dropout) for w in widths)
        self.out_width = config.width

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """x (N, T, in_width), lengths (N,) -> (N, T, width), undefined at padding"""
        backwards = reversal(lengths, x.shape[1])  # (N, T)
        for number, layer in enumerate(self.layers):
            x = layer(x) if number % 2 == 0 else take(layer(take(x, backwards)), backwards)
        return x


class HighwayLayer(nn.Module):
    """An LSTM from left to right with a highway connection."""

    def __init__(self, in_width: int, width: int, dropout: float) -> None:
        super().__init__()
        # input, forget, output, cell, highway gate, carried input
        self.inputs = nn.Linear(in_width, 6 * width)
        self.hidden = nn.Linear(width, 5 * width, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.width = width
        for weight in (*self.inputs.weight.data.chunk(6), *self.hidden.weight.data.chunk(5)):
            nn.init.orthogonal_(weight)
        nn.init.zeros_(self.inputs.bias)

    def forward(self, x: Tensor) -> Tensor:
        """x (N, T, in_width) -> (N, T, width)"""
        start = x.new_zeros(len(x), self.width)
        kept = self.dropout(torch.ones_like(start))  # (N, width): the same units in every step
        inputs = self.inputs(x).transpose(0, 1)  # (T, N, 6 · width)

        def step(state: Tensors, now: Tensor) -> tuple[Tensors, Tensor]:
            hidden, memory = state  # (N, width) each
            gates, carried = now[:, : 5 * self.width], now[:, 5 * self.width :]
            enter, keep, leave, new, highway = (gates + self.hidden(hidden * kept)).chunk(5, dim=1)
            memory = keep.sigmoid() * memory + enter.sigmoid() * new.tanh()
            share = highway.sigmoid()
            hidden = share * leave.sigmoid() * memory.tanh() + (1 - share) * carried
            return (hidden, memory), hidden

        return run_steps(step, (start, start), inputs).transpose(0, 1)
