"""The scheduler: what is labeled together, whose turn it is, and what happens to abandoned work."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager

import pytest
from fake import FakePipeline
from hypothesis import given, settings
from hypothesis import strategies as st

from spansrl.server import scheduler as module
from spansrl.server.api_error import ApiError
from spansrl.server.labeling import LabelJob, Options
from spansrl.server.limits import ServerLimits
from spansrl.server.scheduler import Scheduler


@asynccontextmanager
async def working(pipeline, **limits):
    scheduler = Scheduler(ServerLimits(**limits))
    task = asyncio.create_task(scheduler.run(pipeline))
    try:
        yield scheduler
    finally:
        pipeline.may_go.set()
        scheduler.close()
        await asyncio.wait_for(task, 20)
        scheduler.stop_threads()


def run(scenario):
    asyncio.run(asyncio.wait_for(scenario(), 30))


def submitted(scheduler, *texts):
    """A task for each text, which is in the queue soon."""
    return [asyncio.create_task(submit(scheduler, LabelJob(text))) for text in texts]


async def submit(scheduler, *jobs, **options):
    return await scheduler.submit(sum(job.chars for job in jobs), lambda: jobs, **options)


async def until(true):
    while not true():
        await asyncio.sleep(0.001)


def test_requests_that_arrive_together_are_labeled_together():
    async def scenario():
        pipeline = FakePipeline()
        async with working(pipeline) as scheduler:
            results = await asyncio.gather(*submitted(scheduler, "It rained.", "It poured.", "He left."))
        assert [b"rained" in result[0] for result in results] == [True, False, False]
        assert pipeline.calls == [["It rained.", "It poured.", "He left."]]

    run(scenario)


def test_sentences_with_other_options_are_not_labeled_together():
    async def scenario():
        pipeline = FakePipeline()
        jobs = [
            LabelJob("It rained.", options=Options(predicates=["noun"])),
            LabelJob("It poured."),
            LabelJob("It snowed."),
        ]
        async with working(pipeline) as scheduler:
            await submit(scheduler, *jobs)
        assert sorted(map(len, pipeline.calls)) == [1, 2]

    run(scenario)


def test_sentences_are_labeled_together_only_as_far_as_their_worst_cost_allows():
    async def scenario():
        pipeline = FakePipeline()
        texts = ["word " * 60, "word " * 60, "It rained."]
        async with working(pipeline) as scheduler:
            await asyncio.gather(*submitted(scheduler, *texts))
        for call in pipeline.calls:
            assert len(call) == 1 or sum(len(text.split()) ** 2 for text in call) <= module.SHARED_COST

    run(scenario)


def test_while_a_long_sentence_is_labeled_short_requests_are_answered():
    async def scenario():
        pipeline = FakePipeline()
        async with working(pipeline) as scheduler:
            pipeline.seconds = 0.02
            (long,) = submitted(scheduler, "ran " * 200)
            await until(lambda: pipeline.steps_done > 5)
            for _ in range(3):
                before = pipeline.steps_done
                await submit(scheduler, LabelJob("It rained."))
                assert pipeline.steps_done - before < 40  # of the 200 steps
            assert not long.done()
            long.cancel()

    run(scenario)


def test_requests_take_turns_in_their_sentences():
    async def scenario():
        pipeline = FakePipeline()
        pipeline.seconds = 0.002
        async with working(pipeline) as scheduler:
            long, other = submitted(scheduler, "They waited for him. " * 200, "They called her. " * 200)
            await asyncio.gather(long, other)
        first = [call[0].split()[1] for call in pipeline.calls]
        assert "called" in first[: len(first) // 2]
        assert "waited" in first[len(first) // 2 :]

    run(scenario)


def test_abandoned_work_stops():
    async def scenario():
        pipeline = FakePipeline()
        pipeline.seconds = 0.002
        async with working(pipeline) as scheduler:
            one_sentence, many = submitted(scheduler, "ran " * 200, "It rained all day. " * 500)
            await until(lambda: pipeline.steps_done > 5)
            one_sentence.cancel()
            many.cancel()
            await asyncio.sleep(0.5)
            before = pipeline.steps_done
            await asyncio.sleep(0.2)
            assert pipeline.steps_done == before
            assert scheduler.wait() == 0
            pipeline.seconds = 0.0
            assert await submit(scheduler, LabelJob("It rained."))

    run(scenario)


def test_only_the_request_whose_sentence_fails_fails():
    async def scenario():
        pipeline = FakePipeline()
        async with working(pipeline) as scheduler:
            good, bad, last = submitted(scheduler, "It rained.", "A poison.", "It poured.")
            assert b"rained" in (await good)[0]
            assert b"poured" in (await last)[0]
            with pytest.raises(ZeroDivisionError):
                await bad
            assert scheduler.wait() == 0

    run(scenario)


def test_requests_that_would_wait_too_long_are_refused():
    async def scenario():
        pipeline = FakePipeline()
        async with working(pipeline, wait_seconds=0.5) as scheduler:
            pipeline.may_go.clear()
            accepted, refused = [], []
            for _ in range(200):
                (task,) = submitted(scheduler, "It rained. " * 10)
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                (refused if task.done() else accepted).append(task)
            assert accepted
            assert refused
            for task in refused:
                with pytest.raises(ApiError):
                    await task
            patient = asyncio.create_task(submit(scheduler, LabelJob("It rained."), patient=True))
            await asyncio.sleep(0.01)
            pipeline.may_go.set()
            assert len(await asyncio.gather(*accepted, patient)) == len(accepted) + 1
            assert await submit(scheduler, LabelJob("It rained."))

    run(scenario)


def test_one_long_request_does_not_make_short_ones_wait_too_long():
    async def scenario():
        pipeline = FakePipeline()
        async with working(pipeline, wait_seconds=1) as scheduler:
            pipeline.may_go.clear()
            (long,) = submitted(scheduler, "It rained. " * 9000)
            await until(lambda: pipeline.calls)
            (short,) = submitted(scheduler, "It poured.")
            (other,) = submitted(scheduler, "It snowed. " * 9000)
            with pytest.raises(ApiError):
                await other
            pipeline.may_go.set()
            await short
            long.cancel()

    run(scenario)


def test_a_request_of_any_size_is_accepted_when_nothing_else_is_there():
    async def scenario():
        async with working(FakePipeline(), wait_seconds=0.001) as scheduler:
            (result,) = await submit(scheduler, LabelJob("It rained. " * 500))
            assert result.count(b'"props"') == 500

    run(scenario)


def test_closing_finishes_what_was_accepted():
    async def scenario():
        pipeline = FakePipeline()
        async with working(pipeline) as scheduler:
            pipeline.may_go.clear()
            tasks = submitted(scheduler, *["It rained. " * 50] * 5)
            await until(lambda: pipeline.calls)
            scheduler.close()
            pipeline.may_go.set()
            assert len(await asyncio.gather(*tasks)) == 5

    run(scenario)


def test_the_wait_is_estimated_from_the_measured_rate():
    async def scenario():
        pipeline = FakePipeline()
        pipeline.seconds = 0.001
        async with working(pipeline) as scheduler:
            await submit(scheduler, LabelJob("It rained. " * 100))
            began = time.monotonic()
            tasks = submitted(scheduler, *["It rained. " * 100] * 10)
            await asyncio.sleep(0.01)
            expected = scheduler.wait(1e9)
            await asyncio.gather(*tasks)
            assert expected / 4 < time.monotonic() - began < expected * 4

    run(scenario)


def test_the_wait_follows_a_machine_that_becomes_slow(monkeypatch):
    monkeypatch.setattr(module, "MEMORY_SECONDS", 0.2)

    async def expected_wait(pipeline, scheduler):
        pipeline.may_go.clear()
        tasks = submitted(scheduler, *["It rained. " * 10] * 10)
        await until(lambda: scheduler.wait() > 0)
        found = scheduler.wait(1e9)
        pipeline.may_go.set()
        await asyncio.gather(*tasks)
        return found

    async def scenario():
        pipeline = FakePipeline()
        pipeline.seconds = 0.0005
        async with working(pipeline) as scheduler:
            await submit(scheduler, LabelJob("It rained. " * 100))
            before = await expected_wait(pipeline, scheduler)
            pipeline.seconds = 0.02
            await submit(scheduler, LabelJob("It rained. " * 10))
            assert await expected_wait(pipeline, scheduler) > 4 * before

    run(scenario)


@given(st.lists(st.lists(st.text("ab .", max_size=30), max_size=4), max_size=8), st.sampled_from([1, 3]))
@settings(max_examples=40, deadline=None)
def test_everyone_gets_the_results_of_their_own_jobs_in_order(requests, threads):
    async def scenario():
        pipeline = FakePipeline()
        pipeline.threads = threads
        async with working(pipeline) as scheduler:
            jobs = [[LabelJob(text, id=str(k)) for k, text in enumerate(request)] for request in requests]
            found = await asyncio.gather(*(submit(scheduler, *request) for request in jobs))
            alone = [[(await submit(scheduler, job))[0] for job in request] for request in jobs]
        assert found == alone

    run(scenario)
