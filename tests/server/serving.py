"""A real server in a thread, and patience."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from client import Client

from spansrl.server.app import create_app
from spansrl.server.limits import ServerLimits
from spansrl.server.uvicorn_server import Server


@contextmanager
def serving(load: Callable[[], object], **limits: float) -> Iterator[Client]:
    """A server in a thread, as `spansrl serve` sets it up, on a port of its own."""
    app = create_app(load, limits=ServerLimits(**limits))
    server = Server(app)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        client = Client(listener.getsockname()[1])
        client.state = app.state.server
        client.connections = server.server_state.connections
        try:
            wait_until(lambda: server.started)
            yield client
        finally:
            server.should_exit = True
            thread.join(30)
    assert not thread.is_alive(), "the server does not end"


def wait_until(true: Callable[[], object], seconds: float = 10) -> None:
    """Give something time to happen."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.005)
