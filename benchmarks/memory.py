"""Peak memory of `spansrl label FILE --to jsonl` on files of growing length.

python benchmarks/memory.py [--data sentences.jsonl] [--lines 1000 3000 10000] [--limit 400]

The lines are the sentences of --data, by default the everyday set, again and again: one sentence per line, as
text. Each file is labeled by a process of its own. The exit code is 1 if one of them peaks above the limit.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from measure import EVERYDAY, origin, peak_of_process, table
from spansrl.formats import read_sentences


def write_lines(path: Path, texts: Sequence[str], number: int) -> None:
    """Write a file of that many lines, which repeats the texts if there are fewer."""
    lines = itertools.islice(itertools.cycle(texts), number)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def peak_of_label(path: Path, threads: int) -> float:
    """Megabytes that labeling a file needs at most, in a process of its own."""
    command = [sys.executable, __file__, "--label", str(path), "--threads", str(threads)]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(json.loads(found.stdout)) / 1e6


def label(path: Path, threads: int) -> None:
    """Run the command in this process, and print the process's peak."""
    from spansrl.cli import cli

    arguments = ["label", str(path), "--to", "jsonl", "--threads", str(threads), "--out"]
    cli([*arguments, str(path.with_suffix(".jsonl"))], standalone_mode=False)
    print(json.dumps(peak_of_process()))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=EVERYDAY, help="sentences; default: the everyday set")
    parser.add_argument("--lines", type=int, nargs="+", default=[1000, 3000, 10000])
    parser.add_argument("--threads", type=int, default=2, help="threads of labeling; default: 2")
    parser.add_argument("--limit", type=float, default=400, help="megabytes; default: 400")
    parser.add_argument("--label", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.label:
        label(options.label, options.threads)
        return
    sentences = itertools.islice(read_sentences(options.data), max(options.lines))
    texts = [" ".join((sent.text or " ".join(sent.tokens)).split()) for sent in sentences]
    length = sum(map(len, texts)) / len(texts)
    print(f"`spansrl label FILE --to jsonl --threads {options.threads}`, {length:.0f} characters per line")
    print(f"({options.data.name}); {origin()}\n")
    peaks = []
    with tempfile.TemporaryDirectory() as folder:
        for number in options.lines:
            path = Path(folder) / "lines.txt"
            write_lines(path, texts, number)
            peaks.append(peak_of_label(path, options.threads))
    rows = [[f"{number:,}", f"{peak:.0f}"] for number, peak in zip(options.lines, peaks, strict=True)]
    print(table(["lines", "peak, MB"], rows))
    print(f"\nlimit {options.limit:.0f} MB: {'kept' if max(peaks) < options.limit else 'exceeded'}")
    sys.exit(max(peaks) >= options.limit)


if __name__ == "__main__":
    main()
