"""Renew the tables of EXPERIMENTS.md from the kept results.

    python experiments/report.py            # rewrite the page
    python experiments/report.py --check    # fail unless it is up to date

A table is between `<!-- table NAME -->` and `<!-- end -->`; TABLES has a function for each name. They
read files that commands of this repository printed, and nothing else.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import study_tables
from study_tables import Study, table

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "EXPERIMENTS.md"
RESULTS = ROOT / "experiments" / "results"
BLOCK = re.compile(r"(<!-- table ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
NAMES = {"span": "span, seed", "crf": "CRF, seed"}
ENSEMBLES = {"moe": "mixture of the three span models", "poe": "product of the three span models"}
MODELS = ("small", "large")
# Runs of ablations.sh; the segmental one is to be compared with that without a teacher.
ABLATIONS = {
    "all": "the whole recipe, with 10,000 raw sentences",
    "no-raw": "without raw text",
    "no-teacher": "without raw text and the teacher: gold labels only",
    "segmental": "the same with the segmental output",
    "no-masc": "without MASC",
    "no-examples": "without the examples in PropBank's frames",
    "no-average": "without averaged weights",
    "one-rate": "with the same rate in all layers of the transformer",
    "dropout": "with dropout 0.1",
}
HEADS = {
    "attention": "two attention layers from random numbers, 256 wide",
    "top-layers": "MiniLM's own top two layers, 384 wide",
}
CORPORA = {"ewt-dev": "EWT dev", "ewt-test": "EWT test", "masc-dev": "MASC dev", "masc-test": "MASC test"}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="change nothing; fail unless up to date")
    options = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    renewed = updated(page)
    if not options.check:
        PAGE.write_text(renewed, encoding="utf-8")
    elif renewed != page:
        sys.exit("EXPERIMENTS.md: tables differ from experiments/results; run python experiments/report.py")


def updated(page: str) -> str:
    """The page with its tables rebuilt."""
    return BLOCK.sub(lambda found: f"{found[1]}{TABLES[found[2]]()}\n{found[3]}", page)


def printed_scores(name: str) -> dict[tuple[str, str], list[str]]:
    """The rows of a table of score_models.py, by model and split."""
    lines = (RESULTS / name).read_text(encoding="utf-8").splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {(model, split): rest for model, split, *rest in cells}


def outputs_on_ewt() -> str:
    """Span selection, CRF and ensembles: both splits of scores.md side by side."""
    rows = printed_scores("scores.md")

    def title(name: str) -> str:
        kind, _, seed = name.partition("-")
        return ENSEMBLES.get(name) or f"{NAMES[kind]} {seed}"

    names = sorted({name for name, _ in rows}, key=lambda name: (name in ENSEMBLES, name[0] == "c", name))
    columns = ("P", "R", "F1", "boundary F1", "label acc.")
    return table(
        ["model", *(f"dev {c}" for c in columns), *(f"test {c}" for c in columns), "s per epoch"],
        [
            [title(name), *rows[name, "dev"][:5], *rows[name, "test"][:5], rows[name, "dev"][6]]
            for name in names
        ],
    )


def segmental_decoders() -> str:
    """One segmental model, decoded by its marginals and by its most probable labeling."""
    files = {"marginals above 0.5": "greedy", "most probable labeling": "exact"}
    rows = []
    for title, decoder in files.items():
        found = printed_scores(f"study/segmental-{decoder}.md")
        rows += [[f"EWT {split}", title, *found["segmental-1", split][:5]] for split in ("dev", "test")]
    return table(["", "decoding", "P", "R", "F1", "boundary F1", "label accuracy"], sorted(rows))


def text_scores() -> str:
    """The models for text on every corpus: arguments, predicates, senses, end to end."""
    rows = []
    for corpus, title in CORPORA.items():
        for model in MODELS:
            path = RESULTS / f"{model}-{corpus}.json"
            if path.exists():
                figures = _json(path)
                # Not every predicate of MASC is annotated, so what is found there cannot be scored.
                whole = corpus.startswith("ewt")
                rows.append(
                    [
                        title,
                        model,
                        *(f"{figures['arguments'][key]:.2f}" for key in ("precision", "recall", "f1")),
                        f"{figures['senses']:.2f}",
                        f"{figures['found']['f1']:.2f}" if whole else "–",
                        f"{figures['end_to_end']['f1']:.2f}" if whole else "–",
                        f"{figures['from_text']['f1']:.2f}" if whole and figures.get("from_text") else "–",
                    ]
                )
    head = "corpus,model,arguments P,R,F1,senses,predicates F1,end to end F1,from text F1".split(",")
    return table(head, rows)


def text_parts() -> str:
    """Arguments with gold predicates on EWT's test set, by predicate type and genre."""
    found = {model: _json(path) for model in MODELS if (path := RESULTS / f"{model}-ewt-test.json").exists()}
    rows = []
    for part in ("by_type", "by_genre"):
        for name, row in next(reversed(found.values()))[part].items():
            if "arguments_f1" in row:
                scores = (figures.get(part, {}).get(name, {}) for figures in found.values())
                cells = (f"{score['arguments_f1']:.2f}" if score else "–" for score in scores)
                rows.append([name, f"{row['predicates']:.0f}", *cells])
    return table(["EWT test", "predicates", *(f"{model} F1" for model in found)], rows)


def text_epochs() -> str:
    """Development F1 after each epoch of the runs that made the models."""
    runs = {
        "text-1": "small, stage one: gold",
        "distilled-1": "stage two: gold and BiLSTMs",
        "mpnet-1": "a first MPNet as a teacher: gold",
        "distilled-2": "stage three: gold, MPNet and BiLSTMs",
        "examples-1": "stage four: the same and the frames' examples",
        "polished-1": "stage five: without the examples",
        "large-1": "large, first stage: gold, MASC and the frames' examples",
        "large": "large, second stage: the same at lower rates",
        "large-3": "large, third stage: one more epoch, another seed",
        "student-25k": "a student of large's first stage: the same and 25,000 raw sentences",
        "student-25k-last": "its last stage: without raw text",
        "student-100k": "stage six: a student of large's first stage with 100,000 raw sentences",
        "student": "stage seven: a student of large's second stage with 70,000, without dropout",
        "student-80k": "stage eight: the same with 80,000 further raw sentences",
        "student-9a": "stage nine, from the mean of seven and eight: 35,000 richer in nouns, lower rates",
        "student-9b": "the same with 35,000 others; small is the mean of both",
    }
    logs = {
        title: [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for name, title in runs.items()
        if (path := RESULTS / f"{name}.log.jsonl").exists()
    }
    longest = max(map(len, logs.values()), default=0)
    return table(
        ["dev F1 after epoch", *(str(epoch + 1) for epoch in range(longest))],
        [
            [title, *(f"{line['dev_f1']:.2f}" for line in log), *[""] * (longest - len(log))]
            for title, log in logs.items()
        ],
    )


def ablation(name: str) -> dict[str, Any] | None:
    """The last line of a run's log; None for one that was not made."""
    path = RESULTS / "ablations" / f"{name}.log.jsonl"
    return json.loads(path.read_text(encoding="utf-8").splitlines()[-1]) if path.exists() else None


def text_ablations() -> str:
    """Short runs that leave out one ingredient each."""
    whole = ablation("all")
    assert whole is not None
    found = {title: last for name, title in ABLATIONS.items() if (last := ablation(name)) is not None}
    return table(
        ["one epoch from MiniLM", "steps", "dev P", "R", "F1", "difference"],
        [
            [
                title,
                f"{last['step']:,}",
                *(f"{last[f'dev_{key}']:.2f}" for key in ("precision", "recall", "f1")),
                "" if last == whole else f"{last['dev_f1'] - whole['dev_f1']:+.2f}",
            ]
            for title, last in found.items()
        ],
    )


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def text_heads() -> str:
    """Short runs with two heads, on development data; sentences per second of processor time."""
    folder = RESULTS / "heads"
    speed = _json(folder / "speed.json")
    rows = []
    for name, title in HEADS.items():
        steps = _json(folder / f"{name}.run.json")["stopped"]["step"]
        ewt, masc = (_json(folder / f"{name}-{corpus}-dev.json") for corpus in ("ewt", "masc"))
        scores = [ewt["arguments"][key] for key in ("precision", "recall", "f1")]
        scores += [masc["arguments"]["f1"], ewt["found"]["f1"], ewt["senses"]]
        rows.append([title, str(steps), *(f"{score:.2f}" for score in scores), f"{speed[name]:.1f}"])
    header = ["head", "steps", "EWT P", "R", "F1", "MASC F1", "EWT predicates", "senses", "sentences/s"]
    return table(header, rows)


STUDY = Study(RESULTS / "study")
COMPARED = ("normalizations", "encoders", "ensembles")
BINS = ("argument-length", "distance", "sentence-length", "part-of-speech", "seen")
TABLES: dict[str, Callable[[], str]] = {
    "study-scores": lambda: study_tables.scores(STUDY),
    "study-significance": lambda: study_tables.differences(STUDY, "significance", COMPARED),
    "study-perfect": lambda: study_tables.differences(STUDY, "significance-perfect", ["normalizations"]),
    "study-boundaries": lambda: study_tables.boundaries(STUDY, "normalizations"),
    "study-labels": lambda: study_tables.breakdown(
        STUDY, "normalizations", ["labels"], parts=["test"], first=14
    ),
    "study-bins": lambda: study_tables.breakdown(STUDY, "normalizations", BINS, parts=["test"]),
    "study-confusions": lambda: study_tables.confusions(STUDY, "normalizations", "dev"),
    "study-repairs": lambda: study_tables.repairs(STUDY, "normalizations", "dev"),
    "study-neighbors": lambda: study_tables.as_written(STUDY, "normalizations", "dev", "consistency-means"),
    "study-nearest-labels": lambda: study_tables.as_written(
        STUDY, "normalizations", "dev", "nearest-labels", 6
    ),
    "study-decoders": lambda: study_tables.as_written(STUDY, "normalizations", "dev", "decoders"),
    "study-segmental": segmental_decoders,
    "outputs-on-ewt": outputs_on_ewt,
    "text-scores": text_scores,
    "text-parts": text_parts,
    "text-epochs": text_epochs,
    "text-ablations": text_ablations,
    "text-heads": text_heads,
}


if __name__ == "__main__":
    main()
