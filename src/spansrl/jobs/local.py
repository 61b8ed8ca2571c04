"""The local engine: processes of one thread each, every one with a model of its own.

A worker that dies is replaced, and its shard is tried again. Workers end when the process that started them
ends, however it ends.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import traceback
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import cast

from spansrl.errors import SpansrlError
from spansrl.jobs.plan import Shard
from spansrl.jobs.work import Task, Worker
from spansrl.jobs.writing import Receipt

STARTS = 3  # workers in a row that may die before they have a model


def run_local(task: Task, shards: Sequence[Shard], workers: int) -> Generator[Receipt, None, None]:
    """Label shards in `workers` processes; yield receipts as the shards are finished."""
    pending = deque(shards)
    pool = _Pool(task)
    try:
        for _ in range(min(workers, len(pending))):
            pool.start()
        while pending or pool.shards:
            for connection in pool.wait():
                message = pool.receive(connection)
                if isinstance(message, Receipt):
                    yield message
                elif isinstance(message, Shard):  # its worker died
                    pending.appendleft(message)
                    pool.start()
                if connection in pool.processes and pending:
                    pool.send(connection, pending.popleft())
    finally:
        pool.kill()


class _Pool:
    def __init__(self, task: Task) -> None:
        self._task = task
        self._context = multiprocessing.get_context("spawn")
        self._failed_starts = 0
        self.processes: dict[Connection, BaseProcess] = {}
        self.shards: dict[Connection, Shard] = {}  # being labeled

    def start(self) -> None:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs, self._task), daemon=True)
        with _interrupts_blocked():
            process.start()
        theirs.close()  # so that the death of the worker ends the connection
        self.processes[ours] = process

    def wait(self) -> list[Connection]:
        return cast(list[Connection], wait(list(self.processes)))

    def send(self, connection: Connection, shard: Shard) -> None:
        self.shards[connection] = shard
        with contextlib.suppress(OSError):  # a dead worker is noticed when its answer is read
            connection.send(shard)

    def receive(self, connection: Connection) -> Receipt | Shard | None:
        """Return a receipt, the shard of a worker that died, or None from a worker that is ready."""
        try:
            message = connection.recv()
        except (EOFError, OSError):
            return self._bury(connection)
        if isinstance(message, Exception):
            raise message
        self._failed_starts = 0
        self.shards.pop(connection, None)
        return cast(Receipt | None, message)

    def _bury(self, connection: Connection) -> Shard | None:
        process = self.processes.pop(connection)
        connection.close()
        process.join()
        shard = self.shards.pop(connection, None)
        if shard is None:
            self._failed_starts += 1
            if self._failed_starts >= STARTS:
                code = process.exitcode
                raise SpansrlError(
                    f"workers die while they load the model (exit code {code}); try fewer workers"
                )
            self.start()
        return shard

    def kill(self) -> None:
        """End all workers at once: what they have not finished is not visible."""
        for process in self.processes.values():
            process.kill()
        for connection, process in self.processes.items():
            process.join()
            connection.close()


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


def _serve(connection: Connection, task: Task) -> None:
    """The main function of a worker process: send None when ready, then receipts, or what stops the job."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        worker = Worker(task)
        connection.send(None)
        while True:
            connection.send(worker.run(connection.recv()))
    except EOFError:
        return
    except SpansrlError as error:
        connection.send(SpansrlError(str(error)))
    except OSError as error:
        connection.send(SpansrlError(f"{error.filename or task.directory.out}: {error.strerror}"))
    except Exception:  # a bug, whose traceback would not survive the pipe
        connection.send(RuntimeError(traceback.format_exc()))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
