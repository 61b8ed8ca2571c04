"""`spansrl appraise`: how well a model labels a gold corpus, and whether its card has the same figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spansrl.cli import options
from spansrl.cli.progress import progress_bar
from spansrl.errors import ConfigError, DataError, ModelError, counted
from spansrl.formats import read_sentences

if TYPE_CHECKING:
    from spansrl.inference.runtime import Precision

EXAMPLES = """
\b
Examples:
  spansrl appraise data/ewt/test.jsonl
  spansrl appraise data/ewt/test.jsonl --model runs/mine --save runs/mine/scores.json
  spansrl appraise data/ewt/test.jsonl --compare      # with the figures of the model's card
"""


@click.command(epilog=EXAMPLES)
@click.argument("gold", type=options.PATH)
@options.model
@options.path("--unlike", help="Leave out sentences that are in this file too.")
@options.no_frames
@options.rule_out_roles
@options.path("--save", help="Write the figures to this JSON file.")
@click.option("--compare", is_flag=True, help="Fail unless the model's scores.json has the same figures.")
@options.threads
@options.precision
def command(
    gold: Path,
    model: str | None,
    unlike: Path | None,
    no_frames: bool,
    rule_out_roles: bool | None,
    save: Path | None,
    compare: bool,
    threads: int | None,
    precision: Precision,
) -> None:
    """Score a model on GOLD sentences: predicates, senses, arguments, and calibration.

    The model labels the sentences of GOLD three times: with their gold predicates, with the predicates that
    it finds, and from plain text. To score predictions that you have already, use spansrl evaluate.
    """
    from spansrl.analysis.appraisal import appraise
    from spansrl.inference.directory import ModelDirectory, read_json, write_json
    from spansrl.inference.loading import find_model, load

    if rule_out_roles and no_frames:
        raise click.UsageError("--rule-out-roles and --no-frames contradict each other")
    directory = ModelDirectory.read(find_model(model))
    if not directory.finds_predicates:
        advice = "appraise is for models for text, so use spansrl label and spansrl evaluate"
        raise ConfigError(f"{directory.path}: this model does not find predicates; {advice}")
    pipeline = load(
        directory, threads=threads, frames=not no_frames, rule_out_roles=rule_out_roles, precision=precision
    )
    seen = set() if unlike is None else {sent.tokens for sent in read_sentences(unlike)}
    sentences = [sent for sent in read_sentences(gold) if sent.tokens not in seen]
    if not any(sent.props for sent in sentences):
        raise DataError(f"{gold}: no predicates to score against")
    with progress_bar() as progress:
        figures = appraise(pipeline, sentences, progress)
    click.echo(_table(figures))
    if save is not None:
        write_json(save, figures)
    if compare:
        _check_same(read_json(directory.path / "scores.json"), figures, directory.path)


def _table(figures: dict[str, Any]) -> str:
    """The figures as Markdown tables."""
    rows = {
        "arguments, gold predicates": figures["arguments"],
        "predicates found": figures["found"],
        "arguments end to end": figures["end_to_end"],
    }
    if figures["from_text"]:
        rows["arguments end to end, from plain text"] = figures["from_text"]
    errors = ", ".join(f"{name} {error:.4f}" for name, error in figures["calibration"].items())
    particles = figures["particle_senses"]
    roles = sorted(figures["by_role"].items(), key=lambda item: -item[1]["gold"])
    return "\n".join(
        [
            ", ".join(counted(figures[f"{noun}s"], noun) for noun in ("sentence", "predicate")),
            "",
            _row("", "P", "R", "F1"),
            _row(*["---"] * 4),
            *(_row(name, *_percentages(row)) for name, row in rows.items()),
            "",
            f"Senses, accuracy on gold predicates: {figures['senses']:.2f}",
            f"Senses with a particle: {particles['right']} of {particles['predicates']} right",
            f"Expected calibration error (15 bins of equal mass): {errors}",
            "",
            _row("predicate", "gold", "found", "senses", "arguments F1"),
            _row(*["---"] * 5),
            *(_type_row(type, row) for type, row in figures["by_type"].items()),
            "",
            _row("role", "gold", "P", "R", "F1"),
            _row(*["---"] * 5),
            *(_row(role, f"{row['gold']:.0f}", *_percentages(row)) for role, row in roles),
        ]
    )


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |".replace("|  |", "| |")


def _percentages(row: dict[str, float]) -> list[str]:
    return [f"{row[name]:.2f}" for name in ("precision", "recall", "f1")]


def _type_row(type: str, row: dict[str, float]) -> str:
    arguments = f"{row['arguments_f1']:.2f}" if "arguments_f1" in row else "–"
    return _row(type, f"{row['predicates']:.0f}", f"{row['found']:.2f}", f"{row['senses']:.2f}", arguments)


def _check_same(card: Any, figures: dict[str, Any], directory: Path) -> None:
    found = json.loads(json.dumps(figures))
    if not isinstance(card, dict) or set(card) != set(found):
        raise ModelError(f"{directory / 'scores.json'}: does not hold the figures of an appraisal")
    for key, value in found.items():
        if card[key] != value:
            stated, now = json.dumps(card[key])[:80], json.dumps(value)[:80]
            raise ModelError(f"{directory / 'scores.json'}: '{key}' is {stated} there, and {now} now")
    click.echo("\nThe model's card has the same figures.")
