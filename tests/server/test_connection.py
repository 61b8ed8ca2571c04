"""Slow and broken clients get an answer or are disconnected, and others are not affected."""

from __future__ import annotations

import json
import socket
import struct
import time
from contextlib import contextmanager

import pytest
from client import read_all

from serving import wait_until

BODY = json.dumps({"text": "It rained."}).encode()
HEAD = b"POST /v1/label HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
REQUEST = HEAD + f"Content-Length: {len(BODY)}\r\n\r\n".encode() + BODY


def is_fine(client) -> bool:
    return client.label(text="It rained.").status == 200


def takes_a_byte(connection: socket.socket) -> bool:
    time.sleep(0.02)
    try:
        return connection.send(b"x") == 1
    except (BrokenPipeError, ConnectionResetError):
        return False


def seconds_to_end(connection: socket.socket) -> float:
    began = time.monotonic()
    read_all(connection)
    return time.monotonic() - began


@pytest.mark.parametrize("begun", [b"", b"P", b"POST /v1/label HTTP/1.1\r\nHost: local"])
def test_a_head_that_does_not_arrive_ends_the_connection(serve, begun):
    with serve(read_seconds=0.3) as client, client.open() as connection:
        connection.sendall(begun)
        assert seconds_to_end(connection) < 5
        assert is_fine(client)


def test_so_does_a_second_request_that_does_not_arrive(serve):
    with serve(read_seconds=0.3) as client, client.open() as connection:
        connection.sendall(REQUEST + b"POST /v1")
        assert seconds_to_end(connection) < 5


def test_a_head_that_arrives_byte_by_byte_ends_the_connection(serve):
    with serve(read_seconds=0.3) as client, client.open() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nX: ")
        wait_until(lambda: not takes_a_byte(connection), seconds=5)


def test_a_body_that_does_not_arrive_is_408(serve):
    with serve(read_seconds=0.3) as client, client.open() as connection:
        connection.sendall(HEAD + b"Content-Length: 100\r\n\r\n{")
        answer = read_all(connection)
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b"did not arrive within 0.3 s" in answer


def test_a_client_that_does_not_read_its_answer_is_cut_off(serve):
    with serve(read_seconds=0.3, text_chars=10_000_000, body_bytes=10_000_000) as client:
        body = json.dumps({"text": "a" * 5_000_000}).encode()  # more than the buffers of a socket hold
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(30)
        connection.connect(("127.0.0.1", client.port))
        with connection:
            connection.sendall(HEAD + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
            assert connection.recv(12) == b"HTTP/1.1 200"
            wait_until(lambda: open_connections(client) == 0)
            assert is_fine(client)


def test_a_slow_reader_gets_its_whole_answer(serve):
    with serve(read_seconds=0.3) as client, client.open() as connection:
        body = json.dumps({"text": "It rained. " * 4000}).encode()
        connection.sendall(HEAD + f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
        found = b""
        while piece := connection.recv(60_000):
            found += piece
            time.sleep(0.02)
        assert len(json.loads(found.partition(b"\r\n\r\n")[2])["results"][0]["sentences"]) == 4000


def test_work_for_a_client_that_hangs_up_is_dropped(client, pipeline):
    pipeline.may_go.clear()
    with client.open() as running, client.open() as waiting:
        running.sendall(REQUEST)
        wait_until(lambda: pipeline.calls)
        waiting.sendall(REQUEST)
        wait_until(lambda: queued(client) > 0)
    wait_until(lambda: queued(client) == 0)
    pipeline.may_go.set()
    assert is_fine(client)
    assert pipeline.calls == [["It rained."], ["It rained."]]
    assert 'status="499"} 2.0' in client.get("/metrics").body.decode()


@pytest.mark.parametrize("cut", [10, len(HEAD), len(REQUEST) - 3])
def test_a_client_that_hangs_up_in_the_middle_harms_nobody(client, cut):
    for _ in range(20):
        with client.open() as connection:
            connection.sendall(REQUEST[:cut])
            # A reset instead of a polite end.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert is_fine(client)


@pytest.mark.parametrize(
    "nonsense",
    [
        b"\x16\x03\x01\x02\x00\x01\x00",  # how TLS begins
        b"\r\n\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /v1/label HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/label HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        bytes(range(256)) * 100,
    ],
)
def test_bytes_that_are_not_http_are_refused(client, nonsense):
    with client.open() as connection:
        try:
            connection.sendall(nonsense)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it was turned away before it was done
        answer = read_all(connection)
        if answer:
            assert answer.startswith(b"HTTP/1.1 4")
            assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"]
    assert is_fine(client)


@pytest.mark.parametrize(
    "request_line",
    [b"GET  /  HTTP/1.1", b"GET / HTTP/one", b"nonsense"],
)
def test_malformed_http_is_refused_in_json(client, request_line):
    with client.open() as connection:
        connection.sendall(request_line + b"\r\nHost: localhost\r\n\r\n" + b"x" * 100_000)
        answer = read_all(connection)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "bad_request"


def test_a_length_with_a_transfer_encoding_is_refused(client):
    with client.open() as connection:
        framing = f"Content-Length: {len(BODY)}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        connection.sendall(HEAD + framing + b"%x\r\n" % len(BODY) + BODY + b"\r\n0\r\n\r\n" + REQUEST)
        answer = read_all(connection)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"Transfer-Encoding" in answer
    assert answer.count(b"HTTP/1.1 ") == 1  # what follows is not answered


@pytest.mark.parametrize("value", ["bytes=abc", "bytes=0-3", "bytes=9999999-"])
def test_a_range_is_answered_with_the_whole_file(client, value):
    answer = client.get("/static/icon.svg", Range=value)
    assert (answer.status, answer.body) == (200, client.get("/static/icon.svg").body)


def test_beyond_the_limit_of_connections_clients_are_told_to_retry(serve):
    with serve(connections=3) as client:
        wait_until(lambda: open_connections(client) == 0)
        held = [client.open() for _ in range(3)]
        time.sleep(0.2)
        body = json.dumps({"text": "It rained. " * 50_000}).encode()
        refused = client.post("/v1/label", body)  # a body that fills the socket's buffers
        assert (refused.status, refused.error["code"]) == (503, "too_many_connections")
        assert (refused.headers["retry-after"], refused.headers["connection"]) == ("5", "close")
        for connection in held:
            connection.close()
        time.sleep(0.2)
        assert is_fine(client)


@contextmanager
def overloaded(serve, pipeline, **limits):
    """A server that refuses requests to label, because it works on one."""
    with serve(wait_seconds=0.001, **limits) as client, client.open() as busy:
        pipeline.may_go.clear()
        busy.sendall(REQUEST)
        wait_until(lambda: pipeline.calls)
        yield client


def read_answer(connection) -> tuple[dict[str, str], bytes]:
    """The next answer on a connection: headers in lower case, and the body."""
    found = b""
    while b"\r\n\r\n" not in found:
        found += connection.recv(65536)
    head, _, body = found.partition(b"\r\n\r\n")
    status, *lines = head.decode().lower().split("\r\n")
    headers = {"status": status} | dict(line.split(": ", 1) for line in lines)
    while len(body) < int(headers["content-length"]):
        body += connection.recv(65536)
    return headers, body


CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)


def test_an_overloaded_server_refuses_without_parsing_and_keeps_the_connection(serve, pipeline):
    with overloaded(serve, pipeline) as client, client.open() as connection:
        for _ in range(5):
            connection.sendall(REQUEST)
            headers, body = read_answer(connection)
            assert headers["status"] == "http/1.1 429 too many requests"
            assert int(headers["retry-after"]) >= 1
            assert "content-security-policy" in headers
            assert json.loads(body)["error"]["code"] == "busy"
        assert max(one._quick for one in client.connections) == 5
        assert 'path="/v1/label",status="429"' in client.get("/metrics").body.decode()
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert read_answer(connection)[0]["status"] == "http/1.1 200 ok"
        pipeline.may_go.set()
        wait_until(lambda: queued(client) == 0)
        connection.sendall(REQUEST)
        assert read_answer(connection)[0]["status"] == "http/1.1 200 ok"


@pytest.mark.parametrize(
    ("pieces", "answers"),
    [
        ([REQUEST[:50], REQUEST[50:]], 1),
        ([REQUEST + REQUEST], 2),
        ([CHUNKED], 1),
        ([REQUEST.replace(b"Host", b"Connection: close\r\nHost")], 1),
        ([REQUEST.replace(b"Content-Length: ", b"CONTENT-LENGTH:\t")], 1),
    ],
)
def test_an_overloaded_server_refuses_requests_of_any_form(serve, pipeline, pieces, answers):
    with overloaded(serve, pipeline) as client, client.open() as connection:
        for piece in pieces:
            connection.sendall(piece)
            time.sleep(0.05)
        connection.shutdown(socket.SHUT_WR)
        found = b""
        while found.count(b"HTTP/1.1 429 ") < answers:
            piece = connection.recv(65536)
            assert piece, found
            found += piece


def test_a_connection_whose_requests_are_refused_is_not_taken_for_idle(serve, pipeline):
    with overloaded(serve, pipeline, read_seconds=0.5) as client, client.open() as connection:
        for _ in range(10):
            connection.sendall(REQUEST)
            assert read_answer(connection)[0]["status"].startswith("http/1.1 429")
            time.sleep(0.1)
        assert seconds_to_end(connection) < 5  # now it is


def test_many_requests_on_one_connection_are_answered_in_turn(client):
    with client.open() as connection:
        connection.sendall(REQUEST * 4 + REQUEST.replace(b"Host", b"Connection: close\r\nHost"))
        answer = read_all(connection)
    assert answer.count(b"HTTP/1.1 200") == 5


def queued(client) -> float:
    lines = client.get("/metrics").body.decode().splitlines()
    return float(next(line for line in lines if line.startswith("spansrl_wait")).split()[-1])


def open_connections(client) -> int:
    return len(client.connections)
