"""A plain HTTP client for tests: one request per connection, or any bytes."""

from __future__ import annotations

import http.client
import json
import socket
from typing import Any, NamedTuple


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, Any]:
        return self.json["error"]

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.body.splitlines()]


class Client:
    """Talks to the server on a port of this machine; where that is in our process, has its insides too."""

    state: Any
    connections: set[Any]

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"

    def request(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.request("GET", path, **headers)

    def post(self, path: str, body: Any, content_type: str = "application/json", **headers: str) -> Answer:
        return self.request("POST", path, body, content_type=content_type, **headers)

    def label(self, **message: Any) -> Answer:
        return self.post("/v1/label", json.dumps(message))

    def stream(self, *lines: Any, query: str = "") -> Answer:
        body = "".join(json.dumps(line) + "\n" for line in lines)
        return self.post("/v1/label/stream" + query, body, "application/x-ndjson")

    def open(self) -> socket.socket:
        """A connection to send any bytes over, each piece at once."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection


def read_all(connection: socket.socket) -> bytes:
    """Everything until the other side closes; a reset is an end as well."""
    found = b""
    try:
        while piece := connection.recv(65536):
            found += piece
    except ConnectionResetError:
        pass
    return found
