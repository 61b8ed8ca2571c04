"""The plan of a job: which documents belong to which shard, and the fingerprint of the input.

The input is read once, in order. A shard begins at a record of a file and ends where the next one begins, so
the plan stays small and does not depend on the number of workers.
"""

from __future__ import annotations

import hashlib
import os
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from spansrl.errors import DataError
from spansrl.jobs.sources import Reading, Record, read_records
from spansrl.progress import Progress, no_progress

NEW_JOB = "start a new job in another directory"
MAX_DUPLICATES = 10_000  # more of them are not mistakes in single documents but the wrong column


@dataclass(frozen=True, slots=True)
class File:
    """An input file as it was when the job was planned; one that cannot be read has no hash."""

    path: str
    size: int
    mtime_ns: int
    sha256: str

    @classmethod
    def of(cls, path: str) -> File:
        try:
            with Path(path).open("rb") as stream:
                status = os.fstat(stream.fileno())
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError:  # reading its documents gives the reason
            return cls(path, 0, 0, "")
        return cls(path, status.st_size, status.st_mtime_ns, digest)

    def is_unchanged(self) -> bool:
        """Return whether the file has the same size and time, or at least the same content."""
        if not self.sha256:
            return not File.of(self.path).sha256
        try:
            status = Path(self.path).stat()
        except OSError:
            return False
        if (status.st_size, status.st_mtime_ns) == (self.size, self.mtime_ns):
            return True
        return status.st_size == self.size and File.of(self.path).sha256 == self.sha256

    def changed(self) -> DataError:
        return DataError(f"{self.path}: changed since the job was planned; {NEW_JOB}")


@dataclass(frozen=True, slots=True)
class Shard:
    """A run of documents that are labeled and written together; it begins at a record of a file."""

    number: int
    file: int
    record: int
    offset: int | None
    documents: int = 0
    unreadable: int = 0  # documents without a text, such as broken JSON
    chars: int = 0
    # Index in the shard -> where its id was used first.
    duplicates: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """The files of a job and its shards."""

    files: tuple[File, ...]
    shards: tuple[Shard, ...]
    first_problem: str | None = None

    @property
    def documents(self) -> int:
        """The number of documents, bad ones included."""
        return sum(shard.documents for shard in self.shards)

    @property
    def fingerprint(self) -> str:
        """One SHA-256 for all files, their names and their order."""
        names = "".join(f"{file.path}\0{file.sha256}\n" for file in self.files)
        return hashlib.sha256(names.encode("utf-8", "surrogateescape")).hexdigest()


def make_plan(
    paths: Sequence[str], reading: Reading, *, shard_chars: int, progress: Progress = no_progress
) -> Plan:
    """Read the files once and cut them into shards of about `shard_chars` characters of text."""
    files = []
    for number, path in enumerate(paths):
        progress("checking the input", number, len(paths))
        files.append(File.of(path))
    shards = [Shard(0, 0, 0, None)]  # one without documents if there are none
    ids = array("Q")
    problem = None
    for file, record in _all_records(files, reading, progress):
        if shards[-1].chars >= shard_chars:
            shards.append(Shard(len(shards), file, record.number, record.offset))
        shards[-1] = _with_record(shards[-1], record)
        if record.reason is not None:
            problem = problem or f"{record.where}: {record.reason}"
        if reading.id is not None:
            ids.append(_hash(record))
    if reading.id is not None:
        shards = _with_duplicates(files, reading, shards, ids)
    return Plan(tuple(files), tuple(shards), problem)


def _all_records(
    files: Sequence[File], reading: Reading, progress: Progress = no_progress
) -> Iterator[tuple[int, Record]]:
    for number, file in enumerate(files):
        progress("planning", number, len(files))
        for record in read_records(file.path, reading):
            yield number, record


def _with_record(shard: Shard, record: Record) -> Shard:
    return replace(
        shard,
        documents=shard.documents + 1,
        unreadable=shard.unreadable + (record.reason is not None),
        chars=shard.chars + len(record.text) + 1,
    )


def _hash(record: Record) -> int:
    """64 bits of a document's id; bad documents get those of their position, which is unique."""
    name = record.id if record.reason is None else f"\0{record.where}"
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")


def _with_duplicates(
    files: Sequence[File], reading: Reading, shards: list[Shard], ids: array[int]
) -> list[Shard]:
    """Note documents whose id was used before; a second pass compares the ids whose hashes are equal."""
    hashes, counts = np.unique(np.frombuffer(ids, np.uint64), return_counts=True)
    suspects = set(hashes[counts > 1].tolist())
    if (extra := int(counts.sum()) - len(counts)) > MAX_DUPLICATES:
        found = f"{extra:,} of {len(ids):,} values are duplicates"
        raise DataError(
            f"the column {reading.id!r} does not identify documents: {found}; choose another --id"
        )
    if not suspects:
        return shards
    first: dict[str, str] = {}
    duplicates: dict[int, str] = {}
    for index, (_, record) in enumerate(_all_records(files, reading)):
        if record.reason is None and ids[index] in suspects:
            if record.id in first:
                duplicates[index] = first[record.id]
            else:
                first[record.id] = record.where
    starts = np.cumsum([0, *(shard.documents for shard in shards)])
    for index, where in duplicates.items():
        number = int(np.searchsorted(starts, index, side="right")) - 1
        own = {str(index - int(starts[number])): where}
        shards[number] = replace(shards[number], duplicates=shards[number].duplicates | own)
    return shards


class Reader:
    """Reads shards; in files without offsets it continues where the last shard ended, if that is earlier."""

    def __init__(self, files: Sequence[File], reading: Reading) -> None:
        self._files = files
        self._reading = reading
        self._stream: Iterator[Record] = iter(())
        self._next: tuple[int, int] = (-1, 0)  # file and record of the stream

    def read(self, shard: Shard) -> list[Record]:
        """Return the documents of a shard, exactly those of the plan."""
        records: list[Record] = []
        for number in range(shard.file, len(self._files)):
            if len(records) == shard.documents:
                break
            if not self._files[number].is_unchanged():
                raise self._files[number].changed()
            is_first = number == shard.file
            stream = self._from(number, shard.record if is_first else 0, shard.offset if is_first else None)
            for record in stream:
                records.append(record)
                if len(records) == shard.documents:
                    break
        if len(records) != shard.documents or sum(r.reason is not None for r in records) != shard.unreadable:
            raise self._files[shard.file].changed()
        return records

    def _from(self, file: int, start: int, offset: int | None) -> Iterator[Record]:
        if offset is not None or self._next[0] != file or self._next[1] > start:
            self._stream = read_records(self._files[file].path, self._reading, start=start, offset=offset)
        for record in self._stream:
            self._next = (file, record.number + 1)
            if record.number >= start:
                yield record
        self._next = (-1, 0)
