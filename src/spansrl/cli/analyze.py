"""`spansrl analyze`: the paper's analysis of predictions, as one report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spansrl.cli import options
from spansrl.cli.progress import progress_bar
from spansrl.errors import counted
from spansrl.formats import read_sentences
from spansrl.formats.text_files import plain_name

if TYPE_CHECKING:
    from spansrl.analysis import Section
    from spansrl.analysis.report_inputs import Distance, SpanModel

# The names of spansrl.analysis.SECTIONS, which is not imported before it is needed; a test compares the two.
SECTIONS = tuple("overall boundaries labels confusion errors neighbors embeddings decoders examples".split())
MODEL_SECTIONS = ("neighbors", "embeddings", "decoders")

EXAMPLES = """
\b
Examples:
  spansrl analyze --gold dev.jsonl --pred span=span.dev.jsonl --pred crf=crf.dev.jsonl --out report
  spansrl analyze --gold dev.jsonl --pred dev.span.jsonl --model runs/span-1 --train train.jsonl --out report
  spansrl analyze --gold dev.jsonl --pred span=seed1.jsonl --pred span=seed2.jsonl --out report
  spansrl analyze --run runs/span-1 --run runs/crf-1 --out curves
"""


@click.command(epilog=EXAMPLES)
@click.option("--gold", metavar="FILE", help="Sentences with gold arguments.")
@click.option(
    "--pred",
    "predictions",
    multiple=True,
    metavar="[NAME=]FILE",
    help="A system's predictions. Repeat it to compare systems; the same NAME adds a run with another seed.",
)
@options.path("--run", "runs", multiple=True, help="Draw the training curves of this run; may be repeated.")
@options.path("--model", help="Model behind the first --pred, for the sections that look into a model.")
@click.option("--train", metavar="FILE", help="Training data, for neighbors and unseen predicates.")
@options.out("Directory for the report.")
@click.option(
    "--only", multiple=True, type=click.Choice(SECTIONS), help="Write this section only; may be repeated."
)
@options.samples
@options.seed
@options.count("--min-count", 20, "Leave out labels with fewer gold arguments.")
@options.count("--examples", 3, "Number of example sentences per kind of error.", min=0)
@options.choice("--distance", ["cosine", "euclidean"], "Distance between spans.")
@click.option(
    "--span", "spans", multiple=True, metavar="TEXT", help="Also list this span's neighbors; may be repeated."
)
@options.from_format("Format of all files.  [default: detected]")
@options.threads
@options.cache
def command(
    gold: str | None,
    predictions: tuple[str, ...],
    runs: tuple[Path, ...],
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
    """Analyze predictions as in Section 5 of the paper, and write a report.

    The directory --out gets report.html, one page that opens offline, report.md with the same tables, every
    table as CSV and LaTeX in tables/, and every figure as SVG, PDF and PNG in figures/. Figures need the
    extra "analysis"; some sections need --model or --train. Predicates match by their token index.
    """
    from spansrl.analysis import Inputs, ReportSettings, build_sections, make_system, write_report

    if model is not None and (model / "log.jsonl").exists() and model not in runs:
        runs = (*runs, model)
    curves = _curves(runs) if not only else []
    if gold is None or not predictions:
        if gold is not None or predictions or not curves:
            raise click.UsageError("pass --gold and --pred, or --run, or all of them")
        names = write_report(out, "Training curves", {"Runs": ", ".join(map(str, runs))}, curves)
        _report(out, curves, len(names))
        return
    systems = _named(predictions)
    options.check_streams(gold, train, *(path for paths in systems.values() for path in paths))
    sentences = list(read_sentences(gold, format))
    loaded, lack = _look_into(model, only, threads, cache)
    with progress_bar() as progress:
        inputs = Inputs(
            gold=sentences,
            systems=[
                make_system(name, sentences, *(list(read_sentences(path, format)) for path in paths))
                for name, paths in systems.items()
            ],
            train=list(read_sentences(train, format)) if train else None,
            model=loaded,
            model_problem=lack,
            settings=ReportSettings(
                samples=samples,
                seed=seed,
                min_count=min_count,
                examples=examples,
                distance=distance,
                spans=spans,
            ),
            progress=progress,
        )
        sections = [*build_sections(inputs, only), *curves]
    facts = _facts(gold, systems, model, train)
    names = write_report(out, f"Analysis: {', '.join(systems)}", facts, sections)
    _report(out, sections, len(names))


def _curves(runs: Sequence[Path]) -> list[Section]:
    from spansrl.analysis.curves import curves, read_log

    names = {run: run.name for run in runs}
    if len(set(names.values())) < len(names):
        names = {run: str(run) for run in runs}
    return [curves({names[run]: read_log(run) for run in runs})] if runs else []


def _named(predictions: Sequence[str]) -> dict[str, list[str]]:
    """The files of each system, by its name or the file's; several files are runs of one system."""
    systems: dict[str, list[str]] = {}
    for text in predictions:
        name, equals, path = text.partition("=")
        named = bool(equals) and not Path(text).exists()
        if not named:
            name, path = Path(plain_name(text)).stem or text, text
        if not name or not path:
            raise click.UsageError(f"--pred {text}: give a file, or a name and a file as NAME=FILE")
        if name in systems and not named:
            raise click.UsageError(f"two systems are called '{name}'; name them: --pred NAME={path}")
        systems.setdefault(name, []).append(path)
    return systems


def _look_into(
    model: Path | None, only: Sequence[str], threads: int | None, cache: Path | None
) -> tuple[SpanModel | None, str]:
    """The model if a section needs it, and the reason if it cannot be used."""
    if model is None or (only and not set(only) & set(MODEL_SECTIONS)):
        return None, ""
    options.require_torch("the analysis of a model", threads)
    from spansrl.analysis.representations import NoSpanModelError, load_model
    from spansrl.training.runs import default_cache

    try:
        return load_model(model, cache or default_cache()), ""
    except NoSpanModelError as error:
        return None, str(error)


def _facts(
    gold: str, systems: Mapping[str, Sequence[str]], model: Path | None, train: str | None
) -> dict[str, str]:
    facts = {"Gold": gold} | {f"System {name}": ", ".join(paths) for name, paths in systems.items()}
    if model is not None:
        facts["Model of the first system"] = str(model)
    if train is not None:
        facts["Training data"] = train
    return facts


def _report(out: Path, sections: Sequence[Section], n_files: int) -> None:
    from spansrl.analysis.charts import NEEDS_MATPLOTLIB, can_draw

    for section in sections:
        if section.skipped:
            click.echo(f"{section.name} skipped: {section.skipped}", err=True)
    if not can_draw():
        click.echo(f"no figures: {NEEDS_MATPLOTLIB}", err=True)
    click.echo(f"{out / 'report.html'}: written, with {counted(n_files - 1, 'more file')}", err=True)
