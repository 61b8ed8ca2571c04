"""Labeling at an earlier commit and now: CPU time on the same sentences, in turns.

python benchmarks/against.py COMMIT [--data data/ewt/dev.jsonl] [--sentences 300] [--threads 1 2]

Both source trees run with this Python and its packages, each with the model that it ships; predicates are
found by the model. Each tree has a process of its own, and only one of them works at a time.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from measure import EVERYDAY, ROOT, origin, table
from spansrl.formats import read_sentences

# Uses only what every version of the package has. Prints CPU seconds and labels for every line that it reads.
WORKER = """
import json, sys, time
import spansrl

srl = spansrl.load(threads=int(sys.argv[2]))
sentences = [spansrl.Sentence(tuple(tokens)) for tokens in json.load(open(sys.argv[1]))]
for line in sys.stdin:
    before = time.process_time()
    labeled = [sent.props for sent in srl.label(sentences)]
    spent = time.process_time() - before
    labels = [[(p.pred, p.sense, [(a.role, a.start, a.end) for a in p.args]) for p in s] for s in labeled]
    print(json.dumps([spent, labels]), flush=True)
"""


def check_out(commit: str, folder: str) -> Path:
    """Unpack the source tree of a commit and return it."""
    archive = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, check=True, capture_output=True)
    subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
    return Path(folder) / "src"


class Tree:
    """A process that labels with the code of one source tree."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.seconds: list[float] = []
        self.labels: list[Any] = []

    def label(self) -> float:
        """Label all sentences once; return the CPU seconds."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        spent, self.labels = json.loads(self.process.stdout.readline())
        return float(spent)


@contextmanager
def running(source: Path, sentences: Path, threads: int) -> Iterator[Tree]:
    """A worker on a source tree; it ends with the block."""
    command = [sys.executable, "-c", WORKER, str(sentences), str(threads)]
    process = subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": str(source)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        yield Tree(process)


def compare(sources: Sequence[Path], sentences: Path, threads: int, rounds: int) -> tuple[list[str], str]:
    """One line of the table, and what is to be said about the labels."""
    with ExitStack() as stack:
        old, new = [stack.enter_context(running(source, sentences, threads)) for source in sources]
        for tree in (old, new):  # warm up
            tree.label()
        for _ in range(rounds):
            for tree in (old, new):
                tree.seconds.append(tree.label())
    ratios = [before / after for before, after in zip(old.seconds, new.seconds, strict=True)]
    number = len(new.labels)
    rates = [f"{number / median(tree.seconds):.1f}" for tree in (old, new)]
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
    same = sum(before == after for before, after in zip(old.labels, new.labels, strict=True))
    predicates = [sum(map(len, tree.labels)) for tree in (old, new)]
    note = (
        f"{predicates[0]} and {predicates[1]} predicates; {same} of {number} sentences have the same labels"
    )
    return [str(threads), *rates, f"{median(ratios):.2f}", spread], note


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("commit")
    parser.add_argument("--data", type=Path, default=EVERYDAY, help="sentences; default: the everyday set")
    parser.add_argument("--sentences", type=int, default=300, help="how many; default: 300")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    found = list(read_sentences(options.data))
    chosen = random.Random(1).sample(found, min(options.sentences, len(found)))
    with tempfile.TemporaryDirectory() as folder:
        sources = [check_out(options.commit, folder), ROOT / "src"]
        path = Path(folder) / "sentences.json"
        path.write_text(json.dumps([sent.tokens for sent in chosen]))
        lines = [compare(sources, path, threads, options.rounds) for threads in options.threads]
    print(f"Labeling {len(chosen)} sentences ({options.data.name}) at {options.commit} and now; {origin()}\n")
    header = ["threads", f"{options.commit}, sentences per CPU second", "now", "ratio, median", "range"]
    print(table(header, [row for row, _ in lines]))
    print(f"\n{lines[0][1]}")


if __name__ == "__main__":
    main()
