"""Long jobs: JSON lines in, JSON lines out, in order, with memory that does not grow with their number.

Reading and labelling go on side by side, and a client may send `body_bytes` more than it has seen answers
for: so much can be sent by clients that read nothing before they have sent everything.
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
from spansrl.server.messages import Item, StreamOptions, check_sizes, parse
from spansrl.server.problems import ClientGoneError, RefusedError
from spansrl.server.service import BATCH_CHARS, Service

MEDIA_TYPE = "application/x-ndjson"


class Line(NamedTuple):
    """A line of the request; lines count from 1."""

    number: int
    content: bytes


class Inbox:
    """Lines on their way from whoever reads to whoever labels: at most `limit` bytes, and one line."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._lines: deque[Line] = deque()
        self._last = 0  # the number of the line that came last
        self._changed = asyncio.Condition()
        self._ended = False
        self._at_work = False  # on lines that were taken
        self.problem: tuple[int, RefusedError] | None = None  # which line ended them early, and why

    async def put(self, line: Line) -> None:
        """Add a line when there is room; after the end it is dropped, or lines before it would be missing."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._ended or self._size < self._limit)
            if not self._ended:
                self._lines.append(line)
                self._last = line.number
                self._size += len(line.content)
                self._changed.notify_all()

    async def end(self, problem: tuple[int, RefusedError] | None = None) -> None:
        """No line follows those that are here."""
        async with self._changed:
            if not self._ended:
                self._ended, self.problem = True, problem
                self._changed.notify_all()

    async def stop(self, problem: RefusedError) -> None:
        """Drop the lines that are here and all that follow, if there are any."""
        async with self._changed:
            if self._lines or not self._ended:
                self.problem = (self._lines[0].number if self._lines else self._last + 1), problem
            self._lines.clear()
            self._ended = True
            self._changed.notify_all()

    def owes_answers(self) -> bool:
        """Whether lines have come that are not answered yet."""
        return self._at_work or bool(self._lines)

    async def take(self) -> list[Line]:
        """The lines that are here, as many as make a batch; at least one, or none after the end.

        Whoever takes has answered what was taken before.
        """
        async with self._changed:
            self._at_work = False
            await self._changed.wait_for(lambda: self._lines or self._ended)
            taken: list[Line] = []
            room = BATCH_CHARS
            while self._lines and room > 0:
                taken.append(self._lines.popleft())
                room -= len(taken[-1].content)
            self._size -= sum(len(line.content) for line in taken)
            self._at_work = bool(taken)
            self._changed.notify_all()
            return taken


class LabelStream:
    """The answer to a request of JSON lines: an ASGI response that reads while it writes."""

    def __init__(self, service: Service, options: StreamOptions) -> None:
        self._service = service
        self._options = options

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read, label and write until one side ends; a client that hangs up ends everything at once."""
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
                pass  # and nobody to tell
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
        """One answer a line: its result, or what is wrong with it."""
        answers: dict[int, bytes] = {}
        jobs: dict[int, Job] = {}
        for number, content in lines:
            try:
                item = parse(Item, content)
                check_sizes([item], self._service.limits)
            except RefusedError as problem:
                answers[number] = _error_line(number, problem)
            else:
                jobs[number] = Job.of(item, self._options)
        answers |= await self._label(jobs)
        return [answers[number] for number, _ in lines]

    async def _label(self, jobs: dict[int, Job]) -> dict[int, bytes]:
        try:
            results = await self._service.label(list(jobs.values()), always=True)
        except RefusedError as problem:
            if len(jobs) == 1 or problem.status == 503:
                return {number: _error_line(number, problem) for number in jobs}
            # One bad line among many: the others have a right to their answers. (503: all are too late.)
            alone = [await self._label({number: job}) for number, job in jobs.items()]
            return {number: answer for one in alone for number, answer in one.items()}
        return dict(zip(jobs, results, strict=True))


async def _send_lines(send: Send, lines: Sequence[bytes]) -> None:
    await send({"type": "http.response.body", "body": b"\n".join(lines) + b"\n", "more_body": True})


def _error_line(number: int, problem: RefusedError) -> bytes:
    return json.dumps({"line": number, **problem.to_dict()}, ensure_ascii=False).encode()
