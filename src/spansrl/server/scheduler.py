"""Fair scheduling: requests take turns on the worker threads, in pieces of bounded cost.

A request is cut into sentences. Short sentences with the same options are labeled together, whichever
requests they belong to; a long sentence is labeled alone and interrupted between steps. Cost is counted in
scores: every predicate scores every token of its sentence, and encoding a token costs about as much as
`ENCODING` scores.

All state belongs to the event loop's thread; worker threads only run `Ticket.cut` and `Run.advance`.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from time import monotonic
from typing import TypeVar

from spansrl.inference.pipeline import Pipeline
from spansrl.server.labeling import Job, Options, Rendered
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
MEMORY_SECONDS = 2.0  # of work, over which the rate is averaged: it follows a machine that becomes busy

Value = TypeVar("Value")


class BusyError(Exception):
    """Accepting the request would make it wait too long."""

    def __init__(self, wait: float) -> None:
        super().__init__(f"the expected wait is {wait:.0f} s")
        self.wait = wait


@dataclass(frozen=True, slots=True)
class Piece:
    ticket: Ticket
    job: int
    index: int  # of the sentence in the result of its job
    sentence: Sentence
    left: float  # cost of what follows in the request

    @property
    def options(self) -> Options:
        return self.ticket.jobs[self.job].options

    @property
    def cost(self) -> float:
        size, given = len(self.sentence), self.sentence.props
        return size * (ENCODING + (len(given) or size * PREDICATES_PER_TOKEN))


class Ticket:
    """The jobs of one request, and their progress."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.jobs = jobs
        self.uncut = float(COST_PER_CHAR * sum(job.chars for job in jobs))
        self.ready: deque[Piece] = deque()
        self.ready_cost = 0.0
        self.paused: deque[Run] = deque()
        self.running_cost = 0.0  # of what was taken from `ready` and is not done
        self.unfinished = 0  # pieces that were cut and are not done
        self.credit = 0.0  # seconds of work until the others have their turns
        self.is_cut = self.is_cutting = False
        self.sentences: list[dict[int, Rendered]] = [{} for _ in jobs]
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._pieces = self._cut_all()

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

    def _cut_all(self) -> Iterator[Piece]:
        following = self.uncut
        for number, job in enumerate(self.jobs):
            following -= job.chars * COST_PER_CHAR
            for index, sent in enumerate(job.cut()):
                end = (sent.char_start or 0) + len(sent.text or "")
                yield Piece(self, number, index, sent, following + (job.chars - end) * COST_PER_CHAR)

    def cut(self, until: float) -> tuple[list[Piece], bool] | Exception:
        """In a worker thread: cut more sentences off; also return whether these were the last ones."""
        pieces = []
        try:
            for piece in self._pieces:
                pieces.append(piece)
                if monotonic() >= until:
                    return pieces, False
        except Exception as error:
            return error
        return pieces, True


class Run:
    def __init__(self, pipeline: Pipeline, pieces: Sequence[Piece]) -> None:
        self.pieces = pieces
        self.left = sum(piece.cost for piece in pieces)
        self.done = 0.0  # cost
        self._pipeline = pipeline
        self._steps = pieces[0].options.steps(pipeline, [piece.sentence for piece in pieces])

    def advance(self) -> list[Rendered | Exception] | None:
        """In a worker thread: label for a while; return one outcome per piece, or None to be continued."""
        until = monotonic() + STEP_SECONDS if len(self.pieces) == 1 else math.inf
        try:
            labeled = self._continue(until)
            if labeled is None:
                return None
            frames = self._pipeline.frames
            return [p.options.render(sent, frames) for p, sent in zip(self.pieces, labeled, strict=True)]
        except Exception as error:
            if len(self.pieces) == 1:
                return [error]
            return [outcome for piece in self.pieces for outcome in self._alone(piece)]

    def _continue(self, until: float) -> Sequence[Sentence] | None:
        try:
            while True:
                left = next(self._steps)
                self.done += self.left - left if self.done else self._encoding_cost
                self.left = left
                if monotonic() >= until:
                    return None
        except StopIteration as end:
            self.done += self.left if self.done else self._encoding_cost
            labeled: Sequence[Sentence] = end.value
            return labeled

    @property
    def _encoding_cost(self) -> float:
        return ENCODING * sum(len(piece.sentence) for piece in self.pieces)

    def _alone(self, piece: Piece) -> list[Rendered | Exception]:
        """Label one piece of several that failed together: only the culprit should fail."""
        run = Run(self._pipeline, [piece])
        while (outcomes := run.advance()) is None:
            pass
        return outcomes


class Scheduler:
    """Runs the jobs of all requests on `threads` worker threads."""

    def __init__(self, *, wait_seconds: float, seconds: float) -> None:
        self._wait_seconds = wait_seconds
        self._seconds = seconds
        self._pipeline: Pipeline  # set by `run`
        self._threads = 1
        self._executor = ThreadPoolExecutor(thread_name_prefix="spansrl-labeling")
        self._tickets: set[Ticket] = set()  # all that are unfinished
        self._queue: deque[Ticket] = deque()  # those that a worker could continue now
        self._wake = asyncio.Event()
        self._closed = False
        self._measured = (INITIAL_RATE, 1.0)  # cost and seconds of recent work
        self.on_batch: Callable[[int], None] = lambda sentences: None

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

    async def submit(self, jobs: Sequence[Job], *, patient: bool = False) -> list[bytes]:
        """Return the result of each job as JSON; raise BusyError if it would take too long.

        A patient request is accepted however long it takes. Canceling drops the work that is left.
        """
        ticket = Ticket(jobs)
        if self._tickets and not patient:
            self._check_wait(ticket.cost)
        self._tickets.add(ticket)
        self._enqueue(ticket)
        try:
            await ticket.done
        finally:
            self._drop(ticket)
        return [
            job.result([found[k] for k in range(len(found))])
            for job, found in zip(jobs, ticket.sentences, strict=True)
        ]

    def wait(self, cost: float = 0.0) -> float:
        """The expected wait of a request of this cost behind those that are here, in seconds."""
        turn = TURN_SECONDS * self._rate
        own = math.ceil(max(1.0, cost) / turn) * turn
        return sum(min(ticket.cost, own) for ticket in self._tickets) / (self._rate * self._threads)

    def _check_wait(self, cost: float) -> None:
        if (wait := self.wait(cost)) > self._wait_seconds:
            raise BusyError(wait)
        # If others keep arriving, every turn of this request waits for one turn of each of them.
        turns = math.ceil(cost / (TURN_SECONDS * self._rate))
        if turns > 1 and (longest := turns * self.wait() + cost / self._rate) > self._seconds:
            raise BusyError(longest)

    @property
    def _rate(self) -> float:
        """Cost per second of one thread."""
        cost, seconds = self._measured
        return cost / seconds

    async def _work(self) -> None:
        free = monotonic()  # since when there was work for this thread
        while self._tickets or not self._closed:
            while (
                self._queue and not self._queue[0].can_run
            ):  # its sentences were labeled with those of others
                self._queue.popleft()
            if uncut := [ticket for ticket in islice(self._queue, LOOKAHEAD) if ticket.needs_cutting]:
                await self._cut(uncut)
            elif self._queue:
                await self._label(self._queue.popleft(), free)
                free = monotonic()
            else:
                self._wake.clear()
                await self._wake.wait()
                free = monotonic()
                await asyncio.sleep(0)  # for requests that arrived at the same time

    async def _cut(self, tickets: Sequence[Ticket]) -> None:
        for ticket in tickets:
            ticket.is_cutting = True

        def cut() -> list[tuple[list[Piece], bool] | Exception]:
            share = STEP_SECONDS / len(tickets)
            return [ticket.cut(monotonic() + share) for ticket in tickets]

        for ticket, outcome in zip(tickets, await self.in_thread(cut), strict=True):
            ticket.is_cutting = False
            if isinstance(outcome, Exception):
                self._fail(ticket, outcome)
                continue
            pieces, ticket.is_cut = outcome
            ticket.uncut = 0.0 if ticket.is_cut else pieces[-1].left
            ticket.ready.extend(pieces)
            ticket.ready_cost += sum(piece.cost for piece in pieces)
            ticket.unfinished += len(pieces)
            self._settle(ticket)

    async def _label(self, ticket: Ticket, free: float) -> None:
        run = ticket.paused.popleft() if ticket.paused else self._collect(ticket)
        left, done, began = run.left, run.done, monotonic()
        self._settle(ticket)  # another thread may continue with the rest
        outcomes = await self.in_thread(run.advance)
        seconds = monotonic() - began
        self._measure(run.done - done, monotonic() - free)
        for piece in run.pieces:
            piece.ticket.credit -= seconds / len(run.pieces)
        if outcomes is None:
            ticket.running_cost += run.left - left
            ticket.paused.append(run)
            self._settle(ticket)
            return
        self.on_batch(len(run.pieces))
        for piece, outcome in zip(run.pieces, outcomes, strict=True):
            self._finish(piece, outcome, left if len(run.pieces) == 1 else piece.cost)

    def _collect(self, ticket: Ticket) -> Run:
        """Take the next sentence of the ticket, and others that may be labeled with it."""
        pieces = [self._take(ticket)]
        size = len(pieces[0].sentence)
        tokens, cost, key = size, size**2, pieces[0].options.key
        for other in (ticket, *islice(self._queue, LOOKAHEAD)):
            while other.ready and not other.done.done():
                size = len(other.ready[0].sentence)
                tokens, cost = tokens + size, cost + size**2
                if tokens > SHARED_TOKENS or cost > SHARED_COST:
                    return Run(self._pipeline, pieces)
                if other.ready[0].options.key != key:
                    tokens, cost = tokens - size, cost - size**2
                    break
                pieces.append(self._take(other))
        return Run(self._pipeline, pieces)

    def _take(self, ticket: Ticket) -> Piece:
        piece = ticket.ready.popleft()
        ticket.ready_cost -= piece.cost
        ticket.running_cost += piece.cost
        return piece

    def _finish(self, piece: Piece, outcome: Rendered | Exception, cost: float) -> None:
        ticket = piece.ticket
        ticket.running_cost -= cost
        ticket.unfinished -= 1
        if isinstance(outcome, Exception):
            self._fail(ticket, outcome)
            return
        ticket.sentences[piece.job][piece.index] = outcome
        self._settle(ticket)

    def _fail(self, ticket: Ticket, error: Exception) -> None:
        if not ticket.done.done():
            ticket.done.set_exception(error)

    def _settle(self, ticket: Ticket) -> None:
        """After a change: finish the ticket, or queue it if it can be continued."""
        if ticket.done.done():
            return
        if ticket.is_cut and not ticket.unfinished:
            ticket.done.set_result(None)
        else:
            self._enqueue(ticket)

    def _enqueue(self, ticket: Ticket) -> None:
        if ticket.can_run and ticket not in self._queue:
            if ticket.credit > 0:
                self._queue.appendleft(ticket)
            else:
                ticket.credit = TURN_SECONDS
                self._queue.append(ticket)
            self._wake.set()

    def _drop(self, ticket: Ticket) -> None:
        self._tickets.discard(ticket)
        if ticket in self._queue:
            self._queue.remove(ticket)
        self._wake.set()  # `_work` may end now

    def _measure(self, cost: float, seconds: float) -> None:
        keep = math.exp(-seconds / MEMORY_SECONDS)
        before = self._measured
        self._measured = keep * before[0] + cost, keep * before[1] + max(1e-6, seconds)
