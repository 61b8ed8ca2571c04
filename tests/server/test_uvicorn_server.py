"""`spansrl serve` as a process: how it starts, what it refuses, and that it ends in good order."""

from __future__ import annotations

import json
import math
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path

import pytest
from client import Client, read_all

from serving import wait_until
from spansrl.cli import serve as serve_module
from spansrl.errors import ConfigError, MissingExtraError
from spansrl.server.limits import ServerLimits
from spansrl.server.middleware import SecurityMiddleware
from spansrl.server.state import ServerState
from spansrl.server.uvicorn_server import allowed_hosts, listen

# The program with a pipeline that takes a moment for each text.
PROGRAM = f"""
import sys, time
sys.path.insert(0, {str(Path(__file__).parent)!r})
import spansrl
from fake import FakePipeline

def load(path=None, **options):
    if path is not None:
        raise spansrl.errors.ModelError(f"{{path}}: not a model")
    pipeline = FakePipeline()
    pipeline.seconds = 0.005
    return pipeline

spansrl.load = load
from spansrl.cli import main
main()
"""


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-c", PROGRAM, "serve", "--port", "0", *map(str, arguments)]


@contextmanager
def process(*arguments: object):
    """The server as a process, and a client of it."""
    running = subprocess.Popen(command(*arguments), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        line = running.stderr.readline()
        found = re.fullmatch(r"spansrl: listening on http://127\.0\.0\.1:(\d+) \(stop with Ctrl-C\)\n", line)
        assert found, line + running.stderr.read()
        client = Client(int(found[1]))
        wait_until(lambda: client.get("/readyz").status == 200)
        yield running, client
    finally:
        running.kill()
        running.communicate()


def test_sigterm_ends_an_idle_server_with_exit_code_0():
    with process() as (running, _):
        running.send_signal(signal.SIGTERM)
        assert running.wait(10) == 0
        assert running.stdout.read() == running.stderr.read() == ""


def test_ctrl_c_ends_the_server_with_exit_code_130():
    with process() as (running, _):
        running.send_signal(signal.SIGINT)
        assert running.wait(10) == 130
        assert running.stderr.read() == "\n"  # after the ^C that a terminal shows


def test_sigterm_under_load_loses_no_answer():
    answers = []

    def ask() -> None:
        while True:
            try:
                with client.open() as connection:
                    connection.sendall(request)
                    answer = read_all(connection)
            except ConnectionError:
                return  # nobody listens any more
            if not answer:
                return  # the server had not taken the request when it stopped listening
            answers.append(answer)

    body = json.dumps({"text": "It rained."})
    request = (
        "POST /v1/label HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    ).encode()
    with process() as (running, client):
        threads = [threading.Thread(target=ask) for _ in range(16)]
        for thread in threads:
            thread.start()
        time.sleep(1)
        running.send_signal(signal.SIGTERM)
        assert running.wait(20) == 0
        for thread in threads:
            thread.join(10)
        assert running.stderr.read() == ""
    assert {answer[9:12] for answer in answers} <= {b"200", b"503"}
    assert all(answer.endswith(b"}\n") for answer in answers)
    assert sum(answer[9:12] == b"200" for answer in answers) > 20


def test_sigterm_waits_for_a_request_that_is_running():
    with process() as (running, client):
        found = []
        items = [{"text": "It rained."}] * 50  # about a second's work
        thread = threading.Thread(target=lambda: found.append(client.label(items=items)))
        thread.start()
        wait_until(lambda: "spansrl_wait_seconds 0.0" not in client.get("/metrics").body.decode() or found)
        time.sleep(0.1)
        running.send_signal(signal.SIGTERM)
        assert running.wait(20) == 0
        thread.join(10)
        assert found[0].status == 200
        assert len(found[0].json["results"]) == 50


def test_sigterm_ends_a_stream_after_what_it_has_begun():
    with process() as (running, client):
        with client.open() as connection:
            body = b'{"text": "It rained."}\n'
            connection.sendall(
                b"POST /v1/label/stream HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
                b"Content-Type: application/x-ndjson\r\n\r\n" + f"{len(body):x}\r\n".encode() + body + b"\r\n"
            )
            answer = connection.makefile("rb")
            while not answer.readline().startswith(b"{"):
                pass
            running.send_signal(signal.SIGTERM)
            rest = answer.read()
        assert b'"line": 2, "error": {"code": "shutting_down"' in rest
        assert running.wait(10) == 0


def test_a_model_that_cannot_be_loaded_is_one_line_and_exit_code_1():
    done = subprocess.run(
        command("--model", "no/model"), capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 1
    listening, error = done.stderr.splitlines()
    assert listening.startswith("spansrl: listening on ")
    assert error == "spansrl: error: no/model: not a model"


def test_a_port_that_is_taken_is_one_line_and_exit_code_1():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run(
            command("--port", port), capture_output=True, text=True, timeout=30, check=False
        )
    assert done.returncode == 1
    expected = (
        f"cannot listen on 127.0.0.1, port {port}: Address already in use; try another --port or --host"
    )
    assert done.stderr == f"spansrl: error: {expected}\n"


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("", "the host is empty; use 127.0.0.1, or 0.0.0.0 for all interfaces"),
        ("no host", "cannot listen on no host, port 0: Name or service not known; try another"),
        ("a..b", "cannot listen on a..b, port 0: "),
    ],
)
def test_an_invalid_host_is_refused_with_a_reason(host, reason):
    with pytest.raises(ConfigError, match=f"^{re.escape(reason)}"):
        listen(host, 0)


@pytest.mark.parametrize("seconds", [math.nan, math.inf])
def test_an_infinite_limit_is_refused(seconds):
    with pytest.raises(ConfigError, match=f"the limit seconds is {seconds}"):
        ServerLimits(seconds=seconds)


def test_a_limit_of_zero_is_refused():
    done = subprocess.run(command("--max-texts", 0), capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 2
    with pytest.raises(ConfigError, match="the limit seconds is 0"):
        ServerLimits(seconds=0)


def test_without_the_extra_the_command_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr("spansrl.cli.serve.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'spansrl\[serve\]'"):
        serve_module.command.main([], standalone_mode=False)


def test_every_limit_is_an_option():
    options = {option.name: option.default for option in serve_module.command.params}
    for limit in fields(ServerLimits):
        assert options[limit.name] == getattr(ServerLimits(), limit.name)


@pytest.mark.parametrize(
    ("host", "names", "header", "allowed"),
    [
        ("127.0.0.1", (), "localhost:8000", True),
        ("127.0.0.1", (), "127.0.0.1:8000", True),
        ("127.0.0.1", (), "LOCALHOST", True),
        ("::1", (), "[::1]:8000", True),
        ("127.0.0.1", (), "evil.example:8000", False),
        ("127.0.0.1", (), "", False),
        ("127.0.0.1", ("srl.example.org",), "srl.example.org", True),
        ("0.0.0.0", (), "anything.example", True),
        ("0.0.0.0", ("srl.example.org",), "anything.example", False),
        ("0.0.0.0", ("SRL.example.org",), "srl.example.org", True),
        ("0.0.0.0", ("srl.example.org:8000",), "srl.example.org:8000", True),
        ("fd00::5", ("srl.example.org",), "[fd00::5]:8000", True),
        ("0.0.0.0", ("[fd00::5]:8000",), "[fd00::5]", True),
        ("127.0.0.1", (), "localhost:80@evil.example", False),
        ("127.0.0.1", (), "localhost:80:80", False),
        ("127.0.0.1", (), "localhost:", False),
        ("127.0.0.1", (), "[::1", False),
        ("127.0.0.1", (), "evil.example/localhost", False),
        ("0.0.0.0", (), "anything.example@evil.example", False),
    ],
)
def test_only_names_that_belong_to_the_server_are_answered(host, names, header, allowed):
    state = ServerState(lambda: None, ServerLimits(), print, allowed_hosts(host, names))
    app = SecurityMiddleware(answer_200, state=state, paths=())
    assert (status_of(app, header) == 200) == allowed


async def answer_200(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def status_of(app, host: str) -> int:
    sent = []

    async def send(message):
        sent.append(message)

    async def receive():
        raise AssertionError("nobody reads the body")

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", host.encode())]}
    with pytest.raises(StopIteration):
        app(scope, receive, send).send(None)
    return sent[0]["status"]
