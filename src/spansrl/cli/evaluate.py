"""`spansrl evaluate`: score predictions as the official scorer does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any

import click

from spansrl.cli import options
from spansrl.cli.progress import progress_bar
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
from spansrl.evaluation.scorable import ScoredSentence
from spansrl.formats import open_output
from spansrl.formats.files import STANDARD_STREAM, shown_path


@click.command()
@click.argument("gold", metavar="GOLD")
@click.argument("pred", metavar="PRED")
@click.option(
    "--confusion",
    is_flag=True,
    help="Add the unlabeled score, the label accuracy and the confusion matrix (-C).",
)
@click.option("--json", "as_json", is_flag=True, help="Print all counts and percentages as one JSON object.")
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

    Prints exactly what the CoNLL-2005 script srl-eval.pl prints with -noW. The files must contain the
    same sentences in the same order, as CoNLL props, JSON Lines or any other format that spansrl reads,
    compressed or not; one of them may be - for standard input. Between props files a predicate's lemma
    must agree too, as in the script; otherwise predicates match by index.

    \b
    Examples
      spansrl evaluate test.props predicted.props
      spansrl evaluate dev.jsonl predicted.jsonl --confusion
      spansrl evaluate dev.jsonl predicted.jsonl --end-to-end --json
      spansrl evaluate dev.jsonl predicted.jsonl --by distance
      spansrl evaluate dev.jsonl span.jsonl --against crf.jsonl --seed 7
    """
    others = {"--by": by is not None, "--against": against is not None}
    options.check_alone({"--end-to-end": both_ways, **others})
    options.check_alone({"--confusion": confusion, **others})
    paths = [gold, pred] if against is None else [gold, pred, against]
    options.check_streams(*paths)
    data: dict[str, Any]
    with progress_bar() as progress:
        files, match = open_for_scoring(paths, format, progress=progress)
        if both_ways:
            directions = end_to_end(*files, match=match)
            data, text = directions.to_dict(), end_to_end_report(directions, confusion)
        elif by is not None:
            bins = breakdown(*files, by=by, match=match)
            data = {name: counts.to_dict() for name, counts in bins.items()}
            text = breakdown_report(by, bins)
        elif against is not None:
            sentences, *systems = files
            comparison = compare(_some(sentences, gold), *systems, match=match, samples=samples, seed=seed)
            data, text = comparison.to_dict(), comparison_report(comparison, pred, against)
        else:
            result = score(*files, match=match)
            data, text = result.to_dict(), official_report(result, confusion)
    report = json.dumps(data, ensure_ascii=False, indent=2) + "\n" if as_json else text
    with open_output(STANDARD_STREAM) as output:  # reports a closed or full standard output
        output.write(report.encode())


def _some(sentences: Iterator[ScoredSentence], path: str) -> Iterator[ScoredSentence]:
    """Yield the sentences of a file, which must not be empty."""
    first = next(sentences, None)
    if first is None:
        raise DataError(f"{shown_path(path)}: no sentences to compare the systems on")
    return chain([first], sentences)
