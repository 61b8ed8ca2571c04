"""The directory of a job: rows and receipts of shards, errors, manifest; each file is written atomically.

OUT/manifest.json               settings, model, fingerprint of the input, counts
OUT/rows/part-00000.jsonl       the rows of a shard, or .csv, or .parquet
OUT/errors.jsonl                the documents that could not be labeled, and why
OUT/progress/part-00000.json    the receipt of a shard; removed when the job is complete
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal

from spansrl.checks import Json
from spansrl.errors import DataError
from spansrl.formats.text_files import open_output
from spansrl.jobs.rows import COLUMNS, Rows

if sys.platform != "win32":
    import fcntl

RowFormat = Literal["jsonl", "csv", "parquet"]


@dataclass(frozen=True, slots=True)
class Receipt:
    """The record of a finished shard."""

    shard: int
    digest: str  # of its documents
    documents: int = 0
    sentences: int = 0
    rows: int = 0
    bytes: int = 0  # of the file of rows
    cpu_seconds: float = 0.0
    errors: list[dict[str, str]] = field(default_factory=list)  # id, where, reason
    warnings: dict[str, int] = field(default_factory=dict)  # message -> how often


class JobDirectory:
    """The paths of a job."""

    def __init__(self, out: Path, to: RowFormat = "jsonl") -> None:
        self.out = out
        self.to = to
        self.manifest = out / "manifest.json"
        self.errors = out / "errors.jsonl"
        self.rows = out / "rows"
        self.progress = out / "progress"

    def rows_of(self, shard: int) -> Path:
        return self.rows / f"part-{shard:05d}.{self.to}"

    def receipt_of(self, shard: int) -> Path:
        return self.progress / f"part-{shard:05d}.json"

    def crashes_of(self, shard: int) -> Path:
        """The attempts at a shard that have not succeeded."""
        return self.progress / f"part-{shard:05d}.attempts"

    def receipt(self, shard: int) -> Receipt | None:
        """Return the receipt of a finished shard; one that is damaged or has lost its rows does not count."""
        with contextlib.suppress(FileNotFoundError, ValueError, TypeError):
            found = Receipt(**json.loads(self.receipt_of(shard).read_bytes()))
            if found.shard == shard and self.rows_of(shard).stat().st_size == found.bytes:
                return found
        return None

    def write_errors(self, shards: int, known: dict[int, list[dict[str, str]]]) -> None:
        """Write the errors of finished shards, and those `known` of others, in the order of the input."""
        receipts = ((number, self.receipt(number)) for number in range(shards))
        errors = (receipt.errors if receipt else known.get(number, []) for number, receipt in receipts)
        write_json_lines(self.errors, (error for own in errors for error in own))

    def make(self) -> None:
        """Make the directories, or remove what an interrupted run left in them."""
        for folder in (self.rows, self.progress):
            folder.mkdir(exist_ok=True)
        self.remove_temporaries()

    def remove_temporaries(self) -> None:
        """Remove what killed processes left behind."""
        for folder in (self.out, self.rows, self.progress):
            for path in [*folder.glob(".*.tmp"), *folder.glob("*.attempts")]:
                path.unlink(missing_ok=True)

    def remove_progress(self) -> None:
        """Remove the receipts of a complete job."""
        for path in self.progress.glob("*"):
            path.unlink(missing_ok=True)
        with contextlib.suppress(FileNotFoundError):
            self.progress.rmdir()


@contextlib.contextmanager
def open_durable(path: Path) -> Iterator[BinaryIO]:
    """Open a file that replaces `path` when the block ends, after its content has reached the disk."""
    with open_output(path) as stream:
        yield stream
        stream.flush()
        os.fsync(stream.fileno())


def write_json(path: Path, value: Any) -> None:
    with open_durable(path) as stream:
        stream.write(json.dumps(value).encode() + b"\n")


def write_json_lines(path: Path, rows: Iterable[Json]) -> None:
    with open_durable(path) as stream:
        for row in rows:
            stream.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")


def write_shard(directory: JobDirectory, rows: Sequence[Json], kind: Rows, receipt: Receipt) -> Receipt:
    """Write the rows of a shard, then its receipt; return the receipt with the size of the rows."""
    path = directory.rows_of(receipt.shard)
    if directory.to == "parquet":
        from spansrl.jobs import parquet  # an extra

        with open_durable(path) as stream:
            parquet.write_rows(stream, rows, kind)
    elif directory.to == "csv":
        text = io.StringIO()
        table = csv.DictWriter(text, COLUMNS[kind], lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
        with open_durable(path) as stream:
            stream.write(text.getvalue().encode())
    else:
        write_json_lines(path, rows)
    values = asdict(receipt) | {"bytes": path.stat().st_size}
    write_json(directory.receipt_of(receipt.shard), values)
    return Receipt(**values)


@contextlib.contextmanager
def locked(directory: JobDirectory) -> Iterator[None]:
    """Keep other jobs out of the directory while the block runs; the lock ends with the process."""
    directory.out.mkdir(parents=True, exist_ok=True)
    with (directory.out / ".lock").open("w") as lock:
        try:
            if sys.platform != "win32":
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            message = "another job is writing here; wait for it or choose another directory"
            raise DataError(f"{directory.out}: {message}") from error
        yield
