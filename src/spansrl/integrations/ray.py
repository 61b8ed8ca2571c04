"""Ray Data: `Label` for your own pipelines, and the engine behind `spansrl corpus --engine ray`.

    >>> ds = ray.data.read_parquet("news/")
    >>> ds.map_batches(Label, batch_size=256, num_cpus=1, compute=ray.data.ActorPoolStrategy(size=8))

It comes with the extra `cluster`.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from typing import Any

from spansrl.decoding import Decoder
from spansrl.errors import DataError, MissingExtraError, SpansrlError
from spansrl.inference.loading import load
from spansrl.inference.runtime import Precision
from spansrl.jobs.documents import Shard
from spansrl.jobs.output import Receipt
from spansrl.jobs.rows import argument_rows
from spansrl.jobs.worker import Task, Worker

try:
    import pyarrow as pa
    import ray
    import ray.data
except ImportError as error:
    raise MissingExtraError("Ray", "cluster") from error

from spansrl.jobs.parquet import SCHEMAS  # after pyarrow, whose absence is reported above

SPARE_CPUS = 2  # logical ones: with none left for anything but the actors, Ray Data can hang
OBJECT_STORE_BYTES = 200 << 20  # shards and receipts are small

ROW = pa.struct([column for column in SCHEMAS["argument"] if column.name != "id"])


class Label:
    """Labels the texts of a batch; for `Dataset.map_batches`.

    A batch is a dictionary of arrays. The result has one more column, a list per document with the rows that
    `spansrl corpus` writes, without the id; it is empty for a document without predicates.
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        text: str = "text",
        column: str = "srl",
        predicates: Sequence[str] | None = None,
        frames: bool = True,
        min_prob: float | None = None,
        decoder: Decoder | None = None,
        precision: Precision = "full",
    ) -> None:
        self._text, self._column = text, column
        self._predicates = predicates
        self._pipeline = load(
            model, threads=1, frames=frames, min_prob=min_prob, decoder=decoder, precision=precision
        )

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Return the batch with the rows of each document."""
        if self._text not in batch:
            raise DataError(f"the batch has no column {self._text!r}; found {', '.join(batch)}")
        documents = self._pipeline.pipe(list(batch[self._text]), predicates=self._predicates)
        rows = [argument_rows(document, "") if document.props else [] for document in documents]
        return {**batch, self._column: pa.array(rows, pa.list_(ROW))}


def run_ray(
    task: Task, shards: Iterator[Shard], workers: int, *, address: str | None = None
) -> Generator[Receipt, None, None]:
    """Label shards with actors on a Ray cluster, or on this machine without an address.

    Actors write the rows themselves, so the output must be on storage that all nodes share. Ray restarts
    actors that die and repeats what they were labeling.
    """
    was_running = ray.is_initialized()
    if not was_running:
        _start(address, workers)
    try:
        actor_type: Any = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=-1)(ShardActor)
        idle = deque(2 * [actor_type.remote(task, os.getcwd()) for _ in range(workers)])
        running: dict[Any, Any] = {}
        while True:
            while idle and (shard := next(shards, None)) is not None:
                actor = idle.popleft()
                running[actor.run.remote(shard)] = actor
            if not running:
                return
            (done,), _ = ray.wait(list(running))
            idle.append(running.pop(done))
            found = ray.get(done)
            if isinstance(found, str):
                raise SpansrlError(found)
            yield found
    finally:
        if not was_running:
            ray.shutdown()


def _start(address: str | None, workers: int) -> None:
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address is not None:
        try:
            ray.init(address=address, **quiet)
        except (ConnectionError, ValueError) as error:
            raise SpansrlError(f"--address {address}: no Ray cluster there ({error})") from error
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    ray.init(
        address="local",
        num_cpus=workers + SPARE_CPUS,
        object_store_memory=OBJECT_STORE_BYTES,
        include_dashboard=False,
        **quiet,
    )


class ShardActor:
    """A Worker in an actor; what stops a job is returned, because Ray would wrap an exception."""

    def __init__(self, task: Task, folder: str) -> None:
        self._task, self._folder = task, folder
        self._worker: Worker | None = None

    def run(self, shard: Shard) -> Receipt | str:
        try:
            if self._worker is None:
                os.chdir(self._folder)  # the path of the model may be relative to it
                self._worker = Worker(self._task)
            return self._worker.run(shard)
        except (SpansrlError, OSError) as error:
            return str(error)
