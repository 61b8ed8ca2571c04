"""Request bodies, read with bounds on size and time; and clients that hang up while we work for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, NoReturn, TypeVar

from starlette.requests import ClientDisconnect, Request

from spansrl.server.limits import Limits
from spansrl.server.problems import ClientGoneError, RefusedError

Result = TypeVar("Result")


def require_type(request: Request, *types: str) -> None:
    """Refuse a body that is not sent as one of the types.

    Browsers send these types to foreign hosts only after asking, and we do not answer that question: so pages
    from elsewhere cannot make a visitor's own server work.
    """
    found = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if found not in types:
        what = f"the body is sent as {found}" if found else "the request does not say what its body is"
        message = f"{what}; add the header Content-Type: {types[0]}"
        raise RefusedError(415, "unsupported_type", message)


def refuse_query(request: Request) -> None:
    """Refuse options in the address of a request whose options stand in its body: they would be ignored."""
    if request.query_params:
        message = "this address takes nothing after a question mark; say it in the body"
        raise RefusedError(422, "invalid", message)


async def read_body(request: Request, limits: Limits) -> bytearray:
    """The whole body; as much of it as is allowed is all that is ever held."""
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
        raise too_slow(limits) from None
    except ClientDisconnect:
        raise ClientGoneError from None
    return body


async def read_lines(
    request: Request, limits: Limits, *, owes_answers: Callable[[], bool]
) -> AsyncIterator[bytes]:
    """The lines of a body of any length, without their ends; only the line that is being read is held.

    A client that is owed answers may be waiting for them before it goes on, so its time has not begun.
    """
    chunks = aiter(request.stream())
    rest = bytearray()
    while (chunk := await _next_chunk(chunks, limits, owes_answers)) is not None:
        *lines, tail = chunk.split(b"\n")
        for line in lines:
            rest += line
            yield _line(rest, limits)
            rest = bytearray()
        rest += tail
        _line(rest, limits)
    if rest:
        yield _line(rest, limits)


async def _next_chunk(
    chunks: AsyncIterator[bytes], limits: Limits, owes_answers: Callable[[], bool]
) -> bytes | None:
    async def next_or_none() -> bytes | None:
        return await anext(chunks, None)

    coming = asyncio.ensure_future(next_or_none())
    try:
        while not coming.done():
            owed = owes_answers()
            await asyncio.wait({coming}, timeout=limits.read_seconds)
            if not coming.done() and not owed:
                raise too_slow(limits)
        return coming.result()
    except ClientDisconnect:
        raise ClientGoneError from None
    finally:
        coming.cancel()
        await asyncio.gather(coming, return_exceptions=True)


async def unless_gone(request: Request, work: Coroutine[Any, Any, Result]) -> Result:
    """The work's result; the work is cancelled when the client hangs up. The body must have been read."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(client_left(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else gone.result()
    finally:
        gone.cancel()
        task.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def client_left(request: Request) -> NoReturn:
    """Wait until the client hangs up, and raise ClientGoneError. The body must have been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    raise ClientGoneError


def too_large(limits: Limits) -> RefusedError:
    """The refusal of a body beyond the limit."""
    message = f"more than {limits.body_bytes} bytes; send less at a time, or lines to /v1/label/stream"
    return RefusedError(413, "too_large", message)


def too_slow(limits: Limits) -> RefusedError:
    """The refusal of a body that does not come."""
    return RefusedError(408, "too_slow", f"the body did not arrive within {limits.read_seconds:g} s")


def _line(line: bytearray, limits: Limits) -> bytes:
    if len(line) > limits.body_bytes:
        message = f"a line of more than {limits.body_bytes} bytes; cut it up, and go on from there"
        raise RefusedError(413, "too_large", message)
    return bytes(line)
