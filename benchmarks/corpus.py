"""Corpus jobs: speed with one and two workers and on Ray, memory of the workers, and what a large job needs.

python benchmarks/corpus.py --data raw-english.jsonl.xz [--documents 20000] [--ray]
python benchmarks/corpus.py --sizing            # the table in docs/corpora-at-scale.md

The data are JSON Lines with a column `text`. Rates are those between the first and the last finished shard,
so that starting processes, loading models and starting Ray do not count; they are listed apart. The rate per
core is in CPU time, which other work on the machine disturbs less.
"""

from __future__ import annotations

import argparse
import io
import itertools
import json
import os
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from measure import table
from spansrl.formats.files import read_lines
from spansrl.jobs import Job, Status, run
from spansrl.jobs.job import Engine
from spansrl.jobs.local import run_local
from spansrl.jobs.parquet import write_rows
from spansrl.jobs.plan import make_plan
from spansrl.jobs.sources import Reading


@dataclass(frozen=True)
class Rate:
    """What sizes are computed from: one measurement."""

    per_core_hour: int  # sentences
    chars: int  # of input per sentence
    json_bytes: int  # of rows per sentence
    parquet_bytes: int
    planned_chars: int  # per second, by the one process that plans


# The measurement behind the table; its date and machine are on the page.
MEASURED = Rate(per_core_hour=237_000, chars=117, json_bytes=2956, parquet_bytes=311, planned_chars=9_800_000)

# Sentences, cores, and what limits a job of that size.
SIZES = (
    (10**6, 2, "the processor: two cores of a laptop"),
    (10**7, 16, "the processor: one machine"),
    (10**8, 64, "the disk: write Parquet"),
    (10**9, 256, "one machine: use Ray, shared storage, and `--shard-chars 4000000` for fewer files"),
    (10**10, 1024, "planning, which is one process: run ten jobs, each over a part of the files"),
)


def sizing(rate: Rate) -> str:
    """Return the table of jobs from a million to ten billion sentences."""
    rows = [
        [
            f"{sentences:,}",
            f"{sentences / rate.per_core_hour:,.0f}",
            f"{cores:,}",
            _time(3600 * sentences / rate.per_core_hour / cores),
            _time(sentences * rate.chars / rate.planned_chars),
            _size(sentences * rate.json_bytes),
            _size(sentences * rate.parquet_bytes),
            bottleneck,
        ]
        for sentences, cores, bottleneck in SIZES
    ]
    header = ["sentences", "core-hours", "cores", "time", "planning", "JSON Lines", "Parquet", "bottleneck"]
    return table(header, rows)


def _time(seconds: float) -> str:
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.0f} s"


def _size(size: float) -> str:
    for power, unit in ((12, "TB"), (9, "GB"), (6, "MB")):
        if size >= 10**power:
            return f"{size / 10**power:.1f} {unit}"
    return f"{size:.0f} B"


def sample(data: str, number: int, path: Path) -> None:
    """Write documents drawn at random, always the same ones."""
    texts = [json.loads(line.text)["text"] for line in read_lines(data)]
    chosen = random.Random(1).sample(texts, min(number, len(texts)))
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in chosen), encoding="utf-8")


class Measured:
    """Times and memory at every finished shard."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.points: list[tuple[float, int]] = []  # seconds, sentences
        self.memory: dict[int, list[float]] = defaultdict(list)  # process -> MB

    def __call__(self, status: Status) -> None:
        """Note the state of a job."""
        if status.new_sentences:
            self.points.append((time.monotonic() - self.began, status.new_sentences))
        for pid, size in resident_children():
            self.memory[pid].append(size)

    @property
    def rate(self) -> float:
        """Sentences per second between the first and the last shard."""
        (start, before), (end, after) = self.points[0], self.points[-1]
        return (after - before) / (end - start)

    @property
    def first(self) -> float:
        """Seconds until the first shard was done."""
        return self.points[0][0]

    def growth(self) -> str:
        """Memory of the workers in the middle and at the end, in MB."""
        pairs = [(sizes[len(sizes) // 2], sizes[-1]) for sizes in self.memory.values() if len(sizes) > 2]
        return ", ".join(f"{middle:.0f} → {end:.0f}" for middle, end in pairs) or "–"


def resident_children() -> Iterator[tuple[int, float]]:
    """Yield id and resident megabytes of the local workers."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            command = stat.with_name("cmdline").read_bytes()
            pages = int(stat.with_name("statm").read_text().split()[1])
        except OSError:
            continue
        if parent == os.getpid() and b"spawn_main" in command:
            yield int(stat.parent.name), pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def measure(job: Job, engine: Engine, workers: int) -> tuple[Measured, Status]:
    """Run a job and note how it goes."""
    measured = Measured()
    status = run(job, workers=workers, engine=engine, on_status=measured)
    return measured, status


def planning_rate(path: Path, chars: int) -> float:
    """Return the characters per second of CPU time that planning reads."""
    before = time.process_time()
    make_plan([str(path)], Reading(), shard_chars=250_000)
    return chars / (time.process_time() - before)


def parquet_per_sentence(job: Job, status: Status) -> float:
    """Return the size of the same rows in one Parquet file per shard."""
    total = 0
    for path in job.out.glob("rows/*.jsonl"):
        stream = io.BytesIO()
        write_rows(stream, [json.loads(line.text) for line in read_lines(path)], "argument")
        total += stream.tell()
    return total / status.sentences


def bytes_per_sentence(job: Job, status: Status) -> float:
    """Return the size of the rows."""
    return sum(path.stat().st_size for path in job.out.glob("rows/*")) / status.sentences


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="JSON Lines with a column text")
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--shard-chars", type=int, default=50_000)
    parser.add_argument(
        "--ray", action="store_true", help="also measure Ray, with the last number of workers"
    )
    parser.add_argument("--sizing", action="store_true", help="only print the table of sizes")
    options = parser.parse_args(arguments)
    if options.sizing:
        print(sizing(MEASURED))
        return
    if options.data is None:
        parser.error("--data is missing")
    with tempfile.TemporaryDirectory() as folder:
        benchmark(Path(folder), options)


def benchmark(folder: Path, options: Any) -> None:
    """Label the same sample in every way, and compare."""
    path = folder / "sample.jsonl"
    sample(options.data, options.documents, path)
    base = Job((str(path),), folder / "out", shard_chars=options.shard_chars)
    engines: list[tuple[str, Engine, int]] = [("local", run_local, workers) for workers in options.workers]
    if options.ray:
        from spansrl.integrations.ray import run_ray

        engines.append(("Ray", run_ray, options.workers[-1]))
    rows, rates = [], []
    for number, (name, engine, workers) in enumerate(engines):
        job = replace(base, out=folder / f"out-{number}")
        measured, status = measure(job, engine, workers)
        rates.append(measured.rate)
        ratio = f"{measured.rate / rates[0]:.2f}"
        facts = [f"{measured.rate:.1f}", ratio, f"{status.per_core_hour:,}", f"{measured.first:.1f}"]
        rows.append([name, workers, *facts, measured.growth()])
        print(f"{name}, {workers} worker(s): done in {status.seconds:.0f} s", flush=True)
    header = [
        "engine",
        "workers",
        "sentences/s",
        "ratio",
        "per core-hour (CPU)",
        "first shard, s",
        "MB per worker",
    ]
    print(f"\n{status.documents:,} documents, {status.sentences:,} sentences\n")
    print(table(header, rows), "\n")
    chars = sum(shard.chars for shard in status.total.shards)
    print(f"Per sentence: {chars / status.sentences:.0f} characters in,")
    print(f"{bytes_per_sentence(job, status):.0f} bytes of JSON Lines out, or")
    print(f"{parquet_per_sentence(job, status):.0f} bytes of Parquet.")
    print(f"Planning: {planning_rate(path, chars) / 1e6:.1f} million characters per CPU second.")
    for first, second in itertools.pairwise(sorted(folder.glob("out-*"))):
        assert same_rows(first, second), f"{first} and {second} differ"


def same_rows(first: Path, second: Path) -> bool:
    """Return whether two jobs wrote the same bytes."""
    found = [{path.name: path.read_bytes() for path in folder.glob("rows/*")} for folder in (first, second)]
    return found[0] == found[1]


if __name__ == "__main__":
    main()
