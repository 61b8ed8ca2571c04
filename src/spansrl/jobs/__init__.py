"""Corpus jobs: label many files into a directory of shards, exactly once, even if processes are killed.

    sources     documents in files: text, JSON Lines, CSV, Parquet
    plan        the input cut into shards, and the fingerprint of the input
    rows        a labeled document as flat rows
    writing     shards and receipts on disk, each written atomically
    work        a worker: one model, one shard after the other
    local       the local engine: a pool of processes
    job         plan or resume, run, merge, summarize

A shard is done when its receipt exists, and the receipt is written after the rows. The rows of a shard depend
on nothing but its documents and the settings, so whatever was interrupted is repeated with the same bytes.
"""

from spansrl.jobs.job import Job, Status, run
from spansrl.jobs.sources import Reading
from spansrl.jobs.work import Labeling

__all__ = ["Job", "Labeling", "Reading", "Status", "run"]
