"""`spansrl evaluate`: score predictions as the official scorer does, or a model by its own predictions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spansrl.cli import options
from spansrl.cli.progress import progress_bar
from spansrl.errors import ConfigError, DataError, ModelError, counted
from spansrl.evaluation import (
    BREAKDOWNS,
    breakdown,
    breakdown_report,
    compare,
    comparison_report,
    end_to_end,
    end_to_end_report,
    official_report,
    open_for_scoring,
    score,
)
from spansrl.evaluation.breakdown import By
from spansrl.evaluation.scorable import ScoredSentence
from spansrl.formats import open_output, read_sentences
from spansrl.formats.text_files import STANDARD_STREAM, shown_path

if TYPE_CHECKING:
    from spansrl.inference.runtime import Precision


@click.command()
@click.argument("gold", metavar="GOLD")
@click.argument("preds", metavar="[PRED]...", nargs=-1)
@click.option(
    "--confusion",
    is_flag=True,
    help="Add the unlabeled score, the label accuracy and the confusion matrix (-C).",
)
@click.option("--json", "as_json", is_flag=True, help="Print all figures as one JSON object.")
@click.option(
    "--end-to-end", "both_ways", is_flag=True, help="Score in both directions, for predicted predicates."
)
@click.option(
    "--by", type=click.Choice(BREAKDOWNS), help="Print the counts by role, length or distance instead."
)
@click.option(
    "--against", metavar="B", help="Test the difference between PRED and this second system for significance."
)
@options.samples
@options.seed
@options.from_format("Format of all files.  [default: detected]")
@options.model
@options.path("--without", help="With a model: leave out sentences that are in this file too.")
@options.no_frames
@options.rule_out_roles
@options.path("--save", help="With a model: write the figures to this JSON file.")
@click.option(
    "--compare",
    "with_card",
    is_flag=True,
    help="With a model: fail unless its scores.json has the same figures.",
)
@options.threads
@options.precision
def command(
    gold: str,
    preds: tuple[str, ...],
    confusion: bool,
    as_json: bool,
    both_ways: bool,
    by: By | None,
    against: str | None,
    samples: int,
    seed: int,
    format: str | None,
    model: str | None,
    without: Path | None,
    no_frames: bool,
    rule_out_roles: bool | None,
    save: Path | None,
    with_card: bool,
    threads: int | None,
    precision: Precision,
) -> None:
    """Score the predictions in PRED against GOLD; without PRED, a model's own.

    With PRED, prints exactly what the CoNLL-2005 script srl-eval.pl prints with -noW, for each file. The
    files must contain the same sentences in the same order, as CoNLL props, JSON Lines or any other format
    that spansrl reads, compressed or not; one of them may be - for standard input. Between props files a
    predicate's lemma must agree too, as in the script; otherwise predicates match by index.

    Without PRED, a model that finds predicates labels the sentences of GOLD three times: with their gold
    predicates, with the predicates that it finds, and from plain text. Predicates, senses, arguments and
    calibration are scored.

    \b
    Examples
      spansrl evaluate test.props predicted.props
      spansrl evaluate dev.jsonl predicted.jsonl --confusion
      spansrl evaluate dev.jsonl predicted.jsonl --end-to-end --json
      spansrl evaluate dev.jsonl predicted.jsonl --by distance
      spansrl evaluate dev.jsonl span.jsonl --against crf.jsonl --seed 7
      spansrl evaluate data/ewt/test.jsonl
      spansrl evaluate data/ewt/test.jsonl --model runs/mine --save runs/mine/scores.json
      spansrl evaluate data/ewt/test.jsonl --compare      # with the figures of the model's card
    """
    of_files = {
        "--end-to-end": both_ways,
        "--confusion": confusion,
        "--by": by is not None,
        "--against": against is not None,
    }
    of_models = {
        "--model": model is not None,
        "--without": without is not None,
        "--no-frames": no_frames,
        "--rule-out-roles": rule_out_roles is not None,
        "--save": save is not None,
        "--compare": with_card,
    }
    for name, is_chosen in (of_models if preds else of_files).items():
        if is_chosen:
            raise click.UsageError(
                f"{name} is for {'a model: give no PRED' if preds else 'predictions: give PRED'}"
            )
    if rule_out_roles and no_frames:
        raise click.UsageError("--rule-out-roles and --no-frames contradict each other")
    if not preds:
        from spansrl.inference.directory import read_json, write_json

        frames = {"frames": not no_frames, "rule_out_roles": rule_out_roles}
        directory, figures = _evaluate_model(
            gold, format, model, without, threads=threads, precision=precision, **frames
        )
        _print(json.dumps(figures, ensure_ascii=False, indent=2) if as_json else _tables(figures))
        if save is not None:
            write_json(save, figures)
        if with_card:
            _check_same(read_json(directory / "scores.json"), figures, directory)
        return
    options.check_alone({name: is_chosen for name, is_chosen in of_files.items() if name != "--confusion"})
    options.check_alone({name: is_chosen for name, is_chosen in of_files.items() if name != "--end-to-end"})
    if len(preds) > 1 and against is not None:
        raise click.UsageError("--against compares two systems: give one PRED")
    options.check_streams(gold, *preds, against)
    if gold == "-" and len(preds) > 1:
        raise click.UsageError("GOLD is read once for each PRED, so it cannot be - (standard input)")
    results: dict[str, Any] = {}
    with progress_bar() as progress:
        for pred in preds:
            paths = [gold, pred] if against is None else [gold, pred, against]
            files, match = open_for_scoring(paths, format, progress=progress)
            if both_ways:
                directions = end_to_end(*files, match=match)
                results[pred] = directions.to_dict(), end_to_end_report(directions, confusion)
            elif by is not None:
                bins = breakdown(*files, by=by, match=match)
                data = {name: counts.to_dict() for name, counts in bins.items()}
                results[pred] = data, breakdown_report(by, bins)
            elif against is not None:
                sentences, *systems = files
                comparison = compare(
                    _some(sentences, gold), *systems, match=match, samples=samples, seed=seed
                )
                results[pred] = comparison.to_dict(), comparison_report(comparison, pred, against)
            else:
                result = score(*files, match=match)
                results[pred] = result.to_dict(), official_report(result, confusion)
    if as_json:
        data = {pred: data for pred, (data, _) in results.items()}
        _print(json.dumps(data if len(preds) > 1 else data[preds[0]], ensure_ascii=False, indent=2))
    else:
        texts = [f"{pred}\n\n{text}" if len(preds) > 1 else text for pred, (_, text) in results.items()]
        _print("\n".join(texts).removesuffix("\n"))


def _print(report: str) -> None:
    with open_output(STANDARD_STREAM) as output:  # reports a closed or full standard output
        output.write(f"{report}\n".encode())


def _some(sentences: Iterator[ScoredSentence], path: str) -> Iterator[ScoredSentence]:
    """Yield the sentences of a file, which must not be empty."""
    first = next(sentences, None)
    if first is None:
        raise DataError(f"{shown_path(path)}: no sentences to compare the systems on")
    return chain([first], sentences)


def _evaluate_model(
    gold: str, format: str | None, model: str | None, without: Path | None, **settings: Any
) -> tuple[Path, dict[str, Any]]:
    """The directory and the figures of a model."""
    from spansrl.evaluation.model_scores import evaluate_model
    from spansrl.inference.directory import ModelDirectory
    from spansrl.inference.loading import find_model, load

    directory = ModelDirectory.read(find_model(model))
    if not directory.finds_predicates:
        advice = "label GOLD with it (spansrl label), and give the result as PRED"
        raise ConfigError(f"{directory.path}: this model does not find predicates; {advice}")
    pipeline = load(directory, **settings)
    left_out = set() if without is None else {sent.tokens for sent in read_sentences(without)}
    sentences = [sent for sent in read_sentences(gold, format) if sent.tokens not in left_out]
    if not any(sent.props for sent in sentences):
        raise DataError(f"{shown_path(gold)}: no predicates to score against")
    with progress_bar() as progress:
        return directory.path, evaluate_model(pipeline, sentences, progress)


def _check_same(card: Any, figures: dict[str, Any], directory: Path) -> None:
    found = json.loads(json.dumps(figures))
    if not isinstance(card, dict) or set(card) != set(found):
        raise ModelError(f"{directory / 'scores.json'}: does not hold the figures of an evaluation")
    for key, value in found.items():
        if card[key] != value:
            stated, now = json.dumps(card[key])[:80], json.dumps(value)[:80]
            raise ModelError(f"{directory / 'scores.json'}: '{key}' is {stated} there, and {now} now")
    click.echo("\nThe model's card has the same figures.", err=True)


def _tables(figures: dict[str, Any]) -> str:
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
    """A type of predicate; figures that nothing was counted for are dashes."""
    shown = [row.get(name) if row["predicates"] else None for name in ("found", "senses", "arguments_f1")]
    return _row(type, f"{row['predicates']:.0f}", *("–" if x is None else f"{x:.2f}" for x in shown))
