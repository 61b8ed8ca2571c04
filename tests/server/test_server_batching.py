"""The queue in front of the worker: who is run together, in which order, and what happens to the rest."""

from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spansrl.server.batching import Batcher, QueueFullError


class Worker:
    """Doubles numbers, but not 13; remembers its batches; waits while `may_go` is cleared."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.may_go = threading.Event()
        self.may_go.set()

    def __call__(self, jobs):
        self.batches.append(list(jobs))
        assert self.may_go.wait(10)
        if 13 in jobs:
            raise ValueError("13")
        return [2 * job for job in jobs]


@asynccontextmanager
async def working(worker, **settings):
    options = {"cost": lambda job: 1, "batch_cost": 4, "queue_cost": 100, **settings}
    batcher = Batcher(worker, **options)
    task = asyncio.create_task(batcher.work())
    try:
        yield batcher
    finally:
        worker.may_go.set()
        batcher.close()
        await asyncio.wait_for(task, 10)


def run(scenario):
    asyncio.run(asyncio.wait_for(scenario(), 20))


def waiting(batcher, *requests):
    """Tasks for the requests, all of which are in the queue."""
    return [asyncio.create_task(batcher.submit(request)) for request in requests]


async def blocked(worker, batcher):
    """Let the worker hang on a job, so that what comes next waits."""
    worker.may_go.clear()
    task = asyncio.create_task(batcher.submit([0]))
    while not worker.batches:
        await asyncio.sleep(0.001)
    return task


def test_requests_that_arrive_together_are_run_together():
    async def scenario():
        worker = Worker()
        async with working(worker) as batcher:
            results = await asyncio.gather(*waiting(batcher, [1], [2], [3]))
        assert results == [[2], [4], [6]]
        assert worker.batches == [[1, 2, 3]]

    run(scenario)


def test_what_arrives_while_the_worker_is_busy_is_run_together_next():
    async def scenario():
        worker = Worker()
        async with working(worker) as batcher:
            first = await blocked(worker, batcher)
            rest = waiting(batcher, [1], [2])
            await asyncio.sleep(0.01)
            worker.may_go.set()
            assert await asyncio.gather(first, *rest) == [[0], [2], [4]]
        assert worker.batches == [[0], [1, 2]]

    run(scenario)


def test_a_long_request_does_not_hold_up_a_short_one():
    async def scenario():
        worker = Worker()
        async with working(worker) as batcher:
            long, short = waiting(batcher, list(range(20, 40)), [1])
            assert await short == [2]
            assert 1 in worker.batches[0]
            assert not long.done()
            assert await long == list(range(40, 80, 2))

    run(scenario)


def test_a_job_larger_than_a_batch_is_run_alone():
    async def scenario():
        worker = Worker()
        async with working(worker, cost=lambda job: job, batch_cost=5) as batcher:
            await asyncio.gather(*waiting(batcher, [9], [2], [3], [1]))
        assert worker.batches == [[9], [2, 3], [1]]

    run(scenario)


def test_only_the_request_whose_job_fails_fails():
    async def scenario():
        worker = Worker()
        async with working(worker) as batcher:
            good, bad = waiting(batcher, [1, 2], [3, 13, 14, 15, 16, 17])
            assert await good == [2, 4]
            with pytest.raises(ValueError, match="13"):
                await bad
            assert batcher.waiting == 0
            assert await batcher.submit([5]) == [10]
        assert not any(17 in batch for batch in worker.batches)

    run(scenario)


def test_jobs_of_a_request_that_is_given_up_leave_the_queue():
    async def scenario():
        worker = Worker()
        async with working(worker) as batcher:
            first = await blocked(worker, batcher)
            given_up, kept = waiting(batcher, [1, 2, 3], [4])
            await asyncio.sleep(0.01)
            assert batcher.waiting == 4
            given_up.cancel()
            await asyncio.sleep(0.01)
            assert batcher.waiting == 1
            worker.may_go.set()
            assert await asyncio.gather(first, kept) == [[0], [8]]
        assert worker.batches == [[0], [4]]

    run(scenario)


def test_a_request_given_up_while_it_runs_harms_nobody():
    async def scenario():
        worker = Worker()
        async with working(worker) as batcher:
            first = await blocked(worker, batcher)
            first.cancel()
            (next_one,) = waiting(batcher, [1])
            await asyncio.sleep(0.01)
            worker.may_go.set()
            assert await next_one == [2]

    run(scenario)


def test_a_full_queue_takes_only_what_must_be_taken():
    async def scenario():
        worker = Worker()
        async with working(worker, queue_cost=2) as batcher:
            first = await blocked(worker, batcher)
            rest = waiting(batcher, [1, 2])
            await asyncio.sleep(0.01)
            with pytest.raises(QueueFullError):
                await batcher.submit([3])
            must = asyncio.create_task(batcher.submit([4], always=True))
            await asyncio.sleep(0.01)
            worker.may_go.set()
            assert await asyncio.gather(first, *rest, must) == [[0], [2, 4], [8]]

    run(scenario)


def test_closing_finishes_what_waits():
    async def scenario():
        worker = Worker()
        async with working(worker) as batcher:
            await blocked(worker, batcher)
            tasks = waiting(batcher, *[[k] for k in range(1, 10)])
            await asyncio.sleep(0.01)
            batcher.close()
            worker.may_go.set()
            assert await asyncio.gather(*tasks) == [[2 * k] for k in range(1, 10)]

    run(scenario)


@given(st.lists(st.lists(st.integers(14, 99), max_size=6), max_size=12), st.integers(1, 9))
@settings(max_examples=40, deadline=None)
def test_everyone_gets_the_results_of_their_own_jobs_in_order(requests, batch_cost):
    async def scenario():
        worker = Worker()
        async with working(worker, batch_cost=batch_cost) as batcher:
            results = await asyncio.gather(*waiting(batcher, *requests))
            assert batcher.waiting == 0
        assert results == [[2 * job for job in request] for request in requests]
        assert all(len(batch) <= batch_cost for batch in worker.batches)
        assert sum(map(len, worker.batches)) == sum(map(len, requests))

    run(scenario)
