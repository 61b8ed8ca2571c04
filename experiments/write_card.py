"""Write the card of a text model beside it: README.md, from the model's own description and figures.

    python experiments/write_card.py MODEL_DIR --run RUN --dev dev.json --unseen unseen.json --date 2026-11-16

Reads config.json and scores.json (the figures on EWT's test set, saved by `spansrl appraise`), and renews
manifest.json.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from spansrl.inference.directory import ModelDirectory, read_json, write_bytes, write_manifest

TEMPLATE = Path(__file__).with_name("card.md")
LEAST = 20  # arguments of a role that is listed


def main() -> None:
    """Write README.md and renew the manifest."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("--dev", required=True, type=Path, help="figures on dev")
    parser.add_argument("--unseen", required=True, type=Path, help="figures without sentences of train")
    parser.add_argument("--run", required=True, type=Path, help="the run's directory, for its log")
    parser.add_argument("--date", required=True)
    options = parser.parse_args()
    description = ModelDirectory.read(options.model).description
    test, dev, unseen = (
        read_json(path) for path in (options.model / "scores.json", options.dev, options.unseen)
    )
    text = card(description, test, dev, unseen, _best_epoch(options.run), options.date)
    write_bytes(options.model / "README.md", text.encode())
    write_manifest(options.model)


def card(
    description: dict[str, Any],
    test: dict[str, Any],
    dev: dict[str, Any],
    unseen: dict[str, Any],
    best: int,
    date: str,
) -> str:
    """The card's text."""
    provenance, training = description["provenance"], description["config"]["training"]
    return TEMPLATE.read_text(encoding="utf-8").format(
        date=date,
        version=provenance["versions"]["spansrl"],
        commit=provenance["commit"],
        seed=training["seed"],
        epochs=training["epochs"],
        best=best,
        sentences=test["sentences"],
        predicates=test["predicates"],
        **{key: _percentages(test[key], dev[key]) for key in ("arguments", "found", "end_to_end")},
        wrong=100 - test["arguments"]["precision"],
        missed=100 - test["arguments"]["recall"],
        senses=test["senses"],
        dev_senses=dev["senses"],
        unseen_f1=unseen["arguments"]["f1"],
        ece_arguments=test["calibration"]["arguments"],
        ece_senses=test["calibration"]["senses"],
        by_type=_rows(test["by_type"], ("predicates", "found", "senses", "arguments_f1")),
        by_role=_rows(
            {role: row for role, row in test["by_role"].items() if row["gold"] >= LEAST},
            ("gold", "precision", "recall", "f1"),
        ),
        least=LEAST,
    )


def _percentages(test: dict[str, float], dev: dict[str, float]) -> str:
    return " | ".join(f"{test[key]:.2f} ({dev[key]:.2f})" for key in ("precision", "recall", "f1"))


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
