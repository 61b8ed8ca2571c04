"""HTTP/1.1 as uvicorn speaks it, with deadlines, a limit on connections, and a shutdown that loses nothing.

uvicorn waits forever for the head of a request and for a client to read its answer, closes connections with
unread requests when it shuts down, and refuses malformed HTTP as plain text.
"""

from __future__ import annotations

import asyncio
import json
import select
from typing import NamedTuple

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from spansrl.server.middleware import DROP_SECONDS, OVER_LIMIT
from spansrl.server.refusals import RefusedError
from spansrl.server.service import Service

IDLE_SECONDS = 1.0  # before an idle connection is closed at shutdown: a request may be on its way
_OVER_LIMIT_SECONDS = 5.0  # for the requests of connections beyond the limit


class _Snapshot(NamedTuple):
    """The state of a connection at some moment."""

    cycle: RequestResponseCycle | None
    unsent: int

    @property
    def waits_for_client(self) -> bool:
        """Whether the client should send a request, or read its answer."""
        return self.unsent > 0 or self.cycle is None or self.cycle.response_complete


class Protocol(H11Protocol):
    """One connection; `protocol_for` makes subclasses that have a `service`."""

    service: Service

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._is_dropping = False
        self._patience = self.service.limits.read_seconds
        if len(self.connections) > self.service.limits.connections:
            self.app_state = {**self.app_state, OVER_LIMIT: True}
            self._patience = min(self._patience, _OVER_LIMIT_SECONDS)
        self._watch()
        if self.service.finishing.is_set():
            self.shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        self._watchdog.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self._is_dropping:
            super().data_received(data)

    def _watch(self) -> None:
        self._watchdog = self.loop.call_later(self._patience, self._check, self._snapshot())

    def _snapshot(self) -> _Snapshot:
        return _Snapshot(self.cycle, self.transport.get_write_buffer_size())

    def _check(self, before: _Snapshot) -> None:
        if before.waits_for_client and self._snapshot() == before:
            self.transport.abort()
        else:
            self._watch()

    def send_400_response(self, msg: str) -> None:
        """Refuse malformed HTTP with JSON, then drop what the client still sends."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.abort()  # in the middle of an answer; it must not look complete
            return
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        refusal = RefusedError(400, "bad_request", "the request is not valid HTTP/1.1")
        body = json.dumps(refusal.to_dict()).encode() + b"\n"
        headers = [
            ("content-type", "application/json"),
            ("content-length", str(len(body))),
            ("connection", "close"),
        ]
        for event in (
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self._is_dropping = True
        self.transport.write_eof()
        self.loop.call_later(DROP_SECONDS, self.transport.close)

    def shutdown(self) -> None:
        """Close the connection once it is idle and nothing is on its way."""
        self.loop.call_later(IDLE_SECONDS, self._close_if_idle)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.service.finishing.is_set() and not self.transport.is_closing():
            self.shutdown()

    def _close_if_idle(self) -> None:
        if self.transport.is_closing() or (self.cycle is not None and not self.cycle.response_complete):
            return
        if self._has_unread():
            self.loop.call_later(0.01, self._close_if_idle)
        else:
            self.conn.send(h11.ConnectionClosed())
            self.transport.close()

    def _has_unread(self) -> bool:
        """Whether part of a request has arrived, here or in the socket."""
        poll = select.poll()
        poll.register(self.transport.get_extra_info("socket").fileno(), select.POLLIN)
        return bool(self.conn.trailing_data[0]) or bool(poll.poll(0))


def protocol_for(service: Service) -> type[Protocol]:
    """The protocol of an application, for uvicorn's setting `http`."""
    return type("ServiceProtocol", (Protocol,), {"service": service})
