"""Time for tests that promise speed."""

from __future__ import annotations

import time
from collections.abc import Callable


def seconds(call: Callable[[], object], times: int = 3) -> float:
    """What a call takes of the processor, the best of several times.

    Only this thread's time counts, and of that the least: other work, on the machine or in this process (a
    garbage collection, say), makes single calls longer, never shorter.
    """

    def once() -> float:
        begin = time.thread_time()
        call()
        return time.thread_time() - begin

    return min(once() for _ in range(times))


def is_within(limit: float, call: Callable[[], object], times: int = 3) -> bool:
    """Whether a call takes less of the processor than `limit` seconds; a slow one gets more tries."""
    return any(seconds(call, times=1) < limit for _ in range(times))
