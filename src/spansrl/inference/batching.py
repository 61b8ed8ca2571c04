"""Batches of similar length, so that little of a batch is padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spansrl.arrays import IntArray


def batches_by_length(
    lengths: Sequence[int] | IntArray, *, limit: int, max_rows: int | None = None
) -> Iterator[list[int]]:
    """Cut rows, sorted by length, into batches of at most `limit` positions with padding.

    A row that is longer than the limit is a batch of its own; empty rows are left out.
    """
    sizes = [int(length) for length in lengths]
    batch: list[int] = []
    for row in sorted((row for row, size in enumerate(sizes) if size), key=sizes.__getitem__):
        if batch and (len(batch) == max_rows or (len(batch) + 1) * sizes[row] > limit):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch
