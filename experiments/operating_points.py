"""Compare outputs at the same operating points: what of a result is the model, what the decision rule?

    python experiments/operating_points.py WORK --data data/ewt [--masc data/masc] [--out DIR]

Trains each output (span, segmental, label, crf, softmax) with each seed by `spansrl train CONFIG` in WORK,
scores every gold predicate once, and decodes the scores by four rules:

- `as defined`: the output's default: greedy search, marginals above 0.5 (segmental), or Viterbi (taggers);
- `most probable labeling`: exact search for the best-scoring labeling; Viterbi for taggers;
- `marginals`: spans by their own probability, those of segments for taggers;
- `tuned`: `marginals` with a handicap of "no argument" that has the best F1 on dev.

OUT gets points.json: the figures of every run, rule and part, and curves over handicaps. The same command
continues where it stopped: finished runs are not trained again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from spansrl.decoding import Scores
from spansrl.evaluation import Score, score
from spansrl.formats import read_sentences
from spansrl.inference.model import score_propositions
from spansrl.inventory import PROPBANK, RoleTable
from spansrl.structures import Sentence
from spansrl.training.ensemble_directories import load_torch_model

ROOT = Path(__file__).resolve().parents[1]
OUTPUTS = ("span", "segmental", "label", "crf", "softmax")
RULES = {"as defined": "greedy", "most probable labeling": "exact", "marginals": "marginals"}
HANDICAPS = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0)
BATCH = 64  # sentences that are scored at once


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path)
    parser.add_argument("--data", required=True, type=Path, help="directory with EWT")
    parser.add_argument("--masc", type=Path, help="directory with MASC, for its test part")
    parser.add_argument("--config", type=Path, default=ROOT / "configs" / "tiny.toml")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--outputs", nargs="+", choices=OUTPUTS, default=OUTPUTS)
    parser.add_argument("--out", type=Path, default=ROOT / "experiments" / "results" / "points")
    options = parser.parse_args()
    torch.set_num_threads(1)
    files = {"dev": options.data / "dev.jsonl", "test": options.data / "test.jsonl"}
    if options.masc:
        files["masc"] = options.masc / "test.jsonl"
    parts = {name: [sent for sent in read_sentences(path) if sent.props] for name, path in files.items()}
    options.out.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {"config": options.config.name, "epochs": options.epochs, "runs": {}}
    for seed in options.seeds:
        for output in options.outputs:
            run = options.work / f"{output}-{seed}"
            train(run, output, seed, options)
            found["runs"][run.name] = measure(run, parts)
            record = json.loads((run / "run.json").read_text(encoding="utf-8"))
            found["commit"] = (
                record["resumed_with"][-1] if record.get("resumed_with") else record.get("commit")
            )
            (options.out / "points.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def train(run: Path, output: str, seed: int, options: argparse.Namespace) -> None:
    command = [sys.executable, "-m", "spansrl", "train", str(options.config), "--data", str(options.data)]
    command += ["--out", str(run), "--threads", "1", "--resume", "--set", f"training.epochs={options.epochs}"]
    command += ["--set", f"training.seed={seed}", "--set", f"output.kind={output}"]
    subprocess.run(command, check=True)


def measure(run: Path, parts: dict[str, list[Sentence]]) -> dict[str, Any]:
    """The figures of one run: part -> rule -> figures, and part -> curve over handicaps."""
    model, _ = load_torch_model(run)
    rules: dict[str, Any] = {}
    curves: dict[str, Any] = {}
    table = RoleTable(list(map(PROPBANK.role, model.roles)))
    best = 0.0
    for part, gold in parts.items():
        scored = list(score_batches(model, gold))
        rules[part] = {
            name: figures(score(gold, decode(scored, table, decoder))) for name, decoder in RULES.items()
        }
        curves[part] = {
            str(handicap): figures(score(gold, decode(scored, table, "marginals", handicap)))
            for handicap in HANDICAPS
        }
        if part == "dev":
            best = max(HANDICAPS, key=lambda handicap: curves[part][str(handicap)]["f1"])
        rules[part]["tuned"] = curves[part][str(best)]
    print(f"{run.name}: handicap {best}, dev {rules['dev']['as defined']}", flush=True)
    return {"handicap": best, "rules": rules, "curves": curves}


def score_batches(model: Any, sentences: Sequence[Sentence]) -> Iterator[tuple[list[Sentence], Scores]]:
    """The scores of all propositions, in batches of sentences of similar length."""
    ordered = sorted(range(len(sentences)), key=lambda k: len(sentences[k]))
    for begin in range(0, len(ordered), BATCH):
        batch = [replace(sentences[k], extra={"row": k}) for k in ordered[begin : begin + BATCH]]
        yield batch, score_propositions(model, batch)


def decode(
    scored: Sequence[tuple[list[Sentence], Scores]], roles: RoleTable, decoder: Any, handicap: float = 0.0
) -> list[Sentence]:
    """The sentences in their order, with the arguments that a rule finds."""
    labeled = {}
    for batch, scores in scored:
        lowered = scores.with_handicap(np.full(len(scores.pred), handicap)) if handicap else scores
        found = iter(lowered.decode(roles, decoder=decoder))
        for sent in batch:
            props = tuple(replace(prop, args=next(found)) for prop in sent.props)
            labeled[sent.extra["row"]] = replace(sent, props=props)
    return [labeled[k] for k in range(len(labeled))]


def figures(result: Score) -> dict[str, float]:
    overall = result.overall
    values = {
        "precision": overall.precision,
        "recall": overall.recall,
        "f1": overall.f1,
        "boundary_f1": result.unlabeled.f1,
        "label_accuracy": result.label_accuracy,
        "perfect": result.perfect_percent,
    }
    return {name: round(value, 2) for name, value in values.items()}


if __name__ == "__main__":
    main()
