"""What every request passes: the Host check, headers that protect browsers, the metrics."""

from __future__ import annotations

import logging
from collections.abc import Collection
from http import HTTPMethod
from time import monotonic

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from spansrl.server.metrics import Metrics
from spansrl.server.problems import CLIENT_GONE, RefusedError

ANY_HOST = "*"
METHODS = tuple(HTTPMethod)
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")

# The page loads its own files and talks to its own server; nothing else, and no inline code or style.
SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_log = logging.getLogger(__name__)


class Gate:
    """ASGI middleware around all routes; `paths` are the addresses that the metrics tell apart."""

    def __init__(
        self, app: ASGIApp, *, metrics: Metrics, paths: Collection[str], hosts: Collection[str]
    ) -> None:
        self.app = app
        self.metrics = metrics
        self.paths = paths
        self.hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, whatever happens inside, and count."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = monotonic()
        status = 0

        async def guarded_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers.update(SECURITY_HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            await self._answer(scope, receive, guarded_send)
        except Exception:
            _log.exception("%s %s failed", scope["method"], scope["path"])
            if status:  # too late for another answer; cut this one off, so that it is not taken for whole
                raise
            problem = RefusedError(500, "internal", "something went wrong in the server; its log says what")
            await problem.to_response()(scope, receive, guarded_send)
        finally:
            # Clients may make up methods and addresses, but not new lines of the metrics.
            path = scope["path"] if scope["path"] in self.paths else "other"
            method = scope["method"] if scope["method"] in METHODS else "other"
            self.metrics.requests.add(1, method, path, str(status or CLIENT_GONE))
            self.metrics.seconds.add(monotonic() - began, path)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        host = Headers(scope=scope).get("host", "")
        if ANY_HOST in self.hosts or host_name(host) in self.hosts:
            await self.app(scope, receive, send)
        else:
            message = f"this server is not known as {host!r}; start it with --allow-host to let that name in"
            await RefusedError(421, "unknown_host", message).to_response()(scope, receive, send)


def host_name(host: str) -> str:
    """A Host header without its port."""
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    return name.lower()
