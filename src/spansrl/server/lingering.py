"""Answers that come before the request's body has been read: the client must be able to see them.

Closing a socket with unread bytes in it throws away the answer that is on its way. So the connection stays
open for a moment, whatever still arrives is read and dropped, and then it is closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Lingering:
    """ASGI middleware: reads on, for at most `seconds`, after an answer to a request that still goes on."""

    def __init__(self, app: ASGIApp, *, seconds: float = 2.0) -> None:
        self.app = app
        self.seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on the request, and keep an eye on its body."""
        if scope["type"] != "http" or not _has_body(scope):
            await self.app(scope, receive, send)
            return
        body_ended = False

        async def watched_receive() -> Message:
            nonlocal body_ended
            message = await receive()
            body_ended = body_ended or not message.get("more_body", False)
            return message

        async def watched_send(message: Message) -> None:
            if body_ended:
                await send(message)
            elif message["type"] == "http.response.start":
                MutableHeaders(scope=message)["connection"] = "close"
                await send(message)
            elif message.get("more_body", False):
                await send(message)
            else:
                await send({**message, "more_body": True})
                await self._drop(watched_receive, lambda: body_ended)
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        await self.app(scope, watched_receive, watched_send)

    async def _drop(self, receive: Receive, ended: Callable[[], bool]) -> None:
        try:
            async with asyncio.timeout(self.seconds):
                while not ended():
                    await receive()
        except TimeoutError:
            return  # it had its chance to read the answer


def _has_body(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
