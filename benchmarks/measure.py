"""What the benchmarks share: timing, peak memory in a process of its own, and tables."""

from __future__ import annotations

import json
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


def seconds(run: Callable[[], Any], *, budget: float = 2.0) -> float:
    """The median time of a call, of as many as fit the budget (at least three) after one to warm up."""
    run()
    times: list[float] = []
    began = time.perf_counter()
    while len(times) < 3 or time.perf_counter() - began < budget:
        before = time.perf_counter()
        run()
        times.append(time.perf_counter() - before)
    return sorted(times)[len(times) // 2]


def matmul_rate(size: int = 1024) -> float:
    """Floating-point operations a second that a large matrix product reaches on this thread count."""
    import torch

    a, b = torch.randn(size, size), torch.randn(size, size)
    return 2 * size**3 / seconds(lambda: a @ b, budget=1.0)


def peak_memory(script: str, *arguments: object) -> float:
    """Bytes of `added_memory` that a script, run in a process of its own, prints as JSON."""
    command = [sys.executable, script, *map(str, arguments)]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(json.loads(found.stdout))


def added_memory(warm_up: Callable[[], Any], run: Callable[[], Any]) -> float:
    """Bytes by which `run` raises the process's peak above what `warm_up`, a small case of it, needed."""
    warm_up()
    before = peak_of_process()
    run()
    return peak_of_process() - before


def peak_of_process() -> float:
    """The most memory that this process has held, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss would start with what the parent process held
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return 1024.0 * int(line.split()[1])
    return 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def machine() -> str:
    """What the numbers were measured on."""
    import torch  # late: processes that measure labelling without torch use this module too

    return f"{platform.machine()}, {torch.get_num_threads()} thread(s), torch {torch.__version__}"


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *[[str(cell) for cell in row] for row in rows]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
