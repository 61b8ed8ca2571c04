"""A worker: one model, one thread, one shard after the other.

A document that kills its worker must not stop the job. So attempts at a shard are noted on disk: after three
of them, its documents are labeled one by one, and one that was begun last in two attempts is an error.
"""

from __future__ import annotations

import platform
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from spansrl.decoding import Decoder
from spansrl.errors import ConfigError, DataError, SpansrlWarning
from spansrl.inference.directory import ModelDirectory, file_hash
from spansrl.inference.loading import find_model, load
from spansrl.inference.pipeline import Pipeline
from spansrl.inference.runtime import Precision
from spansrl.inventory.frame_store import index_path
from spansrl.jobs.plan import File, Reader, Shard
from spansrl.jobs.rows import ROWS, Rows
from spansrl.jobs.sources import Reading
from spansrl.jobs.writing import Directory, Receipt, write_shard
from spansrl.structures import Document

ATTEMPTS = 3  # at a shard as a whole
DEATHS = 2  # of workers that were labeling the same document alone


@dataclass(frozen=True, slots=True)
class Labeling:
    """What the rows depend on, in addition to the input."""

    model: str | None = None
    predicates: tuple[str, ...] | None = None
    frames: bool = True
    decoder: Decoder | None = None
    min_prob: float | None = None
    rows: Rows = "argument"
    precision: Precision = "full"


Load = Callable[[Labeling], Pipeline]


def load_pipeline(labeling: Labeling) -> Pipeline:
    """Load the model of a job, with one thread."""
    return load(
        labeling.model,
        threads=1,
        frames=labeling.frames,
        decoder=labeling.decoder,
        min_prob=labeling.min_prob,
        precision=labeling.precision,
    )


def fingerprints(labeling: Labeling) -> dict[str, str | None]:
    """Return hashes of the model and of the installed frames, which must be the same on every machine."""
    found = find_model(labeling.model)
    directory = found.path if isinstance(found, ModelDirectory) else found
    parts = [directory / name for name in ("manifest.json", "config.json")]
    model = next((part for part in parts if part.exists()), None)
    frames = index_path()
    return {
        "model": None if model is None else file_hash(model),
        "frames": file_hash(frames) if labeling.frames and frames.exists() else None,
    }


@dataclass(frozen=True, slots=True)
class Task:
    """Everything a worker needs, in any process on any machine with the same files."""

    directory: Directory
    files: tuple[File, ...]
    reading: Reading
    labeling: Labeling
    fingerprints: dict[str, str | None]
    load: Load = load_pipeline


class Worker:
    """Labels shards with one model."""

    def __init__(self, task: Task) -> None:
        if (found := fingerprints(task.labeling)) != task.fingerprints:
            different = " and ".join(name for name in found if found[name] != task.fingerprints[name])
            raise DataError(
                f"{platform.node()}: the {different} of this machine differs from the job's; install the same"
            )
        self._task = task
        self._reader = Reader(task.files, task.reading)
        self._pipeline = task.load(task.labeling)

    def run(self, shard: Shard) -> Receipt:
        """Label and write a shard, unless that is done already; return its receipt."""
        directory = self._task.directory
        if (done := directory.receipt(shard.number)) is not None:
            return done
        began = time.process_time()
        attempts = Attempts(directory.attempts_of(shard.number))
        attempts.begin(shard)
        records = self._reader.read(shard)
        reasons = {k: record.reason for k, record in enumerate(records) if record.reason is not None}
        reasons |= {int(k): f"the id is already used at {where}" for k, where in shard.duplicates.items()}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", SpansrlWarning)
            good = [k for k in range(len(records)) if k not in reasons]
            documents, failed = self._label([records[k].text for k in good], good, attempts)
        reasons |= failed
        to_rows = ROWS[self._task.labeling.rows]
        rows = [row for k, document in documents.items() for row in to_rows(document, records[k].id)]
        receipt = Receipt(
            shard.number,
            documents=len(records),
            sentences=sum(len(document.sentences) for document in documents.values()),
            rows=len(rows),
            cpu_seconds=round(time.process_time() - began, 3),
            errors=[
                {"id": records[k].id, "where": records[k].where, "reason": reasons[k]}
                for k in sorted(reasons)
            ],
            warnings=dict(Counter(str(one.message) for one in caught)),
        )
        receipt = write_shard(directory, rows, self._task.labeling.rows, receipt)
        attempts.remove()
        return receipt

    def _label(
        self, texts: Sequence[str], indices: Sequence[int], attempts: Attempts
    ) -> tuple[dict[int, Document], dict[int, str]]:
        """Label documents together or, if that failed, one by one; return documents and reasons by index."""
        predicates = self._task.labeling.predicates
        if not attempts.one_by_one:
            try:
                labeled = self._pipeline.pipe(texts, predicates=predicates)
                return dict(zip(indices, labeled, strict=True)), {}
            except ConfigError:  # of no document in particular
                raise
            except Exception:  # of one of the documents; which one, the next loop finds out
                pass
        documents, reasons = {}, {}
        for k, text in zip(indices, texts, strict=True):
            if attempts.deaths[k] >= DEATHS:
                reasons[k] = f"labeling killed its worker {DEATHS} times"
                continue
            attempts.begin_document(k)
            try:
                (documents[k],) = self._pipeline.pipe([text], predicates=predicates)
            except Exception as error:  # goes to errors.jsonl
                reasons[k] = f"labeling failed: {type(error).__name__}: {error}"
        return documents, reasons


class Attempts:
    """The attempts at a shard, in a file that outlives the worker: one line per attempt or document begun."""

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_text().split() if path.exists() else []
        attempts = " ".join(lines).split("attempt")[1:]
        self.count = len(attempts)
        # The document that was begun last is the one that killed the worker.
        self.deaths = Counter(int(attempt.split()[-1]) for attempt in attempts if attempt.split())
        self.one_by_one = self.count >= ATTEMPTS

    def begin(self, shard: Shard) -> None:
        """Note an attempt; raise DataError where the documents cannot be the reason that all fail."""
        if self.count > ATTEMPTS + DEATHS * shard.documents:
            raise DataError(f"shard {shard.number}: {self.count} workers died; is there enough memory?")
        self._note("attempt")

    def begin_document(self, index: int) -> None:
        """Note that a document is being labeled alone."""
        if self.one_by_one:
            self._note(str(index))

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)

    def _note(self, line: str) -> None:
        with self._path.open("a") as file:
            file.write(f"{line}\n")
