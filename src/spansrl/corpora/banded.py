"""Monotone alignment of two long sequences by dynamic programming within a band around the diagonal.

Each row of the left sequence takes one or more consecutive atoms of the right one, or is skipped; runs of
atoms may be skipped too. Costs are integers, so ties are exact and the result is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from spansrl.structures import Span

IMPOSSIBLE = 1 << 20  # cost of a move that is not allowed
_FAR = 1 << 29  # cost of a cell outside the band; sums with it stay within 32 bits

# A cell of the traceback is the number of atoms that its row takes, and two flags.
_SKIPPED_ATOM = 1 << 6  # the best path skips the atom before this cell
_SKIP_STARTS = 1 << 5  # the best path that skips atoms after this cell starts to skip here
_TAKEN = _SKIP_STARTS - 1


@dataclass(frozen=True, slots=True)
class Costs:
    """The price of each move. Rows of the same kind have the same costs."""

    take: NDArray[np.int32]  # (K, M, J + 1): a row of kind k takes the m + 1 atoms that end at boundary j
    skip_row: NDArray[np.int32]  # (K,)
    skip_atom: NDArray[np.int32]  # (J,)
    start_skip: NDArray[np.int32]  # (J + 1,): a run of skipped atoms starts at boundary j


def align_banded(kinds: Sequence[int], costs: Costs, *, half_width: int = 256) -> list[Span | None]:
    """Return the atoms of each row, or None for a skipped row, such that the total cost is lowest.

    The band is doubled until the best path inside it does not touch its edges.
    """
    while True:
        spans, at_edge = _align(kinds, costs, half_width)
        if not at_edge:
            return spans
        half_width *= 2


def _align(kinds: Sequence[int], costs: Costs, half_width: int) -> tuple[list[Span | None], bool]:
    n_rows, n_atoms, longest = len(kinds), len(costs.skip_atom), costs.take.shape[1]
    skipped = np.concatenate([[0], np.cumsum(costs.skip_atom)]).astype(np.int32)  # (J + 1,)
    starts, ends = _band(n_rows, n_atoms, half_width)
    # Two buffers, padded on the left so that every cell has `longest` cells before it.
    before = np.full(longest + n_atoms + 1, _FAR, dtype=np.int32)
    now = before.copy()
    cells: list[NDArray[np.int8]] = []
    for i in range(n_rows + 1):
        start, end = starts[i], ends[i]
        if i == 0:
            best = np.full(end - start, _FAR, dtype=np.int32)
            best[0] = 0
            move = np.zeros(end - start, dtype=np.int8)
        else:
            before, now = now, before
            now[longest + starts[max(0, i - 2)] : longest + start] = _FAR
            # Column m of a window is the cell m atoms back.
            back = sliding_window_view(before[start : longest + end], longest + 1)[:, ::-1]  # (W, M + 1)
            options = np.empty((longest + 1, end - start), dtype=np.int32)
            options[0] = back[:, 0] + costs.skip_row[kinds[i - 1]]
            options[1:] = back[:, 1:].T + costs.take[kinds[i - 1], :, start:end]
            move = options.argmin(axis=0).astype(np.int8)
            best = options.min(axis=0)
        skip_from = best + costs.start_skip[start:end] - skipped[start:end]
        lowest = np.minimum.accumulate(skip_from)
        reached = lowest + skipped[start:end]
        move[reached < best] |= _SKIPPED_ATOM
        move[1:][lowest[1:] < lowest[:-1]] |= _SKIP_STARTS
        move[0] |= _SKIP_STARTS
        now[longest + start : longest + end] = np.minimum(best, reached)
        cells.append(move)
    return _trace(cells, starts, ends, n_atoms)


def _band(n_rows: int, n_atoms: int, half_width: int) -> tuple[list[int], list[int]]:
    """Return, for each boundary between rows, the first boundary between atoms and the one after the last."""
    middles = [i * n_atoms // max(1, n_rows) for i in range(n_rows + 1)]
    if n_rows == 0:
        return [0], [n_atoms + 1]
    return (
        [max(0, middle - half_width) for middle in middles],
        [min(n_atoms, middle + half_width) + 1 for middle in middles],
    )


def _trace(
    cells: list[NDArray[np.int8]], starts: list[int], ends: list[int], n_atoms: int
) -> tuple[list[Span | None], bool]:
    """Return the atoms of each row, and whether the path touches an edge of the band."""
    spans: list[Span | None] = []
    at_edge = False
    j = n_atoms
    for i in range(len(cells) - 1, 0, -1):
        start, cell = starts[i], cells[i]
        at_edge |= j == ends[i] - 1 <= n_atoms - 1
        if cell[j - start] & _SKIPPED_ATOM:
            while not cell[j - start] & _SKIP_STARTS:
                j -= 1
        at_edge |= j == start > 0
        taken = int(cell[j - start] & _TAKEN)
        spans.append(Span(j - taken, j) if taken else None)
        j -= taken
    at_edge |= j == ends[0] - 1 <= n_atoms - 1
    return spans[::-1], at_edge
