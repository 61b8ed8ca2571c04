"""Two ways to give a network the predicate: a mark at the input, or conditioning after the encoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor, nn

from spansrl.inference.config import EncoderConfig
from spansrl.nn.batch import Batch
from spansrl.nn.encoders.attention import AttentionStack
from spansrl.nn.initialization import init_linear


class SequenceEncoder(Protocol):
    """Contextual vectors of sequences."""

    out_width: int

    def __call__(self, x: Tensor, lengths: Tensor) -> Tensor:
        """x (N, T, in_width), lengths (N,) -> (N, T, out_width), undefined at padding"""


SequenceKind = Callable[[int, EncoderConfig], SequenceEncoder]  # width of the input, settings -> encoder


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
    """Conditions on the predicate after one pass per sentence.

    The vectors of token, predicate and distance are added up. A feed-forward layer per token follows, or
    layers of self-attention over the tokens of the sentence: new ones, or the `top` of a pretrained
    transformer, which at first sees little more than the tokens.
    """

    def __init__(self, in_width: int, config: EncoderConfig, top: nn.Module | None = None) -> None:
        super().__init__()
        width = config.width if top is None else in_width
        self.token = nn.Linear(in_width, width) if top is None else nn.Identity()
        self.pred = nn.Linear(in_width, width, bias=False)  # one bias is enough for their sum
        self.distance = nn.Embedding(2 * config.max_distance + 1, width)
        self.dropout = nn.Dropout(config.dropout)
        self.max_distance = config.max_distance
        self.out_width = width
        nn.init.normal_(self.distance.weight, std=0.1)
        self.attention, self.out = top, None
        if top is not None:
            nn.init.zeros_(self.pred.weight)
            return
        for linear in (self.token, self.pred):
            init_linear(linear)
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
            return self.attention(self.dropout(hidden), mask)
        assert self.out is not None
        return torch.relu(self.out(self.dropout(torch.relu(hidden))))


class MarkedEncoder(nn.Module):
    """The paper's encoder: the predicate is marked at the input, one pass per proposition."""

    out_width: int

    def __init__(self, in_width: int, config: EncoderConfig, kind: SequenceKind) -> None:
        super().__init__()
        self.mark = PredicateMark(config.mark_width)
        self.lstm = kind(in_width + config.mark_width, config)  # the name in all saved models
        self.out_width = self.lstm.out_width

    def forward(self, x: Tensor, batch: Batch) -> Tensor:
        """x (S, T, D) -> (N, T, out_width)"""
        return self.lstm(self.mark(x, batch.sentence, batch.pred), batch.lengths)


class OnePassEncoder(nn.Module):
    """The fast encoder: one pass per sentence, conditioned on each predicate afterwards."""

    out_width: int

    def __init__(
        self,
        in_width: int,
        config: EncoderConfig,
        kind: SequenceKind | None,
        top: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.lstm = None if kind is None else kind(in_width, config)
        head_width = in_width if self.lstm is None else self.lstm.out_width
        self.head = PredicateHead(head_width, config, top)
        self.out_width = self.head.out_width

    def forward(self, x: Tensor, batch: Batch) -> Tensor:
        """x (S, T, D) -> (N, T, out_width)"""
        if self.lstm is not None:
            x = self.lstm(x, batch.sentence_lengths)
        return self.head(x, batch.sentence, batch.pred, batch.mask())
