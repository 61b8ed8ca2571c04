"""`spansrl evaluate`: score predictions as the official scorer does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain

import click

from spansrl.errors import DataError
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
from spansrl.evaluation.frames import Frames
from spansrl.formats import READABLE, open_output
from spansrl.formats.files import STANDARD_STREAM, shown_path


@click.command()
@click.argument("gold", metavar="GOLD")
@click.argument("pred", metavar="PRED")
@click.option("--confusion", is_flag=True, help="Add what -C adds: unlabeled score, label accuracy, matrix.")
@click.option("--json", "as_json", is_flag=True, help="Print all counts and percentages as one JSON object.")
@click.option(
    "--end-to-end", "both_ways", is_flag=True, help="Score both ways, for predicates that were predicted too."
)
@click.option("--by", type=click.Choice(BREAKDOWNS), help="Counts by role, length or distance instead.")
@click.option("--against", metavar="B", help="Test PRED against this second system for significance.")
@click.option(
    "--samples", default=10_000, show_default=True, type=click.IntRange(min=1), help="For --against."
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="For --against.")
@click.option(
    "--format", type=click.Choice(READABLE), help="Format of all files; guessed for each if not given."
)
def command(
    gold: str,
    pred: str,
    confusion: bool,
    as_json: bool,
    both_ways: bool,
    by: By | None,
    against: str | None,
    samples: int,
    seed: int,
    format: str | None,
) -> None:
    """Score the predictions in PRED against GOLD.

    Prints what the CoNLL-2005 script srl-eval.pl prints with -noW, to the character. The files hold the same
    sentences in the same order, as CoNLL props, JSON lines or any other format that spansrl reads, plain, .gz
    or .xz; one of them may be - for standard input. Among props files a predicate's lemma must agree, as the
    script wants it; otherwise predicates match by index.

    \b
    Examples
      spansrl evaluate test.props predicted.props
      spansrl evaluate dev.jsonl predicted.jsonl --confusion
      spansrl evaluate dev.jsonl predicted.jsonl --end-to-end --json
      spansrl evaluate dev.jsonl predicted.jsonl --by distance
      spansrl evaluate dev.jsonl span.jsonl --against crf.jsonl --seed 7
    """
    paths = [gold, pred] if against is None else [gold, pred, against]
    _check_usage(paths, confusion=confusion, both_ways=both_ways, by=by, against=against)
    files, match = open_for_scoring(paths, format)
    if both_ways:
        directions = end_to_end(*files, match=match)
        data, text = directions.to_dict(), end_to_end_report(directions, confusion)
    elif by is not None:
        bins = breakdown(*files, by=by, match=match)
        data, text = {name: counts.to_dict() for name, counts in bins.items()}, breakdown_report(by, bins)
    elif against is not None:
        sentences, *systems = files
        comparison = compare(_some(sentences, gold), *systems, match=match, samples=samples, seed=seed)
        data, text = comparison.to_dict(), comparison_report(comparison, pred, against)
    else:
        result = score(*files, match=match)
        data, text = result.to_dict(), official_report(result, confusion)
    report = json.dumps(data, ensure_ascii=False, indent=2) + "\n" if as_json else text
    with open_output(STANDARD_STREAM) as output:  # which says so where there is no standard output
        output.write(report.encode())


def _some(sentences: Iterator[Frames], path: str) -> Iterator[Frames]:
    """The sentences of a file, of which there must be one."""
    first = next(sentences, None)
    if first is None:
        raise DataError(f"{shown_path(path)}: no sentences, so there is nothing to compare two systems on")
    return chain([first], sentences)


def _check_usage(
    paths: list[str], *, confusion: bool, both_ways: bool, by: str | None, against: str | None
) -> None:
    chosen = {"--end-to-end": both_ways, "--by": by is not None, "--against": against is not None}
    modes = [option for option, given in chosen.items() if given]
    if len(modes) > 1:
        raise click.UsageError(f"{' and '.join(modes)} cannot be combined; run the command once for each")
    if confusion and (by is not None or against is not None):
        raise click.UsageError(f"--confusion cannot be combined with {modes[0]}")
    if paths.count(STANDARD_STREAM) > 1:
        raise click.UsageError("only one file can be - (standard input)")
