from __future__ import annotations

import pytest
import torch
from torch import nn

from spansrl.training.checkpoint import load_state, save_state
from spansrl.training.loop import WeightAverage


def make_layer(value: float) -> nn.Linear:
    layer = nn.Linear(1, 1, bias=False)
    nn.init.constant_(layer.weight, value)
    return layer


def test_the_average_follows_the_recurrence():
    layer = make_layer(0.0)
    average = WeightAverage(layer.named_parameters(), 0.5)
    expected = 0.0
    for step, value in enumerate([1.0, 4.0, -2.0, 3.0], start=1):
        nn.init.constant_(layer.weight, value)
        average.update()
        decay = min(0.5, step / (step + 9))
        expected = decay * expected + (1 - decay) * value
    assert average.tensors["weight"].item() == pytest.approx(expected)


def test_the_average_is_in_the_model_only_inside_the_block():
    layer = make_layer(2.0)
    average = WeightAverage(layer.named_parameters(), 0.9)
    nn.init.constant_(layer.weight, 6.0)
    with average.applied():
        assert layer.weight.item() == 2.0
    assert layer.weight.item() == 6.0
    assert average.tensors["weight"].item() == 2.0


def test_no_decay_keeps_no_average():
    layer = make_layer(2.0)
    average = WeightAverage(layer.named_parameters(), 0.0)
    average.update()
    with average.applied():
        assert layer.weight.item() == 2.0
    assert average.tensors == {}


def test_the_average_is_saved_and_restored_with_the_state(tmp_path):
    layer = make_layer(1.0)
    optimizer = torch.optim.Adam(layer.parameters())
    average = WeightAverage(layer.named_parameters(), 0.9)
    nn.init.constant_(layer.weight, 3.0)
    average.update()
    save_state(tmp_path / "state", layer, optimizer, {"position": {}}, average)
    again = WeightAverage(make_layer(0.0).named_parameters(), 0.9)
    load_state(tmp_path / "state", layer, optimizer, again)
    assert torch.equal(again.tensors["weight"], average.tensors["weight"])
    assert again.steps == 1
