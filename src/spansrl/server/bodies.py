"""Read request bodies within limits of size and time, and notice clients that disconnect."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
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
    message = f"more than {limits.body_bytes} bytes; send less at a time, or lines to /v1/label/stream"
    too_large = ApiError(413, "too_large", message)
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > limits.body_bytes:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(limits.read_seconds):
            async for chunk in request.stream():
                if len(body) + len(chunk) > limits.body_bytes:
                    raise too_large
                body += chunk
    except TimeoutError:
        message = f"the body did not arrive within {limits.read_seconds:g} s"
        raise ApiError(408, "too_slow", message) from None
    except ClientDisconnect:
        raise ClientGoneError from None
    return body


async def read_lines(request: Request, limits: ServerLimits) -> AsyncIterator[bytes]:
    """Yield the lines of a body of any length, without line ends; only the current line is held in memory."""
    line = bytearray()
    try:
        async for chunk in request.stream():
            *ends, rest = chunk.split(b"\n")
            for end in ends:
                yield bytes(_extended(line, end, limits))
                line.clear()
            _extended(line, rest, limits)
    except ClientDisconnect:
        raise ClientGoneError from None
    if line:
        yield bytes(line)


def _extended(line: bytearray, more: bytes, limits: ServerLimits) -> bytearray:
    line += more
    if len(line) > limits.body_bytes:
        message = f"the line has more than {limits.body_bytes} bytes; split it, and continue with this line"
        raise ApiError(413, "too_large", message)
    return line


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
