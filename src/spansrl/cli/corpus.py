"""`spansrl corpus`: label many files into a directory of shards, on all cores or on a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spansrl.cli import options
from spansrl.cli.progress import every, progress_bar
from spansrl.errors import DataError, counted
from spansrl.progress import Progress, no_progress

if TYPE_CHECKING:
    from spansrl.decoding import Decoder
    from spansrl.inference.runtime import Precision
    from spansrl.jobs import Status
    from spansrl.jobs.job import Engine
    from spansrl.jobs.output import RowFormat
    from spansrl.jobs.rows import Rows

EXAMPLES = """
\b
Examples:
  spansrl corpus news/ --out labeled
  spansrl corpus 'patents/*.jsonl.gz' --text abstract --id number --out labeled --to parquet
  spansrl corpus comments.txt --lines --rows sentence --out labeled
  spansrl corpus news/ --out labeled --resume
  spansrl corpus /shared/news --out /shared/labeled --engine ray --address auto --workers 64
\b
Then, for instance with DuckDB:
  duckdb -c "SELECT lemma, count(*) FROM 'labeled/rows/*.jsonl' GROUP BY lemma ORDER BY 2 DESC"
"""

_SECONDS_BETWEEN_LINES = 60
_SECONDS_TO_MEASURE = 30  # shorter runs mostly start up, so their rate means nothing


@click.command(epilog=EXAMPLES)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@options.out("Directory of the output.")
@click.option(
    "--text",
    default="text",
    show_default=True,
    metavar="COLUMN",
    help="Column with the text, in .jsonl, .csv and .parquet.",
)
@click.option(
    "--id", metavar="COLUMN", help="Column with the id, which must be unique.  [default: path, or path:line]"
)
@click.option("--lines", is_flag=True, help="In .txt files, every line is a document.")
@options.encoding
@options.choice(
    "--rows",
    ["argument", "sentence", "statements"],
    "argument: flat rows, one per argument. sentence: nested rows, one per sentence. "
    "statements: flat rows of subject, relation and object.",
)
@options.choice("--to", ["jsonl", "csv", "parquet"], "Format of the rows; parquet needs the extra corpus.")
@options.predicates("Types of predicates, such as verb,noun.  [default: all]")
@options.model
@options.decoder
@options.min_prob
@options.no_frames
@options.precision
@options.count("--workers", None, "Processes to label with.  [default: all cores]")
@options.choice(
    "--engine", ["local", "ray"], "ray: a Ray cluster, which needs the extra cluster and shared storage."
)
@click.option("--address", help="With --engine ray: the cluster, or auto.  [default: start Ray here]")
@click.option("--resume", is_flag=True, help="Continue a job that was interrupted.")
@options.count("--max-errors", None, "Stop if more documents than this are bad.  [default: never]", min=0)
@options.count("--max-chars", 1_000_000, "Longest document, in characters; longer ones go to errors.jsonl.")
@options.count("--shard-chars", 250_000, "Characters of text per shard, the unit of work.")
@click.pass_context
def command(
    ctx: click.Context,
    inputs: tuple[str, ...],
    out: Path,
    text: str,
    id: str | None,
    lines: bool,
    encoding: str | None,
    rows: Rows,
    to: RowFormat,
    predicates: str | None,
    model: str | None,
    decoder: Decoder | None,
    min_prob: float | None,
    no_frames: bool,
    precision: Precision,
    workers: int | None,
    engine: str,
    address: str | None,
    resume: bool,
    max_errors: int | None,
    max_chars: int,
    shard_chars: int,
) -> None:
    """Label a corpus: files, directories and globs of .txt, .jsonl, .csv and .parquet.

    All of these but .parquet may be compressed (.gz, .xz, .bz2). OUT/rows gets one file per shard, which
    DuckDB, pandas, polars and Spark read directly; OUT/errors.jsonl lists the documents that could not be
    labeled, with the reason; OUT/manifest.json has the settings, the model, a fingerprint of the input, and
    the counts.

    Every document is labeled exactly once. After a crash, Ctrl-C or a full disk, run the same command with
    --resume: it labels the missing shards, and the result is the same as without the interruption.
    """
    from spansrl.jobs import InputOptions, Job, LabelOptions, run

    job = Job(
        inputs,
        out,
        InputOptions(text, id, lines, max_chars, encoding),
        LabelOptions(_model(model), _types(predicates), not no_frames, decoder, min_prob, rows, precision),
        to,
        shard_chars,
    )
    try:
        with progress_bar() as progress:
            status = run(
                job,
                resume=resume,
                workers=workers,
                max_errors=max_errors,
                engine=_engine(engine, address),
                on_status=_display(progress),
                progress=progress,
            )
    except KeyboardInterrupt:
        click.echo("spansrl: interrupted; run the same command with --resume to continue", err=True)
        ctx.exit(130)
    for line in summary(job.out, status):
        click.echo(line, err=True)
    if status.errors and status.errors == status.documents:
        raise DataError(f"{job.out}: no document could be labeled; see {job.out / 'errors.jsonl'}")


def _types(predicates: str | None) -> tuple[str, ...] | None:
    from spansrl.inference.predicates import Wanted

    wanted = Wanted.of(predicates)
    if wanted.given:
        raise click.UsageError("--predicates must be types here, such as verb,noun")
    return None if predicates is None else tuple(sorted(wanted.types))


def _model(model: str | None) -> str | None:
    """A model directory as an absolute path, for workers in other directories; names stay names."""
    from spansrl.inference.loading import find_model

    return model if model is None or find_model(model) != Path(model) else str(Path(model).absolute())


def _engine(name: str, address: str | None) -> Engine:
    if name == "ray":
        from spansrl.integrations.ray import run_ray

        return partial(run_ray, address=address)
    if address is not None:
        raise click.UsageError("--address needs --engine ray")
    from spansrl.jobs.worker import run_local

    return run_local


def summary(out: Path, status: Status) -> Iterator[str]:
    rows = f"{counted(status.rows, 'row')} in {out / 'rows'}"
    errors = counted(status.errors, "error") + (f" in {out / 'errors.jsonl'}" if status.errors else "")
    documents = f"{counted(status.documents, 'document')}, {counted(status.sentences, 'sentence')}"
    yield f"{documents}, {rows}, {errors}"
    if status.skipped_files:
        kinds = "other than .txt, .jsonl, .csv and .parquet"
        yield f"skipped {counted(status.skipped_files, 'file')} of kinds {kinds}"
    for message, count in status.warnings.items():
        yield f"warning, {counted(count, 'time')}: {message}"
    if status.new_sentences:
        time = f"{_clock(status.seconds)} with {counted(status.workers, 'worker')}"
        rates = f"{status.rate:,.0f} sentences/s, {status.per_core_hour:,} per core-hour of CPU time"
        yield f"{time}: {rates}" if status.seconds >= _SECONDS_TO_MEASURE else f"{time}, including start-up"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"


def _line(status: Status) -> str:
    left = "" if status.seconds_left is None else f", {_clock(status.seconds_left)} left"
    share = f"{status.done_bytes / status.bytes:.0%} of the input, " if status.bytes else ""
    counts = f"{share}{counted(status.documents, 'document')}, {status.rate:,.0f} sentences/s"
    return f"{counts}, {counted(status.errors, 'error')}{left}"


def _display(progress: Progress) -> Callable[[Status], None]:
    """Return a function that shows progress: in the bar, or without one in a line per minute."""
    is_due = every(_SECONDS_BETWEEN_LINES)

    def on_status(status: Status) -> None:
        progress(_line(status), status.done_bytes, status.bytes)
        if progress is no_progress and is_due():
            click.echo(_line(status), err=True)

    return on_status
