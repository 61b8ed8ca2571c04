"""Keeps torch to one thread; standing here, it also lets every folder import `oracles` and `builders`."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """Small tensors gain nothing from threads, and tests share the machine; does not import torch."""
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)
