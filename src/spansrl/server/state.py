"""The state behind the endpoints: a pipeline that is loading, ready or shutting down, and its metrics."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from spansrl.errors import SpansrlError
from spansrl.inference.pipeline import Pipeline
from spansrl.server.api_error import ApiError
from spansrl.server.labeling import LabelJob
from spansrl.server.limits import ServerLimits
from spansrl.server.scheduler import Scheduler

LABEL_PATH = "/v1/label"
ANY_HOST = "*"
_HOST = re.compile(r"([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?", re.IGNORECASE)
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
        held = Gauge("spansrl_unsent_bytes", "Bytes of answers that have not been sent.", registry=own)
        held.set_function(lambda: scheduler.held_bytes)
        scheduler.on_batch = self.batches.observe

    def count(self, method: str, path: str, status: int, seconds: float) -> None:
        self.requests.labels(method, path, str(status)).inc()
        self.seconds.labels(path).observe(seconds)


class ServerState:
    """Labels jobs with the pipeline that `load` returns. `on_failure` gets the error if `load` fails."""

    def __init__(
        self,
        load: Callable[[], Pipeline],
        limits: ServerLimits,
        on_failure: Callable[[Exception], None],
        hosts: Collection[str] = (ANY_HOST,),
    ) -> None:
        self.limits = limits
        self.hosts = hosts
        self._load = load
        self._on_failure = on_failure
        self._is_loaded = self._failed = False
        self._streams = 0
        self.scheduler = Scheduler(limits)
        self.shutting_down = asyncio.Event()
        self.metrics = Metrics(self.scheduler, lambda: self._streams)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Load and label while the block lasts, then finish what was accepted."""
        task = asyncio.create_task(self._run())
        try:
            yield
        finally:
            self.begin_shutdown()
            self.scheduler.close()
            await task
            self.scheduler.stop_threads()

    async def _run(self) -> None:
        try:
            pipeline = await self.scheduler.in_thread(self._load)
        except Exception as error:
            self._failed = True
            self._on_failure(error)
        else:
            self._is_loaded = True
            await self.scheduler.run(pipeline)

    def begin_shutdown(self) -> None:
        """Prepare for the end of the process: clients are told to close their connections."""
        self.shutting_down.set()

    def check_host(self, host: str) -> ApiError | None:
        """The refusal of a request with this Host header, if the server does not answer to it."""
        name = host_name(host)
        if name is None and (host or ANY_HOST not in self.hosts):
            return ApiError(400, "bad_request", "the Host header is not a host name with an optional port")
        if ANY_HOST not in self.hosts and name not in self.hosts:
            message = f"this server does not answer to {name!r}; allow that name with --allow-host"
            return ApiError(421, "unknown_host", message)
        return None

    def check_ready(self) -> None:
        """Raise an ApiError if nothing can be labeled now."""
        if self._failed:
            message = "the model could not be loaded; see the server's log"
            raise ApiError(503, "not_loaded", message, retry_after=60)
        if not self._is_loaded:
            raise ApiError(503, "loading", "the model is being loaded; try again", retry_after=1)

    def check_not_shutting_down(self) -> None:
        """Raise an ApiError if the server is shutting down."""
        if self.shutting_down.is_set():
            raise ApiError(503, "shutting_down", "the server is shutting down; try again", retry_after=5)

    async def label(
        self, size: int, parse: Callable[[], Sequence[LabelJob]], *, patient: bool = False
    ) -> list[bytes]:
        """The results of what `parse` finds in a body of `size` bytes as JSON objects, or an ApiError."""
        try:
            async with asyncio.timeout(self.limits.seconds):
                return await self.scheduler.submit(size, parse, patient=patient)
        except ApiError:
            raise
        except TimeoutError:
            message = f"not labeled within {self.limits.seconds:g} s; send less, or try again later"
            raise ApiError(503, "timed_out", message, retry_after=self.scheduler.wait()) from None
        except SpansrlError as error:
            raise ApiError(422, "not_labeled", str(error)) from error
        except Exception as error:
            _log.exception("labeling failed")
            raise ApiError(500, "internal", "labeling failed; see the server's log") from error

    @contextmanager
    def stream(self) -> Iterator[None]:
        """Count an open stream; raise an ApiError if there are too many."""
        self.check_not_shutting_down()
        if self._streams >= self.limits.streams:
            message = f"too many open streams (the limit is {self.limits.streams}); try again later"
            raise ApiError(429, "too_many_streams", message, retry_after=10)
        self._streams += 1
        try:
            yield
        finally:
            self._streams -= 1


def host_name(host: str) -> str | None:
    """The name in a Host header, without the port; None if it is not one."""
    match = _HOST.fullmatch(host)
    return None if match is None else match[1].lower()
