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

from spansrl.server.api_error import ApiError, ClientGoneError
from spansrl.server.bodies import read_lines, wait_for_disconnect
from spansrl.server.labeling import LabelJob, Options
from spansrl.server.limits import ServerLimits
from spansrl.server.schemas import Item, parse
from spansrl.server.state import ServerState

MEDIA_TYPE = "application/x-ndjson"
BATCH_BYTES = 10_000  # of lines that are labeled together


class NumberedLine(NamedTuple):
    number: int  # from 1
    content: bytes


class Inbox:
    """Lines that have been read and not yet answered: at most `body_bytes` and one line.

    While there are such lines, `deadline` is off: a client may wait for answers before it sends more.
    """

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self.deadline: asyncio.Timeout | None = None  # of the next line, while lines are read
        self._size = 0
        self._lines: deque[NumberedLine] = deque()
        self._last = 0  # number of the last line that was put in
        self._changed = asyncio.Condition()
        self._ended = False
        self.problem: tuple[int, ApiError] | None = None  # which line ended the stream early, and why

    async def put(self, line: NumberedLine) -> None:
        """Add a line when there is space; after the end it is dropped."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._ended or self._size < self._limits.body_bytes)
            if not self._ended:
                self._set_deadline(None)
                self._lines.append(line)
                self._last = line.number
                self._size += len(line.content)
                self._changed.notify_all()

    async def end(self, problem: tuple[int, ApiError] | None = None) -> None:
        """No more lines follow."""
        async with self._changed:
            if not self._ended:
                self._ended, self.problem = True, problem
                self._changed.notify_all()

    async def stop(self, problem: ApiError) -> None:
        """Drop all lines that are here or follow; the problem is reported if there are any."""
        async with self._changed:
            if self._lines or not self._ended:
                self.problem = (self._lines[0].number if self._lines else self._last + 1), problem
            self._lines.clear()
            self._ended = True
            self._changed.notify_all()

    def _set_deadline(self, when: float | None) -> None:
        if self.deadline is not None and not self.deadline.expired():
            self.deadline.reschedule(when)

    async def take(self) -> list[NumberedLine]:
        """Lines for one batch; none after the end. What was taken before has been answered."""
        async with self._changed:
            if not self._lines:
                self._set_deadline(asyncio.get_running_loop().time() + self._limits.read_seconds)
            await self._changed.wait_for(lambda: self._lines or self._ended)
            taken: list[NumberedLine] = []
            space = BATCH_BYTES
            while self._lines and space > 0:
                taken.append(self._lines.popleft())
                space -= len(taken[-1].content)
            self._size -= sum(len(line.content) for line in taken)
            self._changed.notify_all()
            return taken


class LabelStream:
    """An ASGI response that reads JSON Lines while it writes JSON Lines."""

    def __init__(self, state: ServerState, options: Options) -> None:
        self._state = state
        self._options = options

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read, label and write until one side ends; a client that leaves ends everything at once."""
        with self._state.stream():
            headers = [(b"content-type", MEDIA_TYPE.encode())]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            inbox = Inbox(self._state.limits)
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
        number, limits = 0, self._state.limits
        try:
            async with asyncio.timeout(limits.read_seconds) as inbox.deadline:
                try:
                    async for content in read_lines(request, limits):
                        number += 1
                        if content.strip():
                            await inbox.put(NumberedLine(number, content))
                finally:
                    inbox.deadline = None
        except TimeoutError:
            message = f"the line was not complete within {limits.read_seconds:g} s"
            await inbox.end((number + 1, ApiError(408, "too_slow", message)))
        except ClientGoneError:
            raise
        except ApiError as problem:
            await inbox.end((number + 1, problem))
        else:
            await inbox.end()
            await wait_for_disconnect(request)

    async def _stop(self, inbox: Inbox) -> None:
        await self._state.shutting_down.wait()
        message = "the server is shutting down; send this line and those after it again"
        await inbox.stop(ApiError(503, "shutting_down", message))

    async def _write(self, inbox: Inbox, send: Send) -> None:
        while lines := await inbox.take():
            await _send_lines(send, await self._answers(lines))
        if inbox.problem is not None:
            await _send_lines(send, [_error_line(*inbox.problem)])

    async def _answers(self, lines: Sequence[NumberedLine]) -> list[bytes]:
        """One answer per line: its result, or what is wrong with it."""
        answers: dict[int, bytes] = {}
        jobs: dict[int, LabelJob] = {}

        def parse_all() -> list[LabelJob]:
            for number, content in lines:
                try:
                    jobs[number] = parse(Item, content, self._state.limits).job(self._options)
                except ApiError as problem:
                    answers[number] = _error_line(number, problem)
            return list(jobs.values())

        size = sum(len(line.content) for line in lines)
        try:
            results = await self._state.label(size, parse_all, patient=True)
        except ApiError as problem:
            for number, content in lines:
                if number in answers:
                    continue
                # One line of many failed: label each alone. (503: all are too late.)
                if len(jobs) <= 1 or problem.status == 503:
                    answers[number] = _error_line(number, problem)
                else:
                    [answers[number]] = await self._answers([NumberedLine(number, content)])
        else:
            answers |= zip(jobs, results, strict=True)
        return [answers[number] for number, _ in lines]


async def _send_lines(send: Send, lines: Sequence[bytes]) -> None:
    await send({"type": "http.response.body", "body": b"\n".join(lines) + b"\n", "more_body": True})


def _error_line(number: int, problem: ApiError) -> bytes:
    return json.dumps({"line": number, **problem.to_dict()}, ensure_ascii=False).encode()
