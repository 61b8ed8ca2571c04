"""Self-attention over a sentence's tokens: an encoder (Tan et al. 2018), and layers after it."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention

from spansrl.inference.config import EncoderConfig
from spansrl.nn.initialization import init_linear


class AttentionLayer(nn.Module):
    """A pre-norm transformer layer: x + attention(norm(x)), then x + feed-forward(norm(x))."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.LayerNorm(width)
        self.projection = nn.Linear(width, 3 * width)
        self.attended = nn.Linear(width, width)
        self.feed_norm = nn.LayerNorm(width)
        self.inner = nn.Linear(width, 4 * width)
        self.outer = nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)
        for linear in (self.projection, self.attended, self.inner, self.outer):
            nn.init.normal_(linear.weight, std=0.02)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x (N, T, D), mask (N, T) true at tokens -> (N, T, D)"""
        N, T, D = x.shape
        parts = self.projection(self.attention_norm(x)).view(N, T, 3, self.heads, D // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)  # (N, heads, T, D / heads) each
        found = scaled_dot_product_attention(query, key, value, attn_mask=mask[:, None, None])
        x = x + self.dropout(self.attended(found.transpose(1, 2).reshape(N, T, D)))
        fed = self.outer(gelu(self.inner(self.feed_norm(x))))
        return x + self.dropout(fed)


class AttentionStack(nn.Module):
    """Layers of self-attention with a norm at the end; without layers, nothing."""

    def __init__(self, width: int, heads: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList(AttentionLayer(width, heads, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x (N, T, D), mask (N, T) -> (N, T, D)"""
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


class SelfAttention(nn.Module):
    """Projected token vectors plus a position signal, and layers of self-attention over them."""

    def __init__(self, in_width: int, config: EncoderConfig) -> None:
        super().__init__()
        self.token = nn.Linear(in_width, config.width)
        self.stack = AttentionStack(config.width, config.attention_heads, config.layers, config.dropout)
        self.dropout = nn.Dropout(config.dropout)
        self.out_width = config.width
        init_linear(self.token)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """x (N, T, in_width), lengths (N,) -> (N, T, width), undefined at padding"""
        mask = torch.arange(x.shape[1], device=x.device) < lengths[:, None]  # (N, T)
        signal = position_signal(x.shape[1], self.out_width, x)  # (T, width)
        return self.stack(self.dropout(self.token(x) + signal), mask)


def position_signal(size: int, width: int, like: Tensor) -> Tensor:
    """Sines and cosines of geometrically growing wavelengths (Vaswani et al. 2017): (size, width)"""
    steps = torch.arange(width // 2, device=like.device, dtype=like.dtype)
    rates = torch.exp(steps * (-9.210340371976184 / max(1, width // 2 - 1)))  # 1 … 1/10000
    angles = torch.arange(size, device=like.device, dtype=like.dtype)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1)
