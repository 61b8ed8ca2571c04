"""Batches on the device of a model."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

Value = TypeVar("Value")


def on_device(value: Value, device: torch.device) -> Value:
    """A tensor, or a tuple or dataclass with tensors in it, on a device; everything else stays as it is.

    Copies to a GPU start from pinned memory, so that the host does not wait for them.
    """
    return cast(Value, _moved(value, device))


def _moved(value: Any, device: torch.device) -> Any:
    if isinstance(value, Tensor):
        if device.type == "cuda" and value.device.type == "cpu":
            return value.pin_memory().to(device, non_blocking=True)
        return value.to(device)
    if isinstance(value, tuple):
        return tuple(_moved(part, device) for part in value)
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: _moved(getattr(value, field.name), device) for field in fields(value)}
        return replace(value, **parts)
    return value
