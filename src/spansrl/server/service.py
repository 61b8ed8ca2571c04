"""The state behind the doors: a pipeline that is loading, ready or finishing, and its queue."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager

from spansrl.checks import counted
from spansrl.errors import SpansrlError
from spansrl.server.batching import Batcher, QueueFullError
from spansrl.server.labeling import Job, LabelsText, label_jobs
from spansrl.server.limits import Limits
from spansrl.server.metrics import Metrics
from spansrl.server.problems import RefusedError

BATCH_CHARS = 20_000  # about two hundred sentences: a fraction of a second, and more would not be faster
_log = logging.getLogger(__name__)


def log_failure(error: Exception) -> None:
    """Say in the log why there is no pipeline."""
    _log.error("the model could not be loaded: %s", error)


class Service:
    """Labels jobs with the pipeline that `load` returns; `load` and the pipeline run in one worker thread.

    Where `load` fails, `on_failure` is told why.
    """

    def __init__(
        self,
        load: Callable[[], LabelsText],
        limits: Limits,
        on_failure: Callable[[Exception], None] = log_failure,
    ) -> None:
        self.limits = limits
        self._load = load
        self._on_failure = on_failure
        self._pipeline: LabelsText | None = None
        self._failed = False
        self.finishing = asyncio.Event()
        self.streams = 0
        self._batcher: Batcher[Job, bytes] = Batcher(
            self._label_batch, cost=_cost, batch_cost=BATCH_CHARS, queue_cost=limits.queue_chars
        )
        self.metrics = Metrics(queue=lambda: self._batcher.waiting, streams=lambda: self.streams)
        self._batcher.on_batch = self.metrics.count_batch

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Load and work while the block lasts, then finish what waits."""
        tasks = [asyncio.create_task(self._start()), asyncio.create_task(self._batcher.work())]
        try:
            yield
        finally:
            self.finish()
            self._batcher.close()
            await asyncio.gather(*tasks)

    def finish(self) -> None:
        """Take no new work from now on; what is here will be done."""
        self.finishing.set()

    def check_ready(self) -> None:
        """Raise a RefusedError if there is no labelling now."""
        if self.finishing.is_set():
            raise RefusedError(503, "shutting_down", "the server is shutting down; try again", retry_after=5)
        if self._failed:
            raise RefusedError(
                503, "not_loaded", "the model could not be loaded; see the server's log", retry_after=60
            )
        if self._pipeline is None:
            raise RefusedError(503, "loading", "the model is being loaded; try again", retry_after=1)

    async def label(self, jobs: Sequence[Job], *, always: bool = False) -> list[bytes]:
        """The results as JSON objects, or a RefusedError; `always` is for streams, which wait their turn."""
        try:
            async with asyncio.timeout(self.limits.seconds):
                return await self._batcher.submit(jobs, always=always)
        except QueueFullError:
            message = f"more than {self.limits.queue_chars} characters wait to be labelled; try again later"
            raise RefusedError(429, "queue_full", message, retry_after=self._retry_after()) from None
        except TimeoutError:
            message = f"not labelled within {self.limits.seconds:g} s; send less, or try again later"
            raise RefusedError(503, "timed_out", message, retry_after=self._retry_after()) from None
        except SpansrlError as error:
            raise RefusedError(422, "not_labelled", str(error)) from error
        except Exception as error:
            _log.exception("labelling failed")
            raise RefusedError(500, "internal", "labelling failed; the server's log says why") from error

    @contextmanager
    def stream(self) -> Iterator[None]:
        """A place for one stream, or a RefusedError."""
        self.check_ready()
        if self.streams >= self.limits.streams:
            message = (
                f"{counted(self.limits.streams, 'stream')} open, which is all there may be; try again later"
            )
            raise RefusedError(429, "too_many_streams", message, retry_after=10)
        self.streams += 1
        try:
            yield
        finally:
            self.streams -= 1

    async def _start(self) -> None:
        try:
            self._pipeline = await self._batcher.in_thread(self._load)
        except Exception as error:
            self._failed = True
            self._on_failure(error)

    def _label_batch(self, jobs: Sequence[Job]) -> list[bytes]:
        assert self._pipeline is not None, "check_ready comes first"
        return label_jobs(self._pipeline, jobs)

    def _retry_after(self) -> int:
        return max(1, min(60, math.ceil(self._batcher.seconds_behind)))


def _cost(job: Job) -> int:
    return job.item.chars + 1
