"""Score trained models on the development and test data of a corpus: the tables of EXPERIMENTS.md.

    python experiments/score_models.py --data data/ewt runs/span-1 runs/crf-1 [--out DIR] [--decoder exact]

Predicates are given. P, R and F1 by the official scorer; boundary F1 and label accuracy as in its -C block
(the paper's Tables 4 and 5). With --unseen, test sentences that also stand in the training data are left out.
With --out, each model's predictions and official reports are kept there.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import torch

from spansrl.evaluation import official_report, score
from spansrl.formats import read_sentences, write_sentences
from spansrl.inference.loading import load
from spansrl.inference.pipeline import Pipeline
from spansrl.nn.embedders.layered import LayeredEmbedder
from spansrl.structures import Sentence

HEADER = [
    "model",
    "split",
    "P",
    "R",
    "F1",
    "boundary F1",
    "label accuracy",
    "perfect",
    "s per epoch",
    "s to label",
]


def main() -> None:
    """Print a Markdown table, a row a model and split."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--splits", default="dev,test")
    parser.add_argument("--decoder", choices=["greedy", "argmax", "exact"])
    parser.add_argument("--unseen", action="store_true")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--cache", type=Path, help="directory for frozen encoders' features")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    seen = {sent.tokens for sent in read_sentences(options.data / "train.jsonl")} if options.unseen else set()
    print("| " + " | ".join(HEADER) + " |\n|" + " --- |" * len(HEADER), flush=True)
    for model in options.models:
        pipeline = load(model, threads=options.threads, frames=False, decoder=options.decoder)
        for split in options.splits.split(","):
            gold = [
                sent
                for sent in read_sentences(options.data / f"{split}.jsonl")
                if sent.tokens and sent.tokens not in seen
            ]
            print(row(pipeline, model, split, gold, options), flush=True)


def row(
    pipeline: Pipeline, model: Path, split: str, gold: list[Sentence], options: argparse.Namespace
) -> str:
    """One line of the table; keeps predictions and report where asked to."""
    if options.cache:
        remember(pipeline, gold, options.cache)
    before = time.perf_counter()
    predicted = list(pipeline.label(gold, predicates="given"))
    spent = time.perf_counter() - before
    result = score(gold, predicted)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        name = f"{model.name}.{split}" + (f".{options.decoder}" if options.decoder else "")
        write_sentences(options.out / f"{name}.jsonl.gz", predicted)
        (options.out / f"{name}.txt").write_text(official_report(result, confusion=True))
    overall, unlabeled = result.overall, result.unlabeled
    numbers = [overall.precision, overall.recall, overall.f1, unlabeled.f1, result.label_accuracy]
    cells = [model.name, split, *(f"{n:.2f}" for n in [*numbers, result.perfect_percent])]
    return "| " + " | ".join([*cells, epoch_seconds(model), f"{spent:.0f}"]) + " |"


def remember(pipeline: Pipeline, sentences: list[Sentence], cache: Path) -> None:
    """Let the model find its frozen encoder's features in the cache."""
    tokens = [sent.tokens for sent in sentences]
    for network in pipeline.model.networks:  # type: ignore[attr-defined]
        if isinstance(network.embedder, LayeredEmbedder):
            network.embedder.remember(tokens, network.embedder.prepare(tokens, cache))


def epoch_seconds(model: Path) -> str:
    """The median time of an epoch's training, from the run's log."""
    log = model / "log.jsonl"
    if not log.exists():
        return "–"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    times = sorted(line["train_seconds"] for line in lines if line["train_seconds"] is not None)
    return f"{times[len(times) // 2]:.0f}" if times else "–"


if __name__ == "__main__":
    main()
