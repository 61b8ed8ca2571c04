"""Requests that arrive together are labelled together: an asyncio queue in front of one worker thread.

While the worker runs a batch, what arrives waits; the next batch takes from every waiting request in turn, so
a long request does not hold up short ones. Nobody waits for company: under load it is there anyway.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Generic, TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")
Value = TypeVar("Value")


class QueueFullError(Exception):
    """No room for more jobs now."""


class _Ticket(Generic[Job, Result]):
    """The jobs of one request that wait, and the results that are there."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.waiting = deque(enumerate(jobs))
        self.results: dict[int, Result] = {}
        self.size = len(jobs)
        self.done: asyncio.Future[list[Result]] = asyncio.get_running_loop().create_future()

    def put(self, place: int, outcome: Result | Exception) -> None:
        """One result; the first error is the whole request's. Too late for a request that was given up."""
        if self.done.done():
            return
        if isinstance(outcome, Exception):
            self.done.set_exception(outcome)
            return
        self.results[place] = outcome
        if len(self.results) == self.size:
            self.done.set_result([self.results[k] for k in range(self.size)])


class Batcher(Generic[Job, Result]):
    """Runs jobs in batches, in one thread.

    `run` gets a batch and returns one result a job, in order; where it raises, the jobs are run one by one,
    so that only those that cannot be run fail. `cost` is the size of a job; a batch holds at most
    `batch_cost` (or one job), the queue at most `queue_cost` (or one request).
    """

    def __init__(
        self,
        run: Callable[[Sequence[Job]], Sequence[Result]],
        *,
        cost: Callable[[Job], int],
        batch_cost: int,
        queue_cost: int,
    ) -> None:
        self._run = run
        self._cost = cost
        self._batch_cost = batch_cost
        self._queue_cost = queue_cost
        self._tickets: deque[_Ticket[Job, Result]] = deque()
        self._arrived = asyncio.Event()
        self._closed = False
        self._rate = 0.0  # cost a second, over the last batches
        self.waiting = 0  # the cost of all jobs in the queue
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="spansrl-labelling")
        self.on_batch: Callable[[int, int], None] = lambda jobs, cost: None

    @property
    def seconds_behind(self) -> float:
        """How long the queue will last at the present rate."""
        return self.waiting / self._rate if self._rate else 1.0

    async def submit(self, jobs: Sequence[Job], *, always: bool = False) -> list[Result]:
        """The jobs' results; QueueFullError where they do not fit, unless they are to be taken `always`.

        Cancelling takes back the jobs that still wait.
        """
        if not jobs:
            return []
        cost = sum(map(self._cost, jobs))
        if not always and self.waiting + cost > self._queue_cost and self.waiting:
            raise QueueFullError
        ticket = _Ticket[Job, Result](jobs)
        self._tickets.append(ticket)
        self.waiting += cost
        self._arrived.set()
        try:
            return await ticket.done
        finally:
            self._take_back(ticket)

    async def work(self) -> None:
        """Run batches until `close`, and then what is left in the queue."""
        while self._tickets or not self._closed:
            if not self._tickets:
                self._arrived.clear()
                await self._arrived.wait()
                await asyncio.sleep(0)  # whatever else arrived in this turn of the loop
                continue
            await self._run_batch(self._take())
        self._executor.shutdown(wait=False)

    def close(self) -> None:
        """Let `work` end when the queue is empty."""
        self._closed = True
        self._arrived.set()

    async def in_thread(self, function: Callable[[], Value]) -> Value:
        """The function's result, from the thread that runs the batches."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, function)

    async def _run_batch(self, batch: list[tuple[_Ticket[Job, Result], int, Job]]) -> None:
        jobs = [job for _, _, job in batch]
        began = monotonic()
        outcomes = await asyncio.get_running_loop().run_in_executor(self._executor, self._outcomes, jobs)
        for (ticket, place, _), outcome in zip(batch, outcomes, strict=True):
            ticket.put(place, outcome)
            if isinstance(outcome, Exception):
                self._take_back(ticket)
        cost = sum(map(self._cost, jobs))
        rate = cost / max(1e-6, monotonic() - began)
        self._rate = rate if not self._rate else 0.8 * self._rate + 0.2 * rate
        self.on_batch(len(jobs), cost)

    def _take(self) -> list[tuple[_Ticket[Job, Result], int, Job]]:
        """The next batch: a job of each ticket in turn, as many as fit."""
        batch: list[tuple[_Ticket[Job, Result], int, Job]] = []
        cost = 0
        while self._tickets:
            cost += (next_cost := self._cost(self._tickets[0].waiting[0][1]))
            if batch and cost > self._batch_cost:
                break
            ticket = self._tickets.popleft()
            batch.append((ticket, *ticket.waiting.popleft()))
            self.waiting -= next_cost
            if ticket.waiting:
                self._tickets.append(ticket)
        return batch

    def _take_back(self, ticket: _Ticket[Job, Result]) -> None:
        """Forget the jobs of a ticket that still wait."""
        if ticket.waiting:
            self.waiting -= sum(self._cost(job) for _, job in ticket.waiting)
            ticket.waiting.clear()
            self._tickets.remove(ticket)

    def _outcomes(self, jobs: Sequence[Job]) -> Sequence[Result | Exception]:
        try:
            return self._run(jobs)
        except Exception as error:
            if len(jobs) == 1:
                return [error]
            return [outcome for job in jobs for outcome in self._outcomes([job])]
