"""`spansrl label`: the predicates, senses and arguments of a text."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spansrl.cli import options
from spansrl.cli.label_input import (
    INPUTS,
    ColumnSource,
    Source,
    check_texts,
    column_source,
    source_of,
    typed_texts,
)
from spansrl.cli.label_output import OUTPUTS, TABLES, format_to_write, write_labeled, write_statements
from spansrl.cli.progress import progress_bar
from spansrl.errors import ConfigError, ModelError
from spansrl.formats.text_files import STANDARD_STREAM
from spansrl.structures import Sentence

if TYPE_CHECKING:
    from spansrl.decoding import Decoder
    from spansrl.inference.pipeline import Pipeline
    from spansrl.inference.runtime import Precision

EXAMPLES = """
\b
Examples:
  spansrl label "They kept the money until Tuesday."
  spansrl label letters.txt > letters.jsonl
  spansrl label letters.txt -o letters.html
  spansrl label letters.txt --predicates verb,noun --min-prob 0.5 -o letters.csv
  spansrl label --from tokens --predicates 1 "They kept it ."
  curl -s https://example.org/news.txt | spansrl label | head -1
\b
Who did what to whom, as a table:
  spansrl label letters.txt --rows statements -o statements.csv
  spansrl label articles.csv --text body -o statements.xlsx
\b
With gold predicates, and with your own model:
  spansrl label --predicates given data/ewt/test.jsonl -o predicted.jsonl
  spansrl label --model runs/span-1 data/ewt/test.jsonl -o test.props
  spansrl evaluate data/ewt/test.jsonl predicted.jsonl
"""


@click.command(epilog=EXAMPLES)
@click.argument(
    "inputs", nargs=-1, metavar="[TEXT | FILE]...", type=click.Path(readable=False, allow_dash=True)
)
@click.option(
    "--from",
    "input_format",
    type=click.Choice(INPUTS),
    help="Input format; tokens: one sentence per line, tokens separated by spaces.  "
    "[default: by the file's name, otherwise text]",
)
@click.option(
    "--to",
    "output_format",
    type=click.Choice(OUTPUTS),
    help="Output format; pretty: a drawing.  "
    "[default: by the name of --out; pretty on a terminal, otherwise jsonl]",
)
@click.option(
    "--rows",
    type=click.Choice(["argument", "statements"]),
    help="Rows of a table: one per argument, or statements (subject, relation, object).  "
    "[default: argument, or statements for .xlsx and with --text]",
)
@click.option("--text", "text_column", help="Label a column of .csv, .jsonl or .parquet files.")
@click.option("--id", "id_column", help="With --text: the column of the ids.  [default: file and line]")
@click.option(
    "-o",
    "--out",
    default=STANDARD_STREAM,
    type=click.Path(readable=False, allow_dash=True),
    help="Output file; - is standard output.  [default: -]",
)
@options.encoding
@options.predicates(
    "Types (verb,noun,adjective,auxiliary), all, token indices counted from 0 (1,4), or given: those in the "
    "input.  [default: all, or given if the model does not find predicates]"
)
@options.min_prob
@options.model
@options.threads
@options.precision
@options.decoder
@options.no_frames
@options.rule_out_roles
@options.device
@options.path("--precomputed", help="HDF5 file with ELMo vectors of the input.")
def command(
    inputs: tuple[str, ...],
    input_format: str | None,
    output_format: str | None,
    rows: str | None,
    text_column: str | None,
    id_column: str | None,
    out: str,
    encoding: str | None,
    predicates: str | None,
    min_prob: float | None,
    model: str | None,
    threads: int | None,
    precision: Precision,
    decoder: Decoder | None,
    no_frames: bool,
    rule_out_roles: bool | None,
    device: str,
    precomputed: Path | None,
) -> None:
    """Label text: who did what to whom, where and when.

    Each argument is a file or a text. An argument without spaces that looks like a path must be an existing
    file. Without arguments, or with -, standard input is read; on a terminal, each line is labeled when you
    press Enter. The formats of files are detected from their names (.jsonl, .props, .conll12, …; see spansrl
    convert). Existing labels in the input are ignored, except that --predicates given uses its predicates.

    Input is labeled as a stream: results appear before a long input ends, and memory does not grow. In JSON
    output, `text` is the sentence, `offsets` are the offsets of its tokens, and `char_start` is its offset in
    the file. Drawings and tables leave out auxiliaries without arguments unless --predicates names them.
    """
    from spansrl.inference.directory import ModelDirectory
    from spansrl.inference.loading import find_model, load
    from spansrl.inference.predicates import Wanted

    if rule_out_roles and no_frames:
        raise click.UsageError("--rule-out-roles and --no-frames contradict each other")
    output_format = output_format or format_to_write(out)
    directory = ModelDirectory.read(find_model(model))
    finds = directory.finds_predicates
    typed = not inputs and sys.stdin is not None and sys.stdin.isatty()
    named = () if typed else inputs or (STANDARD_STREAM,)
    sources: list[Source] | list[ColumnSource]
    if text_column is not None:
        sources = [column_source(inputs, text_column, id_column, encoding)]
    elif id_column is not None:
        raise click.UsageError("--id names a column of a table; give --text too")
    else:
        sources = [source_of(argument, input_format, encoding, guess=not finds) for argument in named]
    if rows is None and (output_format == "xlsx" or (text_column is not None and output_format in TABLES)):
        rows = "statements"
    if rows == "statements" and output_format not in (*TABLES, "jsonl", "json", "pretty"):
        raise click.UsageError(
            f"--rows statements cannot be written as {output_format}; use --to csv or jsonl"
        )
    predicates = predicates or (None if finds else "given")
    _check_given(predicates, sources, typed=typed, directory=directory.path if not finds else None)
    check_texts(sources, guessed=input_format is None)
    pipeline = load(
        directory,
        threads=threads,
        frames=not no_frames,
        rule_out_roles=rule_out_roles,
        decoder=decoder,
        min_prob=min_prob,
        precision=precision,
        device=device,
    )
    on_screen = out == STANDARD_STREAM and sys.stdout is not None and sys.stdout.isatty()
    with progress_bar(hidden=on_screen or typed) as progress:
        labeled: Iterator[Sentence]
        if typed:
            labeled = (s for text in typed_texts() for s in pipeline(text, predicates=predicates))
        else:
            files = [source for source in sources if source.path is not None]
            sentences: Iterator[Sentence] = (
                s if s.id is not None or source.path is None or len(files) < 2 else replace(s, id=source.path)
                for source in sources
                for s in source.sentences(pipeline, progress)
            )
            if precomputed is not None:
                sentences = _with_precomputed(pipeline, precomputed, sentences)
            # The first results appear soon.
            labeled = replace(pipeline, first_window=1).label(sentences, predicates=predicates)
        auxiliaries = Wanted.of(predicates).is_choice
        if rows == "statements":
            write_statements(out, labeled, output_format)
            return
        losses = write_labeled(out, labeled, output_format, pipeline.inventory, auxiliaries=auxiliaries)
    if losses:
        click.echo(f"spansrl: {losses}", err=True)


def _check_given(
    predicates: str | None, sources: Sequence[Source | ColumnSource], *, typed: bool, directory: Path | None
) -> None:
    """Refuse to look for given predicates in plain text; `directory` is a model that needs them."""
    if predicates != "given" or not (typed or any(source.is_plain for source in sources)):
        return
    advice = "use a file that has them (--from jsonl, conll05, …), or token indices (--predicates 1,4)"
    if directory is not None:
        raise ConfigError(f"{directory}: this model does not find predicates; {advice}")
    raise click.UsageError(f"--predicates given: text input has no predicates; {advice}, or types")


def _with_precomputed(pipeline: Pipeline, path: Path, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """Give the model the precomputed vectors of the sentences, which are all held in memory for that."""
    networks = getattr(pipeline.model, "networks", None)
    if networks is None:
        raise ModelError("precomputed vectors are for models over ELMo; this model embeds tokens by itself")
    from spansrl.training.ensemble_directories import remember_precomputed

    kept = list(sentences)
    remember_precomputed(networks, path, kept)
    return iter(kept)
