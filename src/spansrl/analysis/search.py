"""Exact nearest neighbors in bounded memory: blocked matrix products with a running list of the best."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spansrl.analysis.report_inputs import Distance, Vectors
from spansrl.errors import DataError

QUERY_ROWS = 1024
KEY_ROWS = 4096

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


class Nearest(NamedTuple):
    """For each query its nearest keys, the nearest first; `values` are cosines or distances."""

    keys: Ints  # (Q, k)
    values: NDArray[np.floating[Any]]  # (Q, k)


class _Best(NamedTuple):
    """The best pairs so far, as flat arrays sorted by query, then closeness, then key."""

    query: Ints
    key: Ints
    close: Floats


def nearest(
    queries: Vectors,
    key_blocks: Iterable[Vectors],
    k: int,
    *,
    distance: Distance = "cosine",
    progress: Callable[[int], None] = lambda done: None,
) -> Nearest:
    """The k nearest of all keys for each query; of keys that are equally near, those that come first.

    `queries` is (Q, D) and stays in memory; keys come as blocks (n, D) and are not kept. Products are in
    single precision, and never larger than QUERY_ROWS × KEY_ROWS. `progress` gets the number of keys done.
    """
    asked = _prepared(queries, distance)
    bests = [
        _Best(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32))
        for _ in range(0, len(asked), QUERY_ROWS)
    ]
    done = 0
    for block in key_blocks:
        for begin in range(0, len(block), KEY_ROWS):
            keys = _prepared(block[begin : begin + KEY_ROWS], distance)
            for number, best in enumerate(bests):
                part = asked[number * QUERY_ROWS : (number + 1) * QUERY_ROWS]
                bests[number] = _updated(best, _closeness(part, keys, distance), done, k)
            done += len(keys)
            progress(done)
    if done < k:
        raise DataError(f"{k} neighbors were requested, but there are only {done} spans")
    index = [best.key.reshape(-1, k) for best in bests]
    close = [best.close.reshape(-1, k) for best in bests]
    return Nearest(
        np.concatenate(index) if index else np.zeros((0, k), np.int64),
        _values(np.concatenate(close), asked, distance) if close else np.zeros((0, k), np.float32),
    )


def _prepared(vectors: Vectors, distance: Distance) -> Floats:
    vectors = np.asarray(vectors, dtype=np.float32)
    if distance == "euclidean":
        return vectors
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, np.finfo(np.float32).tiny))


def _closeness(queries: Floats, keys: Floats, distance: Distance) -> Floats:
    """Greater is nearer: the cosine, or −|q − x|² without the |q|² that all keys of a query share."""
    products = queries @ keys.T  # (Q, n)
    if distance == "euclidean":
        products *= 2
        products -= np.einsum("nd,nd->n", keys, keys)
    return products


def _values(close: Floats, queries: Floats, distance: Distance) -> NDArray[np.floating[Any]]:
    if distance == "cosine":
        return close
    squared = np.einsum("qd,qd->q", queries, queries)[:, None] - close
    return np.asarray(np.sqrt(np.maximum(squared, 0)))


def _updated(best: _Best, close: Floats, offset: int, k: int) -> _Best:
    """The best of those so far and of a block (Q, n) whose first key is number `offset`."""
    n_queries, n = close.shape
    if len(best.query) == n_queries * k:
        limit = best.close.reshape(n_queries, k)[:, -1]
        query, column = np.nonzero(close > limit[:, None])
    else:  # the lists are not full yet
        kth = np.partition(close, -k, axis=1)[:, -k] if n > k else np.full(n_queries, -np.inf, np.float32)
        query, column = np.nonzero(close >= kth[:, None])
    pairs = _Best(
        np.concatenate([best.query, query]),
        np.concatenate([best.key, column + offset]),
        np.concatenate([best.close, close[query, column]]),
    )
    order = np.lexsort((pairs.key, -pairs.close, pairs.query))
    query = pairs.query[order]
    rank = np.arange(len(query)) - np.searchsorted(query, query)  # within its query
    kept = order[rank < k]
    return _Best(pairs.query[kept], pairs.key[kept], pairs.close[kept])
