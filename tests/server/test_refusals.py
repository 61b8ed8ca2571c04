"""Bad input: the right status, and an error that says what to do."""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from client import read_all
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from serving import serving, wait_until
from spansrl.server.api_error import ApiError
from spansrl.server.limits import ServerLimits
from spansrl.server.schemas import LabelRequest, parse
from timing import is_within

ONE_OF = "give one of 'text', 'texts', 'tokens' or 'items'"
BAD_BODIES = {
    "nothing": (b"", "not valid JSON"),
    "no JSON": (b"{text: 1}", "line 1 column 2"),
    "a cut": (b'{"text": "a', "line 1"),
    "a list": (b"[]", "the body is invalid: "),
    "an empty object": (b"{}", ONE_OF),
    "invalid UTF-8": (b'{"text": "\xff"}', "UTF-8 at byte 10"),
    "a lone surrogate, escaped": (rb'{"text": "\ud800"}', "text: "),
    "a lone surrogate, encoded": (b'{"text": "\xed\xa0\x80"}', "UTF-8"),
    "NUL, escaped": (rb'{"text": "a\u0000b"}', "NUL characters"),
    "NUL, raw": (b'{"text": "a\0b"}', "control character"),
    "NUL in a token": (rb'{"tokens": ["\u0000"]}', "tokens.0: NUL"),
    "nesting": (b'{"text": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
    "nested objects": (b'{"a":' * 50_000, "nested too deeply"),
    "a number of many digits": (b'{"text": ' + b"9" * 10_000 + b"}", "digits"),
    "a number that is not finite": (b'{"text": NaN}', "NaN"),
    "a key twice": (b'{"text": "a", "text": "b"}', "'text'"),
    "a key twice, inside": (b'{"items": [{"text": "a", "text": "b"}]}', "'text'"),
    "a number for a text": (b'{"text": 1}', "text: "),
    "null": (b'{"text": null}', ONE_OF),
    "an unknown field": (b'{"txt": "a"}', "unknown field 'txt'; did you mean 'text'?"),
    "an unknown field of an item": (
        b'{"items": [{"text": "a", "token": 1}]}',
        "items.0: unknown field 'token'; did you mean 'tokens'?",
    ),
    "a field unlike any": (b'{"text": "a", "zzz": 1}', "unknown field 'zzz'. Choose from: "),
    "text and tokens": (b'{"text": "a", "tokens": ["a"]}', "found 'text' and 'tokens'"),
    "text and items": (b'{"text": "a", "items": [{"text": "a"}]}', "found 'text' and 'items'"),
    "no items": (b'{"items": []}', "items: "),
    "a text for texts": (b'{"texts": "a"}', "texts: "),
    "an id for several": (b'{"texts": ["a"], "id": "a"}', "'id' is for one text"),
    "an item that is wrong": (b'{"items": [{"text": "a"}, {"tokens": "a"}]}', "items.1.tokens"),
    "an item of nothing": (b'{"items": [{}]}', "items.0: give either 'text' or 'tokens'"),
    "items in items": (b'{"items": [{"items": []}]}', "items.0: unknown field 'items'"),
    "no tokens": (b'{"tokens": []}', "tokens: "),
    "an empty token": (b'{"tokens": [""]}', "tokens.0: "),
    "indices in a text": (b'{"text": "a", "predicates": [0]}', "token indices, which need 'tokens'"),
    "an index outside": (b'{"tokens": ["a"], "predicates": [1]}', "no token 1"),
    "an index below 0": (b'{"tokens": ["a"], "predicates": [-1]}', "no token -1"),
    "given predicates that are not": (b'{"tokens": ["a"], "predicates": "given"}', "token indices"),
    "an unknown decoder": (b'{"text": "a", "decoder": "best"}', "decoder: "),
    "a probability above 1": (
        b'{"text": "a", "min_prob": 2}',
        "min_prob: ",
    ),
    "a probability as a string": (
        b'{"text": "a", "min_prob": "x"}',
        "min_prob: ",
    ),
    "an index as a float": (b'{"tokens": ["a"], "predicates": [0.0]}', "predicates: unknown predicate type"),
    "an index as a boolean": (b'{"tokens": ["a"], "predicates": [false]}', "predicates: unknown"),
    "an unknown type": (b'{"text": "a", "predicates": ["adverb"]}', "unknown predicate type 'adverb'."),
    "html as a string": (b'{"text": "a", "html": "yes"}', "html: "),
}


@pytest.mark.parametrize("name", BAD_BODIES)
def test_a_body_that_does_not_match_the_schema_is_422_with_the_reason(client_of_module, name):
    body, reason = BAD_BODIES[name]
    answer = client_of_module.post("/v1/label", body)
    assert (answer.status, answer.error["code"]) == (422, "invalid")
    assert reason in answer.error["message"]
    assert len(answer.body) < 2000


BAD_LINES = [
    name for name, (body, _) in BAD_BODIES.items() if body and b"items" not in body and b"\0" not in body
]


@pytest.mark.parametrize("name", BAD_LINES)
def test_a_line_that_is_wrong_is_answered_in_its_place(client_of_module, name):
    body, _ = BAD_BODIES[name]
    content = b'{"text": "a"}\n' + body + b'\n{"text": "b"}\n'
    answer = client_of_module.post("/v1/label/stream", content, "application/x-ndjson")
    first, wrong, last = answer.lines
    assert (answer.status, first["text"], last["text"]) == (200, "a", "b")
    assert (wrong["line"], wrong["error"]["code"]) == (2, "invalid")


@pytest.fixture(scope="module")
def client_of_module():
    from fake import FakePipeline

    with serving(FakePipeline) as client:
        wait_until(lambda: client.get("/readyz").status == 200)
        yield client


VALUES = st.none() | st.booleans() | st.floats() | st.text(max_size=5)
JSON = VALUES | st.lists(VALUES, max_size=3)
FIELDS = st.sampled_from(["text", "tokens", "predicates", "items", "html", "id", "other"])


@given(st.binary(max_size=200) | st.dictionaries(FIELDS, JSON).map(json.dumps).map(str.encode))
@settings(max_examples=200, deadline=None)
def test_no_bytes_make_the_parser_fail(body):
    try:
        message = parse(LabelRequest, body, ServerLimits())
    except ApiError as error:
        statuses = {error.status}
    else:
        statuses = {200} if isinstance(message, BaseModel) else set()
    assert statuses in ({200}, {422})


LARGE_BODIES = {
    "texts": {"texts": ["a"] * 190_000},
    "items": {"items": [{"text": "a"}] * 65_000},
    "tokens": {"tokens": ["a"] * 190_000},
    "tokens that are not": {"tokens": [1] * 300_000},
    "types": {"text": "a", "predicates": ["verb"] * 110_000},
    "indices": {"tokens": ["a"], "predicates": list(range(120_000))},
    "fields": {f"field{k}": 1 for k in range(55_000)},
}


@pytest.mark.parametrize("name", [*LARGE_BODIES, "a field twice"])
def test_no_body_within_the_limit_keeps_the_server_from_others(name):
    if name == "a field twice":
        body = json.dumps(LARGE_BODIES["fields"]).encode().removesuffix(b"}") + b', "field54999": 1}'
    else:
        body = json.dumps(LARGE_BODIES[name]).encode()
    assert 700_000 < len(body) <= ServerLimits().body_bytes

    def answer():
        with suppress(ApiError):
            parse(LabelRequest, body, ServerLimits()).jobs()

    assert is_within(0.5, answer)


def test_a_body_of_another_type_is_415(client):
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        answer = client.post("/v1/label", '{"text": "a"}', kind)
        assert (answer.status, answer.error["code"]) == (415, "unsupported_type")
        assert "add the header Content-Type: application/json" in answer.error["message"]
    assert client.request("POST", "/v1/label", '{"text": "a"}').status == 415
    assert client.post("/v1/label", '{"text": "a"}', "Application/JSON; charset=utf-8").status == 200


def test_a_page_from_another_origin_is_not_allowed(client):
    headers = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    answer = client.request("OPTIONS", "/v1/label", **{k.replace("-", "_"): v for k, v in headers.items()})
    assert answer.status == 405
    assert "access-control-allow-origin" not in answer.headers


def test_query_options_of_a_path_without_options_are_refused(client):
    answer = client.post("/v1/label?predicates=verb", b'{"text": "It rained."}')
    assert (answer.status, answer.error["code"]) == (422, "invalid")
    assert "in the body" in answer.error["message"]


def test_options_of_a_stream_are_checked(client):
    for query in (
        "?html=yes",
        "?predicates=adverb",
        "?predicates=",
        "?color=red",
        "?predicates=1",
        "?min_prob=x",
    ):
        assert client.stream({"text": "a"}, query=query).status == 422


def test_texts_tokens_and_items_have_their_limits(serve):
    with serve(text_chars=10, tokens=3, texts=2) as client:
        for message, reason in (
            ({"text": "a" * 11}, "text 1 has 11 characters; send at most 10"),
            ({"tokens": ["a"] * 4}, "text 1 has 4 tokens; send at most 3"),
            ({"items": [{"text": "a"}, {"tokens": ["a" * 5, "a" * 5]}]}, "text 2 has 12 characters"),
            ({"items": [{"text": "a"}] * 3}, "3 texts in one request; send at most 2"),
        ):
            answer = client.label(**message)
            assert (answer.status, answer.error["code"]) == (413, "too_large")
            assert reason in answer.error["message"]
        assert client.label(items=[{"text": "a" * 10}, {"tokens": ["a"] * 3}]).status == 200
        wrong, right = client.stream({"text": "a" * 11}, {"text": "a"}).lines
        assert wrong["error"]["code"] == "too_large"
        assert right["text"] == "a"


def test_a_body_that_says_it_is_too_large_is_refused_before_it_is_sent(serve):
    with serve(body_bytes=100) as client, client.open() as connection:
        connection.sendall(head("/v1/label", "Content-Length: 100000000", "Expect: 100-continue"))
        answer = read_all(connection)
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert b"more than 100 bytes" in answer


def test_a_body_that_does_not_say_its_size_is_counted(serve):
    with serve(body_bytes=1000) as client:
        body = json.dumps({"text": "a" * 900}).encode()
        assert client.post("/v1/label", iter([body[:500], body[500:]])).status == 200
        answer = client.post("/v1/label", iter([body, b" " * 200]))
        assert (answer.status, answer.error["code"]) == (413, "too_large")


def memory() -> int:
    line = next(
        line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS")
    )
    return 1024 * int(line.split()[1])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to read the memory in use")
@pytest.mark.parametrize("size", [b"Content-Length: 100000000", b"Transfer-Encoding: chunked"])
def test_a_hundred_megabytes_are_refused_with_a_reason_in_little_memory(serve, size):
    piece = b"a" * 1_000_000
    framed = piece if size.startswith(b"Content") else b"F4240\r\n" + piece + b"\r\n"
    with serve() as client:
        client.label(text="warm up")
        before, most = memory(), 0
        with client.open() as connection:
            connection.sendall(head("/v1/label", size.decode()))
            try:
                for _ in range(100):
                    connection.sendall(framed)
                    most = max(most, memory())
            except (BrokenPipeError, ConnectionResetError):
                pass
            answer = read_all(connection)
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert b'"too_large"' in answer
        assert most - before < 10_000_000


def test_under_much_too_much_load_every_answer_is_200_or_429(serve, pipeline):
    with serve(wait_seconds=0.5) as client:
        pipeline.may_go.clear()
        asked = [in_background(client.label, text="It rained. " * 20) for _ in range(50)]
        wait_until(lambda: requests_with(client, 429) >= 40)
        refused = client.label(text="It rained. " * 20)
        assert (refused.status, refused.error["code"]) == (429, "busy")
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        pipeline.may_go.set()
        answers = [result() for result in asked]
        assert {answer.status for answer in answers} == {200, 429}
        assert all("retry-after" in answer.headers for answer in answers if answer.status == 429)
        assert client.label(text="It rained. " * 20).status == 200


def requests_with(client, status: int) -> float:
    start = f'spansrl_requests_total{{method="POST",path="/v1/label",status="{status}"}}'
    lines = client.get("/metrics").body.decode().splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith(start))


def test_what_takes_too_long_is_503_and_leaves_the_queue(serve, pipeline):
    with serve(seconds=0.2) as client:
        pipeline.may_go.clear()
        in_background(client.label, text="runs")
        wait_until(lambda: pipeline.calls)
        answer = client.label(text="waits")
        assert (answer.status, answer.error["code"]) == (503, "timed_out")
        assert int(answer.headers["retry-after"]) >= 1
        pipeline.may_go.set()
        wait_until(lambda: client.label(text="later").status == 200)
        assert not any("waits" in call for call in pipeline.calls)


def test_before_the_model_is_there_the_server_lives_but_is_not_ready(pipeline):
    loaded = threading.Event()

    def load():
        assert loaded.wait(30)
        return pipeline

    with serving(load) as client:
        for answer in (client.get("/readyz"), client.label(text="a"), client.stream({"text": "a"})):
            assert (answer.status, answer.error["code"]) == (503, "loading")
            assert answer.headers["retry-after"] == "1"
        assert client.get("/healthz").status == 200
        loaded.set()
        wait_until(lambda: client.get("/readyz").status == 200)


def test_a_model_that_cannot_be_loaded_is_reported(caplog):
    def load():
        raise OSError("no such model")

    with serving(load) as client:
        wait_until(lambda: client.get("/readyz").error["code"] == "not_loaded")
    assert "no such model" in caplog.text


def test_while_the_server_finishes_it_is_not_ready_and_tells_clients_to_leave(client):
    client.state.begin_shutdown()
    ready = client.get("/readyz")
    assert (ready.status, ready.error["code"], ready.headers["retry-after"]) == (503, "shutting_down", "5")
    stream = client.stream({"text": "a"})
    assert (stream.status, stream.error["code"]) == (503, "shutting_down")
    answer = client.label(text="a")  # it may have been sent before the client could know
    assert (answer.status, answer.headers["connection"]) == (200, "close")
    assert client.get("/healthz").status == 200


def test_a_failure_while_labeling_affects_one_client_only(client, pipeline, caplog):
    pipeline.may_go.clear()
    first = in_background(client.label, text="runs")
    wait_until(lambda: pipeline.calls)
    good, bad, wrong = (in_background(client.label, text=text) for text in ("good", "poison", "wrong"))
    time.sleep(0.2)
    pipeline.may_go.set()
    assert first().status == good().status == 200
    assert (bad().status, bad().error["code"]) == (500, "internal")
    assert "poison" not in bad().error["message"]
    assert (wrong().status, wrong().error["message"]) == (422, "cannot label 'wrong'")
    assert "ZeroDivisionError: poisoned" in caplog.text


def test_an_error_of_ours_is_a_json_500_and_is_logged(client, monkeypatch, caplog):
    def broken() -> None:
        raise LookupError("a bug")

    monkeypatch.setattr(client.state, "check_ready", broken)
    answer = client.get("/readyz")
    assert (answer.status, answer.error["code"]) == (500, "internal")
    assert "content-security-policy" in answer.headers
    assert "a bug" in caplog.text
    assert "a bug" not in answer.body.decode()


def head(path: str, *headers: str) -> bytes:
    lines = (f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", *headers)
    return "".join(f"{line}\r\n" for line in (*lines, "")).encode()


def in_background(function, **arguments):
    """Call it in a thread; what comes back waits for the result."""
    found = []
    thread = threading.Thread(target=lambda: found.append(function(**arguments)))
    thread.start()

    def result():
        thread.join(30)
        return found[0]

    return result
