"""Connections of slow and broken clients: cut when nothing happens on them, refused when there are too many.

uvicorn waits for ever for the head of a request and for a client to read its answer. This protocol looks
after each connection every `read_seconds` and cuts it if nothing has moved since.
"""

from __future__ import annotations

import asyncio
import json
from typing import NamedTuple

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from spansrl.server.limits import Limits
from spansrl.server.problems import RefusedError


class _Sight(NamedTuple):
    """What a connection looked like at some moment."""

    cycle: RequestResponseCycle | None
    unsent: int

    @property
    def nothing_to_do(self) -> bool:
        """Whether it is the client's turn: to send a request, or to read what it asked for."""
        return self.unsent > 0 or self.cycle is None or self.cycle.response_complete


class WatchedProtocol(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it, with an eye on the clock; subclasses say the `limits`."""

    limits: Limits

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to watch, or turn the client away."""
        super().connection_made(transport)
        self._watchdog: asyncio.TimerHandle | None = None
        if len(self.connections) > self.limits.connections:
            transport.write(_FULL)
            transport.close()
        else:
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop watching."""
        if self._watchdog is not None:
            self._watchdog.cancel()
        super().connection_lost(exc)

    def _watch(self) -> None:
        sight = self._look()
        self._watchdog = self.loop.call_later(self.limits.read_seconds, self._check, sight)

    def _look(self) -> _Sight:
        return _Sight(self.cycle, self.transport.get_write_buffer_size())

    def _check(self, before: _Sight) -> None:
        if before.nothing_to_do and self._look() == before:
            self.transport.abort()
        else:
            self._watch()


def watched_protocol(limits: Limits) -> type[WatchedProtocol]:
    """The protocol with these limits, for uvicorn's setting `http`."""
    return type("LimitedProtocol", (WatchedProtocol,), {"limits": limits})


def _full() -> bytes:
    problem = RefusedError(503, "too_many_connections", "too many connections are open; try again later")
    body = json.dumps(problem.to_dict()).encode()
    head = (
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 5\r\n"
        f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


_FULL = _full()
