"""`spansrl analyze`: the paper's analysis of predictions, as one report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spansrl.formats import READABLE, read_sentences
from spansrl.formats.files import STANDARD_STREAM, plain_name

if TYPE_CHECKING:
    from spansrl.analysis import Inputs, Section, Settings

# The names of spansrl.analysis.SECTIONS, which is not imported before it is needed; a test compares the two.
SECTIONS = ("overall", "boundaries", "labels", "confusion")

EXAMPLES = """
\b
Examples:
  spansrl analyze --gold dev.jsonl --pred span=span.dev.jsonl --pred crf=crf.dev.jsonl --out report
  spansrl analyze --gold dev.jsonl --pred span.dev.jsonl --model runs/span-1 --train train.jsonl --out report
  spansrl analyze --gold dev.props --pred a.props --only confusion --out confusion
"""


@click.command(epilog=EXAMPLES)
@click.option("--gold", required=True, metavar="FILE", help="Sentences with the right arguments.")
@click.option(
    "--pred",
    "predictions",
    required=True,
    multiple=True,
    metavar="[NAME=]FILE",
    help="A system's answers to them; repeat to compare systems.",
)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Directory for the report.")
@click.option(
    "--only", multiple=True, type=click.Choice(SECTIONS), help="Write this section only; may be repeated."
)
@click.option(
    "--samples", default=10_000, show_default=True, type=click.IntRange(min=1), help="Of significance tests."
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Of the same.")
@click.option(
    "--min-count",
    default=20,
    show_default=True,
    type=click.IntRange(min=1),
    help="Gold arguments that make a label frequent.",
)
@click.option(
    "--format", type=click.Choice(READABLE), help="Format of all files; guessed for each if not given."
)
def command(
    gold: str,
    predictions: tuple[str, ...],
    out: Path,
    only: tuple[str, ...],
    samples: int,
    seed: int,
    min_count: int,
    format: str | None,
) -> None:
    """Analyse predictions as Section 5 of the paper does, and write a report.

    The directory --out gets report.html, one page that opens offline, report.md with the same tables, and
    every table as CSV in tables/ and every picture as SVG in pictures/.
    """
    from spansrl.analysis import Settings, build_sections, write_report

    settings = Settings(samples=samples, seed=seed, min_count=min_count)
    systems = _named(predictions)
    _check_streams([gold, *systems.values()])
    inputs = _read(gold, systems, format, settings)
    facts = {"Gold": gold} | {f"System {name}": path for name, path in systems.items()}
    sections = build_sections(inputs, only)
    names = write_report(out, "Analysis: " + ", ".join(systems), facts, sections)
    _tell(out, sections, len(names))


def _named(predictions: Sequence[str]) -> dict[str, str]:
    """Files by the systems' names: as given, or else the file's own without its suffixes."""
    systems: dict[str, str] = {}
    for text in predictions:
        name, equals, path = text.partition("=")
        if not equals or Path(text).exists():
            name, path = Path(plain_name(text)).stem or text, text
        if not name or not path:
            raise click.UsageError(f"--pred {text}: give a file, or a name and a file as NAME=FILE")
        if name in systems:
            raise click.UsageError(f"two systems are called '{name}'; name them: --pred NAME={path}")
        systems[name] = path
    return systems


def _check_streams(paths: Sequence[str]) -> None:
    if paths.count(STANDARD_STREAM) > 1:
        raise click.UsageError("only one file can be - (standard input)")


def _read(gold: str, systems: dict[str, str], format: str | None, settings: Settings) -> Inputs:
    from spansrl.analysis import Inputs, make_system

    sentences = list(read_sentences(gold, format))
    return Inputs(
        gold=sentences,
        systems=[
            make_system(name, sentences, list(read_sentences(path, format))) for name, path in systems.items()
        ],
        settings=settings,
    )


def _tell(out: Path, sections: Sequence[Section], n_files: int) -> None:
    for section in sections:
        if section.left_out:
            click.echo(f"{section.name}: {section.left_out}", err=True)
    click.echo(f"{out / 'report.html'}: written, with {n_files - 1} more files beside it", err=True)
