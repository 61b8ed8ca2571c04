"""What the benchmarks share: timing, peak memory in a process of its own, and tables."""

from __future__ import annotations

import json
import os
import platform
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
EVERYDAY = ROOT / "experiments" / "everyday" / "everyday.jsonl"


def seconds(run: Callable[[], Any], *, budget: float = 2.0) -> float:
    """The median CPU time of a call, of as many as fit the budget (at least three) after one to warm up."""
    run()
    times: list[float] = []
    while len(times) < 3 or sum(times) < budget:
        times.append(cpu_seconds(run))
    return median(times)


def cpu_seconds(run: Callable[[], Any]) -> float:
    """The CPU time that a call takes in this process, which other processes change less than its duration."""
    before = time.process_time()
    run()
    return time.process_time() - before


def matmul_rate(matrix: Callable[[int, int], Any], size: int = 1024) -> float:
    """Floating-point operations per CPU second of a large matrix product; `matrix` makes random ones."""
    a, b = matrix(size, size), matrix(size, size)
    return 2 * size**3 / seconds(lambda: a @ b, budget=0.3)


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
    import torch  # late: processes that measure labeling without torch use this module too

    return f"{origin()}, {torch.get_num_threads()} thread(s), torch {torch.__version__}"


def origin() -> str:
    """What was measured where: commit and processor."""
    return f"commit {commit()}; {processor()}"


def commit() -> str:
    """The commit of the working tree, with a mark if files have changed since."""
    found = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return found.stdout.strip() or "unknown"


def processor() -> str:
    """Name and number of the machine's cores."""
    info = Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.*)", info.read_text()) if info.exists() else []
    cores = os.cpu_count() or 1
    return f"{names[0] if names else platform.machine()}, {cores} core{'s' if cores > 1 else ''}"


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *[[str(cell) for cell in row] for row in rows]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
