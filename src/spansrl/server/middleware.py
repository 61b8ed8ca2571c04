"""Around every request: host check, headers that protect browsers, metrics, and a clean end of connections.

Closing a socket with unread bytes destroys the answer that is on its way. So after an answer to a request
whose body has not been read, the rest of it is read and dropped for a moment before the connection is closed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from contextlib import suppress
from http import HTTPMethod
from time import monotonic

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from spansrl.server.api_error import CLIENT_GONE, ApiError
from spansrl.server.state import ServerState

OVER_LIMIT = "over_limit"  # key in the state of connections beyond the limit
DROP_SECONDS = 2.0  # of reading the rest of a refused body
_METHODS = tuple(HTTPMethod)

# Every answer has these. The page loads its own files and talks to its own server only, with no inline code.
COMMON_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}
_log = logging.getLogger(__name__)


class SecurityMiddleware:
    """ASGI middleware around all routes; `paths` are those that the metrics distinguish."""

    def __init__(self, app: ASGIApp, *, state: ServerState, paths: Collection[str]) -> None:
        self.app = app
        self.state = state
        self.paths = paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = monotonic()
        exchange = _Exchange(scope, receive, send, self.state)
        try:
            # Answering a Range request in full is allowed; starlette's refusals of bad ones are not JSON.
            scope["headers"] = [(name, value) for name, value in scope["headers"] if name != b"range"]
            refusal = self._refusal(scope)
            app = self.app if refusal is None else refusal.to_response()
            await app(scope, exchange.receive, exchange.send)
        except Exception:
            _log.exception("%s %s failed", scope["method"], scope["path"])
            if exchange.status:  # the answer has begun; abort it, so that it does not look complete
                raise
            refusal = ApiError(500, "internal", "something went wrong in the server; see its log")
            await refusal.to_response()(scope, exchange.receive, exchange.send)
        finally:
            # Unknown methods and paths share a label, so that clients cannot create new time series.
            path = scope["path"] if scope["path"] in self.paths else "other"
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self.state.metrics.count(method, path, exchange.status or CLIENT_GONE, monotonic() - began)

    def _refusal(self, scope: Scope) -> ApiError | None:
        headers = Headers(scope=scope)
        if scope.get("state", {}).get(OVER_LIMIT):
            message = "too many open connections; try again later"
            return ApiError(503, "too_many_connections", message, retry_after=5)
        if "content-length" in headers and "transfer-encoding" in headers:
            message = "Content-Length and Transfer-Encoding in one request; send one of them"
            return ApiError(400, "bad_request", message)
        return self.state.check_host(headers.get("host", ""))


class _Exchange:
    """One request and its answer, with the headers that every answer has."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, state: ServerState) -> None:
        headers = Headers(scope=scope)
        self._receive = receive
        self._send = send
        self._state = state
        has_body = "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
        self._body_ended = not has_body
        self._is_ambiguous = "transfer-encoding" in headers and "content-length" in headers
        self.status = 0

    async def receive(self) -> Message:
        message = await self._receive()
        self._body_ended = self._body_ended or not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers.update(COMMON_HEADERS)
            if not self._body_ended or self._is_ambiguous or self._state.shutting_down.is_set():
                headers["Connection"] = "close"
        elif not self._body_ended and not message.get("more_body", False):
            await self._send({**message, "more_body": True})
            with suppress(TimeoutError):  # the client had time to read its answer
                async with asyncio.timeout(DROP_SECONDS):
                    while not self._body_ended:
                        await self.receive()
            message = {"type": "http.response.body", "body": b"", "more_body": False}
        await self._send(message)
