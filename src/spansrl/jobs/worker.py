"""Workers: one model and one thread each, one shard after the other; and the pool of them on this machine.

A document that kills its worker must not stop the job. So attempts at a shard are noted on disk: after three
of them, its documents are labeled one by one, and a document that ended two attempts becomes an error.
"""

from __future__ import annotations

import contextlib
import hashlib
import multiprocessing
import os
import platform
import signal
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import chain
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path

from spansrl.decoding import Decoder
from spansrl.errors import ConfigError, DataError, SpansrlError, SpansrlWarning
from spansrl.inference.directory import MANIFEST, ModelDirectory, file_hash
from spansrl.inference.loading import find_model, load
from spansrl.inference.pipeline import Pipeline
from spansrl.inference.runtime import Precision
from spansrl.inventory.frame_store import index_path
from spansrl.jobs.documents import InputDocument, Shard, error_of
from spansrl.jobs.output import JobDirectory, Receipt, write_shard
from spansrl.jobs.rows import ROWS, Rows
from spansrl.structures import Document

MAX_CRASHES = 3  # at a shard as a whole
MAX_DOCUMENT_CRASHES = 2  # of workers that were labeling the same document alone
MAX_FAILED_STARTS = 3  # pools in a row that may break before a worker has a model
# Files of a training run that change although its weights do not.
_NOT_MODEL = {"run.json", "log.jsonl", "state.safetensors"}


@dataclass(frozen=True, slots=True)
class LabelOptions:
    """What the rows depend on, in addition to the input."""

    model: str | None = None
    predicates: tuple[str, ...] | None = None
    frames: bool = True
    decoder: Decoder | None = None
    min_prob: float | None = None
    rows: Rows = "argument"
    precision: Precision = "full"


Load = Callable[[LabelOptions], Pipeline]


def load_pipeline(options: LabelOptions) -> Pipeline:
    """Load the model of a job, with one thread."""
    return load(
        options.model,
        threads=1,
        frames=options.frames,
        decoder=options.decoder,
        min_prob=options.min_prob,
        precision=options.precision,
    )


def fingerprints(options: LabelOptions) -> dict[str, str | None]:
    """Return hashes of the model and of the installed frames, which must be the same on every machine."""
    found = find_model(options.model)
    frames = index_path()
    return {
        "model": _model_hash(found.path if isinstance(found, ModelDirectory) else found),
        "frames": file_hash(frames) if options.frames and frames.exists() else None,
    }


def _model_hash(directory: Path) -> str:
    """Return a hash of the manifest, against which loading checks the files, or of the files themselves."""
    if (directory / MANIFEST).exists():
        return file_hash(directory / MANIFEST)
    digest = hashlib.sha256()
    for path in sorted(directory.rglob("*")):
        name = path.relative_to(directory).as_posix()
        if path.is_file() and not path.name.startswith(".") and name not in _NOT_MODEL:
            digest.update(f"{name}\0{file_hash(path)}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Task:
    """Everything a worker needs, in any process on any machine with the same files."""

    directory: JobDirectory
    options: LabelOptions
    fingerprints: dict[str, str | None]
    load: Load = load_pipeline


class Worker:
    """Labels shards with one model."""

    def __init__(self, task: Task) -> None:
        if (found := fingerprints(task.options)) != task.fingerprints:
            different = " and ".join(name for name in found if found[name] != task.fingerprints[name])
            raise DataError(
                f"the {different} changed since the job began, or differs on {platform.node()}; "
                "install the same"
            )
        self._task = task
        self._pipeline = task.load(task.options)
        self.attempts: CrashLog | None = None

    def run(self, shard: Shard) -> Receipt:
        """Label and write a shard, unless that is done already; return its receipt."""
        directory, digest = self._task.directory, shard.digest
        done = directory.receipt(shard.number)
        if done is not None and done.digest == digest:
            return done
        began = time.process_time()
        self.attempts = attempts = CrashLog(directory.crashes_of(shard.number))
        attempts.begin(shard)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", SpansrlWarning)
            documents, failed = self._label(shard.documents, attempts)
        errors = [
            error_of(document, reason)
            for k, document in enumerate(shard.documents)
            if (reason := document.reason or failed.get(k)) is not None
        ]
        to_rows = ROWS[self._task.options.rows]
        rows = [row for k, found in documents.items() for row in to_rows(found, shard.documents[k].id)]
        receipt = Receipt(
            shard.number,
            digest,
            documents=len(shard.documents),
            sentences=sum(len(document.sentences) for document in documents.values()),
            rows=len(rows),
            cpu_seconds=round(time.process_time() - began, 3),
            errors=errors,
            warnings=dict(Counter(str(one.message) for one in caught)),
        )
        receipt = write_shard(directory, rows, self._task.options.rows, receipt)
        self.attempts = None
        attempts.remove()
        return receipt

    def _label(
        self, shard: tuple[InputDocument, ...], attempts: CrashLog
    ) -> tuple[dict[int, Document], dict[int, str]]:
        """Label documents together or, if that failed, one by one; return documents and reasons by index."""
        predicates = self._task.options.predicates
        texts = {k: document.text for k, document in enumerate(shard) if document.reason is None}
        if not attempts.one_by_one:
            try:
                labeled = self._pipeline.pipe(texts.values(), predicates=predicates)
                return dict(zip(texts, labeled, strict=True)), {}
            except ConfigError:  # of no document in particular
                raise
            except Exception:  # of one of the documents; which one, the next loop finds out
                pass
        documents, reasons = {}, {}
        for k, text in texts.items():
            if attempts.deaths[k] >= MAX_DOCUMENT_CRASHES:
                reasons[k] = f"labeling killed its worker {MAX_DOCUMENT_CRASHES} times"
                continue
            attempts.begin_document(k)
            try:
                (documents[k],) = self._pipeline.pipe([text], predicates=predicates)
            except Exception as error:  # goes to errors.jsonl
                reasons[k] = f"labeling failed: {type(error).__name__}: {error}"
        return documents, reasons


class CrashLog:
    """The attempts at a shard, in a file that outlives the worker: one line per attempt or document begun."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._before = path.read_text(errors="replace") if path.exists() else ""
        attempts = " ".join(self._before.split()).split("attempt")[1:]
        self.count = len(attempts)
        # The document that was begun last is the one that killed the worker.
        last = [attempt.split()[-1] for attempt in attempts if attempt.split()]
        self.deaths = Counter(int(index) for index in last if index.isdecimal())
        self.one_by_one = self.count >= MAX_CRASHES

    def begin(self, shard: Shard) -> None:
        """Note an attempt; raise DataError where the documents cannot be the reason that all fail."""
        if self.count > MAX_CRASHES + MAX_DOCUMENT_CRASHES * len(shard.documents):
            raise DataError(f"shard {shard.number}: {self.count} workers died; is there enough memory?")
        self._note("attempt")

    def begin_document(self, index: int) -> None:
        """Note that a document is being labeled alone."""
        if self.one_by_one:
            self._note(str(index))

    def withdraw(self) -> None:
        """Forget the attempt that was begun: its worker was not ended by the documents."""
        self._path.write_text(self._before)

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)

    def _note(self, line: str) -> None:
        with self._path.open("a") as file:
            file.write(f"{line}\n")


def run_local(task: Task, shards: Iterator[Shard], workers: int) -> Generator[Receipt, None, None]:
    """Label shards in `workers` processes; yield receipts as the shards are finished.

    If a process dies, the pool is rebuilt, and the shards that it was labeling are tried again.
    """
    left: dict[int, Shard] = {}  # read and not finished
    failed_starts = finished = 0
    state = finished, b""
    while True:
        queue = chain(list(left.values()), shards)
        try:
            with _pool(task, workers) as pool:
                running: set[Future[Receipt]] = set()
                while True:
                    while len(running) < 2 * workers and (shard := next(queue, None)) is not None:
                        left[shard.number] = shard
                        with _interrupts_blocked():
                            running.add(pool.submit(_label_shard, shard))
                    if not running:
                        return
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    for future in done:
                        receipt = future.result()
                        del left[receipt.shard]
                        finished += 1
                        yield receipt
        except BrokenProcessPool as error:
            logs = [task.directory.crashes_of(number) for number in left]
            now = finished, b"".join(log.read_bytes() for log in logs if log.exists())
            failed_starts, state = failed_starts + 1 if now == state else 0, now
            if failed_starts >= MAX_FAILED_STARTS:
                raise SpansrlError("workers die while they load the model; try fewer workers") from error


@contextlib.contextmanager
def _pool(task: Task, workers: int) -> Iterator[ProcessPoolExecutor]:
    """A pool whose processes end at once with the block, or with this process, however it ends."""
    context = multiprocessing.get_context("spawn")
    theirs, ours = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(workers, context, _start_worker, (task, theirs))
    try:
        yield pool
    finally:
        ours.close()  # what they have not finished is not visible
        pool.shutdown(cancel_futures=True)
        theirs.close()


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Start processes that do not see Ctrl-C: they inherit the mask, and the parent ends them itself."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # which would unblock the signal again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_task: Task  # of this worker process
_worker: Worker | None = None


def _start_worker(task: Task, stop: Connection) -> None:
    """Prepare a worker process, which ends with the other end of `stop`."""
    global _task
    _task = task
    signal.signal(signal.SIGTERM, _on_other_crash)
    threading.Thread(target=_end_with, args=(stop,), daemon=True).start()


def _on_other_crash(number: int, frame: object) -> None:
    """End this worker because the pool broke: another one died."""
    if _worker is not None and _worker.attempts is not None:
        _worker.attempts.withdraw()
    os._exit(1)


def _end_with(stop: Connection) -> None:
    with contextlib.suppress(EOFError, OSError):
        stop.recv()
    os._exit(1)


def _label_shard(shard: Shard) -> Receipt:
    """Label a shard in a worker process; errors are raised in a form that other processes can read."""
    global _worker
    try:
        _worker = _worker or Worker(_task)
        return _worker.run(shard)
    except SpansrlError as error:
        raise SpansrlError(str(error)) from None
    except OSError as error:
        raise SpansrlError(f"{error.filename or _task.directory.out}: {error.strerror}") from None
