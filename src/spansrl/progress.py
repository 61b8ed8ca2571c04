"""How long work tells those who watch how far it is."""

from __future__ import annotations

from collections.abc import Callable

# What is being done, how much of it is done, and how much there is, where that is known.
Progress = Callable[[str, int, int | None], None]


def no_progress(what: str, done: int, total: int | None) -> None:
    """The progress callback of those who do not watch."""
