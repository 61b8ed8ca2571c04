"""Progress reporting for long-running work."""

from __future__ import annotations

from collections.abc import Callable

# Called with the name of the current step, how much of it is done, and how much there is, if that is known.
Progress = Callable[[str, int, int | None], None]


def no_progress(step: str, done: int, total: int | None) -> None:
    """Report nothing."""
