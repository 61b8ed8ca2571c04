"""A fast fake model for jobs, importable in worker processes, and scripts that drive a job with it."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import warnings
from pathlib import Path

from spansrl.errors import SpansrlWarning
from spansrl.jobs import InputOptions, Job, LabelOptions, run
from spansrl.jobs.worker import Worker
from spansrl.structures import Argument, Document, Proposition, Sentence, Span

SLOW_SECONDS = 0.1


class FakeLabels:
    """Sentences end in a period; the second word is a predicate, the first its ARG0, the rest its ARG1.

    A text with KILL kills the process, RAISE raises, SLOW takes time, WARN warns, NONE has no sentences.
    """

    def pipe(self, texts, *, predicates=None):
        for text in texts:
            if "KILL" in text:
                os.kill(os.getpid(), signal.SIGKILL)
            if "RAISE" in text:
                raise ValueError("cannot label this")
            if "SLOW" in text:
                time.sleep(SLOW_SECONDS)
            if "WARN" in text:
                warnings.warn("a long sentence", SpansrlWarning, stacklevel=1)
            yield Document(text, () if "NONE" in text else tuple(sentences(text)))


def sentences(text):
    start = 0
    for part in text.split(". "):
        offsets, at = [], 0
        for word in part.split():
            at = part.index(word, at)
            offsets.append((at, at + len(word)))
            at += len(word)
        tokens = tuple(part[begin:end] for begin, end in offsets)
        yield Sentence(tokens, props(tokens), text=part, offsets=tuple(offsets), char_start=start)
        start += len(part) + 2


def props(tokens):
    if len(tokens) < 2:
        return ()
    args = [Argument("ARG0", Span(0, 1), prob=0.9)]
    if len(tokens) > 2:
        args.append(Argument("ARG1", Span(2, len(tokens)), prob=0.8))
    return (Proposition(1, tuple(args), lemma=tokens[1], sense=f"{tokens[1]}.01", type="verb", prob=1.0),)


def load_fake(options: LabelOptions) -> FakeLabels:
    return FakeLabels()


def load_dying(options: LabelOptions) -> FakeLabels:
    os.kill(os.getpid(), signal.SIGKILL)
    return FakeLabels()


def in_process(task, shards, workers):
    """An engine without processes, for tests that need none."""
    yield from map(Worker(task).run, shards)


def content(out: Path) -> dict[str, bytes]:
    """The files of a job that must be the same after any disturbance."""
    names = [*sorted(out.glob("rows/*")), out / "errors.jsonl"]
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in names}


def json_lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def rows_of(out: Path) -> list[dict]:
    return [row for path in sorted(out.glob("rows/*.jsonl")) for row in json_lines(path)]


def errors_of(out: Path) -> list[dict]:
    return json_lines(out / "errors.jsonl")


if __name__ == "__main__":  # a driver that tests can kill: INPUT OUT RESUME WORKERS
    source, out, resume, workers = sys.argv[1:]
    job = Job((source,), Path(out), input=InputOptions(id="id"), shard_chars=200)
    run(job, resume=resume == "resume", workers=int(workers), load=load_fake)
