"""Overlap between sentences, by which training data is kept apart from test data."""

from __future__ import annotations

SHARED_WORDS = 8  # in a row, by which two sentences count as alike


def word_runs(tokens: tuple[str, ...]) -> set[tuple[str, ...]]:
    """Return the words of every eight tokens in a row, or of all tokens if they are fewer."""
    words = [token.lower() for token in tokens]
    last = max(0, len(words) - SHARED_WORDS)
    return {tuple(words[k : k + SHARED_WORDS]) for k in range(last + 1)}
