"""Speed and size of several models on the same sentences, in turns.

python benchmarks/models.py MODEL_DIRECTORY... --data data/ewt/dev.jsonl [--sentences 300] [--save speed.json]

Processor time with one thread, predicates found by each model; the best of three turns counts.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import spansrl
from measure import machine, table
from spansrl.formats import read_sentences
from spansrl.inference.loading import shipped_model

TURNS = 3


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", type=Path, nargs="*", default=[shipped_model()])
    parser.add_argument("--data", type=Path, required=True, help="sentences")
    parser.add_argument("--sentences", type=int, default=300, help="how many; default: 300")
    parser.add_argument("--save", type=Path, help="write the rates to this JSON file")
    options = parser.parse_args()
    sentences = list(read_sentences(options.data))[: options.sentences]
    pipelines = {path: spansrl.load(path, threads=1) for path in options.models}
    best = dict.fromkeys(pipelines, float("inf"))
    for _ in range(TURNS):
        for path, pipeline in pipelines.items():
            start = time.process_time()
            for _labeled in pipeline.label(sentences):
                pass
            best[path] = min(best[path], time.process_time() - start)
    rates = {path.name: len(sentences) / seconds for path, seconds in best.items()}
    sizes = [sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) for path in pipelines]
    slowest = min(rates.values())
    print(f"{len(sentences)} sentences; {machine()}\n")
    rows = [
        [name, f"{rate:.1f}", f"{rate / slowest:.2f}", f"{size / 1e6:.1f}"]
        for (name, rate), size in zip(rates.items(), sizes, strict=True)
    ]
    print(table(["model", "sentences per CPU second", "times the slowest", "MB"], rows))
    if options.save:
        options.save.write_text(json.dumps(rates, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
