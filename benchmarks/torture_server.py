"""The part of `make torture` that attacks a real server process; see torture.py."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

READ_SECONDS = 3.0
WAIT_SECONDS = 2.0
HEAD = b"POST /v1/label HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
STREAM = (
    b"POST /v1/label/stream HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)
TEXT = "The committee decided on Tuesday to close the old library, which surprised everyone."
BODY = json.dumps({"text": TEXT}).encode()
REQUEST = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
OVERLOAD = 11  # times the capacity measured just before, so that it is ten times that of the whole run


@dataclass
class Row:
    """One line of the table."""

    name: str
    count: int = 0
    failures: list[str] = field(default_factory=list)
    note: str = ""

    def check(self, good: bool, failure: str) -> None:
        self.count += 1
        if not good:
            self.failures.append(failure[:300])


class Server:
    """A `spansrl serve` process of our own, and simple requests to it."""

    def __init__(self, *options: object) -> None:
        command = [sys.executable, "-m", "spansrl", "serve", "--port", "0", "--threads", "1"]
        self.process = subprocess.Popen(
            [*command, *map(str, options)], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        match = re.search(r"http://127\.0\.0\.1:(\d+) ", line)
        if match is None:
            sys.exit(f"the server does not start: {line}{self.process.stderr.read()}")
        self.port = int(match[1])
        end = time.monotonic() + 60
        while self.request("GET", "/readyz")[0] != 200 and time.monotonic() < end:
            time.sleep(0.1)

    def request(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=90)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def label(self, text: str = "Ann left.") -> tuple[int, float]:
        """Status and seconds."""
        began = time.monotonic()
        status, _ = self.request("POST", "/v1/label", json.dumps({"text": text}).encode())
        return status, time.monotonic() - began

    def open(self, data: bytes = b"") -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        connection.sendall(data)
        return connection

    def status_line(self, name: str) -> float:
        line = next(
            line
            for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
            if line.startswith(name)
        )
        return float(line.split()[1]) / 1024

    def cpu(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(90)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


@contextmanager
def server(*options: object) -> Iterator[Server]:
    found = Server(*options)
    try:
        yield found
    finally:
        if found.process.poll() is None:
            found.process.kill()
        found.process.communicate()


def read_all(connection: socket.socket) -> bytes:
    found = b""
    with suppress(ConnectionResetError):
        while piece := connection.recv(65536):
            found += piece
    return found


def long_texts(target: Server, scale: float) -> Iterator[Row]:
    """F1: one text must not block the others, and abandoned work must stop."""
    row = Row("short request while 'ran ' * 1500 is labeled (limit 1 s)")
    abandoned = Row("CPU of an abandoned request after 1 s (limit 0.3 s)")
    body = json.dumps({"text": "ran " * 1500}).encode()
    for _ in range(max(1, round(2 * scale))):
        connection = target.open(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        time.sleep(1)
        slowest = (0.0, 0.0)
        for _ in range(5):
            before = target.cpu()
            status, seconds = target.label()
            slowest = max(slowest, (seconds, target.cpu() - before))
            row.check(status == 200 and seconds < 1, f"status {status} after {seconds:.2f} s")
        row.note = "slowest {:.2f} s, in which the server had {:.2f} CPU s".format(*slowest)
        connection.close()
        time.sleep(1)
        before = target.cpu()
        time.sleep(2)
        spent = target.cpu() - before
        abandoned.check(spent < 0.3, f"{spent:.2f} CPU s in 2 s")
        abandoned.note = f"{spent:.2f} CPU s"
    yield row
    yield abandoned


MALFORMED = (
    b"nonsense\r\n\r\n",
    b"GET  /  HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost:80@evil.example\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nbad header\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 200_000 + b"\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
    HEAD + b"Content-Length: -1\r\n\r\n",
    HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    HEAD + b"Transfer-Encoding: gzip\r\n\r\n",
    HEAD + b"Content-Length: 26\r\n\r\n" + b'{"text": "a", "text": "b"}',
    HEAD + b"Content-Length: 3\r\n\r\n\xff\xff\xff",
    b"DELETE /v1/label HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
)


def malformed(target: Server, scale: float) -> Iterator[Row]:
    """F9: every refusal is JSON."""
    row = Row("malformed and ambiguous HTTP: refused, in JSON")
    for data in MALFORMED * max(1, round(2 * scale)):
        with target.open() as connection, suppress(BrokenPipeError):
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            head, _, body = read_all(connection).partition(b"\r\n\r\n")
            good = head[:10] == b"HTTP/1.1 4" and b'"error"' in body
            row.check(good, f"{data[:60]!r}: {head[:40]!r} {body[:60]!r}")
    yield row
    row = Row("random JSON bodies: 200 or 4xx, in JSON")
    choose = random.Random(1)
    values = ("a", "", 1, None, True, [], ["a"], [0], {}, "verb", ["noun"], "\0", 1e9)
    names = ("text", "texts", "tokens", "items", "predicates", "id", "html", "svg", "explain", "txt")
    for _ in range(round(200 * scale)):
        message = {name: choose.choice(values) for name in choose.sample(names, choose.randint(0, 4))}
        status, body = target.request("POST", "/v1/label", json.dumps(message).encode())
        good = status in (200, 422) and isinstance(json.loads(body), dict)
        row.check(good, f"{message}: {status} {body[:80]!r}")
    yield row


def slow_clients(target: Server, scale: float) -> Iterator[Row]:
    """Slow heads, slow bodies, streams that trickle: cut in time, while others are served."""
    size = max(8, round(50 * scale))
    row = Row("slow heads and bodies: cut in time, others served")
    began = time.monotonic()
    slow = [target.open(b"GET / HTTP/1.1\r\nX: ") for _ in range(size)]
    slow += [target.open(HEAD + b"Content-Length: 1000\r\n\r\n{") for _ in range(size)]
    ended: set[int] = set()
    while len(ended) < len(slow) and time.monotonic() - began < 4 * READ_SECONDS + 10:
        status, seconds = target.label()
        row.check(status == 200, f"a good client got {status} after {seconds:.1f} s")
        for k, connection in enumerate(slow):
            if k not in ended and not _trickle(connection, b"x"):
                ended.add(k)
        time.sleep(0.3)
    row.count += len(slow)
    if len(ended) < len(slow):
        row.failures.append(f"{len(slow) - len(ended)} of {len(slow)} are still open")
    row.note = f"all cut after {time.monotonic() - began:.0f} s (read timeout {READ_SECONDS:g} s)"
    for connection in slow:
        connection.close()
    yield row
    row = Row("eight trickling streams: cut, a ninth is served")
    streams = [target.open(STREAM) for _ in range(8)]
    end = time.monotonic() + 2 * READ_SECONDS + 2
    while time.monotonic() < end:
        for connection in streams:
            with suppress(OSError):
                connection.sendall(b"1\r\n \r\n")
        time.sleep(0.5)
    body = b'{"text": "Ann left."}\n'
    with target.open(STREAM + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)) as connection:
        row.check(connection.recv(12) == b"HTTP/1.1 200", "the ninth stream is refused")
    for connection in streams:
        row.check(b"too_slow" in read_all(connection), "a trickling stream was not told")
        connection.close()
    yield row


def _trickle(connection: socket.socket, data: bytes) -> bool:
    """Send one more byte; return whether the connection is still open."""
    connection.setblocking(False)
    try:
        connection.sendall(data)
        return connection.recv(65536) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def large_bodies(target: Server, scale: float) -> Iterator[Row]:
    """100 MB are refused in little memory, and the client sees why."""
    row = Row("bodies of 100 MB: 413, under 10 MB of memory")
    piece = b"a" * 1_000_000
    target.request("POST", "/v1/label", piece * 2)  # warm up
    for framing in (b"Content-Length: 100000000", b"Transfer-Encoding: chunked") * max(1, round(scale)):
        before = target.status_line("VmRSS")
        data = piece if framing.startswith(b"Content") else b"F4240\r\n" + piece + b"\r\n"
        with target.open(HEAD + framing + b"\r\n\r\n") as connection:
            with suppress(ConnectionResetError, BrokenPipeError):
                for _ in range(100):
                    connection.sendall(data)
            answer = read_all(connection)
        grown = target.status_line("VmRSS") - before
        row.check(answer.startswith(b"HTTP/1.1 413"), f"{framing!r}: {answer[:40]!r}")
        row.check(grown < 10, f"{framing!r}: {grown:.1f} MB more")
        row.note = f"{grown:+.1f} MB"
    yield row


UNKNOWN_KEYS = b"{" + b",".join(b'"a%d":1' % k for k in range(90_000)) + b"}"
HOSTILE_BODIES = {
    "unknown keys": UNKNOWN_KEYS,
    "empty lists": b'{"text": [' + b",".join([b"[]"] * 330_000) + b"]}",
    "tokens and indices": json.dumps({"tokens": ["a"] * 100_000, "predicates": list(range(60_000))}).encode(),
    "a field twice": b'{"text": "a", ' + b",".join(b'"b%d":1' % (k % 80_000) for k in range(90_000)) + b"}",
}
BODY_CLIENTS = 32


async def send_again(target: Server, body: bytes, stop: asyncio.Event) -> None:
    """A client that sends a body again as soon as it is answered."""
    reader, writer = await asyncio.open_connection("127.0.0.1", target.port)
    with suppress(OSError, asyncio.IncompleteReadError):
        while not stop.is_set():
            writer.write(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            await reader.readexactly(int(head.partition("content-length:")[2].split()[0]))
    writer.close()


def parsing(target: Server, scale: float) -> Iterator[Row]:
    """F1 of the second review: bodies that are expensive to parse, from 32 clients at once."""
    for name, body in HOSTILE_BODIES.items():
        row = Row(f"short request beside {BODY_CLIENTS} clients with 1 MB of {name} (limit 1 s)")
        load = Load()

        async def scenario(body: bytes = body, row: Row = row, load: Load = load) -> None:
            stop = asyncio.Event()
            hostile = [asyncio.create_task(send_again(target, body, stop)) for _ in range(BODY_CLIENTS)]
            await asyncio.sleep(0.5)
            client = Client(target.port, load)
            for _ in range(max(5, round(10 * scale))):
                began = time.monotonic()
                await client.ask()
                seconds = time.monotonic() - began
                row.check(seconds < 1, f"after {seconds:.2f} s: {dict(load.statuses)}")
            client.close()
            stop.set()
            await asyncio.gather(*hostile)

        asyncio.run(scenario())
        if set(load.statuses) != {"200"}:
            row.failures.append(f"{dict(load.statuses)} {dict(load.problems)}")
        row.note = f"p50 {load.percentile(0.5):.2f} s, slowest {load.percentile(1):.2f} s"
        yield row


SURROGATES = (rb"\ud800", rb"\udfff", rb"a\udc00b")


def surrogates(target: Server, scale: float) -> Iterator[Row]:
    """F5: halves of surrogate pairs anywhere are refused in JSON, and cost no other line its answer."""
    row = Row("lone surrogates in requests and streams: refused in JSON, other lines answered")
    choose = random.Random(5)
    forms = (
        b'{"text": "%s"}',
        b'{"text": "a", "%s": 1}',
        b'{"text": "a", "%s": 1, "%s": 2}',
        b'{"text": "a", "id": "%s"}',
        b'{"tokens": ["%s"]}',
        b'{"tokens": ["a"], "predicates": ["%s"]}',
        b'{"text": "a", "decoder": "%s"}',
    )
    for _ in range(round(50 * scale)):
        form, half = choose.choice(forms), choose.choice(SURROGATES)
        body = form.replace(b"%s", half)
        status, answer = target.request("POST", "/v1/label", body)
        row.check(status == 422 and b'"error"' in answer, f"{body!r}: {status} {answer[:60]!r}")
        lines = b'{"text": "Ann left."}\n%s\n{"text": "Bo ate."}\n' % body
        with target.open(STREAM + b"%x\r\n%s\r\n0\r\n\r\n" % (len(lines), lines)) as connection:
            connection.shutdown(socket.SHUT_WR)
            found = read_all(connection)
        good = b"Ann left." in found and b"Bo ate." in found and b'"line": 2, "error"' in found
        row.check(good, f"stream with {body!r}: {found[-80:]!r}")
    yield row


def unread(target: Server, scale: float) -> Iterator[Row]:
    """F6: answers that are much larger than their requests, and clients that read them slowly or never."""
    row = Row("amplification: 20 kB of text with all drawings is refused early")
    body = json.dumps({"text": "Take. " * 3300, "html": True, "svg": True, "explain": True}).encode()
    began = time.monotonic()
    status, answer = target.request("POST", "/v1/label", body)
    row.check(status == 413 and b"answer_too_large" in answer, f"{status}, {len(answer)} bytes")
    row.note = f"{len(body):,} bytes in, {len(answer):,} out, {time.monotonic() - began:.1f} s"
    yield row
    row = Row("clients that read 2 kB per second of their answers: cut off, others served")
    body = json.dumps({"text": TEXT * 350, "html": True}).encode()
    before = target.status_line("VmRSS")
    slow = [target.open(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body) for _ in range(6)]
    ended: set[int] = set()
    began = time.monotonic()
    while len(ended) < len(slow) and time.monotonic() - began < 90:
        status, seconds = target.label()
        row.check(status == 200, f"a good client got {status} after {seconds:.1f} s")
        for k, connection in enumerate(slow):
            if k not in ended and not _reads(connection, 1000):
                ended.add(k)
        time.sleep(0.5)
    row.count += len(slow)
    if len(ended) < len(slow):
        row.failures.append(f"{len(slow) - len(ended)} of {len(slow)} are still served")
    row.note = (
        f"all cut after {time.monotonic() - began:.0f} s, {target.status_line('VmRSS') - before:+.0f} MB"
    )
    for connection in slow:
        connection.close()
    yield row


def _reads(connection: socket.socket, size: int) -> bool:
    """Read a little; return whether the connection is still open."""
    connection.setblocking(False)
    try:
        return connection.recv(size) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def half_closed(target: Server, scale: float) -> Iterator[Row]:
    """F13: clients that close their sending side after a request get its answer."""
    row = Row("half-closed clients: answered")
    for k in range(round(50 * scale)):
        with target.open(REQUEST * (1 + k % 3)) as connection:
            connection.shutdown(socket.SHUT_WR)
            found = read_all(connection).count(b"HTTP/1.1 200")
            row.check(found == 1 + k % 3, f"{found} answers for {1 + k % 3} requests")
    yield row


@dataclass
class Load:
    """What the clients of a load test saw."""

    statuses: Counter[str] = field(default_factory=Counter)
    latencies: list[float] = field(default_factory=list)  # of 200
    problems: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0  # until the last answer
    offering: float = 0.0  # seconds until the last request, for `offer`

    def rate(self) -> float:
        return self.statuses["200"] / self.seconds if self.seconds else 0.0

    def add(self, other: Load) -> None:
        self.statuses += other.statuses
        self.seconds += other.seconds

    def percentile(self, share: float) -> float:
        ordered = sorted(self.latencies) or [0.0]
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Client:
    """One connection that stays open between requests."""

    def __init__(self, port: int, load: Load) -> None:
        self.port, self.load = port, load
        self.reader: asyncio.StreamReader | None = None

    async def ask(self) -> bool:
        """Send a request and note its answer; return whether the connection may be used again."""
        began = time.monotonic()
        try:
            if self.reader is None or self.reader.at_eof():  # idle for too long
                self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
            self.writer.write(REQUEST)
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
            await self.reader.readexactly(int(head.partition("content-length:")[2].split()[0]))
        except (OSError, asyncio.IncompleteReadError) as error:
            self.load.problems[type(error).__name__] += 1
            return False
        status = head.split()[1]
        self.load.statuses[status] += 1
        if status == "200":
            self.load.latencies.append(time.monotonic() - began)
        elif "retry-after" not in head:
            self.load.problems["no Retry-After"] += 1
        return "connection: close" not in head

    def close(self) -> None:
        if self.reader is not None:
            self.writer.close()


async def saturate(port: int, load: Load, clients: int, seconds: float) -> None:
    """Clients that ask again as soon as they are answered, until the time is over."""
    began = time.monotonic()

    async def run(client: Client) -> None:
        while time.monotonic() < began + seconds and await client.ask():
            pass
        client.close()

    await asyncio.gather(*(run(Client(port, load)) for _ in range(clients)))
    load.seconds += time.monotonic() - began


async def offer(port: int, load: Load, rate: float, seconds: float) -> None:
    """Begin `rate` requests per second, however long the answers to earlier ones take."""
    idle: list[Client] = []
    began = time.monotonic()

    async def one() -> None:
        client = idle.pop() if idle else Client(port, load)
        if await client.ask():
            idle.append(client)
        else:
            client.close()

    async with asyncio.TaskGroup() as group:
        for k in range(round(rate * seconds)):
            await asyncio.sleep(began + k / rate - time.monotonic())
            group.create_task(one())
        load.offering += time.monotonic() - began
    load.seconds += time.monotonic() - began
    for client in idle:
        client.close()


def overload(target: Server, scale: float) -> Iterator[Row]:
    """F3: at ten times its capacity the server keeps working and refuses the rest at once."""
    row = Row("ten times overload: only 200, 429 and 503, no resets")
    speed, wait = Row("overload: goodput (at least 90 % of capacity)"), Row("overload: p99 of accepted")
    capacity, heavy, spent = Load(), Load(), 0.0
    seconds = 5 * max(1.0, scale)
    for _ in range(3):  # in turns, so that other work on the machine affects both
        before, cpu = Load(), target.cpu()
        asyncio.run(saturate(target.port, before, 8, seconds))
        capacity.add(before)
        spent += target.cpu() - cpu
        asyncio.run(offer(target.port, heavy, OVERLOAD * before.rate(), seconds))
    row.count = sum(heavy.statuses.values())
    unexpected = set(heavy.statuses) - {"200", "429", "503"}
    row.failures += [f"{heavy.statuses[status]} × {status}" for status in unexpected]
    row.failures += [f"{count} × {problem}" for problem, count in heavy.problems.items()]
    offered = row.count / heavy.offering / max(1e-9, capacity.rate())
    if offered < 10:
        row.failures.append(f"only {offered:.1f} times the capacity was offered")
    found = ", ".join(f"{count} × {status}" for status, count in sorted(heavy.statuses.items()))
    row.note = f"{offered:.1f} times the capacity offered: {found}"
    share = heavy.rate() / max(1e-9, capacity.rate())
    speed.check(share >= 0.9, f"{share:.0%} of the capacity")
    cores = len(os.sched_getaffinity(0))  # with one, refusing takes time from labeling
    got = f"the server had {spent / capacity.seconds:.2f} CPU s per second, {cores} core(s)"
    speed.note = f"{share:.0%} of {capacity.rate():.0f} requests per second; {got}"
    slowest = heavy.percentile(0.99)
    wait.check(slowest < 2 * WAIT_SECONDS, f"{slowest:.1f} s")
    wait.note = f"{slowest:.2f} s (limit {2 * WAIT_SECONDS:g} s), p50 {heavy.percentile(0.5):.2f} s"
    yield from (row, speed, wait)


def sigterms(scale: float) -> Iterator[Row]:
    """F2: SIGTERM under load, with clients that keep their connections."""
    row = Row("SIGTERM under load: exit code 0, every request answered")
    answered = 0
    for _ in range(max(2, round(100 * scale))):
        with server() as target:
            load = Load()

            async def scenario(target: Server = target, load: Load = load) -> None:
                running = asyncio.create_task(saturate(target.port, load, 24, 60.0))
                await asyncio.sleep(random.uniform(0.3, 1.5))
                target.process.send_signal(signal.SIGTERM)
                await running

            asyncio.run(scenario())
            code = target.process.wait(90)
            good = code == 0 and not load.problems and set(load.statuses) <= {"200", "429", "503"}
            row.check(good, f"exit code {code}, {dict(load.problems)}, {dict(load.statuses)}")
            answered += sum(load.statuses.values())
    row.note = f"{answered} requests"
    yield row


ON_ONE_SERVER = {
    "long-texts": long_texts,
    "malformed": malformed,
    "slow-clients": slow_clients,
    "large-bodies": large_bodies,
    "parsing": parsing,
    "surrogates": surrogates,
    "unread": unread,
    "half-closed": half_closed,
    "overload": overload,
}
ATTACKS = (*ON_ONE_SERVER, "sigterms")


def attacks(scale: float, chosen: Collection[str]) -> Iterator[Row]:
    """The chosen ones of ATTACKS, most of them against one server."""
    if on_one := [attack for name, attack in ON_ONE_SERVER.items() if name in chosen]:
        with server("--read-timeout", READ_SECONDS, "--max-wait", WAIT_SECONDS) as target:
            target.label(TEXT)
            for attack in on_one:
                yield from attack(target, scale)
            row = Row("the same server afterwards: answers, ends with exit code 0")
            row.check(target.label()[0] == 200, "it does not answer")
            row.note = f"peak {target.status_line('VmHWM'):.0f} MB"
            row.check((code := target.stop()) == 0, f"exit code {code}")
            yield row
    if "sigterms" in chosen:
        yield from sigterms(scale)
