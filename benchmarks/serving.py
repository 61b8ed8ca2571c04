"""Measure the server under full load on loopback, compared with labeling the same texts in-process.

    python benchmarks/serving.py [--model MODEL_DIRECTORY] [--seconds 60] [--clients 32] [--threads 1]

`spansrl serve` runs in a process of its own; clients in this one send one text each, as fast as they get
answers. Load and in-process labeling take turns, so that other work on the machine affects both. The exit
code is 1 if any answer was not 200.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import spansrl
from measure import table
from spansrl.corpora.ewt import build_ewt

SAMPLE = Path(__file__).resolve().parents[1] / "examples" / "sample"
HEAD = "POST /v1/label HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
MAX_REQUESTS = 1_000_000
ROUNDS = 4


@dataclass
class Load:
    """What the clients saw; `cpu` is the processor time of the server."""

    statuses: Counter[str] = field(default_factory=Counter)
    latencies: list[float] = field(default_factory=list)
    sentences: int = 0
    seconds: float = 0.0
    cpu: float = 0.0

    def percentile(self, share: float) -> str:
        """A latency that so many answers did not exceed, in milliseconds."""
        ordered = sorted(self.latencies)
        return f"{1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]:.0f}"


def sample_texts(number: int = 100) -> list[tuple[str, int]]:
    """Texts of one to four sentences from the sample corpus, with the numbers of their sentences."""
    corpus = build_ewt(str(SAMPLE / "propbank-release"), str(SAMPLE / "UD_English-EWT"))
    sentences = [" ".join(sent.tokens) for _, sent in corpus.sentences]
    choose = random.Random(1)
    sizes = [choose.randint(1, 4) for _ in range(number)]
    return [("\n\n".join(choose.choices(sentences, k=size)), size) for size in sizes]


def rate_in_process(pipeline: spansrl.Pipeline, texts: list[tuple[str, int]], seconds: float) -> float:
    """Sentences per second through `Pipeline.pipe`."""
    began, done = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        done += sum(len(document.sentences) for document in pipeline.pipe(text for text, _ in texts))
    return done / (time.perf_counter() - began)


def cpu_seconds(process: int) -> float:
    """Processor time that another process has used, or nan where there is no /proc."""
    path = Path(f"/proc/{process}/stat")
    if not path.exists():
        return float("nan")
    fields = path.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def server(model: Path | None, threads: int) -> Iterator[tuple[int, int]]:
    """The port and the process of a server."""
    command = [sys.executable, "-m", "spansrl", "serve", "--port", "0", "--threads", str(threads)]
    command += [] if model is None else ["--model", str(model)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        if "listening on" not in line:
            sys.exit(line + process.stderr.read())
        yield int(line.split(":")[3].split()[0]), process.pid
    finally:
        process.terminate()
        process.wait(30)


async def exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, text: str
) -> tuple[str, bytes]:
    """One request over an open connection: status and body."""
    body = json.dumps({"text": text}).encode()
    writer.write(f"{HEAD}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    size = int(head.lower().partition("content-length:")[2].split()[0])
    return head.split()[1], await reader.readexactly(size)


async def client(port: int, texts: Iterator[tuple[str, int]], load: Load, end: float) -> None:
    """Ask again and again until the time is over."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while (began := time.perf_counter()) < end and len(load.latencies) < MAX_REQUESTS:
        text, sentences = next(texts)
        status, _ = await exchange(reader, writer, text)
        load.latencies.append(time.perf_counter() - began)
        load.statuses[status] += 1
        load.sentences += sentences
    writer.close()


async def full_load(
    port: int, texts: list[tuple[str, int]], clients: int, load: Load, seconds: float
) -> None:
    """All clients at once."""
    endless = itertools.cycle(texts)
    began = time.perf_counter()
    await asyncio.gather(*(client(port, endless, load, began + seconds) for _ in range(clients)))
    load.seconds += time.perf_counter() - began


async def warm_up(port: int, texts: list[tuple[str, int]]) -> None:
    """Wait for the model, and let it see a few texts."""
    while (await ready(port)) != "200":
        await asyncio.sleep(0.1)
    await client(port, itertools.cycle(texts), Load(), time.perf_counter() + 2)


async def ready(port: int) -> str:
    """The status of /readyz."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    answer = await reader.read()
    writer.close()
    return answer.split()[1].decode()


def main() -> None:
    """Print the rates, the latencies and the statuses."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    texts = sample_texts()
    share = options.seconds / ROUNDS
    pipeline = spansrl.load(options.model, threads=options.threads)
    rates, load, cpu_alone = [], Load(), 0.0
    with server(options.model, options.threads) as (port, process):
        rate_in_process(pipeline, texts, 2)  # warm up
        asyncio.run(warm_up(port, texts))
        for _ in range(ROUNDS):
            began = time.process_time(), time.perf_counter()
            rates.append(rate_in_process(pipeline, texts, share / 2))
            busy = (time.process_time() - began[0]) / (time.perf_counter() - began[1])
            cpu_alone += busy / rates[-1] / ROUNDS
            load.cpu -= cpu_seconds(process)
            asyncio.run(full_load(port, texts, options.clients, load, share))
            load.cpu += cpu_seconds(process)
    alone, served = sum(rates) / len(rates), load.sentences / load.seconds
    print(f"{options.clients} clients, {options.threads} thread(s), {load.seconds:.0f} s at full load\n")
    rows = [
        ["in-process, sentences per second", f"{alone:.0f} ({min(rates):.0f} to {max(rates):.0f})"],
        ["served, sentences per second", f"{served:.0f}"],
        ["served : in-process", f"{served / alone:.0%}"],
        [
            "processor time per sentence (ms), served : in-process",
            f"{1000 * load.cpu / load.sentences:.2f} : {1000 * cpu_alone:.2f}",
        ],
        ["requests per second", f"{len(load.latencies) / load.seconds:.0f}"],
        ["p50, p99 (ms)", f"{load.percentile(0.5)}, {load.percentile(0.99)}"],
        ["answers", ", ".join(f"{count} × {status}" for status, count in load.statuses.items())],
    ]
    print(table(["what", "found"], rows))
    sys.exit(set(load.statuses) != {"200"})


if __name__ == "__main__":
    main()
