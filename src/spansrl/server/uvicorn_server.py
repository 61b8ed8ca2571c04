"""The process around the application: a listening socket, uvicorn, and an orderly end."""

from __future__ import annotations

import asyncio
import gc
import math
import signal
import socket
from collections.abc import Callable, Collection
from contextlib import suppress
from types import FrameType

import uvicorn
from starlette.applications import Starlette

from spansrl.errors import ConfigError
from spansrl.inference.pipeline import Pipeline
from spansrl.server.app import create_app
from spansrl.server.connection import connection_class
from spansrl.server.limits import ServerLimits
from spansrl.server.state import ANY_HOST, ServerState, host_name

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
GRACE_SECONDS = 5  # to send answers, in addition to the time for labeling


def run(
    load: Callable[[], Pipeline],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    limits: ServerLimits | None = None,
    hosts: Collection[str] = (),
    on_listening: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve until SIGTERM or Ctrl-C, finish what is running, and return.

    `hosts` are names that clients may use in addition to those of the loopback interface. Without any, a
    server on other interfaces answers to every name. An error of `load` ends the server and is raised here.
    """

    def load_and_freeze() -> Pipeline:
        pipeline = load()
        gc.collect()
        gc.freeze()  # or collecting what requests leave would look through the model and its frames each time
        return pipeline

    with listen(host, port) as listener:
        failures: list[Exception] = []
        app = create_app(
            load_and_freeze, limits=limits, hosts=allowed_hosts(host, hosts), on_failure=failures.append
        )
        server = Server(app, failures)
        # uvicorn raises its signals again when it has finished; by then this one has been handled.
        before = signal.signal(signal.SIGTERM, lambda number, frame: None)
        on_listening(_address(listener))
        try:
            server.run(sockets=[listener])
        finally:
            signal.signal(signal.SIGTERM, before)
        if failures:
            raise failures[0]


class Server(uvicorn.Server):
    """uvicorn's server, which stops if loading fails and resets no connection when it stops."""

    def __init__(self, app: Starlette, failures: Collection[Exception] = ()) -> None:
        self._state: ServerState = app.state.server
        self._failures = failures
        super().__init__(
            uvicorn.Config(
                app,
                http=connection_class(self._state),
                ws="none",
                lifespan="on",
                log_config=None,
                log_level="error",  # its warnings are one line for each request that is not HTTP
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=math.ceil(self._state.limits.seconds) + GRACE_SECONDS,
            )
        )
        connections = self.server_state.connections
        self._state.scheduler.count_unsent = lambda: sum(
            one.transport.get_write_buffer_size() for one in connections
        )

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._state.begin_shutdown()
        super().handle_exit(sig, frame)

    async def on_tick(self, counter: int) -> bool:
        """Called ten times per second; return whether to stop."""
        return bool(self._failures) or await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._state.begin_shutdown()
        # Closing a listening socket resets the connections that wait in it, so accept these first.
        tasks = []
        for listener in sockets or ():
            with suppress(BlockingIOError):
                while True:
                    tasks.append(asyncio.ensure_future(self._connect(listener.accept()[0])))
        await super().shutdown(sockets)
        await asyncio.gather(*tasks)

    async def _connect(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.connect_accepted_socket(
            lambda: self.config.http_protocol_class(  # type: ignore[call-arg]
                config=self.config, server_state=self.server_state, app_state=self.lifespan.state, _loop=loop
            ),
            connection,
        )


def listen(host: str, port: int) -> socket.socket:
    if not host:  # which Python would take for all interfaces
        raise ConfigError("the host is empty; use 127.0.0.1, or 0.0.0.0 for all interfaces")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        host.encode("idna")  # as Python would do too late, with a socket that it does not close
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, UnicodeError) as error:
        # Python appends the address to the system's message.
        reason = str(getattr(error, "strerror", None) or error).partition(" (while attempting")[0]
        message = f"cannot listen on {host}, port {port}: {reason}; try another --port or --host"
        raise ConfigError(message) from error


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def allowed_hosts(host: str, hosts: Collection[str]) -> tuple[str, ...]:
    """The names that the Host header may have."""
    on_loopback = host in ("localhost", "::1") or host.startswith("127.")
    if not hosts and not on_loopback:
        return (ANY_HOST,)
    return (*LOOPBACK, *map(_in_header, (host, *hosts)))


def _in_header(name: str) -> str:
    """A host as clients send it: without a port, IPv6 addresses in brackets."""
    found = host_name(f"[{name}]" if name.count(":") > 1 and not name.startswith("[") else name)
    if found is None:
        raise ConfigError(f"{name!r} is not a host name; use a name or an address, such as srl.example.org")
    return found
