"""Batches of similar length."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spansrl.inference.batching import batches_by_length


@given(st.lists(st.integers(0, 30)), st.integers(1, 60), st.none() | st.integers(1, 8))
def test_batches_hold_every_row_once_and_keep_to_the_limits(lengths, limit, max_rows):
    batches = list(batches_by_length(lengths, limit=limit, max_rows=max_rows))
    assert sorted(row for batch in batches for row in batch) == [k for k, n in enumerate(lengths) if n]
    for batch in batches:
        assert max_rows is None or len(batch) <= max_rows
        assert len(batch) * max(lengths[row] for row in batch) <= limit or len(batch) == 1
    sizes = [lengths[row] for batch in batches for row in batch]
    assert sizes == sorted(sizes)
