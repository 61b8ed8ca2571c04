"""The process around the application: a socket, uvicorn, and an orderly end."""

from __future__ import annotations

import math
import signal
import socket
from collections.abc import Callable, Collection
from types import FrameType

import uvicorn

from spansrl.errors import ConfigError
from spansrl.server.app import create_app
from spansrl.server.connections import watched_protocol
from spansrl.server.gate import ANY_HOST, LOOPBACK, host_name
from spansrl.server.labeling import LabelsText
from spansrl.server.limits import Limits
from spansrl.server.service import Service

GRACE_SECONDS = 5  # for answers to leave, when labelling has had its own time


def run(
    load: Callable[[], LabelsText],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    limits: Limits | None = None,
    hosts: Collection[str] = (),
    on_listening: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve until SIGTERM or Ctrl-C, finish what is running, and return.

    `hosts` are names that clients may use besides the loopback's; on other addresses than loopback, any name
    if none are said. An error of `load` ends the server and is raised here.
    """
    limits = limits or Limits()
    with _listening(host, port) as listener:
        failures: list[Exception] = []
        app = create_app(load, limits=limits, hosts=_allowed(host, hosts), on_failure=failures.append)
        server = _Server(server_config(app, limits), app.state.service, failures)
        # uvicorn raises the signals it got once more when it has finished; by then this one has been heeded.
        before = signal.signal(signal.SIGTERM, lambda number, frame: None)
        on_listening(_address(listener))
        try:
            server.run(sockets=[listener])
        finally:
            signal.signal(signal.SIGTERM, before)
        if failures:
            raise failures[0]


class _Server(uvicorn.Server):
    """uvicorn's server, which tells the application of its end, and ends when there is no pipeline."""

    def __init__(self, config: uvicorn.Config, service: Service, failures: list[Exception]) -> None:
        super().__init__(config)
        self._service = service
        self._failures = failures

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal: streams end after what they have read, and new work is refused."""
        self._service.finish()
        super().handle_exit(sig, frame)

    async def on_tick(self, counter: int) -> bool:
        """Asked ten times a second whether to end."""
        return bool(self._failures) or await super().on_tick(counter)


def server_config(app: object, limits: Limits) -> uvicorn.Config:
    """uvicorn's settings: our protocol, no logs of requests, time to finish."""
    return uvicorn.Config(
        app,  # type: ignore[arg-type]  # an ASGI application
        http=watched_protocol(limits),
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=math.ceil(limits.seconds) + GRACE_SECONDS,
    )


def _listening(host: str, port: int) -> socket.socket:
    if not host:  # which Python would take for all networks
        raise ConfigError("the host is empty; give an address: 127.0.0.1, or 0.0.0.0 for all networks")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        host.encode("idna")  # as Python would do too late, with a socket that it does not close
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, UnicodeError) as error:
        # Python adds the address once more to the words of the system.
        reason = str(getattr(error, "strerror", None) or error).partition(" (while attempting")[0]
        message = f"cannot listen on {host}, port {port}: {reason}; try another --port or --host"
        raise ConfigError(message) from error


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _allowed(host: str, hosts: Collection[str]) -> tuple[str, ...]:
    on_loopback = host in ("localhost", "::1") or host.startswith("127.")
    if not hosts and not on_loopback:
        return (ANY_HOST,)
    return (*LOOPBACK, *map(_as_in_header, (host, *hosts)))


def _as_in_header(name: str) -> str:
    """A host as the gate finds it in requests: without a port, IPv6 addresses in brackets."""
    return f"[{name.lower()}]" if name.count(":") > 1 and not name.startswith("[") else host_name(name)
