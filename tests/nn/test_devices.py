"""Moving batches to a device."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
import torch

from builders import SENTENCES
from spansrl.arrays import Vocabulary
from spansrl.inventory.roles import roles_in
from spansrl.nn.batch import Corpus
from spansrl.nn.devices import on_device


def make_batch():
    return Corpus.of(SENTENCES, Vocabulary(roles_in(SENTENCES))).batch(np.arange(20))


def test_every_tensor_of_a_batch_is_moved_and_the_rest_is_kept():
    batch = make_batch()
    moved, features = on_device((batch, (torch.ones(2),)), torch.device("meta"))
    tensors = [getattr(moved, field.name) for field in fields(moved)]
    tensors += [getattr(moved.gold, field.name) for field in fields(moved.gold)]
    tensors = [value for value in tensors if isinstance(value, torch.Tensor)]
    assert len(tensors) == 8
    assert {tensor.device.type for tensor in (*tensors, *features)} == {"meta"}
    assert moved.rows is batch.rows
    assert moved.longest == max(map(len, SENTENCES))
    assert moved.tasks is None


def test_on_the_cpu_nothing_is_copied():
    batch = make_batch()
    assert on_device(batch, torch.device("cpu")).pred is batch.pred


@pytest.mark.parametrize(("device", "expected"), [("cuda:1", ["pin", "cuda:1 True"]), ("cpu", ["cpu False"])])
def test_copies_to_a_gpu_are_pinned_and_do_not_block(monkeypatch, device, expected):
    calls = []

    def pin_memory(tensor):
        calls.append("pin")
        return tensor

    def to(tensor, device, *, non_blocking=False):
        calls.append(f"{device} {non_blocking}")
        return tensor

    monkeypatch.setattr(torch.Tensor, "pin_memory", pin_memory)
    monkeypatch.setattr(torch.Tensor, "to", to)
    on_device(torch.ones(3), torch.device(device))
    assert calls == expected
