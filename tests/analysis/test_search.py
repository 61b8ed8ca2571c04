"""Exact nearest neighbors against brute force, whatever the blocks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spansrl.analysis import search
from spansrl.analysis.search import nearest
from spansrl.errors import DataError


def brute_force(queries, keys, k, distance):
    """All distances in double precision, sorted by distance and place."""
    if distance == "cosine":
        queries = queries / np.linalg.norm(queries, axis=1, keepdims=True)
        keys = keys / np.linalg.norm(keys, axis=1, keepdims=True)
        far = -(queries @ keys.T)
    else:
        far = np.linalg.norm(queries[:, None] - keys, axis=2)
    order = np.argsort(far, axis=1, kind="stable")[:, :k]
    return order, np.abs(np.take_along_axis(far, order, axis=1))


def blocks_of(keys, size):
    return (keys[begin : begin + size] for begin in range(0, len(keys), size))


@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
@pytest.mark.parametrize("size", [1, 7, 50, 1000])
def test_nearest_neighbors_match_brute_force(distance, size, monkeypatch):
    monkeypatch.setattr(search, "QUERY_ROWS", 4)
    monkeypatch.setattr(search, "KEY_ROWS", 9)
    rng = np.random.default_rng(1)
    queries, keys = rng.standard_normal((11, 5)), rng.standard_normal((60, 5))
    found = nearest(queries, blocks_of(keys, size), 6, distance=distance)
    expected, values = brute_force(queries, keys, 6, distance)
    assert found.keys.tolist() == expected.tolist()
    assert np.abs(found.values) == pytest.approx(values, abs=1e-5)


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_of_equally_near_keys_the_first_are_taken(data):
    """Small whole numbers, so that ties abound and products are exact in single precision."""
    numbers = st.integers(-2, 2)
    keys = np.array(data.draw(st.lists(st.lists(numbers, min_size=2, max_size=2), min_size=4, max_size=30)))
    queries = np.array(data.draw(st.lists(st.lists(numbers, min_size=2, max_size=2), min_size=1, max_size=5)))
    size = data.draw(st.integers(1, 12))
    found = nearest(queries, blocks_of(keys, size), 3, distance="euclidean")
    squared = ((queries[:, None] - keys) ** 2).sum(axis=2)
    assert found.keys.tolist() == np.argsort(squared, axis=1, kind="stable")[:, :3].tolist()


def test_a_vector_of_zeros_is_near_to_nothing_and_breaks_nothing():
    found = nearest(np.zeros((1, 3)), [np.eye(3)], 2)
    assert found.keys.tolist() == [[0, 1]]
    assert found.values.tolist() == [[0, 0]]


def test_progress_counts_keys():
    seen = []
    nearest(np.ones((1, 2)), blocks_of(np.ones((10, 2)), 4), 1, progress=seen.append)
    assert seen == [4, 8, 10]


def test_no_queries_have_no_neighbors():
    assert nearest(np.ones((0, 2)), [np.ones((5, 2))], 3).keys.shape == (0, 3)


def test_fewer_keys_than_neighbors_is_an_error():
    with pytest.raises(DataError, match="10 neighbors were requested, but there are only 2 spans"):
        nearest(np.ones((1, 2)), [np.ones((2, 2))], 10)
