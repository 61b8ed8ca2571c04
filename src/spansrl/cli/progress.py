"""Progress on standard error: a bar on a terminal, or a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from spansrl.progress import Progress, no_progress

_PATIENCE = 1.0  # seconds before a bar appears: quick work needs none


@contextmanager
def progress_bar(*, hidden: bool = False) -> Iterator[Progress]:
    """Show the current step in a bar, if standard error is a terminal."""
    if hidden or sys.stderr is None or not sys.stderr.isatty():
        yield no_progress
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    begun = time.monotonic()
    with Bar(console=Console(stderr=True, markup=False, emoji=False), transient=True, disable=False) as bar:
        task = bar.add_task("", total=None, visible=False)
        current = ""

        def report(step: str, done: int, total: int | None) -> None:
            nonlocal current
            if step != current:
                current = step
                bar.reset(task, description=step, visible=False)
            bar.update(task, completed=done, total=total, visible=time.monotonic() - begun > _PATIENCE)

        yield report


def every(seconds: float) -> Callable[[], bool]:
    """Return a function that returns True once per `seconds`, for lines that report progress."""
    last = time.monotonic()

    def is_due() -> bool:
        nonlocal last
        if time.monotonic() - last < seconds:
            return False
        last = time.monotonic()
        return True

    return is_due
