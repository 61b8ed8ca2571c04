"""Self-attention: against the plain formula, and blind to padding."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn.functional import layer_norm

from spansrl.nn.encoders.attention import AttentionLayer, AttentionStack

WIDTH, HEADS = 8, 2


def make_stack(layers: int) -> AttentionStack:
    torch.manual_seed(3)
    stack = AttentionStack(WIDTH, HEADS, layers, dropout=0.5).double().eval()
    with torch.no_grad():
        for parameter in stack.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return stack


def norm(x, module):
    return layer_norm(x, (WIDTH,), module.weight, module.bias)


def plain_layer(layer: AttentionLayer, x: torch.Tensor) -> torch.Tensor:
    """One sentence (T, D), token by token and head by head."""
    query, key, value = layer.projection(norm(x, layer.attention_norm)).chunk(3, dim=1)
    size = WIDTH // HEADS
    rows = []
    for t in range(len(x)):
        found = []
        for k in range(0, WIDTH, size):
            own = slice(k, k + size)
            scores = [float(query[t, own] @ key[u, own]) / math.sqrt(size) for u in range(len(x))]
            weights = torch.softmax(torch.tensor(scores, dtype=x.dtype), 0)
            found.append(sum(weight * value[u, own] for u, weight in enumerate(weights)))
        rows.append(torch.cat(found))
    x = x + layer.attended(torch.stack(rows))
    z = layer.inner(norm(x, layer.feed_norm))
    gelu = z * 0.5 * (1 + torch.erf(z / math.sqrt(2)))
    return x + layer.outer(gelu)


@torch.no_grad()
def test_a_stack_computes_the_plain_formula():
    stack, x = make_stack(2), torch.randn(5, WIDTH, dtype=torch.float64)
    expected = x
    for layer in stack.layers:
        expected = plain_layer(layer, expected)
    found = stack(x[None], torch.ones(1, 5, dtype=torch.bool))[0]
    torch.testing.assert_close(found, norm(expected, stack.norm))


@torch.no_grad()
@pytest.mark.parametrize("padding", [0.0, 1e4, -1e4])
def test_padding_is_not_looked_at(padding):
    stack = make_stack(2)
    sentences = [torch.randn(size, WIDTH, dtype=torch.float64) for size in (1, 4, 6)]
    x = torch.full((3, 6, WIDTH), padding, dtype=torch.float64)
    mask = torch.zeros(3, 6, dtype=torch.bool)
    for n, own in enumerate(sentences):
        x[n, : len(own)] = own
        mask[n, : len(own)] = True
    out = stack(x, mask)
    assert torch.isfinite(out).all()
    for n, own in enumerate(sentences):
        alone = stack(own[None], torch.ones(1, len(own), dtype=torch.bool))[0]
        torch.testing.assert_close(out[n, : len(own)], alone)


def test_every_parameter_gets_a_gradient():
    stack = make_stack(2).train()
    x = torch.randn(2, 4, WIDTH, dtype=torch.float64)
    stack(x, torch.ones(2, 4, dtype=torch.bool)).pow(3).sum().backward()
    for name, parameter in stack.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_tokens_learn_from_each_other():
    stack = make_stack(1)
    x = torch.randn(1, 3, WIDTH, dtype=torch.float64, requires_grad=True)
    stack(x, torch.ones(1, 3, dtype=torch.bool))[0, 0].sum().backward()
    assert (x.grad[0].abs().sum(-1) > 0).all()
