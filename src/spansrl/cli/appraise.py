"""`spansrl appraise`: how well a model labels a gold corpus, and whether its card says the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from spansrl.cli.progress import progress_bar
from spansrl.errors import ConfigError, DataError, ModelError, counted
from spansrl.formats import read_sentences

EXAMPLES = """
\b
Examples:
  spansrl appraise data/ewt/test.jsonl
  spansrl appraise data/ewt/test.jsonl --model runs/mine --save runs/mine/scores.json
  spansrl appraise data/ewt/test.jsonl --compare      # with what the model's card says
"""


@click.command(epilog=EXAMPLES)
@click.argument("gold", type=click.Path(path_type=Path))
@click.option("--model", help="Installed model's name, or model directory.  [default: small]")
@click.option(
    "--unlike", type=click.Path(path_type=Path), help="Leave out sentences that are in this file too."
)
@click.option("--frames/--no-frames", default=False, help="Use PropBank's frames.  [default: no]")
@click.option(
    "--rule-out-roles/--all-roles",
    default=None,
    help="Keep to the core roles that a sense has in the frames, or not.  [default: with --frames]",
)
@click.option("--save", type=click.Path(path_type=Path), help="Write the figures to this JSON file.")
@click.option("--compare", is_flag=True, help="Fail unless the model's scores.json has the same figures.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads to compute with.")
def command(
    gold: Path,
    model: str | None,
    unlike: Path | None,
    frames: bool,
    rule_out_roles: bool | None,
    save: Path | None,
    compare: bool,
    threads: int | None,
) -> None:
    """Score a model on GOLD sentences: predicates, senses, arguments, and calibration."""
    from spansrl.analysis.appraisal import appraise
    from spansrl.inference.directory import ModelDirectory, read_json, write_json
    from spansrl.inference.loading import find_model, load

    if rule_out_roles and not frames:
        raise click.UsageError("--rule-out-roles needs --frames")
    directory = ModelDirectory.read(find_model(model))
    if not directory.finds_predicates:
        advice = "appraise is for models for text, so use spansrl label and spansrl evaluate"
        raise ConfigError(f"{directory.path}: this model does not find predicates; {advice}")
    pipeline = load(directory, threads=threads, frames=frames, rule_out_roles=rule_out_roles)
    seen = set() if unlike is None else {sent.tokens for sent in read_sentences(unlike)}
    sentences = [sent for sent in read_sentences(gold) if sent.tokens not in seen]
    if not any(sent.props for sent in sentences):
        raise DataError(f"{gold}: no predicates to score against")
    with progress_bar() as progress:
        figures = appraise(pipeline, sentences, progress).to_dict()
    click.echo(_table(figures))
    if save is not None:
        write_json(save, figures)
    if compare:
        _check_same(read_json(directory.path / "scores.json"), figures, directory.path)


def _table(figures: dict[str, Any]) -> str:
    """The figures as Markdown tables, for people."""
    lines = [", ".join(counted(figures[f"{noun}s"], noun) for noun in ("sentence", "predicate")), ""]
    lines += ["| | P | R | F1 |", "| --- | --- | --- | --- |"]
    for title, key in (
        ("arguments, gold predicates", "arguments"),
        ("predicates found", "found"),
        ("arguments end to end", "end_to_end"),
    ):
        row = figures[key]
        lines.append(f"| {title} | {row['precision']:.2f} | {row['recall']:.2f} | {row['f1']:.2f} |")
    errors = figures["calibration"]
    lines += [
        "",
        f"Senses, accuracy on gold predicates: {figures['senses']:.2f}",
        "Expected calibration error (15 bins of equal mass): "
        + ", ".join(f"{name} {error:.4f}" for name, error in errors.items()),
        "",
        "| predicate | gold | found | senses | arguments F1 |",
        "| --- | --- | --- | --- | --- |",
    ]
    for type, row in figures["by_type"].items():
        arguments = f"{row['arguments_f1']:.2f}" if "arguments_f1" in row else "–"
        cells = f"{row['found']:.2f} | {row['senses']:.2f} | {arguments}"
        lines.append(f"| {type} | {row['predicates']:.0f} | {cells} |")
    lines += ["", "| role | gold | P | R | F1 |", "| --- | --- | --- | --- | --- |"]
    for role, row in sorted(figures["by_role"].items(), key=lambda item: -item[1]["gold"]):
        cells = f"{row['precision']:.2f} | {row['recall']:.2f} | {row['f1']:.2f}"
        lines.append(f"| {role} | {row['gold']:.0f} | {cells} |")
    return "\n".join(lines)


def _check_same(card: Any, figures: dict[str, Any], directory: Path) -> None:
    found = json.loads(json.dumps(figures))
    if not isinstance(card, dict) or set(card) != set(found):
        raise ModelError(f"{directory / 'scores.json'}: does not hold the figures of an appraisal")
    for key, value in found.items():
        if card[key] != value:
            stated, now = json.dumps(card[key])[:80], json.dumps(value)[:80]
            raise ModelError(f"{directory / 'scores.json'}: '{key}' is {stated} there, and {now} now")
    click.echo("\nThe model's card has the same figures.")
