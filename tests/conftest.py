"""Keeps torch to one thread; standing here, it also lets every folder import `oracles` and `builders`."""

from __future__ import annotations

import signal
import sys

import pytest


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """Small tensors gain nothing from threads, and tests share the machine; does not import torch."""
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_is_heard():
    """A job in the background of a shell starts with SIGINT ignored, and so would all that tests start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
