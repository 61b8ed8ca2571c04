"""Long jobs: JSON Lines in, JSON Lines out, in order, with memory that does not grow with their number.

Reading and labeling happen side by side. A client may send `body_bytes` more than it has received answers
for, so that much can be sent by clients that read nothing until they have sent everything.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from spansrl.server.bodies import client_left, read_lines
from spansrl.server.labeling import Job
from spansrl.server.refusals import ClientGoneError, RefusedError
from spansrl.server.schemas import Item, Options, check_sizes, parse
from spansrl.server.service import Service

MEDIA_TYPE = "application/x-ndjson"
BATCH_BYTES = 10_000  # of lines that are labeled together


class Line(NamedTuple):
    number: int  # from 1
    content: bytes


class Inbox:
    """Lines that have been read and not yet answered: at most `limit` bytes and one line."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._lines: deque[Line] = deque()
        self._last = 0  # number of the last line that was put in
        self._changed = asyncio.Condition()
        self._ended = False
        self._busy = False  # with lines that were taken out
        self.problem: tuple[int, RefusedError] | None = None  # which line ended the stream early, and why

    async def put(self, line: Line) -> None:
        """Add a line when there is space; after the end it is dropped."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._ended or self._size < self._limit)
            if not self._ended:
                self._lines.append(line)
                self._last = line.number
                self._size += len(line.content)
                self._changed.notify_all()

    async def end(self, problem: tuple[int, RefusedError] | None = None) -> None:
        """No more lines follow."""
        async with self._changed:
            if not self._ended:
                self._ended, self.problem = True, problem
                self._changed.notify_all()

    async def stop(self, problem: RefusedError) -> None:
        """Drop all lines that are here or follow; the problem is reported if there are any."""
        async with self._changed:
            if self._lines or not self._ended:
                self.problem = (self._lines[0].number if self._lines else self._last + 1), problem
            self._lines.clear()
            self._ended = True
            self._changed.notify_all()

    def owes_answers(self) -> bool:
        return self._busy or bool(self._lines)

    async def take(self) -> list[Line]:
        """Lines for one batch; none after the end. What was taken before has been answered."""
        async with self._changed:
            self._busy = False
            await self._changed.wait_for(lambda: self._lines or self._ended)
            taken: list[Line] = []
            space = BATCH_BYTES
            while self._lines and space > 0:
                taken.append(self._lines.popleft())
                space -= len(taken[-1].content)
            self._size -= sum(len(line.content) for line in taken)
            self._busy = bool(taken)
            self._changed.notify_all()
            return taken


class LabelStream:
    """An ASGI response that reads JSON Lines while it writes JSON Lines."""

    def __init__(self, service: Service, options: Options) -> None:
        self._service = service
        self._options = options

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read, label and write until one side ends; a client that leaves ends everything at once."""
        with self._service.stream():
            headers = [(b"content-type", MEDIA_TYPE.encode())]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            inbox = Inbox(self._service.limits.body_bytes)
            try:
                async with asyncio.TaskGroup() as group:
                    reading = group.create_task(self._read(Request(scope, receive), inbox))
                    stopping = group.create_task(self._stop(inbox))
                    await self._write(inbox, send)
                    reading.cancel()
                    stopping.cancel()
            except* ClientGoneError:
                pass  # there is nobody to answer
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _read(self, request: Request, inbox: Inbox) -> None:
        number = 0
        try:
            lines = read_lines(request, self._service.limits, owes_answers=inbox.owes_answers)
            async for content in lines:
                number += 1
                if content.strip():
                    await inbox.put(Line(number, content))
        except ClientGoneError:
            raise
        except RefusedError as problem:
            await inbox.end((number + 1, problem))
        else:
            await inbox.end()
            await client_left(request)

    async def _stop(self, inbox: Inbox) -> None:
        await self._service.finishing.wait()
        message = "the server is shutting down; send this line and those after it again"
        await inbox.stop(RefusedError(503, "shutting_down", message))

    async def _write(self, inbox: Inbox, send: Send) -> None:
        while lines := await inbox.take():
            await _send_lines(send, await self._answers(lines))
        if inbox.problem is not None:
            await _send_lines(send, [_error_line(*inbox.problem)])

    async def _answers(self, lines: Sequence[Line]) -> list[bytes]:
        """One answer per line: its result, or what is wrong with it."""
        answers: dict[int, bytes] = {}
        jobs: dict[int, Job] = {}
        for number, content in lines:
            try:
                job = parse(Item, content, self._service.limits).job(self._options)
                check_sizes([job], self._service.limits)
            except RefusedError as problem:
                answers[number] = _error_line(number, problem)
            else:
                jobs[number] = job
        answers |= await self._label(jobs)
        return [answers[number] for number, _ in lines]

    async def _label(self, jobs: dict[int, Job]) -> dict[int, bytes]:
        try:
            results = await self._service.label(list(jobs.values()), patient=True)
        except RefusedError as problem:
            if len(jobs) == 1 or problem.status == 503:
                return {number: _error_line(number, problem) for number in jobs}
            # One line of many failed: label each alone. (503: all are too late.)
            alone = [await self._label({number: job}) for number, job in jobs.items()]
            return {number: answer for one in alone for number, answer in one.items()}
        return dict(zip(jobs, results, strict=True))


async def _send_lines(send: Send, lines: Sequence[bytes]) -> None:
    await send({"type": "http.response.body", "body": b"\n".join(lines) + b"\n", "more_body": True})


def _error_line(number: int, problem: RefusedError) -> bytes:
    return json.dumps({"line": number, **problem.to_dict()}, ensure_ascii=False).encode()
