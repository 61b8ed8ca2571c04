"""Run a corpus job: read the input, let an engine label the missing shards, merge the errors, summarize."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path

from spansrl import __version__
from spansrl.checks import Json
from spansrl.errors import ConfigError, DataError, MissingExtraError, SpansrlError, counted
from spansrl.inference.loading import cores
from spansrl.jobs.documents import SUFFIXES, InputOptions, InputReader, Shard, check_columns, find_files
from spansrl.jobs.output import JobDirectory, Receipt, RowFormat, locked, write_json
from spansrl.jobs.worker import LabelOptions, Load, Task, fingerprints, load_pipeline, run_local
from spansrl.progress import Progress, no_progress

FORMAT = "spansrl-corpus-3"
RUNNING, COMPLETE = "running", "complete"
COUNTS = ("documents", "sentences", "rows", "errors")  # of a complete job
NEW_JOB = "start a new job in another directory"

# Takes shards as it can label them. Closing the generator ends the workers.
Engine = Callable[[Task, Iterator[Shard], int], Generator[Receipt, None, None]]


@dataclass(frozen=True, slots=True)
class Job:
    """What to label, how, and where to write it."""

    inputs: tuple[str, ...]
    out: Path
    input: InputOptions = field(default_factory=InputOptions)
    labels: LabelOptions = field(default_factory=LabelOptions)
    to: RowFormat = "jsonl"
    shard_chars: int = 250_000  # a few thousand sentences

    @property
    def settings(self) -> Json:
        """The settings that must not change before the job is resumed, in the form that JSON gives back."""
        own = {"to": self.to, "shard_chars": self.shard_chars}
        settings: Json = json.loads(json.dumps(asdict(self.input) | asdict(self.labels) | own))
        return settings


@dataclass(slots=True)
class Status:
    """Progress of a job, and the part of it that this run did."""

    workers: int
    bytes: int  # of the input
    skipped_files: int = 0  # of other kinds, in folders and globs
    shards: int = 0
    done_bytes: int = 0  # of the input, labeled
    documents: int = 0
    sentences: int = 0
    rows: int = 0
    errors: int = 0
    cpu_seconds: float = 0.0
    warnings: Counter[str] = field(default_factory=Counter)
    new_sentences: int = 0
    new_bytes: int = 0
    began: float = field(default_factory=time.monotonic)

    def add(self, receipt: Receipt, size: int, *, is_new: bool) -> None:
        self.shards += 1
        self.done_bytes += size
        self.documents += receipt.documents
        self.sentences += receipt.sentences
        self.rows += receipt.rows
        self.errors += len(receipt.errors)
        self.cpu_seconds += receipt.cpu_seconds
        self.warnings.update(receipt.warnings)
        if is_new:
            self.new_sentences += receipt.sentences
            self.new_bytes += size

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    @property
    def rate(self) -> float:
        """Sentences per second in this run."""
        return self.new_sentences / max(self.seconds, 1e-9)

    @property
    def seconds_left(self) -> float | None:
        """An estimate from the bytes that are left; None before the first shard is done."""
        left = max(self.bytes - self.done_bytes, 0)
        return self.seconds * left / self.new_bytes if self.new_bytes else None

    @property
    def per_core_hour(self) -> int:
        """Sentences per hour of CPU time, over all runs of the job."""
        return round(3600 * self.sentences / self.cpu_seconds) if self.cpu_seconds else 0


def run(
    job: Job,
    *,
    resume: bool = False,
    workers: int | None = None,
    max_errors: int | None = None,
    engine: Engine = run_local,
    load: Load = load_pipeline,
    on_status: Callable[[Status], None] = lambda status: None,
    progress: Progress = no_progress,
) -> Status:
    """Label the input of a job; with `resume`, only the shards that an earlier run did not finish.

    Raises SpansrlError for input that cannot be found or has changed, for more than `max_errors` bad
    documents, and for a full disk. Workers are started with "spawn", so scripts call this function under
    `if __name__ == "__main__"`.
    """
    if job.to == "parquet" and find_spec("pyarrow") is None:
        raise MissingExtraError("Parquet output", "corpus")
    if job.to == "csv" and job.labels.rows == "sentence":
        raise ConfigError("CSV holds flat rows only; use --rows argument or statements, or --to jsonl")
    paths, skipped = find_files(job.inputs, leave_out=job.out)
    if not paths:
        kinds = ", ".join(SUFFIXES)
        raise DataError(f"{', '.join(job.inputs)}: no documents found; expected files in {kinds}")
    check_columns(paths, job.input)
    directory = JobDirectory(job.out.absolute(), job.to)
    with locked(directory):
        if not directory.manifest.exists():
            manifest = _start(job, directory)
        elif resume:
            manifest = _resume(job, directory)
        else:
            advice = "continue it with --resume, or choose another directory"
            raise ConfigError(f"{job.out}: already holds a job; {advice}")
        size = sum(os.path.getsize(path) for path in paths if os.path.exists(path))
        status = Status(workers or cores(), size, skipped)
        if manifest["status"] == COMPLETE:
            _check_complete(job, manifest, paths, progress)
            for name in COUNTS:
                setattr(status, name, manifest["counts"][name])
            status.cpu_seconds, status.done_bytes = manifest["cpu_seconds"], size
            status.warnings.update(manifest["warnings"])
        else:
            directory.make()
            shards = _Shards(job, directory, paths, status, max_errors)
            task = Task(directory, job.labels, fingerprints(job.labels), load)
            _run(shards, task, engine, on_status)
            manifest["counts"] = {"files": len(paths), "skipped_files": skipped}
            _finish(directory, manifest, shards)
        directory.remove_progress()
        return status


def _start(job: Job, directory: JobDirectory) -> Json:
    """Write the manifest of a new job."""
    own = {directory.rows.name, directory.progress.name, directory.errors.name, ".lock"}
    strangers = (path.name for path in directory.out.iterdir() if path.suffix != ".tmp")
    if others := sorted(set(strangers) - own):
        raise ConfigError(f"{job.out}: holds other files ({others[0]}); choose an empty directory")
    manifest: Json = {
        "format": FORMAT,
        "version": __version__,
        "status": RUNNING,
        "settings": job.settings,
        "fingerprints": fingerprints(job.labels),
    }
    write_json(directory.manifest, manifest)
    return manifest


def _resume(job: Job, directory: JobDirectory) -> Json:
    """Read the manifest of an earlier run and check that it would still give the same rows."""
    try:
        manifest: Json = json.loads(directory.manifest.read_bytes())
        if manifest["format"] != FORMAT:
            raise DataError(f"{directory.manifest}: written by another version of spansrl; {NEW_JOB}")
        then = {
            "version of spansrl": manifest["version"],
            **{f"setting {name!r}": manifest["settings"].get(name) for name in job.settings},
            "model": manifest["fingerprints"]["model"],
            "installed frames": manifest["fingerprints"]["frames"],
        }
        if manifest["status"] == COMPLETE:
            manifest["fingerprints"]["input"], manifest["counts"]["rows"]
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise DataError(f"{directory.manifest}: cannot be read ({error!r}); {NEW_JOB}") from error
    own = fingerprints(job.labels)
    now = [__version__, *job.settings.values(), own["model"], own["frames"]]
    for (what, before), after in zip(then.items(), now, strict=True):
        if before != after:
            raise ConfigError(
                f"{job.out}: the {what} changed since the job began, from {before} to {after}; {NEW_JOB}"
            )
    return manifest


class _Shards:
    """The shards of a job: reads the input, counts what is done, and yields what is missing."""

    def __init__(
        self,
        job: Job,
        directory: JobDirectory,
        paths: Sequence[str],
        status: Status,
        max_errors: int | None,
    ) -> None:
        self._job, self._directory, self._paths = job, directory, paths
        self._max_errors = max_errors
        self._digest = hashlib.sha256()
        self._sizes: dict[int, int] = {}  # of shards that are being labeled
        self._unreadable: dict[int, list[dict[str, str]]] = {}  # their errors
        self.status = status
        self.count = 0  # shards that were read

    def missing(self) -> Generator[Shard, None, None]:
        for shard in InputReader(self._job.input).shards(self._paths, self._job.shard_chars):
            self.count = shard.number + 1
            self._digest.update(shard.digest.encode())
            receipt = self._directory.receipt(shard.number)
            if receipt is None:
                self._sizes[shard.number] = shard.bytes
                self._unreadable[shard.number] = [d.error for d in shard.documents if d.reason is not None]
                self._check_errors()
                yield shard
            elif receipt.digest == shard.digest:
                self.status.add(receipt, shard.bytes, is_new=False)
                self._check_errors()
            else:
                raise _changed(self._job, f"at {shard.documents[0].where}" if shard.documents else "")
        names = {self._directory.rows_of(number).name for number in range(self.count)}
        if any(path.name not in names for path in self._directory.rows.iterdir() if path.name[0] != "."):
            raise _changed(self._job, "it is shorter")

    def finish(self, receipt: Receipt) -> None:
        """Count a shard that was labeled."""
        del self._unreadable[receipt.shard]
        self.status.add(receipt, self._sizes.pop(receipt.shard), is_new=True)
        self._check_errors()

    def _check_errors(self) -> None:
        errors = self.status.errors + sum(map(len, self._unreadable.values()))
        if self._max_errors is None or errors <= self._max_errors:
            return
        self.write_errors()
        with self._directory.errors.open(encoding="utf-8") as file:
            example = json.loads(next(file))
        found = f"{counted(errors, 'bad document')}, more than --max-errors {self._max_errors}"
        raise DataError(f"{found}, such as {example['where']}: {example['reason']}")

    def check_finished(self) -> None:
        """Raise SpansrlError if the engine ended without labeling every shard."""
        if self._sizes:
            raise SpansrlError(f"{counted(len(self._sizes), 'shard')} not labeled")

    def write_errors(self) -> None:
        self._directory.write_errors(self.count, self._unreadable)

    @property
    def fingerprint(self) -> str:
        """One SHA-256 for all documents."""
        return self._digest.hexdigest()


def _changed(job: Job, where: str) -> DataError:
    return DataError(f"{job.out}: the input changed since the job began ({where}); {NEW_JOB}")


def _check_complete(job: Job, manifest: Json, paths: Sequence[str], progress: Progress) -> None:
    """Raise DataError if the input is not that of the complete job."""
    reader, digest = InputReader(job.input), hashlib.sha256()
    for shard in reader.shards(paths, job.shard_chars):
        progress("checking the input", reader.bytes, None)
        digest.update(shard.digest.encode())
    if digest.hexdigest() != manifest["fingerprints"]["input"]:
        raise _changed(job, "the job is complete")


def _run(shards: _Shards, task: Task, engine: Engine, on_status: Callable[[Status], None]) -> None:
    status = shards.status
    on_status(status)
    try:
        with (
            closing(shards.missing()) as missing,
            closing(engine(task, missing, status.workers)) as receipts,
        ):
            for receipt in receipts:
                shards.finish(receipt)
                on_status(status)
        shards.check_finished()
    except SpansrlError as error:
        if NEW_JOB in str(error):
            raise
        done = f"{counted(status.shards, 'shard')} done"
        raise SpansrlError(f"{error} ({done}; run the same command with --resume to continue)") from error


def _finish(directory: JobDirectory, manifest: Json, shards: _Shards) -> None:
    """Merge the errors, then mark the job as complete."""
    status = shards.status
    directory.remove_temporaries()
    shards.write_errors()
    manifest["counts"] |= {name: getattr(status, name) for name in COUNTS}
    manifest["fingerprints"]["input"] = shards.fingerprint
    manifest |= {
        "status": COMPLETE,
        "warnings": dict(status.warnings),
        "workers": status.workers,
        "seconds": round(status.seconds, 1),  # of the last run
        "cpu_seconds": round(status.cpu_seconds, 1),
    }
    write_json(directory.manifest, manifest)
