"""`spansrl analyze`: the paper's analysis of predictions, as one report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spansrl.cli.progress import progress_bar
from spansrl.cli.torch_extra import threads_option
from spansrl.errors import counted
from spansrl.formats import READABLE, read_sentences
from spansrl.formats.files import STANDARD_STREAM, plain_name

if TYPE_CHECKING:
    from spansrl.analysis import Section
    from spansrl.analysis.inputs import Distance, SpanModel

# The names of spansrl.analysis.SECTIONS, which is not imported before it is needed; a test compares the two.
SECTIONS = (
    "overall",
    "boundaries",
    "labels",
    "confusion",
    "errors",
    "neighbours",
    "embeddings",
    "decoders",
    "examples",
)
MODEL_SECTIONS = ("neighbours", "embeddings", "decoders")

EXAMPLES = """
\b
Examples:
  spansrl analyze --gold dev.jsonl --pred span=span.dev.jsonl --pred crf=crf.dev.jsonl --out report
  spansrl analyze --gold dev.jsonl --pred dev.span.jsonl --model runs/span-1 --train train.jsonl --out report
  spansrl analyze --gold dev.props --pred predicted.props --only confusion --out confusion
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
@click.option(
    "--model", type=click.Path(path_type=Path), help="Model directory behind the first --pred, to look into."
)
@click.option("--train", metavar="FILE", help="The training data, for neighbours and unseen predicates.")
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
    "--examples",
    default=3,
    show_default=True,
    type=click.IntRange(min=0),
    help="Sentences drawn for each kind of error.",
)
@click.option(
    "--distance",
    type=click.Choice(["cosine", "euclidean"]),
    default="cosine",
    show_default=True,
    help="What neighbours are near by.",
)
@click.option(
    "--span",
    "spans",
    multiple=True,
    metavar="TEXT",
    help="List the neighbours of this span too; may be repeated.",
)
@click.option(
    "--format", type=click.Choice(READABLE), help="Format of all files; guessed for each if not given."
)
@threads_option
@click.option(
    "--cache", type=click.Path(path_type=Path), envvar="SPANSRL_CACHE", help="Directory for features."
)
def command(
    gold: str,
    predictions: tuple[str, ...],
    model: Path | None,
    train: str | None,
    out: Path,
    only: tuple[str, ...],
    samples: int,
    seed: int,
    min_count: int,
    examples: int,
    distance: Distance,
    spans: tuple[str, ...],
    format: str | None,
    threads: int | None,
    cache: Path | None,
) -> None:
    """Analyse predictions as Section 5 of the paper does, and write a report.

    The directory --out gets report.html, one page that opens offline, report.md with the same tables, every
    table as CSV in tables/ and every picture as SVG in pictures/. Sections that need --model or --train are
    left out without them. Predicates match by their place in the sentence.
    """
    from spansrl.analysis import Inputs, Settings, build_sections, make_system, write_report

    systems = _named(predictions)
    _check_streams([gold, *systems.values(), *([train] if train else [])])
    sentences = list(read_sentences(gold, format))
    loaded, lack = _look_into(model, only, threads, cache)
    with progress_bar() as progress:
        inputs = Inputs(
            gold=sentences,
            systems=[
                make_system(name, sentences, list(read_sentences(path, format)))
                for name, path in systems.items()
            ],
            train=list(read_sentences(train, format)) if train else None,
            model=loaded,
            model_lack=lack,
            settings=Settings(
                samples=samples,
                seed=seed,
                min_count=min_count,
                examples=examples,
                distance=distance,
                spans=spans,
            ),
            progress=progress,
        )
        sections = build_sections(inputs, only)
    facts = _facts(gold, systems, model, train)
    names = write_report(out, f"Analysis: {', '.join(systems)}", facts, sections)
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


def _look_into(
    model: Path | None, only: Sequence[str], threads: int | None, cache: Path | None
) -> tuple[SpanModel | None, str]:
    """The model if some section wants it, and why it cannot be looked into where it cannot."""
    if model is None or (only and not set(only) & set(MODEL_SECTIONS)):
        return None, ""
    from spansrl.cli.torch_extra import require_torch

    require_torch("looking into a model")
    import torch

    from spansrl.analysis.representations import NoSpanModelError, load_model
    from spansrl.cli.train import default_cache

    if threads:
        torch.set_num_threads(threads)
    try:
        return load_model(model, cache or default_cache()), ""
    except NoSpanModelError as error:
        return None, str(error)


def _facts(gold: str, systems: Mapping[str, str], model: Path | None, train: str | None) -> dict[str, str]:
    facts = {"Gold": gold} | {f"System {name}": path for name, path in systems.items()}
    if model is not None:
        facts["Model of the first system"] = str(model)
    if train is not None:
        facts["Training data"] = train
    return facts


def _tell(out: Path, sections: Sequence[Section], n_files: int) -> None:
    for section in sections:
        if section.left_out:
            click.echo(f"{section.name}: {section.left_out}", err=True)
    click.echo(
        f"{out / 'report.html'}: written, with {counted(n_files - 1, 'more file')} beside it", err=True
    )
