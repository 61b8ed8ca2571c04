"""Clients that send too much, read too little or close half of their connection harm only themselves."""

from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import contextmanager

import pytest
from client import read_all

from serving import wait_until
from spansrl.server import app as app_module

HEAD = b"POST /v1/label HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
UNKNOWN_KEYS = b"{" + b",".join(b'"a%d":1' % k for k in range(90_000)) + b"}"
WIDE = {"html": True, "svg": True, "explain": True}


def post(body: bytes, path: bytes = b"/v1/label") -> bytes:
    return HEAD.replace(b"/v1/label", path) + b"Content-Length: %d\r\n\r\n" % len(body) + body


def answer_of(data: bytes) -> tuple[int, dict]:
    head, _, body = data.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


# Parsing


@contextmanager
def flood(client, body: bytes, count: int):
    """Clients that send the body again as soon as they are answered."""
    stop = threading.Event()

    def run() -> None:
        with client.open() as connection:
            while not stop.is_set():
                connection.sendall(post(body))
                if not connection.recv(65536):
                    return

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(30)


def test_short_requests_are_answered_within_a_second_beside_large_bodies_of_unknown_keys(client):
    with flood(client, UNKNOWN_KEYS, 32):
        time.sleep(0.3)
        taken = []
        for _ in range(5):
            began = time.monotonic()
            assert client.label(text="It rained.").status == 200
            taken.append(time.monotonic() - began)
        assert min(taken) < 1  # the others may have waited for other work on the machine


def test_a_body_that_is_being_parsed_blocks_nobody_and_counts_as_work(client, monkeypatch):
    may_go, parse = threading.Event(), app_module.parse

    def slow(model, body, limits):
        assert len(body) < 1000 or may_go.wait(30)
        return parse(model, body, limits)

    monkeypatch.setattr(app_module, "parse", slow)
    with client.open() as connection:
        connection.sendall(post(json.dumps({"text": "It rained. " * 1000}).encode()))
        wait_until(lambda: "spansrl_wait_seconds 0.0\n" not in client.get("/metrics").body.decode())
        assert client.label(text="It rained.").status == 200
        may_go.set()
        assert connection.recv(12) == b"HTTP/1.1 200"


# Lone surrogates


SURROGATES = {
    "a key": rb'{"text": "a", "\ud800": 1}',
    "a key twice": rb'{"text": "a", "\ud800": 1, "\ud800": 2}',
    "a text": rb'{"text": "\udfff"}',
    "an id": rb'{"text": "a", "id": "\ud800"}',
    "a token": rb'{"tokens": ["\ud800"]}',
    "a type": rb'{"text": "a", "predicates": "\ud800"}',
    "types": rb'{"text": "a", "predicates": ["\ud800"]}',
    "a decoder": rb'{"text": "a", "decoder": "\ud800"}',
}


@pytest.mark.parametrize("name", SURROGATES)
def test_lone_surrogates_are_refused_in_json_and_cost_no_other_line_its_answer(client, name):
    assert client.post("/v1/label", SURROGATES[name]).error["code"] == "invalid"
    lines = b'{"text": "a"}\n' + SURROGATES[name] + b'\n{"text": "b"}\n'
    answer = client.post("/v1/label/stream", lines, "application/x-ndjson")
    first, wrong, last = answer.lines
    assert (first["text"], wrong["line"], last["text"]) == ("a", 2, "b")
    assert wrong["error"]["code"] == "invalid"


# Large answers, and clients that do not read them


def test_an_answer_beyond_the_limit_is_refused_with_what_to_drop(serve, pipeline):
    with serve(answer_bytes=100_000) as client:
        answer = client.label(text="It rained. " * 2000, html=True, svg=True)
        assert (answer.status, answer.error["code"]) == (413, "answer_too_large")
        assert "without html, svg" in answer.error["message"]
        assert sum(map(len, pipeline.calls)) < 1000  # it was refused early
        assert "send less" in client.label(text="It rained. " * 2000).error["message"]
        assert client.label(text="It rained. " * 50).status == 200


def test_a_line_of_a_stream_with_too_large_an_answer_harms_no_other_line(serve):
    with serve(answer_bytes=100_000) as client:
        texts = ["a", "It rained. " * 500, "b"]
        first, wrong, last = client.stream(*({"text": text} for text in texts), query="?html=true").lines
        assert (first["text"], wrong["error"]["code"], last["text"]) == ("a", "answer_too_large", "b")


def slow_reader(client, body: bytes) -> socket.socket:
    """A client whose socket holds little, after its request."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(30)
    connection.connect(("127.0.0.1", client.port))
    connection.sendall(post(body))
    return connection


LARGE = json.dumps({"text": "a" * 6_000_000}).encode()  # the answer is more than the buffers of sockets hold


def test_answers_that_nobody_reads_are_bounded_over_all_connections(serve):
    limits = {"text_chars": 10_000_000, "body_bytes": 10_000_000, "unsent_bytes": 20_000_000}
    with serve(**limits) as client, slow_reader(client, LARGE) as connection:
        assert connection.recv(12) == b"HTTP/1.1 200"
        answer = client.post("/v1/label", LARGE)
        assert (answer.status, answer.error["code"]) == (503, "unread_answers")
        assert client.label(text="It rained.").status == 200  # small answers are not refused
        connection.close()
        wait_until(lambda: client.post("/v1/label", LARGE).status == 200, seconds=30)


def test_a_reader_that_trickles_is_cut_off(serve):
    with (
        serve(read_seconds=0.5, text_chars=10_000_000, body_bytes=10_000_000) as client,
        slow_reader(client, LARGE) as connection,
    ):
        end = time.monotonic() + 10
        try:
            while connection.recv(500):
                assert time.monotonic() < end, "it is still served"
                time.sleep(0.1)
        except ConnectionResetError:
            pass


# Clients that close their side


def test_a_client_that_closes_its_side_after_a_request_gets_its_answer(client, pipeline):
    pipeline.may_go.clear()
    with client.open() as connection:
        connection.sendall(post(b'{"text": "It rained."}'))
        connection.shutdown(socket.SHUT_WR)
        wait_until(lambda: pipeline.calls)
        time.sleep(0.5)
        pipeline.may_go.set()
        interim, answer = read_all(connection).split(b"\r\n\r\n", 1)
        assert interim == b"HTTP/1.1 100 Continue"  # which shows the server whether the client is there
        assert answer_of(answer)[0] == 200


def test_all_requests_that_came_before_are_answered(client):
    with client.open() as connection:
        connection.sendall(post(b'{"text": "It rained."}') * 3)
        connection.shutdown(socket.SHUT_WR)
        assert read_all(connection).count(b"HTTP/1.1 200") == 3


def test_a_stream_whose_client_closes_its_side_is_answered(client, pipeline):
    pipeline.may_go.clear()
    with client.open() as connection:
        head = post(b'{"text": "a"}\n{"text": "b"}', b"/v1/label/stream")
        connection.sendall(head.replace(b"application/json", b"application/x-ndjson"))
        connection.shutdown(socket.SHUT_WR)
        wait_until(lambda: pipeline.calls)
        pipeline.may_go.set()
        assert read_all(connection).count(b'"sentences"') == 2


def test_half_a_request_before_the_end_is_not_answered(client):
    with client.open() as connection:
        connection.sendall(post(b'{"text": "It rained."}')[:-3])
        connection.shutdown(socket.SHUT_WR)
        assert b"200" not in read_all(connection)


# Values


WRONG = {
    "an index of many digits": {"tokens": ["a"], "predicates": "9" * 5000},
    "a type with a count": {"text": "a", "predicates": {"verb": 1}},
    "a boolean for a probability": {"text": "a", "min_prob": True},
    "a string for a probability": {"text": "a", "min_prob": "0.5"},
}


@pytest.mark.parametrize("name", WRONG)
def test_values_of_another_type_are_refused(client, name):
    answer = client.label(**WRONG[name])
    assert (answer.status, answer.error["code"]) == (422, "invalid")


def test_bytes_that_are_not_http_are_counted_and_not_logged(client, caplog):
    with client.open() as connection:
        connection.sendall(b"nonsense\r\n\r\n")
        assert read_all(connection).startswith(b"HTTP/1.1 400")
    assert caplog.text == ""
    assert 'path="other",status="400"} 1.0' in client.get("/metrics").body.decode()


def test_an_overloaded_server_refuses_a_wrong_host_first(serve, pipeline):
    with serve(wait_seconds=0.001) as client, client.open() as busy, client.open() as connection:
        client.state.hosts = ("localhost",)
        pipeline.may_go.clear()
        busy.sendall(post(b'{"text": "It rained."}'))
        wait_until(lambda: pipeline.calls)
        request = post(b'{"text": "It rained."}').replace(b"localhost", b"evil.example")
        connection.sendall(request.replace(b"Host", b"Connection: close\r\nHost"))
        assert answer_of(read_all(connection))[0] == 421
