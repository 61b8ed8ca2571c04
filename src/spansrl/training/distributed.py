"""Training in several processes: each has the whole model and takes its share of every batch.

    torchrun --nproc-per-node 2 -m spansrl train configs/tiny.toml --data data/ewt --out runs/tiny

A step adds up the gradients of all processes before the optimizer uses them, so the weights stay equal
everywhere, and N processes compute what one process computes on the whole batch. The first process alone
claims the run directory, evaluates, logs and saves.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist

# Its functions keep the group that exists when they are imported as a default argument. torch imports them
# late: then the group is never freed, and its threads can abort the process at exit. Here is no group yet.
import torch.distributed.nn.functional
from torch import Tensor, nn

from spansrl.errors import SpansrlError

# How long a process waits for the others; must be longer than an evaluation, which only the first one does.
TIMEOUT = timedelta(hours=2)


@dataclass(frozen=True, slots=True)
class Workers:
    """The processes of a training run, from the point of view of one of them; by default the only one."""

    rank: int = 0
    size: int = 1
    device: str = "cpu"  # of the tensors that are exchanged

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def add_gradients(self, parameters: Iterable[nn.Parameter], totals: Tensor) -> Tensor:
        """Replace every gradient by its sum over all processes; returns the summed `totals` (K,).

        A parameter that this process did not use counts as a gradient of zero.
        """
        used = [parameter for parameter in parameters if parameter.requires_grad]
        parts = [torch.zeros_like(p) if p.grad is None else p.grad for p in used]
        flat = torch.cat([*(part.reshape(-1).float() for part in parts), totals.float()])
        self._all_reduce(flat)
        *sums, totals = torch.split(flat, [*(parameter.numel() for parameter in used), len(totals)])
        for parameter, summed in zip(used, sums, strict=True):
            parameter.grad = summed.view_as(parameter).to(parameter.dtype)
        return totals

    def any(self, *flags: bool) -> tuple[bool, ...]:
        """Whether each flag is set in any process."""
        if self.size == 1:
            return flags
        votes = torch.tensor([float(flag) for flag in flags], device=self.device)
        self._all_reduce(votes)
        return tuple(vote > 0 for vote in votes.tolist())

    def from_first(self, value: float) -> float:
        """The first process's value."""
        if self.size == 1:
            return value
        shared = torch.tensor([value], dtype=torch.float64, device=self.device)
        with self._explained():
            dist.broadcast(shared, src=0)
        return float(shared.item())

    def gather(self, state: Tensor) -> list[Tensor]:
        """One tensor of equal size from every process, in the order of their ranks."""
        if self.size == 1:
            return [state]
        sent = state.to(self.device)
        received = [torch.empty_like(sent) for _ in range(self.size)]
        with self._explained():
            dist.all_gather(received, sent)
        return [part.to(state.device) for part in received]

    def wait(self) -> None:
        """Return when every process has called this."""
        self.any(False)

    def _all_reduce(self, tensor: Tensor) -> None:
        with self._explained():
            dist.all_reduce(tensor)

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            raise SpansrlError(
                f"process {self.rank} of {self.size}: another process of this run has ended; "
                "read its message, then run the same command with --resume"
            ) from error


ALONE = Workers()


def own_device(device: str) -> str:
    """The device of this process: torchrun's processes have one GPU each."""
    in_group = "LOCAL_RANK" in os.environ and device.split(":")[0] == "cuda"
    return f"cuda:{os.environ['LOCAL_RANK']}" if in_group else device


@contextlib.contextmanager
def joined(device: str) -> Iterator[Workers]:
    """The processes that torchrun started, connected inside this block; `device` is that of this one."""
    on_gpu = device.split(":")[0] == "cuda"
    if ":" in device and on_gpu:
        torch.cuda.set_device(device)  # for NCCL, which uses the current device
    size, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
    if size == 1:
        yield ALONE
        return
    dist.init_process_group("nccl" if on_gpu else "gloo", timeout=TIMEOUT)
    try:
        yield Workers(rank, size, device)
    finally:
        dist.destroy_process_group()
