"""Corpus jobs: label many files into a directory of shards, exactly once, even if processes are killed.

    documents   documents in files: text, JSON Lines, CSV, Parquet; cut into shards
    rows        a labeled document as flat rows
    output      shards and receipts on disk, each written atomically
    worker      a worker: one model, one shard after the other; the pool of them on this machine
    job         start or resume, run, merge, summarize

The job reads the input once and sends shards of documents to the workers. A shard is done when its receipt
exists, and the receipt is written after the rows. The rows of a shard depend on nothing but its documents and
the settings, so whatever was interrupted is repeated with the same bytes.
"""

from spansrl.jobs.documents import InputOptions
from spansrl.jobs.job import Job, Status, run
from spansrl.jobs.worker import LabelOptions

__all__ = ["InputOptions", "Job", "LabelOptions", "Status", "run"]
