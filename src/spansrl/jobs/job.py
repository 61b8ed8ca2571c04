"""Run a corpus job: plan it or resume it, let an engine label the missing shards, merge, summarize."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path

from spansrl import __version__
from spansrl.checks import Json
from spansrl.errors import ConfigError, DataError, MissingExtraError, SpansrlError, counted
from spansrl.inference.loading import cores
from spansrl.jobs.local import run_local
from spansrl.jobs.plan import NEW_JOB, File, Plan, Shard, make_plan
from spansrl.jobs.sources import SUFFIXES, Reading, find_files
from spansrl.jobs.work import Labeling, Load, Task, fingerprints, load_pipeline
from spansrl.jobs.writing import Directory, Format, Receipt, locked, write_json, write_json_lines
from spansrl.progress import Progress, no_progress

FORMAT = "spansrl-corpus-2"
RUNNING, COMPLETE = "running", "complete"
COUNTS = ("documents", "sentences", "rows", "errors")  # of a complete job

# Closing the generator ends the workers.
Engine = Callable[[Task, Sequence[Shard], int], Generator[Receipt, None, None]]


@dataclass(frozen=True, slots=True)
class Job:
    """What to label, how, and where to write it."""

    inputs: tuple[str, ...]
    out: Path
    reading: Reading = field(default_factory=Reading)
    labeling: Labeling = field(default_factory=Labeling)
    to: Format = "jsonl"
    shard_chars: int = 250_000  # a few thousand sentences

    @property
    def settings(self) -> Json:
        """The settings that must not change before the job is resumed, in the form that JSON gives back."""
        own = {"to": self.to, "shard_chars": self.shard_chars}
        settings: Json = json.loads(json.dumps(asdict(self.reading) | asdict(self.labeling) | own))
        return settings


@dataclass(slots=True)
class Status:
    """Progress of a job: totals of the plan, what is done, and the part of it that this run did."""

    total: Plan
    workers: int
    skipped_files: int = 0  # of other kinds, in folders and globs
    shards: int = 0
    documents: int = 0
    sentences: int = 0
    rows: int = 0
    errors: int = 0
    cpu_seconds: float = 0.0
    warnings: Counter[str] = field(default_factory=Counter)
    new_sentences: int = 0
    new_chars: int = 0
    left_chars: int = 0
    began: float = field(default_factory=time.monotonic)

    def add(self, receipt: Receipt, *, is_new: bool) -> None:
        self.shards += 1
        self.documents += receipt.documents
        self.sentences += receipt.sentences
        self.rows += receipt.rows
        self.errors += len(receipt.errors)
        self.cpu_seconds += receipt.cpu_seconds
        self.warnings.update(receipt.warnings)
        if is_new:
            self.new_sentences += receipt.sentences
            self.new_chars += self.total.shards[receipt.shard].chars
            self.left_chars -= self.total.shards[receipt.shard].chars

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    @property
    def rate(self) -> float:
        """Sentences per second in this run."""
        return self.new_sentences / max(self.seconds, 1e-9)

    @property
    def seconds_left(self) -> float | None:
        """An estimate from the characters that are left; None before the first shard is done."""
        return self.seconds * self.left_chars / self.new_chars if self.new_chars else None

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
    paths, skipped = find_files(job.inputs, leave_out=job.out)
    if not paths:
        kinds = ", ".join(SUFFIXES)
        raise DataError(f"{', '.join(job.inputs)}: no documents found; expected files in {kinds}")
    directory = Directory(job.out.absolute(), job.to)
    with locked(directory):
        if directory.manifest.exists():
            if not resume:
                advice = "continue it with --resume, or choose another directory"
                raise ConfigError(f"{job.out}: already holds a job; {advice}")
            plan, manifest = _resumed(job, directory, paths)
        else:
            plan, manifest = _planned(job, directory, paths, skipped, progress)
        status = Status(plan, workers or cores(), manifest["counts"]["skipped_files"])
        if manifest["status"] == COMPLETE:
            _count_complete(status, manifest)
            directory.remove_progress()
            return status
        directory.make()
        task = Task(directory, plan.files, job.reading, job.labeling, fingerprints(job.labeling), load)
        try:
            _run(task, status, engine, max_errors, on_status)
        except SpansrlError as error:
            done = f"{status.shards:,} of {counted(len(plan.shards), 'shard')} done"
            raise SpansrlError(f"{error} ({done}; run the same command with --resume to continue)") from error
        _finish(directory, manifest, status)
        return status


def _planned(
    job: Job, directory: Directory, paths: Sequence[str], skipped: int, progress: Progress
) -> tuple[Plan, Json]:
    """Plan a new job and write its manifest."""
    own = {directory.rows.name, directory.progress.name, ".lock"}
    strangers = (path.name for path in directory.out.iterdir() if path.suffix != ".tmp")
    if others := sorted(set(strangers) - own):
        raise ConfigError(f"{job.out}: holds other files ({others[0]}); choose an empty directory")
    plan = make_plan(paths, job.reading, shard_chars=job.shard_chars, progress=progress)
    manifest = {
        "format": FORMAT,
        "version": __version__,
        "status": RUNNING,
        "settings": job.settings,
        "fingerprints": {"input": plan.fingerprint, **fingerprints(job.labeling)},
        "counts": {"files": len(plan.files), "skipped_files": skipped, "documents": plan.documents},
        "files": [asdict(file) for file in plan.files],
        "shards": [asdict(shard) for shard in plan.shards],
        "first_problem": plan.first_problem,
    }
    write_json(directory.manifest, manifest)
    return plan, manifest


def _resumed(job: Job, directory: Directory, paths: Sequence[str]) -> tuple[Plan, Json]:
    """Read the plan of an earlier run and check that it would still give the same rows."""
    manifest = read_manifest(directory.manifest)
    own = fingerprints(job.labeling)
    for what, then, now in (
        ("version of spansrl", manifest["version"], __version__),
        *(
            (f"setting {name!r}", manifest["settings"].get(name), value)
            for name, value in job.settings.items()
        ),
        ("model", manifest["fingerprints"]["model"], own["model"]),
        ("installed frames", manifest["fingerprints"]["frames"], own["frames"]),
    ):
        if then != now:
            raise ConfigError(
                f"{job.out}: the {what} changed since the job began, from {then} to {now}; {NEW_JOB}"
            )
    plan = Plan(
        tuple(File(**file) for file in manifest["files"]),
        tuple(Shard(**shard) for shard in manifest["shards"]),
        manifest["first_problem"],
    )
    _check_input(job, plan, paths)
    return plan, manifest


def _check_input(job: Job, plan: Plan, paths: Sequence[str]) -> None:
    planned = [file.path for file in plan.files]
    if paths != planned:
        different = sorted(set(paths) ^ set(planned))
        example = f" ({different[0]} is {'new' if different[0] in paths else 'missing'})" if different else ""
        raise DataError(f"{job.out}: the input files are not those of the job{example}; {NEW_JOB}")
    for file in plan.files:
        if not file.is_unchanged():
            raise file.changed()


def read_manifest(path: Path) -> Json:
    try:
        manifest = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error}); {NEW_JOB}") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise DataError(f"{path}: not the manifest of a corpus job of this version; {NEW_JOB}")
    return manifest


def _run(
    task: Task,
    status: Status,
    engine: Engine,
    max_errors: int | None,
    on_status: Callable[[Status], None],
) -> None:
    missing = []
    for shard in status.total.shards:
        if (receipt := task.directory.receipt(shard.number)) is None:
            missing.append(shard)
        else:
            status.add(receipt, is_new=False)
    status.left_chars = sum(shard.chars for shard in missing)
    unreadable = sum(shard.unreadable + len(shard.duplicates) for shard in status.total.shards)
    if max_errors is not None and unreadable > max_errors:
        raise DataError(_too_many(unreadable, max_errors, status.total.first_problem))
    status.began = time.monotonic()
    on_status(status)
    with closing(engine(task, missing, status.workers)) as receipts:
        for receipt in receipts:
            status.add(receipt, is_new=True)
            on_status(status)
            if max_errors is not None and status.errors > max_errors:
                merge_errors(task.directory, status.total)
                example = next((f"{error['where']}: {error['reason']}" for error in receipt.errors), None)
                raise DataError(_too_many(status.errors, max_errors, example))


def _too_many(errors: int, limit: int, example: str | None) -> str:
    shown = "" if example is None else f", such as {example}"
    return f"{counted(errors, 'bad document')}, more than --max-errors {limit}{shown}"


def merge_errors(directory: Directory, plan: Plan) -> None:
    """Write the errors of all finished shards into one file, in the order of the input."""
    receipts = (directory.receipt(shard.number) for shard in plan.shards)
    write_json_lines(directory.errors, (error for receipt in receipts if receipt for error in receipt.errors))


def _finish(directory: Directory, manifest: Json, status: Status) -> None:
    """Merge the errors, mark the job as complete, then remove the receipts."""
    directory.remove_temporaries()
    merge_errors(directory, status.total)
    manifest |= {
        "status": COMPLETE,
        "counts": manifest["counts"] | {name: getattr(status, name) for name in COUNTS},
        "warnings": dict(status.warnings),
        "workers": status.workers,
        "seconds": round(status.seconds, 1),  # of the last run
        "cpu_seconds": round(status.cpu_seconds, 1),
    }
    write_json(directory.manifest, manifest)
    directory.remove_progress()


def _count_complete(status: Status, manifest: Json) -> None:
    """Fill in the status of a job that was complete before."""
    for name in COUNTS:
        setattr(status, name, manifest["counts"][name])
    status.shards, status.cpu_seconds = len(status.total.shards), manifest["cpu_seconds"]
    status.warnings.update(manifest["warnings"])
