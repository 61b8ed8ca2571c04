"""HTTP/1.1 as uvicorn speaks it, with deadlines, a limit on connections, and a shutdown that loses nothing.

uvicorn waits forever for the head of a request and for a client to read its answer, closes connections with
unread requests when it shuts down, and refuses malformed HTTP as plain text. And under overload, when most
requests are refused, parsing and routing each of them would take much of the time that is left for labeling.
"""

from __future__ import annotations

import asyncio
import re
import select
import socket
import struct

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from spansrl.server.api_error import ApiError
from spansrl.server.middleware import COMMON_HEADERS, DROP_SECONDS, OVER_LIMIT
from spansrl.server.state import LABEL_PATH, ServerState

IDLE_SECONDS = 1.0  # before an idle connection is closed at shutdown: a request may be on its way
PROBE_SECONDS = 0.1  # between looks at a client that has closed its side: has it reset the connection?
MIN_READ_RATE = 20_000  # bytes of an answer per second; a client that reads less is disconnected
_OVER_LIMIT_SECONDS = 5.0  # for the requests of connections beyond the limit
_LABEL_LINE = f"POST {LABEL_PATH} HTTP/1.1\r\n".encode()
_LENGTH = re.compile(rb"\r\ncontent-length: *([0-9]+)(?=\r\n|\Z)", re.IGNORECASE)
_HOST = re.compile(rb"\r\nhost: *([^\r]*)", re.IGNORECASE)
_SPECIAL = re.compile(rb"\r\n(?:transfer-encoding|connection|expect|upgrade)|\n[ \t]|[^\r]\n", re.IGNORECASE)


class HttpConnection(H11Protocol):
    """One connection; `connection_class` makes subclasses that have a `state`."""

    state: ServerState

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._is_dropping = self._has_eof = False
        self._quick = 0  # requests that were refused without a cycle
        self._patience = self.state.limits.read_seconds
        if len(self.connections) > self.state.limits.connections:
            self.app_state = {**self.app_state, OVER_LIMIT: True}
            self._patience = min(self._patience, _OVER_LIMIT_SECONDS)
        self._watch()
        if self.state.shutting_down.is_set():
            self.shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        self._watchdog.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_dropping:
            return
        if self._is_idle and (found := label_request(data)):
            size, host = found
            if self.state.check_host(host) is None and (busy := self.state.scheduler.busy(size)):
                self._refuse_quickly(busy)
                return
        super().data_received(data)

    def eof_received(self) -> bool:  # type: ignore[override]
        """Return whether to stay open: a client that has only closed its side gets its answers.

        One that is gone resets the connection when something is sent to it.
        """
        self._has_eof = True
        if self._is_dropping or self.cycle is None or self.cycle.response_complete or self.cycle.more_body:
            return False
        self.loop.call_later(PROBE_SECONDS, self._probe, True)
        return True

    def _probe(self, is_first: bool = False) -> None:
        if self.transport.is_closing():
            return
        if self._poll() & (select.POLLERR | select.POLLHUP):
            self.transport.abort()
            return
        if is_first and self.conn.our_state is h11.SEND_RESPONSE and self.conn.their_http_version == b"1.1":
            interim = h11.InformationalResponse(status_code=100, headers=[], reason="Continue")
            self.transport.write(self.conn.send(interim) or b"")
        self.loop.call_later(PROBE_SECONDS, self._probe)

    @property
    def _is_idle(self) -> bool:
        """Whether a request may begin, on a connection that stays open."""
        begun = self.conn.our_state is not h11.IDLE or self.conn.trailing_data[0]
        return not (begun or self.state.shutting_down.is_set() or OVER_LIMIT in self.app_state)

    def _refuse_quickly(self, refusal: ApiError) -> None:
        """Refuse a request of which nothing but its size is known, and keep the connection."""
        self._quick += 1
        self._write(refusal)
        self.state.metrics.count("POST", LABEL_PATH, refusal.status, 0.0)
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )

    def _write(self, refusal: ApiError, **headers: str) -> None:
        date = {name.decode(): value.decode() for name, value in self.server_state.default_headers}
        self.transport.write(refusal.to_http({**date, **COMMON_HEADERS, **headers}))

    def _watch(self) -> None:
        self._watchdog = self.loop.call_later(self._patience, self._check, self._snapshot())

    def _snapshot(self) -> tuple[RequestResponseCycle | None, int, int]:
        """What changes while a client sends requests and reads answers."""
        return self.cycle, self.transport.get_write_buffer_size(), self._quick

    def _check(self, before: tuple[RequestResponseCycle | None, int, int]) -> None:
        now = self._snapshot()
        (cycle, unsent, _), left = before, now[1]
        is_complete = cycle is None or cycle.response_complete
        if unsent and left and is_complete and now[0] is cycle:
            is_slow = unsent - left < MIN_READ_RATE * self._patience
        else:
            is_slow = (unsent > 0 or is_complete) and now == before
        if is_slow:
            if left:  # drop what the system has to send, too
                linger = struct.pack("ii", 1, 0)
                self.transport.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, linger
                )
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
        self.state.metrics.count("other", "other", 400, 0.0)
        self._write(ApiError(400, "bad_request", "the request is not valid HTTP/1.1"), Connection="close")
        self._is_dropping = True
        self.transport.write_eof()
        self.loop.call_later(DROP_SECONDS, self.transport.close)

    def shutdown(self) -> None:
        """Close the connection once it is idle and nothing is on its way."""
        self.loop.call_later(IDLE_SECONDS, self._close_if_idle)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._has_eof and self.cycle.response_complete:
            self.transport.close()
        elif self.state.shutting_down.is_set() and not self.transport.is_closing():
            self.shutdown()

    def _close_if_idle(self) -> None:
        if self.transport.is_closing() or (self.cycle is not None and not self.cycle.response_complete):
            return
        if self.conn.trailing_data[0] or self._poll():  # part of a request has arrived, here or in the socket
            self.loop.call_later(0.01, self._close_if_idle)
        else:
            self.conn.send(h11.ConnectionClosed())
            self.transport.close()

    def _poll(self) -> int:
        """The events of the socket."""
        poll = select.poll()
        poll.register(self.transport.get_extra_info("socket").fileno(), select.POLLIN)
        return sum(events for _, events in poll.poll(0))


def label_request(data: bytes) -> tuple[int, str] | None:
    """The size of the body and the host, if the bytes are a whole request to label in the usual form."""
    if not data.startswith(_LABEL_LINE):
        return None
    head, _, body = data.partition(b"\r\n\r\n")
    hosts = _HOST.findall(head)
    if _LENGTH.findall(head) != [b"%d" % len(body)] or len(hosts) != 1 or _SPECIAL.search(head):
        return None
    return len(body), hosts[0].decode("latin-1").rstrip()


def connection_class(state: ServerState) -> type[HttpConnection]:
    """The protocol of an application, for uvicorn's setting `http`."""
    return type("ServerConnection", (HttpConnection,), {"state": state})
