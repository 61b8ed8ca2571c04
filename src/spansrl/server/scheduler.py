"""Fair scheduling: requests take turns on the worker threads, in pieces of bounded cost.

A request counts as work from the moment when its size is known. Large bodies are parsed one at a time, in a
thread that takes at most half of the time. A request is cut into sentences. Short sentences with the same
options are labeled together, whichever requests they belong to; a long sentence is labeled alone and
interrupted between steps. Cost is counted in scores: every predicate scores every token of its sentence, and
encoding a token costs about as much as `ENCODING` scores.

All state belongs to the event loop's thread; worker threads only parse, and run `ScheduledRequest.cut` and
`LabelBatch.advance`.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from time import monotonic, sleep
from typing import TypeVar

from spansrl.inference.pipeline import Pipeline
from spansrl.server.api_error import ApiError
from spansrl.server.labeling import LabelJob, Options, RenderedSentence
from spansrl.server.limits import ServerLimits
from spansrl.structures import Sentence

ENCODING = 6  # scores
PREDICATES_PER_TOKEN = 1 / 6  # in ordinary English
COST_PER_CHAR = 2  # of text that has not been cut into sentences
TURN_SECONDS = 0.05  # of work for one request, before the others have their turns
STEP_SECONDS = 0.03  # of cutting a text or labeling a long sentence at a stretch
SHARED_TOKENS = 128  # in sentences that are labeled together; more are not quicker
SHARED_COST = 2048  # of the same, in the worst case that every token is a predicate
LOOKAHEAD = 64  # requests among which sentences are collected
INITIAL_RATE = 5_000.0  # cost per second, before anything was measured; low, as for a slow machine
SMALL_ANSWER = 65_536  # bytes of an answer that are never too many
PARSED_AT_ONCE = 4_096  # bytes of a body that is parsed without waiting for a thread
MEMORY_SECONDS = 2.0  # of work, over which the rate is averaged: it follows a machine that becomes busy

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class QueuedSentence:
    request: ScheduledRequest
    job: int
    index: int  # of the sentence in the result of its job
    sentence: Sentence
    left: float  # cost of what follows in the request

    @property
    def options(self) -> Options:
        return self.request.jobs[self.job].options

    @property
    def cost(self) -> float:
        size, given = len(self.sentence), self.sentence.props
        return size * (ENCODING + (len(given) or size * PREDICATES_PER_TOKEN))


class ScheduledRequest:
    """The jobs of one request, and their progress."""

    def __init__(self, size: int) -> None:
        self.jobs: Sequence[LabelJob] = ()
        self.is_parsed = False
        self.uncut = self.total = float(COST_PER_CHAR * size)
        self.ready: deque[QueuedSentence] = deque()
        self.ready_cost = 0.0
        self.paused: deque[LabelBatch] = deque()
        self.running_cost = 0.0  # of what was taken from `ready` and is not done
        self.unfinished = 0  # entries that were cut and are not done
        self.credit = 0.0  # seconds of work until the others have their turns
        self.is_cut = self.is_cutting = False
        self.sentences: list[dict[int, RenderedSentence]] = []  # of each job
        self.answer_bytes = 0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._entries: Iterator[QueuedSentence] | None = None

    def start(self, jobs: Sequence[LabelJob]) -> None:
        self.jobs, self.is_parsed = jobs, True
        self.uncut = self.total = float(COST_PER_CHAR * sum(job.chars for job in jobs))
        self.sentences = [{} for _ in jobs]

    @property
    def cost(self) -> float:
        """The estimated cost of what is left to do."""
        return self.uncut + self.ready_cost + self.running_cost

    @property
    def needs_cutting(self) -> bool:
        return not (self.is_cut or self.is_cutting or self.ready or self.paused)

    @property
    def can_run(self) -> bool:
        return not self.done.done() and bool(self.ready or self.paused or self.needs_cutting)

    def _cut_all(self, pipeline: Pipeline) -> Iterator[QueuedSentence]:
        following = self.uncut
        for number, job in enumerate(self.jobs):
            following -= job.chars * COST_PER_CHAR
            for index, sent in enumerate(job.cut(pipeline)):
                end = (sent.char_start or 0) + len(sent.text or "")
                yield QueuedSentence(self, number, index, sent, following + (job.chars - end) * COST_PER_CHAR)

    def cut(self, pipeline: Pipeline, until: float) -> tuple[list[QueuedSentence], bool] | Exception:
        """In a worker thread: cut more sentences off; also return whether these were the last ones."""
        entries = []
        if self._entries is None:
            self._entries = self._cut_all(pipeline)
        try:
            for entry in self._entries:
                entries.append(entry)
                if monotonic() >= until:
                    return entries, False
        except Exception as error:
            return error
        return entries, True


class LabelBatch:
    def __init__(self, pipeline: Pipeline, entries: Sequence[QueuedSentence]) -> None:
        self.entries = entries
        self.left = sum(entry.cost for entry in entries)
        self.done = 0.0  # cost
        self._pipeline = pipeline
        self._steps = entries[0].options.steps(pipeline, [entry.sentence for entry in entries])

    def advance(self, seconds: float = math.inf) -> list[RenderedSentence | Exception] | None:
        """In a worker thread: label for a while; return one outcome per entry, or None to be continued."""
        try:
            labeled = self._continue(monotonic() + seconds)
            if labeled is None:
                return None
            return [
                entry.options.render(sent, self._pipeline)
                for entry, sent in zip(self.entries, labeled, strict=True)
            ]
        except Exception as error:
            if len(self.entries) == 1:
                return [error]
            # Several failed together: label each alone, so that only the culprit fails.
            alone = (LabelBatch(self._pipeline, [entry]).advance() for entry in self.entries)
            return [outcome for outcomes in alone for outcome in outcomes or ()]

    def _continue(self, until: float) -> Sequence[Sentence] | None:
        encoding = ENCODING * sum(len(entry.sentence) for entry in self.entries)
        try:
            while True:
                left = next(self._steps)
                self.done += self.left - left if self.done else encoding
                self.left = left
                if monotonic() >= until:
                    return None
        except StopIteration as end:
            self.done += self.left if self.done else encoding
            labeled: Sequence[Sentence] = end.value
            return labeled


class Scheduler:
    """Runs the jobs of all requests on `threads` worker threads."""

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._pipeline: Pipeline  # set by `run`
        self._threads = 1
        self._executor = ThreadPoolExecutor(thread_name_prefix="spansrl-labeling")
        self._parser = ThreadPoolExecutor(1, thread_name_prefix="spansrl-parsing")
        self._parse_after = 0.0  # on the monotonic clock
        self._parse_seconds = STEP_SECONDS  # of the last body
        self._requests: set[ScheduledRequest] = set()  # all that are unfinished
        self._queue: deque[ScheduledRequest] = deque()  # those that a worker could continue now
        self._wake = asyncio.Event()
        self._closed = False
        self._measured = (INITIAL_RATE, 1.0)  # cost and seconds of recent work
        self.on_batch: Callable[[int], None] = lambda sentences: None
        self.count_unsent: Callable[[], int] = lambda: 0  # bytes of answers that were handed over

    async def in_thread(self, function: Callable[[], Value]) -> Value:
        return await asyncio.get_running_loop().run_in_executor(self._executor, function)

    async def run(self, pipeline: Pipeline) -> None:
        """Work until `close`, and then until all accepted requests are done."""
        self._pipeline, self._threads = pipeline, pipeline.threads
        async with asyncio.TaskGroup() as group:
            for _ in range(self._threads):
                group.create_task(self._work())

    def close(self) -> None:
        self._closed = True
        self._wake.set()

    def stop_threads(self) -> None:
        self._executor.shutdown(wait=False)
        self._parser.shutdown(wait=False)

    async def submit(
        self, size: int, parse: Callable[[], Sequence[LabelJob]], *, patient: bool = False
    ) -> list[bytes]:
        """Return the result of each job in a body of `size` bytes as JSON, or raise an ApiError.

        A patient request is accepted however long it takes. Canceling drops the work that is left.
        """
        request = ScheduledRequest(size)
        if not patient and (busy := self.busy(size)):
            raise busy
        self._requests.add(request)
        try:
            request.start(parse() if size <= PARSED_AT_ONCE else await self._parse(parse))
            self._enqueue(request)
            await request.done
        finally:
            self._requests.discard(request)
            if request in self._queue:
                self._queue.remove(request)
            self._wake.set()  # `_work` may end now
        return [
            job.result([found[k] for k in range(len(found))])
            for job, found in zip(request.jobs, request.sentences, strict=True)
        ]

    async def _parse(self, parse: Callable[[], Value]) -> Value:
        def take_turn() -> Value:
            sleep(max(0.0, self._parse_after - monotonic()))
            began = monotonic()
            try:
                return parse()
            finally:  # parsing keeps the interpreter to itself; others have as much time before the next
                self._parse_seconds = monotonic() - began
                self._parse_after = monotonic() + self._parse_seconds

        return await asyncio.get_running_loop().run_in_executor(self._parser, take_turn)

    def busy(self, size: int) -> ApiError | None:
        """The refusal of a request with a body of this size, if it would wait too long for others."""
        cost = COST_PER_CHAR * size
        wait, limit = self.wait(cost), self._limits.wait_seconds
        # If others keep arriving, every turn of this request waits for one turn of each of them.
        turns = math.ceil(cost / (TURN_SECONDS * self._rate))
        if self._requests and wait <= limit and turns > 1:
            longest = turns * self.wait() + cost / self._rate
            wait, limit = (longest, self._limits.seconds) if longest > self._limits.seconds else (wait, limit)
        if wait <= limit:
            return None
        message = f"the expected wait is {wait:.0f} s, and the limit {limit:g} s; try again later"
        return ApiError(429, "busy", message, retry_after=wait)

    def wait(self, cost: float = 0.0) -> float:
        """The expected wait of a request of this cost behind those that are here, in seconds."""
        turn = TURN_SECONDS * self._rate
        own = math.ceil(max(1.0, cost) / turn) * turn
        # A small request overtakes those that wait to be parsed, and most of them are refused then.
        is_small = cost <= COST_PER_CHAR * PARSED_AT_ONCE
        ahead = [request for request in self._requests if request.is_parsed or not is_small]
        parsing = self._parse_seconds if is_small and len(ahead) < len(self._requests) else 0.0
        return sum(min(request.cost, own) for request in ahead) / (self._rate * self._threads) + parsing

    @property
    def _rate(self) -> float:
        """Cost per second of one thread."""
        cost, seconds = self._measured
        return cost / seconds

    async def _work(self) -> None:
        free = monotonic()  # since when there was work for this thread
        while self._requests or not self._closed:
            while self._queue and not self._queue[0].can_run:
                self._queue.popleft()  # its sentences were labeled with those of others
            if uncut := [request for request in islice(self._queue, LOOKAHEAD) if request.needs_cutting]:
                await self._cut(uncut)
            elif self._queue:
                await self._label(self._queue.popleft(), free)
                free = monotonic()
            else:
                self._wake.clear()
                await self._wake.wait()
                free = monotonic()
                await asyncio.sleep(0)  # for requests that arrived at the same time

    async def _cut(self, requests: Sequence[ScheduledRequest]) -> None:
        for request in requests:
            request.is_cutting = True

        def cut() -> list[tuple[list[QueuedSentence], bool] | Exception]:
            share = STEP_SECONDS / len(requests)
            return [request.cut(self._pipeline, monotonic() + share) for request in requests]

        for request, outcome in zip(requests, await self.in_thread(cut), strict=True):
            request.is_cutting = False
            if isinstance(outcome, Exception):
                self._fail(request, outcome)
                continue
            entries, request.is_cut = outcome
            request.uncut = 0.0 if request.is_cut else entries[-1].left
            request.ready.extend(entries)
            request.ready_cost += sum(entry.cost for entry in entries)
            request.unfinished += len(entries)
            self._settle(request)

    async def _label(self, request: ScheduledRequest, free: float) -> None:
        batch = request.paused.popleft() if request.paused else self._collect(request)
        left, done, began = batch.left, batch.done, monotonic()
        self._settle(request)  # another thread may continue with the rest
        seconds = STEP_SECONDS if len(batch.entries) == 1 else math.inf
        outcomes = await self.in_thread(lambda: batch.advance(seconds))
        seconds, waited = monotonic() - began, monotonic() - free
        keep, (cost, time) = math.exp(-waited / MEMORY_SECONDS), self._measured
        self._measured = keep * cost + batch.done - done, keep * time + max(1e-6, waited)
        for entry in batch.entries:
            entry.request.credit -= seconds / len(batch.entries)
        if outcomes is None:
            request.running_cost += batch.left - left
            request.paused.append(batch)
            self._settle(request)
            return
        self.on_batch(len(batch.entries))
        for entry, outcome in zip(batch.entries, outcomes, strict=True):
            self._finish(entry, outcome, left if len(batch.entries) == 1 else entry.cost)

    def _collect(self, request: ScheduledRequest) -> LabelBatch:
        """Take the next sentence of the request, and others that may be labeled with it."""
        entries = [self._take(request)]
        size = len(entries[0].sentence)
        tokens, cost, key = size, size**2, entries[0].options.key
        for other in (request, *islice(self._queue, LOOKAHEAD)):
            while other.ready and not other.done.done():
                size = len(other.ready[0].sentence)
                tokens, cost = tokens + size, cost + size**2
                if tokens > SHARED_TOKENS or cost > SHARED_COST:
                    return LabelBatch(self._pipeline, entries)
                if other.ready[0].options.key != key:
                    tokens, cost = tokens - size, cost - size**2
                    break
                entries.append(self._take(other))
        return LabelBatch(self._pipeline, entries)

    def _take(self, request: ScheduledRequest) -> QueuedSentence:
        entry = request.ready.popleft()
        request.ready_cost -= entry.cost
        request.running_cost += entry.cost
        return entry

    def _finish(self, entry: QueuedSentence, outcome: RenderedSentence | Exception, cost: float) -> None:
        request = entry.request
        request.running_cost -= cost
        request.unfinished -= 1
        if isinstance(outcome, Exception):
            self._fail(request, outcome)
            return
        request.sentences[entry.job][entry.index] = outcome
        request.answer_bytes += sum(map(len, outcome.values()))
        if error := self._check_answer(request, entry.options.extras):
            self._fail(request, error)
        self._settle(request)

    def _check_answer(self, request: ScheduledRequest, extras: Sequence[str]) -> ApiError | None:
        """The refusal of a request whose answer has too many bytes, or clearly will have."""
        size, limit = request.answer_bytes, self._limits.answer_bytes
        if size <= SMALL_ANSWER:
            return None
        share = max(0.025, 1 - request.cost / max(1.0, request.total))  # that has been labeled
        if size > limit * min(
            1.0, share * max(1.1, 2 - 2 * share)
        ):  # the first part may have more than others
            without = f"ask without {', '.join(extras)}, or " if extras else ""
            message = f"the answer would have more than {limit} bytes; {without}send less at a time"
            return ApiError(413, "answer_too_large", message)
        if self.held_bytes > self._limits.unsent_bytes:
            message = "too many answers to others wait to be read; try again later"
            return ApiError(503, "unread_answers", message, retry_after=5)
        return None

    @property
    def held_bytes(self) -> int:
        """Bytes of answers, complete or not, that have not been sent."""
        return self.count_unsent() + sum(request.answer_bytes for request in self._requests)

    def _fail(self, request: ScheduledRequest, error: Exception) -> None:
        if not request.done.done():
            request.done.set_exception(error)

    def _settle(self, request: ScheduledRequest) -> None:
        """After a change: finish the request, or queue it if it can be continued."""
        if request.done.done():
            return
        if request.is_cut and not request.unfinished:
            request.done.set_result(None)
        else:
            self._enqueue(request)

    def _enqueue(self, request: ScheduledRequest) -> None:
        if request.can_run and request not in self._queue:
            if request.credit > 0:
                self._queue.appendleft(request)
            else:
                request.credit = TURN_SECONDS
                self._queue.append(request)
            self._wake.set()
