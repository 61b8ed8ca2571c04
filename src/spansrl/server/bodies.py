"""Read request bodies within limits of size and time, and notice clients that disconnect."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from time import monotonic
from typing import Any, NoReturn, TypeVar

from starlette.requests import ClientDisconnect, Request

from spansrl.server.api_error import ApiError, ClientGoneError
from spansrl.server.limits import ServerLimits

Result = TypeVar("Result")


def require_type(request: Request, *types: str) -> None:
    """Refuse a body that is not declared as one of the types.

    Browsers send these types across origins only after a preflight request, which this server does not
    answer, so pages of other sites cannot use a visitor's local server.
    """
    found = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if found not in types:
        what = f"the body is declared as {found[:100]}" if found else "the body's type is not declared"
        message = f"{what}; add the header Content-Type: {types[0]}"
        raise ApiError(415, "unsupported_type", message)


async def read_body(request: Request, limits: ServerLimits) -> bytearray:
    """Return the whole body; at most `body_bytes` of it are held in memory."""
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > limits.body_bytes:
        raise too_large(limits)
    body = bytearray()
    try:
        async with asyncio.timeout(limits.read_seconds):
            async for chunk in request.stream():
                if len(body) + len(chunk) > limits.body_bytes:
                    raise too_large(limits)
                body += chunk
    except TimeoutError:
        message = f"the body did not arrive within {limits.read_seconds:g} s"
        raise ApiError(408, "too_slow", message) from None
    except ClientDisconnect:
        raise ClientGoneError from None
    return body


async def read_lines(
    request: Request, limits: ServerLimits, *, has_pending_answers: Callable[[], bool]
) -> AsyncIterator[bytes]:
    """Yield the lines of a body of any length, without line ends; only the current line is held in memory.

    Each line that is not blank must be complete `read_seconds` after the previous one, or after the answer to
    it: a client may wait for answers before it sends more.
    """
    chunks = aiter(request.stream())
    line = bytearray()
    deadline = monotonic() + limits.read_seconds
    while (chunk := await _next_chunk(chunks, limits, deadline, has_pending_answers)) is not None:
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            line += end
            _check_line(line, limits)
            if line.strip():
                deadline = monotonic() + limits.read_seconds
            yield bytes(line)
            line.clear()
        line += rest
        _check_line(line, limits)
        if has_pending_answers():
            deadline = monotonic() + limits.read_seconds
    if line:
        yield bytes(line)


async def _next_chunk(
    chunks: AsyncIterator[bytes],
    limits: ServerLimits,
    deadline: float,
    has_pending_answers: Callable[[], bool],
) -> bytes | None:
    async def next_or_none() -> bytes | None:
        return await anext(chunks, None)

    coming = asyncio.ensure_future(next_or_none())
    try:
        while not coming.done():
            if has_pending_answers():
                deadline = monotonic() + limits.read_seconds
            await asyncio.wait({coming}, timeout=max(0.0, deadline - monotonic()))
            if monotonic() >= deadline and not has_pending_answers():
                message = f"the line was not complete within {limits.read_seconds:g} s"
                raise ApiError(408, "too_slow", message)
        return coming.result()
    except ClientDisconnect:
        raise ClientGoneError from None
    finally:
        coming.cancel()
        await asyncio.gather(coming, return_exceptions=True)


async def cancel_on_disconnect(request: Request, work: Coroutine[Any, Any, Result]) -> Result:
    """Return the work's result; cancel it if the client disconnects. The body must have been read."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(wait_for_disconnect(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else gone.result()
    finally:
        gone.cancel()
        task.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def wait_for_disconnect(request: Request) -> NoReturn:
    """Wait until the client disconnects, and raise ClientGoneError. The body must have been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    raise ClientGoneError


def too_large(limits: ServerLimits) -> ApiError:
    message = f"more than {limits.body_bytes} bytes; send less at a time, or lines to /v1/label/stream"
    return ApiError(413, "too_large", message)


def _check_line(line: bytearray, limits: ServerLimits) -> None:
    if len(line) > limits.body_bytes:
        message = f"the line has more than {limits.body_bytes} bytes; split it, and continue with this line"
        raise ApiError(413, "too_large", message)
