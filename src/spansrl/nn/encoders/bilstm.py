"""Token vectors -> contextual vectors, and the two ways of telling the network which predicate is meant.

The interleaved BiLSTM follows Appendix B: odd layers read left to right, even ones right to left, and between
them x' = ReLU(W [x ; h]); its output is the last connection's. Initialised as Appendix C.1 says: orthonormal
LSTM matrices (for each gate's block), Glorot elsewhere, zero biases.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from spansrl.inference.config import EncoderConfig
from spansrl.nn.encoders.attention import AttentionStack


class InterleavedLSTM(nn.Module):
    """`layers` one-directional LSTMs with ReLU connections; dropout on every LSTM's input."""

    def __init__(self, in_width: int, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        widths = [in_width] + [width] * (layers - 1)
        self.lstms = nn.ModuleList(nn.LSTM(w, width, batch_first=True) for w in widths)
        self.connections = nn.ModuleList(nn.Linear(w + width, width) for w in widths)
        self.dropout = nn.Dropout(dropout)
        self.out_width = width
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Orthonormal for each gate's block, Glorot for the connections, zero biases."""
        for name, parameter in self.lstms.named_parameters():
            if "weight" in name:
                for gate in parameter.data.chunk(4):
                    nn.init.orthogonal_(gate)
            else:
                nn.init.zeros_(parameter)
        for connection in self.connections:
            init_linear(connection)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """x (N, T, in_width), lengths (N,) -> (N, T, width); what stands at padding is arbitrary."""
        backwards = _reversal(lengths, x.shape[1])  # (N, T)
        for layer, (lstm, connection) in enumerate(zip(self.lstms, self.connections, strict=True)):
            x = self.dropout(x)
            if layer % 2 == 0:
                h, _ = lstm(x)  # (N, T, width)
            else:
                h, _ = lstm(_take(x, backwards))
                h = _take(h, backwards)
            x = torch.relu(connection(torch.cat([x, h], dim=2)))  # (N, T, width)
        return x


class PredicateMark(nn.Module):
    """Marks the predicate at the input: every proposition is a copy of its sentence with one token marked."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.marks = nn.Embedding(2, width)
        nn.init.xavier_uniform_(self.marks.weight)

    def forward(self, x: Tensor, sentence: Tensor, pred: Tensor) -> Tensor:
        """x (S, T, D), sentence (N,), pred (N,) -> (N, T, D + width)"""
        is_pred = torch.arange(x.shape[1], device=x.device) == pred[:, None]  # (N, T)
        return torch.cat([x[sentence], self.marks(is_pred.long())], dim=2)


class PredicateHead(nn.Module):
    """Conditions on the predicate after one pass a sentence.

    Token, predicate and distance are added up; what follows is a layer for each token by itself, or layers of
    self-attention, in which the tokens of a sentence learn from each other what the predicate makes of them.
    """

    def __init__(self, in_width: int, config: EncoderConfig) -> None:
        super().__init__()
        width = config.width
        self.token = nn.Linear(in_width, width)
        self.pred = nn.Linear(in_width, width, bias=False)  # one bias is enough for their sum
        self.distance = nn.Embedding(2 * config.max_distance + 1, width)
        self.dropout = nn.Dropout(config.dropout)
        self.max_distance = config.max_distance
        self.out_width = width
        for linear in (self.token, self.pred):
            init_linear(linear)
        nn.init.normal_(self.distance.weight, std=0.1)
        self.attention = self.out = None
        if config.attention_layers:
            self.attention = AttentionStack(
                width, config.attention_heads, config.attention_layers, config.dropout
            )
        else:
            self.out = nn.Linear(width, width)
            init_linear(self.out)

    def forward(self, h: Tensor, sentence: Tensor, pred: Tensor, mask: Tensor) -> Tensor:
        """h (S, T, D), sentence (N,), pred (N,), mask (N, T) -> (N, T, width)"""
        away = torch.arange(h.shape[1], device=h.device) - pred[:, None]  # (N, T)
        away = away.clamp(-self.max_distance, self.max_distance) + self.max_distance
        hidden = self.token(h)[sentence]  # (N, T, width)
        hidden = hidden + self.pred(h[sentence, pred])[:, None] + self.distance(away)
        if self.attention is not None:
            attended: Tensor = self.attention(self.dropout(hidden), mask)
            return attended
        assert self.out is not None
        return torch.relu(self.out(self.dropout(torch.relu(hidden))))


def init_linear(linear: nn.Module) -> None:
    """Glorot weights and a zero bias (Appendix C.1)."""
    assert isinstance(linear, nn.Linear)
    nn.init.xavier_uniform_(linear.weight)
    if linear.bias is not None:
        nn.init.zeros_(linear.bias)


def _reversal(lengths: Tensor, size: int) -> Tensor:
    """(N, T) places that turn each sentence around within its own length and leave the padding alone."""
    steps = torch.arange(size, device=lengths.device).expand(len(lengths), size)
    return torch.where(steps < lengths[:, None], lengths[:, None] - 1 - steps, steps)


def _take(x: Tensor, places: Tensor) -> Tensor:
    """x (N, T, D) reordered along T by places (N, T)."""
    return x.gather(1, places[:, :, None].expand(-1, -1, x.shape[2]))
