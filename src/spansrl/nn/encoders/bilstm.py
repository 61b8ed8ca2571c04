"""The paper's encoder, an interleaved BiLSTM (Appendix B).

Odd layers read left to right, even ones right to left, and between them x' = ReLU(W [x ; h]); its output is
the last connection's. Initialized as in Appendix C.1: orthonormal LSTM matrices (for each gate's block),
Glorot elsewhere, zero biases.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from spansrl.inference.config import EncoderConfig
from spansrl.nn.initialization import init_linear
from spansrl.nn.recurrence import reversal, take


class InterleavedLSTM(nn.Module):
    """One-directional LSTMs with ReLU connections, and dropout (`encoder.dropout_at`)."""

    def __init__(self, in_width: int, config: EncoderConfig) -> None:
        super().__init__()
        width = config.width
        widths = [in_width] + [width] * (config.layers - 1)
        self.lstms = nn.ModuleList(nn.LSTM(w, width, batch_first=True) for w in widths)
        self.connections = nn.ModuleList(nn.Linear(w + width, width) for w in widths)
        self.dropout = nn.Dropout(config.dropout)
        self.drops_hidden = config.dropout_at == "hidden"
        self.out_width = width
        for name, parameter in self.lstms.named_parameters():
            if "weight" in name:
                for gate in parameter.data.chunk(4):
                    nn.init.orthogonal_(gate)
            else:
                nn.init.zeros_(parameter)
                if "bias_ih" in name:
                    parameter.data.chunk(4)[1].fill_(config.forget_bias)  # gates: input, forget, cell, output
        for connection in self.connections:
            init_linear(connection)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """x (N, T, in_width), lengths (N,) -> (N, T, width), undefined at padding"""
        backwards = reversal(lengths, x.shape[1])  # (N, T)
        for layer, (lstm, connection) in enumerate(zip(self.lstms, self.connections, strict=True)):
            if layer == 0 or not self.drops_hidden:
                x = self.dropout(x)
            if layer % 2 == 0:
                h, _ = lstm(x)  # (N, T, width)
            else:
                h, _ = lstm(take(x, backwards))
                h = take(h, backwards)
            if self.drops_hidden:
                h = self.dropout(h)
            x = torch.relu(connection(torch.cat([x, h], dim=2)))  # (N, T, width)
        return x
