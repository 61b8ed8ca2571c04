"""Write the card of a text model beside it: README.md, from the model's own description and figures.

    python experiments/write_card.py MODEL_DIR --run RUN --figures work/large --date 2026-11-16

Reads config.json, scores.json (the figures on EWT's test set, saved by `spansrl evaluate`) and further
figures (work/large-ewt-dev.json and so on), and renews manifest.json.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from spansrl.inference.directory import DESCRIPTION, read_json, write_bytes, write_manifest

TEMPLATE = Path(__file__).with_name("card.md")
LEAST = 20  # arguments of a role that is listed


def main() -> None:
    """Write README.md and renew the manifest."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("--figures", required=True, help="path and beginning of the names of further figures")
    parser.add_argument("--run", required=True, type=Path, help="the run's directory, for its log")
    parser.add_argument("--date", required=True)
    options = parser.parse_args()
    description = read_json(options.model / DESCRIPTION)
    figures = {
        name: read_json(Path(f"{options.figures}-{name}.json"))
        for name in ("ewt-dev", "unseen", "masc-dev", "masc-test", "speed")
    }
    figures["ewt-test"] = read_json(options.model / "scores.json")
    text = card(description, figures, _best_epoch(options.run), options.date)
    write_bytes(options.model / "README.md", text.encode())
    write_manifest(options.model)


def card(description: dict[str, Any], figures: dict[str, dict[str, Any]], best: int, date: str) -> str:
    """The card's text."""
    provenance, config = description["provenance"], description["config"]
    test, dev = figures["ewt-test"], figures["ewt-dev"]
    return TEMPLATE.read_text(encoding="utf-8").format(
        **(_small if config["distillation"]["teachers"] else _large)(config["training"], best),
        date=date,
        speed=next(iter(figures["speed"].values())),
        version=provenance["versions"]["spansrl"],
        commit=provenance["commit"],
        seed=config["training"]["seed"],
        by_genre=_rows(test["by_genre"], ("predicates", "arguments_f1", "end_to_end_f1")),
        masc_f1=figures["masc-test"]["arguments"]["f1"],
        masc_dev_f1=figures["masc-dev"]["arguments"]["f1"],
        ece_predicates=test["calibration"]["predicates"],
        sentences=test["sentences"],
        predicates=test["predicates"],
        **{key: _percentages(test[key], dev[key]) for key in ("arguments", "found", "end_to_end")},
        from_text=_from_text(test, dev),
        particles=_particles(test),
        dev_particles=_particles(dev),
        wrong=100 - test["arguments"]["precision"],
        missed=100 - test["arguments"]["recall"],
        senses=test["senses"],
        dev_senses=dev["senses"],
        unseen_f1=figures["unseen"]["arguments"]["f1"],
        ece_arguments=test["calibration"]["arguments"],
        ece_senses=test["calibration"]["senses"],
        by_type=_rows(test["by_type"], ("predicates", "found", "senses", "arguments_f1")),
        by_role=_rows(
            {role: row for role, row in test["by_role"].items() if row["gold"] >= LEAST},
            ("gold", "precision", "recall", "f1"),
        ),
        least=LEAST,
    )


def _large(training: dict[str, Any], best: int) -> dict[str, str]:
    return {
        "title": "The large spansrl model for English text",
        "raw": "none",
        "encoder": "started from all-mpnet-base-v2 (12 layers, 768 wide, uncased) and fine-tuned",
        "training": "`configs/text-teacher.toml`: 2 epochs, then `configs/text-teacher-2.toml`: "
        f"2 epochs at lower rates, and {training['epochs']} more with another seed (best on dev: {best}); "
        "the weights are the mean of those after the second and the third stage; "
        "`experiments/text_models.sh` does it all, EXPERIMENTS.md has the details",
        "stored": "as int8 with a scale per channel",
    }


def _small(training: dict[str, Any], best: int) -> dict[str, str]:
    return {
        "title": "The small spansrl model for English text",
        "raw": "220,000 sentences of 17 genres, labeled by the large model and an earlier version of it",
        "encoder": "started from all-MiniLM-L6-v2 (6 layers, 384 wide, uncased) and fine-tuned",
        "training": "an earlier version of this model (`experiments/text_model.sh`), then "
        "`configs/text-student.toml`: learning from the large model on raw text and on the labeled data "
        f"in two stages ({training['epochs']} epoch each, best on dev: {best}), whose weights were averaged, "
        "and in a third one on text rich in noun predicates: two runs with half of it each, averaged again; "
        "at last new heads for senses and arguments on the frozen encoder (`experiments/train_heads.py`): "
        "prototypes and what frames say of roles, from EWT, MASC, the frames' examples and 14,620 sentences "
        "written for 3,647 rolesets, which people have not checked; "
        "`experiments/text_models.sh` does it all, EXPERIMENTS.md has the details",
        "stored": "in half precision",
    }


def _percentages(test: dict[str, float], dev: dict[str, float]) -> str:
    return " | ".join(f"{test[key]:.2f} ({dev[key]:.2f})" for key in ("precision", "recall", "f1"))


def _from_text(test: dict[str, Any], dev: dict[str, Any]) -> str:
    """A row of the table of scores, where the corpora have their text."""
    if not (test["from_text"] and dev["from_text"]):
        return ""
    return (
        f"\n| arguments end to end, from plain text | {_percentages(test['from_text'], dev['from_text'])} |"
    )


def _particles(figures: dict[str, Any]) -> str:
    return "{right} of {predicates}".format(**figures["particle_senses"])


def _rows(table: dict[str, dict[str, float]], keys: tuple[str, ...]) -> str:
    rows = sorted(table.items(), key=lambda item: -item[1][keys[0]])
    return "\n".join(
        f"| {name} | {row[keys[0]]:,.0f} | "
        + " | ".join(f"{row[key]:.2f}" if key in row else "–" for key in keys[1:])
        + " |"
        for name, row in rows
    )


def _best_epoch(run: Path) -> int:
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    best: int = max(lines, key=lambda line: line["dev_f1"])["epoch"]
    return best


if __name__ == "__main__":
    main()
