"""A worker in this process: errors of single documents, attempts, receipts."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from job_fakes import FakeLabels, json_lines, load_fake

from spansrl.errors import DataError
from spansrl.jobs import InputOptions, LabelOptions
from spansrl.jobs.documents import InputReader
from spansrl.jobs.output import JobDirectory
from spansrl.jobs.worker import MAX_CRASHES, MAX_DOCUMENT_CRASHES, CrashLog, Task, Worker, fingerprints


class Killed(BaseException):
    """Stands for a signal: nothing catches it."""


class DyingLabels(FakeLabels):
    def pipe(self, texts, *, predicates=None):
        for text in texts:
            if "KILL" in text:
                raise Killed
            yield from super().pipe([text])


def load_dying_labels(options):
    return DyingLabels()


@pytest.fixture
def task(tmp_path):
    def make(*texts, load=load_fake):
        path = tmp_path / "in.jsonl"
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        directory = JobDirectory(tmp_path / "out")
        for folder in (directory.rows, directory.progress):
            folder.mkdir(parents=True)
        (shard,) = InputReader(InputOptions()).shards([str(path)], chars=10_000)
        return Task(directory, LabelOptions(), fingerprints(LabelOptions()), load), shard

    return make


def rows_in(directory):
    return json_lines(directory.rows_of(0))


def test_a_shard_is_written_with_its_receipt(task):
    work, shard = task("Ann sold it", "NONE", "Bob left")
    receipt = Worker(work).run(shard)
    assert (receipt.documents, receipt.sentences, receipt.rows, receipt.errors) == (3, 2, 4, [])
    assert work.directory.receipt(0) == receipt
    assert len({row["id"] for row in rows_in(work.directory)}) == 3
    assert not work.directory.crashes_of(0).exists()


def test_a_document_that_raises_is_an_error_and_the_others_are_labeled(task):
    work, shard = task("Ann sold it", "RAISE", "Bob left")
    receipt = Worker(work).run(shard)
    assert [error["reason"] for error in receipt.errors] == ["labeling failed: ValueError: cannot label this"]
    assert receipt.errors[0]["where"].endswith("in.jsonl:2")
    assert {row["word"] for row in rows_in(work.directory)} == {"sold", "left"}


def test_warnings_are_counted(task):
    work, shard = task("WARN me", "Ann WARN it", "x")
    assert Worker(work).run(shard).warnings == {"a long sentence": 2}


def test_documents_that_kill_their_worker_become_errors(task):
    work, shard = task("Ann sold it", "KILL one", "Bob left", "KILL two", load=load_dying_labels)
    deaths = 0
    while work.directory.receipt(0) is None:
        try:
            Worker(work).run(shard)
        except Killed:
            deaths += 1
    assert deaths == MAX_CRASHES + 2 * MAX_DOCUMENT_CRASHES
    receipt = work.directory.receipt(0)
    assert [error["where"].rpartition(":")[2] for error in receipt.errors] == ["2", "4"]
    assert {row["word"] for row in rows_in(work.directory)} == {"sold", "left"}


def test_workers_that_always_die_end_the_job(task):
    work, shard = task("Ann sold it")
    attempts = work.directory.crashes_of(0)
    attempts.write_text("attempt\n" * (MAX_CRASHES + MAX_DOCUMENT_CRASHES + 1))
    with pytest.raises(DataError, match="shard 0"):
        Worker(work).run(shard)


def test_the_document_begun_last_is_the_one_that_killed(tmp_path):
    path = tmp_path / "attempts"
    path.write_text("attempt\nattempt\nattempt\nattempt\n0\n1\nattempt\n0\n1\n2\nattempt\n0\n1\n")
    attempts = CrashLog(path)
    assert (attempts.count, dict(attempts.deaths), attempts.one_by_one) == (6, {1: 2, 2: 1}, True)


def test_a_finished_shard_is_not_labeled_again(task):
    work, shard = task("Ann sold it")
    receipt = Worker(work).run(shard)
    worker = Worker(replace(work, load=lambda options: None))
    assert worker.run(shard) == receipt


def test_a_receipt_without_its_rows_does_not_count(task):
    work, shard = task("Ann sold it")
    Worker(work).run(shard)
    rows = work.directory.rows_of(0)
    rows.write_bytes(rows.read_bytes()[:-5])
    assert work.directory.receipt(0) is None
    rows.unlink()
    assert work.directory.receipt(0) is None
    Worker(work).run(shard)
    assert len(rows_in(work.directory)) == 2


def test_a_machine_with_another_model_is_refused(task):
    work, _ = task("Ann sold it")
    with pytest.raises(DataError, match="model"):
        Worker(replace(work, fingerprints=work.fingerprints | {"model": "0" * 64}))
