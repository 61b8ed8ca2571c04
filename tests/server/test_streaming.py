"""JSON Lines in, JSON Lines out: over a real socket, with clients of all kinds."""

from __future__ import annotations

import json
import socket
import time

import pytest
from client import read_all

from serving import wait_until


def head(*headers: str, query: str = "") -> bytes:
    """The head of a stream whose body comes in chunks."""
    first = (f"POST /v1/label/stream{query} HTTP/1.1", "Host: localhost")
    lines = (*first, "Content-Type: application/x-ndjson", "Transfer-Encoding: chunked", *headers, "")
    return "".join(f"{line}\r\n" for line in lines).encode()


def chunk(*lines: object) -> bytes:
    body = "".join(json.dumps(line) + "\n" for line in lines).encode()
    return f"{len(body):x}\r\n".encode() + body + b"\r\n"


END = b"0\r\n\r\n"


class Reader:
    """The lines of an answer in chunks, as they come."""

    def __init__(self, connection: socket.socket) -> None:
        self.file = connection.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        while self.file.readline() != b"\r\n":
            pass

    def line(self) -> dict:
        while True:
            found = self.file.readline()
            if found.startswith(b"{"):
                return json.loads(found)
            assert found, "the answer ended"

    def at_end(self) -> bool:
        """Whether only the last chunk follows, which is empty."""
        return self.file.readline() == b"\r\n" and self.file.readline() == b"0\r\n"


def test_every_line_is_answered_in_order(client):
    answer = client.stream(*({"text": f"NumberedLine {k} ended.", "id": str(k)} for k in range(500)))
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert [line["id"] for line in answer.lines] == [str(k) for k in range(500)]
    assert answer.lines[7]["sentences"][0]["props"][0]["sense"] == "end.01"


def test_lines_are_labeled_together(client, pipeline):
    client.stream(*({"text": f"NumberedLine {k} ended."} for k in range(500)))
    assert len(pipeline.calls) < 100


def test_blank_lines_are_passed_over_and_the_last_needs_no_end(client):
    body = b'\n{"text": "a"}\r\n\n  \n{"text": 1}\n{"text": "b"}'
    first, wrong, last = client.post("/v1/label/stream", body, "application/x-ndjson").lines
    assert (first["text"], wrong["line"], last["text"]) == ("a", 5, "b")


def test_an_empty_stream_is_answered_with_nothing(client):
    answer = client.post("/v1/label/stream", b"", "application/x-ndjson")
    assert (answer.status, answer.body) == (200, b"")


def test_options_are_in_the_query(client, pipeline):
    (line,) = client.stream({"text": "It rained."}, query="?predicates=noun,verb&html=true").lines
    assert pipeline.predicates == [("verb", "noun")]
    assert len(line["html"]) == 1


def test_types_may_be_separate_options(client, pipeline):
    client.stream({"text": "It rained."}, query="?predicates=noun&predicates=verbs,adjective")
    assert pipeline.predicates == [("verb", "noun", "adjective")]


def test_answers_come_before_the_input_has_ended(client):
    with client.open() as connection:
        connection.sendall(head() + chunk({"text": "It rained."}))
        reader = Reader(connection)
        assert reader.line()["text"] == "It rained."
        connection.sendall(chunk({"text": "It poured."}))
        assert reader.line()["text"] == "It poured."
        connection.sendall(END)


def test_a_client_that_reads_only_at_the_end_is_served(client):
    texts = [f"Number {k} waited for all the others." for k in range(5000)]
    answer = client.stream(*({"text": text} for text in texts))
    assert [line["text"] for line in answer.lines] == texts
    assert len(answer.body) > 1_000_000


def test_a_line_that_fails_does_not_take_the_others_with_it(client, caplog):
    first, bad, wrong, last = client.stream(*({"text": text} for text in ("a", "poison", "wrong", "b"))).lines
    assert (first["text"], last["text"]) == ("a", "b")
    assert (bad["line"], bad["error"]["code"]) == (2, "internal")
    assert (wrong["line"], wrong["error"]["message"]) == (3, "cannot label 'wrong'")
    assert "poisoned" in caplog.text


def test_a_line_beyond_the_limit_ends_the_stream_after_what_came_before(serve):
    with serve(body_bytes=200) as client:
        first, last = client.stream({"text": "a"}, {"text": "b" * 300}, {"text": "c"}).lines
        assert first["text"] == "a"
        assert (last["line"], last["error"]["code"]) == (2, "too_large")
        assert last["error"]["message"] == (
            "the line has more than 200 bytes; split it, and continue with this line"
        )


def test_blank_lines_count_when_a_line_beyond_the_limit_is_named(serve):
    with serve(body_bytes=200) as client:
        body = b'{"text": "a"}\n\n\n' + b"b" * 300
        _, last = client.post("/v1/label/stream", body, "application/x-ndjson").lines
        assert (last["line"], last["error"]["code"]) == (4, "too_large")


def test_a_stream_longer_than_the_limit_of_a_body_is_fine(serve):
    with serve(body_bytes=200) as client:
        assert len(client.stream(*[{"text": "a" * 50}] * 100).lines) == 100


def test_a_stream_that_stops_sending_is_ended_with_a_reason(serve):
    with serve(read_seconds=0.3) as client, client.open() as connection:
        connection.sendall(head() + chunk({"text": "a"}))
        reader = Reader(connection)
        assert reader.line()["text"] == "a"
        assert reader.line()["error"]["code"] == "too_slow"


def test_a_client_that_waits_for_an_answer_before_it_continues_is_not_too_slow(serve, pipeline):
    with serve(read_seconds=0.2) as client, client.open() as connection:
        pipeline.may_go.clear()
        connection.sendall(head() + chunk({"text": "a"}))
        wait_until(lambda: pipeline.calls)
        time.sleep(0.7)
        pipeline.may_go.set()
        reader = Reader(connection)
        assert reader.line()["text"] == "a"
        connection.sendall(chunk({"text": "b"}))
        assert reader.line()["text"] == "b"
        assert reader.line()["error"]["code"] == "too_slow"


def test_lines_that_take_too_long_each_get_an_error(serve, pipeline):
    with serve(seconds=0.2) as client:
        pipeline.may_go.clear()
        answer = client.stream({"text": "a"}, {"text": "b"})
        assert [line["error"]["code"] for line in answer.lines] == ["timed_out", "timed_out"]


def test_the_number_of_streams_is_limited(serve):
    with serve(streams=1) as client:
        with client.open() as connection:
            connection.sendall(head() + chunk({"text": "a"}))
            assert Reader(connection).line()["text"] == "a"
            answer = client.stream({"text": "b"})
            assert (answer.status, answer.error["code"]) == (429, "too_many_streams")
            assert answer.headers["retry-after"] == "10"
        wait_until(lambda: client.stream({"text": "b"}).status == 200)


def test_a_stream_waits_its_turn_instead_of_being_refused(serve):
    with serve(wait_seconds=0.001) as client:
        assert len(client.stream(*[{"text": "It rained. " * 50}] * 20).lines) == 20


@pytest.mark.parametrize("trickle", [b" ", b"\n", b"x"])
def test_bytes_that_complete_no_line_do_not_keep_a_stream_open(serve, trickle):
    with serve(read_seconds=0.4) as client, client.open() as connection:
        connection.sendall(head() + chunk({"text": "a"}))
        reader = Reader(connection)
        assert reader.line()["text"] == "a"
        for _ in range(10):
            connection.sendall(b"1\r\n" + trickle + b"\r\n")
            time.sleep(0.1)
        assert "spansrl_streams 0.0" in client.get("/metrics").body.decode()
        assert reader.line()["error"]["code"] == "too_slow"


def test_when_the_server_ends_a_stream_is_told_where_to_continue(client):
    with client.open() as connection:
        connection.sendall(head() + chunk({"text": "a"}, {"text": "b"}))
        reader = Reader(connection)
        reader.line(), reader.line()
        client.state.begin_shutdown()
        connection.sendall(chunk({"text": "c"}))  # wakes the server's loop, as a signal would
        last = reader.line()
        assert (last["line"], last["error"]["code"]) == (3, "shutting_down")


def finish(client) -> None:
    """The beginning of the server's end; other requests see to it that its loop hears of it."""
    client.get("/healthz")
    client.state.begin_shutdown()
    client.get("/healthz")


@pytest.mark.parametrize("goes_on", [chunk({"text": "d"}), chunk({"text": "d"}) + END])
def test_when_the_server_ends_no_line_is_answered_behind_one_that_is_not(client, pipeline, goes_on):
    with client.open() as connection:
        pipeline.may_go.clear()
        connection.sendall(head() + chunk({"text": "a"}))
        wait_until(lambda: pipeline.calls)
        connection.sendall(chunk({"text": "b"}, {"text": "c"}))
        finish(client)
        connection.sendall(goes_on)
        client.get("/healthz")  # by when the server has read the line before it
        pipeline.may_go.set()
        reader = Reader(connection)
        assert reader.line()["text"] == "a"
        last = reader.line()
        assert (last["line"], last["error"]["code"]) == (2, "shutting_down")
        assert reader.at_end()


def test_when_the_server_ends_a_stream_with_all_its_answers_gets_no_error(client, pipeline):
    with client.open() as connection:
        pipeline.may_go.clear()
        connection.sendall(head() + chunk({"text": "a"}) + END)
        wait_until(lambda: pipeline.calls)
        finish(client)
        pipeline.may_go.set()
        reader = Reader(connection)
        assert reader.line()["text"] == "a"
        assert reader.at_end()


@pytest.mark.parametrize("when", ["while its lines wait", "while it sends"])
def test_a_client_that_hangs_up_frees_its_stream(serve, pipeline, when):
    with serve(streams=1) as client:
        if when == "while its lines wait":
            pipeline.may_go.clear()
        with client.open() as connection:
            connection.sendall(head() + chunk({"text": "a"}) + (END if "wait" in when else b""))
            wait_until(lambda: pipeline.calls)
        pipeline.may_go.set()  # what the server then sends to it shows that it is gone
        wait_until(lambda: "spansrl_streams 0.0" in client.get("/metrics").body.decode())


def test_bytes_that_are_no_chunks_end_the_connection(client):
    with client.open() as connection:
        connection.sendall(head() + b"zz\r\n")
        read_all(connection)
    assert client.stream({"text": "a"}).status == 200
