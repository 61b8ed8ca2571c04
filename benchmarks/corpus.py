"""Corpus jobs: speed of one and two workers and of Ray, memory of the workers, and what a large job needs.

python benchmarks/corpus.py --data raw-english.jsonl.xz [--sentences 20000] [--workers 1 2] [--ray] [--keep]
python benchmarks/corpus.py --page      # write docs/corpora-at-scale.md from the result that was kept

The data are JSON Lines with a column `text`. Start-up (starting processes and Ray, loading models) is listed
apart: it ends where the work on the first finished shard began. --keep writes the result, with the memory of
every worker over time, to experiments/results/corpus.json, and renews the page.
"""

from __future__ import annotations

import argparse
import io
import itertools
import json
import os
import random
import re
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from measure import processor, table
from spansrl.formats.text_files import read_lines
from spansrl.jobs import InputOptions, Job, Status, run
from spansrl.jobs.documents import InputReader
from spansrl.jobs.job import Engine
from spansrl.jobs.parquet import write_rows
from spansrl.jobs.worker import run_local
from spansrl.language.english.tokenizer import split

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "experiments" / "results" / "corpus.json"
PAGE = ROOT / "docs" / "corpora-at-scale.md"
BEGIN, END = "<!-- measured: by benchmarks/corpus.py -->\n", "<!-- end of measured -->\n"

# Sentences, cores, and what limits a job of that size.
SIZES = (
    (10**6, 2, "the processor: two cores of a laptop"),
    (10**7, 16, "the processor: one machine"),
    (10**8, 64, "the disk: write Parquet"),
    (10**9, 256, "one machine: use Ray, shared storage, and `--shard-chars 4000000` for fewer files"),
    (10**10, 1024, "reading, which is one process: run ten jobs, each over a part of the files"),
)


# What the page shows, computed from a result.


def page_section(result: dict[str, Any]) -> str:
    """Return the measured part of docs/corpora-at-scale.md."""
    workers = _workers(result["runs"][0]["workers"])
    length = f"{result['chars']:.0f} characters on average"
    lines = [
        f"{result['sentences']:,} sentences of mixed English ({length}) and the model in the package, on",
        f"{result['machine']}, {result['date']}. Rates are without start-up; memory is that of each worker",
        "after a quarter of its shards and at the end."
        + (" All runs wrote the same rows." if len(result["runs"]) > 1 else ""),
        "",
        runs_table(result["runs"]),
        "",
        f"With {workers} that is **{core_hour(result):,} sentences per core-hour** of CPU time. The process",
        f"that reads the input manages {result['read_chars'] / 1e6:.1f} million characters per CPU second.",
        "From these two rates:",
        "",
        sizing(result),
        "",
    ]
    return "\n".join(lines)


def core_hour(result: dict[str, Any]) -> int:
    """Sentences per core-hour, to the nearest thousand."""
    return round(result["runs"][0]["per_core_hour"], -3)


def runs_table(runs: Sequence[dict[str, Any]]) -> str:
    """One row per engine and number of workers; rates relative to the first."""
    rows = [
        [
            run["engine"],
            run["workers"],
            f"{run['per_second']:.1f}",
            f"{run['per_second'] / runs[0]['per_second']:.2f}",
            f"{run['start_up']:.1f} s",
            ", ".join(map(_growth, run["memory"])) or "–",
        ]
        for run in runs
    ]
    return table(["engine", "workers", "sentences/s", "relative", "start-up", "MB per worker"], rows)


def _growth(points: Sequence[tuple[float, float]]) -> str:
    """Memory of a worker at a quarter of its time and at the end."""
    return f"{points[len(points) // 4][1]:.0f} → {points[-1][1]:.0f}"


def _workers(number: int) -> str:
    return "one worker" if number == 1 else f"{number} workers"


def sizing(result: dict[str, Any]) -> str:
    """Return the table of jobs from a million to ten billion sentences."""
    hourly = core_hour(result)
    rows = [
        [
            f"{sentences:,}",
            f"{sentences / hourly:,.0f}",
            f"{cores:,}",
            _time(3600 * sentences / hourly / cores),
            _time(sentences * result["chars"] / result["read_chars"]),
            _size(sentences * result["json_bytes"]),
            _size(sentences * result["parquet_bytes"]),
            bottleneck,
        ]
        for sentences, cores, bottleneck in SIZES
    ]
    header = ["sentences", "core-hours", "cores", "time", "reading", "JSON Lines", "Parquet", "bottleneck"]
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


def write_page() -> None:
    """Renew the measured part of the page from the result that was kept."""
    section = BEGIN + page_section(json.loads(RESULT.read_text())) + END
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(re.sub(f"{BEGIN}.*{END}", lambda _: section, page, flags=re.DOTALL), encoding="utf-8")


# Measuring.


def sample(data: str, sentences: int, path: Path) -> None:
    """Write documents drawn at random, always the same ones, until they have enough sentences."""
    texts = [json.loads(line.text)["text"] for line in read_lines(data)]
    random.Random(1).shuffle(texts)
    found = itertools.accumulate(len(split(text)) for text in texts)
    number = next((k for k, total in enumerate(found, start=1) if total >= sentences), len(texts))
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts[:number]), encoding="utf-8")


class Watch:
    """Times and memory at every finished shard."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.start_up = self.end = 0.0
        self.memory: dict[int, list[tuple[float, float]]] = defaultdict(list)  # process -> seconds, MB

    def __call__(self, status: Status) -> None:
        """Note the state of a job."""
        if not status.shards:
            return
        self.end = time.monotonic() - self.began
        self.start_up = self.start_up or self.end - status.cpu_seconds
        for pid, size in resident_workers():
            self.memory[pid].append((round(self.end, 1), round(size, 1)))


def resident_workers() -> Iterator[tuple[int, float]]:
    """Yield id and resident megabytes of the workers that this process started, local or Ray's."""
    parents, sizes = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid = int(stat.parent.name)
            parents[pid] = int(stat.read_text().rpartition(")")[2].split()[1])
            command = stat.with_name("cmdline").read_bytes()
            pages = int(stat.with_name("statm").read_text().split()[1])
        except OSError:
            continue
        if b"spawn_main" in command or b"ray::ShardActor" in command:
            sizes[pid] = pages * os.sysconf("SC_PAGE_SIZE") / 2**20
    for pid, size in sizes.items():
        above = pid
        while above in parents and above != os.getpid():
            above = parents[above]
        if above == os.getpid():
            yield pid, size


def measure(job: Job, name: str, engine: Engine, workers: int) -> tuple[dict[str, Any], Status]:
    """Run a job and note how it goes."""
    watch = Watch()
    status = run(job, workers=workers, engine=engine, on_status=watch)
    found = {
        "engine": name,
        "workers": workers,
        "seconds": round(watch.end, 1),
        "start_up": round(watch.start_up, 1),
        "per_second": round(status.sentences / (watch.end - watch.start_up), 1),
        "per_core_hour": status.per_core_hour,
        "memory": [points for points in watch.memory.values() if len(points) > 2],
    }
    return found, status


def reading(path: Path) -> tuple[int, float]:
    """Return the characters of the input, and how many of them are read per second of CPU time."""
    before = time.process_time()
    shards = InputReader(InputOptions()).shards([str(path)], 250_000)
    chars = sum(len(document.text) for shard in shards if shard.digest for document in shard.documents)
    return chars, chars / (time.process_time() - before)


def parquet_size(job: Job) -> int:
    """Return the size of a job's rows in one Parquet file per shard."""
    total = 0
    for path in job.out.glob("rows/*.jsonl"):
        stream = io.BytesIO()
        write_rows(stream, [json.loads(line.text) for line in read_lines(path)], "argument")
        total += stream.tell()
    return total


def benchmark(folder: Path, options: Any) -> dict[str, Any]:
    """Label the same sample in every way, and compare."""
    path = folder / "sample.jsonl"
    sample(options.data, options.sentences, path)
    base = Job((str(path),), folder / "out", shard_chars=options.shard_chars)
    engines: list[tuple[str, Engine, int]] = [("local", run_local, workers) for workers in options.workers]
    if options.ray:
        from spansrl.integrations.ray import run_ray

        engines.append(("Ray", run_ray, options.workers[-1]))
    runs = []
    for number, (name, engine, workers) in enumerate(engines):
        job = replace(base, out=folder / f"out-{number}")
        found, status = measure(job, name, engine, workers)
        runs.append(found)
        print(f"{name}, {_workers(workers)}: {found['seconds']:.0f} s", flush=True)
    for first, second in itertools.pairwise(sorted(folder.glob("out-*"))):
        assert same_rows(first, second), f"{first} and {second} differ"
    chars, rate = reading(path)
    size = sum(path.stat().st_size for path in job.out.glob("rows/*"))
    return {
        "date": time.strftime("%B %Y"),
        "machine": processor(),
        "documents": status.documents,
        "sentences": status.sentences,
        "chars": round(chars / status.sentences, 1),
        "json_bytes": round(size / status.sentences),
        "parquet_bytes": round(parquet_size(job) / status.sentences),
        "read_chars": round(rate, -5),
        "runs": runs,
    }


def same_rows(first: Path, second: Path) -> bool:
    """Return whether two jobs wrote the same bytes."""
    found = [{path.name: path.read_bytes() for path in folder.glob("rows/*")} for folder in (first, second)]
    return found[0] == found[1]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables and the result as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="JSON Lines with a column text")
    parser.add_argument("--sentences", type=int, default=20_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--shard-chars", type=int, default=50_000)
    parser.add_argument(
        "--ray", action="store_true", help="also measure Ray, with the last number of workers"
    )
    parser.add_argument("--keep", action="store_true", help="keep the result and renew the page")
    parser.add_argument("--reading", action="store_true", help="measure only how fast the input is read")
    parser.add_argument("--page", action="store_true", help="only renew the page")
    options = parser.parse_args(arguments)
    if options.page:
        write_page()
        return
    if options.data is None:
        parser.error("--data is missing")
    with tempfile.TemporaryDirectory() as folder:
        if options.reading:
            sample(options.data, options.sentences, Path(folder, "sample.jsonl"))
            rate = round(reading(Path(folder, "sample.jsonl"))[1], -5)
            result = json.loads(RESULT.read_text()) | {"read_chars": rate}
        else:
            result = benchmark(Path(folder), options)
    text = json.dumps(result, indent=1)
    text = re.sub(r"\[\s+([\d.]+),\s+([\d.]+)\s+\]", r"[\1, \2]", text)  # a point of memory per line
    print(f"\n{page_section(result)}\n{text}")
    if options.keep:
        RESULT.write_text(text + "\n")
        write_page()


if __name__ == "__main__":
    main()
