"""The state behind the endpoints: a pipeline that is loading, ready or shutting down, and its metrics."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from spansrl.errors import SpansrlError
from spansrl.inference.pipeline import Pipeline
from spansrl.server.labeling import Job
from spansrl.server.limits import Limits
from spansrl.server.refusals import RefusedError
from spansrl.server.scheduler import COST_PER_CHAR, BusyError, Scheduler

LABEL_PATH = "/v1/label"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64)
_log = logging.getLogger(__name__)


class Metrics:
    """What the server counts, in a registry of its own."""

    def __init__(self, scheduler: Scheduler, open_streams: Callable[[], int]) -> None:
        own = self.registry = CollectorRegistry()
        self.requests = Counter(
            "spansrl_requests", "Answered requests.", ("method", "path", "status"), registry=own
        )
        self.seconds = Histogram(
            "spansrl_request_seconds", "Time to the answer.", ("path",), buckets=_SECONDS, registry=own
        )
        self.batches = Histogram(
            "spansrl_batch_sentences", "Sentences labeled together.", buckets=_SIZES, registry=own
        )
        streams = Gauge("spansrl_streams", "Open streams.", registry=own)
        streams.set_function(open_streams)
        wait = Gauge("spansrl_wait_seconds", "Expected wait of a new short request.", registry=own)
        wait.set_function(scheduler.wait)
        scheduler.on_batch = self.batches.observe

    def count(self, method: str, path: str, status: int, seconds: float) -> None:
        self.requests.labels(method, path, str(status)).inc()
        self.seconds.labels(path).observe(seconds)


class Service:
    """Labels jobs with the pipeline that `load` returns. `on_failure` gets the error if `load` fails."""

    def __init__(
        self,
        load: Callable[[], Pipeline],
        limits: Limits,
        on_failure: Callable[[Exception], None],
    ) -> None:
        self.limits = limits
        self._load = load
        self._on_failure = on_failure
        self._is_loaded = self._failed = False
        self._streams = 0
        self._scheduler = Scheduler(wait_seconds=limits.wait_seconds, seconds=limits.seconds)
        self.finishing = asyncio.Event()
        self.metrics = Metrics(self._scheduler, lambda: self._streams)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Load and label while the block lasts, then finish what was accepted."""
        task = asyncio.create_task(self._run())
        try:
            yield
        finally:
            self.finish()
            self._scheduler.close()
            await task
            self._scheduler.stop_threads()

    async def _run(self) -> None:
        try:
            pipeline = await self._scheduler.in_thread(self._load)
        except Exception as error:
            self._failed = True
            self._on_failure(error)
        else:
            self._is_loaded = True
            await self._scheduler.run(pipeline)

    def finish(self) -> None:
        """Prepare for the end of the process: clients are told to close their connections."""
        self.finishing.set()

    def check_ready(self) -> None:
        """Raise a RefusedError if nothing can be labeled now."""
        if self._failed:
            message = "the model could not be loaded; see the server's log"
            raise RefusedError(503, "not_loaded", message, retry_after=60)
        if not self._is_loaded:
            raise RefusedError(503, "loading", "the model is being loaded; try again", retry_after=1)

    def check_staying(self) -> None:
        """Raise a RefusedError if the server is shutting down."""
        if self.finishing.is_set():
            raise RefusedError(503, "shutting_down", "the server is shutting down; try again", retry_after=5)

    def busy(self, size: int) -> RefusedError | None:
        """The refusal of a request with a body of this size, if that would wait too long."""
        wait = self._scheduler.wait(size * COST_PER_CHAR)
        return self._busy(wait) if wait > self.limits.wait_seconds else None

    def _busy(self, wait: float) -> RefusedError:
        message = f"the expected wait is {wait:.0f} s, and the limit {self.limits.wait_seconds:g} s"
        return RefusedError(429, "busy", f"{message}; try again later", retry_after=_retry_after(wait))

    async def label(self, jobs: Sequence[Job], *, patient: bool = False) -> list[bytes]:
        """The results as JSON objects, or a RefusedError."""
        try:
            async with asyncio.timeout(self.limits.seconds):
                return await self._scheduler.submit(jobs, patient=patient)
        except BusyError as busy:
            raise self._busy(busy.wait) from None
        except TimeoutError:
            message = f"not labeled within {self.limits.seconds:g} s; send less, or try again later"
            wait = self._scheduler.wait()
            raise RefusedError(503, "timed_out", message, retry_after=_retry_after(wait)) from None
        except SpansrlError as error:
            raise RefusedError(422, "not_labeled", str(error)) from error
        except Exception as error:
            _log.exception("labeling failed")
            raise RefusedError(500, "internal", "labeling failed; see the server's log") from error

    @contextmanager
    def stream(self) -> Iterator[None]:
        """Count an open stream; raise a RefusedError if there are too many."""
        self.check_staying()
        if self._streams >= self.limits.streams:
            message = f"too many open streams (the limit is {self.limits.streams}); try again later"
            raise RefusedError(429, "too_many_streams", message, retry_after=10)
        self._streams += 1
        try:
            yield
        finally:
            self._streams -= 1


def _retry_after(wait: float) -> int:
    return max(1, min(60, math.ceil(wait)))
