"""Attacks on files and corpus jobs for torture.py: hostile input, damaged and changed files, killed jobs."""

from __future__ import annotations

import gzip
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from spansrl.jobs import InputOptions
from spansrl.jobs.documents import InputReader
from torture_server import Row

GOOD = "Ann sold the letters to Bob."
COMMAND = [sys.executable, "-m", "spansrl", "corpus", "--no-frames", "--workers", "2", "--shard-chars", "300"]
MEMORY = 1 << 30  # bytes that no process may need, whatever the input
MUTATED_SECONDS = 30


def corpus(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `spansrl corpus` in a directory."""
    return subprocess.run(
        [*COMMAND, *arguments], cwd=directory, capture_output=True, text=True, timeout=600, check=False
    )


def content(out: Path) -> dict[str, bytes]:
    """The rows and errors of a job."""
    return {path.name: path.read_bytes() for path in [*sorted(out.glob("rows/*")), out / "errors.jsonl"]}


def hostile_folder(folder: Path, megabytes: int) -> int:
    """Fill a folder with good and hostile files; return how many documents are good."""
    folder.mkdir()
    with gzip.open(folder / "endless-line.csv.gz", "wb", 1) as file:
        file.write(b"text\nAnn left.\n")
        for _ in range(megabytes):
            file.write(b"a" * 2**20)
    with gzip.open(folder / "endless-header.csv.gz", "wb", 1) as file:
        for _ in range(megabytes):
            file.write(b"a" * 2**20)
    with gzip.open(folder / "endless-row.csv.gz", "wb", 1) as file:
        file.write(b"id,text\n1,Ann left.\n")  # what follows is one row of more than 16 MiB
        for _ in range(17):
            file.write(b'"a\n",' * (2**20 // 5))
    with gzip.open(folder / "endless.jsonl.gz", "wb", 1) as file:
        file.write(b'{"text": "')
        for _ in range(megabytes):
            file.write(b"a" * 2**20)
    (folder / "endless-text.txt").symlink_to("/dev/zero")
    os.mkfifo(folder / "fifo.jsonl")
    (folder / "header.csv").write_bytes(b"id," + b"x" * 5_000_000 + b"\n1,y\n")
    (folder / "key.jsonl").write_text(json.dumps({"\ud800" + "x" * 5_000_000: 1}) + "\n")
    (folder / "surrogate.jsonl").write_text('{"text": "\\ud800"}\n{"text": "Bob left."}\n')
    (folder / "latin.csv").write_bytes(b"id,\xfcber\n1,Ann left.\n")
    table = "id,text\n1,\u00dcber all Ann sold it.\n"
    for encoding in ("utf-8-sig", "utf-16", "utf-32"):
        (folder / f"{encoding}.csv").write_bytes(table.encode(encoding))
    (folder / "utf-16-le.csv").write_bytes(table.encode("utf-16-le"))
    (folder / "damaged.jsonl.gz").write_bytes(gzip.compress(b'{"text": "Ann left."}\n' * 1000)[:40])
    (folder / "good.jsonl").write_text(json.dumps({"text": GOOD}) + "\n")
    return 2 + 1 + 3 + 1  # before the endless row and line; beside the surrogate; with a mark; good.jsonl


def hostile_input(scale: float, directory: Path) -> Iterator[Row]:
    """One job over everything that a folder can hold against it."""
    row = Row(
        "a corpus of endless, special, damaged and wrongly encoded files: the good documents are labeled"
    )
    good = hostile_folder(directory / "hostile", round(200 * min(scale, 5)))
    done = corpus(directory, "hostile", "--out", "hostile-out")
    out = directory / "hostile-out"
    row.check(
        done.returncode == 0 and "Traceback" not in done.stderr, f"{done.returncode}: {done.stderr[-300:]}"
    )
    ids = {json.loads(line)["id"] for path in out.glob("rows/*") for line in path.open()}
    row.check(len(ids) >= good, f"{len(ids)} documents have rows, expected at least {good}: {sorted(ids)}")
    for kind in ("a FIFO", "a device"):
        row.check(f"skipped: {kind}" in done.stderr, f"no line about {kind}")
    size = sum(path.stat().st_size for path in (out / "errors.jsonl", out / "manifest.json"))
    row.check(
        size < 50_000_000 and max(map(len, (out / "errors.jsonl").open())) < 2000, "reasons are not bounded"
    )
    peak = 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    row.check(peak < MEMORY, f"a process needed {peak / 2**20:.0f} MB")
    row.note = f"{len(ids)} labeled, at most {peak / 2**20:.0f} MB"
    yield row


def mutated_input(
    scale: float, directory: Path, mutated: Callable[[bytes, random.Random], bytes]
) -> Iterator[Row]:
    """Input files with a few bytes changed."""
    row = Row("input of corpus jobs, mutated: documents or reasons, all of them bounded")
    choose, rows = random.Random(5), [{"id": k, "text": f"{GOOD} \u00e9 {k}"} for k in range(30)]
    plain = {
        ".jsonl": "".join(json.dumps(row) + "\n" for row in rows).encode(),
        ".csv": ("id,text\n" + "".join(f'{row["id"]},"{row["text"]}\n"\n' for row in rows)).encode(),
        ".txt": "\n".join(row["text"] for row in rows).encode(),
    }
    plain |= {f"{suffix}.gz": gzip.compress(raw) for suffix, raw in plain.items()}
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        pass
    else:
        pq.write_table(pa.Table.from_pylist(rows), directory / "input.parquet")
        plain[".parquet"] = (directory / "input.parquet").read_bytes()
    for k in range(round(600 * scale)):
        suffix = list(plain)[k % len(plain)]
        path = directory / f"input{suffix}"
        path.write_bytes(mutated(plain[suffix], choose))
        began = time.monotonic()
        try:
            found = list(InputReader(InputOptions(id="id", lines=True)).read(str(path)))
            problem = next((d.reason for d in found if d.reason and len(d.error["reason"]) > 1000), "")
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        seconds = time.monotonic() - began
        row.check(not problem and seconds < MUTATED_SECONDS, f"{suffix}: {problem or f'{seconds:.0f} s'}")
    row.note = ", ".join(plain)
    yield row


def interrupted(
    directory: Path, out: str, receipts: int, number: int = signal.SIGKILL, *, worker: bool = False
) -> bool:
    """Start a job and send it (or one of its workers) a signal after some receipts; was it in the middle?"""
    process = subprocess.Popen(
        [*COMMAND, "lines.txt", "--lines", "--out", out, "--resume"],
        cwd=directory,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    progress = directory / out / "progress"
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        if len(list(progress.glob("*.json"))) >= receipts:
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            os.kill(int(children[-1]) if worker and children else process.pid, number)
            break
        time.sleep(0.01)
    return process.wait(timeout=120) != 0


def jobs(scale: float, directory: Path, mutated: Callable[[bytes, random.Random], bytes]) -> Iterator[Row]:
    """Jobs that are killed, whose receipts are damaged, or whose input changes in between."""
    choose = random.Random(6)
    lines = directory / "lines.txt"
    lines.write_bytes(b"".join(b"Ann sold %d letters to Bob.\n" % k for k in range(200)) + b"caf\xe9\n")
    done = corpus(directory, "lines.txt", "--lines", "--out", "whole")
    expected = content(directory / "whole")
    killed = Row("corpus jobs killed by a signal, then --resume: byte-identical")
    signals, middle = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT), 0
    for k in range(max(3, round(6 * scale))):
        out = f"killed-{k}"
        for receipts in sorted(choose.sample(range(len(expected) - 2), 2)):
            middle += interrupted(directory, out, receipts, signals[k % 3], worker=k % 4 == 3)
        done = corpus(directory, "lines.txt", "--lines", "--out", out, "--resume")
        same = done.returncode == 0 and content(directory / out) == expected
        killed.check(same, f"{signals[k % 3].name}: {done.stderr[-200:]}")
    killed.note = f"{middle} stopped in the middle; {len(expected)} files compared"
    yield killed
    damaged = Row("receipts, crash logs and manifest damaged, then --resume: identical, or one clear line")
    interrupted(directory, "begun", 4)
    for k in range(max(4, round(8 * scale))):
        out = directory / f"damaged-{k}"
        shutil.copytree(directory / "begun", out)
        victims = [*out.glob("progress/*"), *([out / "manifest.json"] if k % 4 == 3 else [])]
        for path in victims:
            raw = path.read_bytes() or b"attempt\n"
            path.write_bytes(choose.choice((b"", b"{", b"null", b"[]", b"\xff", mutated(raw, choose))))
        done = corpus(directory, "lines.txt", "--lines", "--out", out.name, "--resume")
        refused = (
            done.returncode == 1
            and done.stderr.startswith("spansrl: error: ")
            and done.stderr.count("\n") == 1
        )
        same = done.returncode == 0 and content(out) == expected
        damaged.check(same or (refused and k % 4 == 3), done.stderr[-300:])
    yield damaged
    changed = Row("input changed between runs with the same size and time: never mixed")
    before, times = lines.read_bytes(), lines.stat()
    for k in range(max(2, round(4 * scale))):
        out = directory / f"changed-{k}"
        shutil.copytree(directory / "begun", out)
        at = choose.randrange(200)
        lines.write_bytes(before.replace(b"Ann sold %d " % at, b"Eve sold %d " % at))
        os.utime(lines, ns=(times.st_atime_ns, times.st_mtime_ns))
        done = corpus(directory, "lines.txt", "--lines", "--out", out.name, "--resume")
        if done.returncode == 0:
            corpus(directory, "lines.txt", "--lines", "--out", f"fresh-{k}")
            same = content(out) == content(directory / f"fresh-{k}")
        else:
            same = "the input changed since the job began" in done.stderr
        changed.check(same, done.stderr[-300:])
    yield changed
