"""A bar that shows how far something is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress as ProgressBar

from spansrl.progress import Progress, no_progress


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """A bar on standard error, if somebody is there to see it."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield no_progress
        return
    with ProgressBar(console=Console(stderr=True, markup=False, emoji=False), transient=True) as bar:
        tasks = {}

        def report(what: str, done: int, total: int | None) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done, total=total)

        yield report
