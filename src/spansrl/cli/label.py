"""`spansrl label`: predicates, senses and arguments of any text, by the model in the package or another."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spansrl.cli.label_input import INPUTS, TEXT, TOKENS, Source, source_of
from spansrl.cli.label_output import OUTPUTS, format_to_write, write_labelled
from spansrl.cli.label_predicates import Predicates, complete_predicates, parse_predicates
from spansrl.cli.progress import progress_bar
from spansrl.cli.torch_extra import device_option
from spansrl.errors import ConfigError
from spansrl.formats.files import STANDARD_STREAM
from spansrl.structures import PREDICATE_TYPES, Sentence

if TYPE_CHECKING:
    from spansrl.cli.label_model import Label
    from spansrl.decoding import Decoder

EXAMPLES = """
\b
Examples:
  spansrl label "She kept a cat in the garden until Tuesday."
  spansrl label letters.txt > letters.jsonl
  spansrl label letters.txt -o letters.html
  spansrl label --predicates verbs,nouns --output table letters.txt
  spansrl label --input tokens --predicates 1 "She kept a cat ."
  curl -s https://example.org/news.txt | spansrl label | head -1
\b
With gold predicates, and with a model of your own:
  spansrl label --predicates given data/ewt/test.jsonl -o predicted.jsonl
  spansrl label --model runs/span-1 data/ewt/test.jsonl --output conll05-props -o test.props
  spansrl evaluate data/ewt/test.jsonl predicted.jsonl
"""

_LARGEST_GROUP = 1024  # sentences that are labelled together, once it is clear that there are many


@click.command(epilog=EXAMPLES)
@click.argument(
    "inputs", nargs=-1, metavar="[TEXT | FILE]...", type=click.Path(readable=False, allow_dash=True)
)
@click.option(
    "--input",
    "input_format",
    type=click.Choice(INPUTS),
    help="tokens: one sentence a line, blanks between tokens.  [default: by the name, else text]",
)
@click.option(
    "--output",
    "output_format",
    type=click.Choice(OUTPUTS),
    help="pretty: a drawing; table: tab-separated rows.  "
    "[default: by the name; pretty on a terminal, else jsonl]",
)
@click.option(
    "-o",
    "--out",
    default=STANDARD_STREAM,
    type=click.Path(readable=False, allow_dash=True),
    help="Where to write; - is standard output.  [default: -]",
)
@click.option(
    "--predicates",
    callback=parse_predicates,
    shell_complete=complete_predicates,
    metavar="LIST",
    help="Types (verbs,nouns,adjectives,auxiliaries), all, places of tokens counted from 0 (1,4), or given: "
    "those of the file.  [default: all, or given if the model finds none]",
)
@click.option("--model", type=click.Path(path_type=Path), help="Model directory.  [default: the shipped one]")
@click.option("--threads", type=click.IntRange(min=1), help="Threads to label with.  [default: all cores]")
@click.option(
    "--decoder",
    type=click.Choice(["greedy", "argmax", "exact", "constrained"]),
    help="How arguments are chosen from the scores.  [default: the model's]",
)
@click.option("--no-frames", is_flag=True, help="Do not use the frames that `spansrl frames` registered.")
@click.option(
    "--rule-out-roles/--all-roles",
    default=None,
    help="With frames: leave out core roles that a sense does not have, or not.  [default: leave out]",
)
@device_option
@click.option(
    "--precomputed", type=click.Path(path_type=Path), help="HDF5 file with ELMo vectors of this very input."
)
@click.pass_context
def command(
    ctx: click.Context,
    inputs: tuple[str, ...],
    input_format: str | None,
    output_format: str | None,
    out: str,
    predicates: Predicates | None,
    model: Path | None,
    threads: int | None,
    decoder: Decoder | None,
    no_frames: bool,
    rule_out_roles: bool | None,
    device: str,
    precomputed: Path | None,
) -> None:
    """Label text: who did what to whom, where and when.

    An argument is a file if there is one of that name, and else the text itself; - is standard input, which
    is also read if there is no argument. Files of sentences (.jsonl, .props, .conll12, …; see spansrl
    convert) are known by their names, or by --input. Labels that they hold are not looked at and not copied;
    with --predicates given, the places of their predicates are taken.

    Input is read and written as a stream: answers come before a long input ends, and memory does not grow
    with it. In the output `text` is the sentence as it stands in the input, `offsets` are the tokens' places
    in it, and `char_start` is its own place in its file.
    """
    if not inputs and sys.stdin is not None and sys.stdin.isatty():
        click.echo(ctx.get_help(), err=True)
        ctx.exit(2)
    from spansrl.cli.label_model import labelling, load_pipeline, with_precomputed
    from spansrl.inference.directory import ModelDirectory
    from spansrl.inference.loading import shipped_model

    output_format = output_format or format_to_write(out)
    directory = ModelDirectory.read(shipped_model() if model is None else model)
    finds = directory.finds_predicates
    sources = _sources(inputs or (STANDARD_STREAM,), input_format, finds=finds)
    for source in sources:
        source.check()
    chosen = _chosen_predicates(predicates, sources, directory.path, finds=finds)
    _warn_of_unlikely_texts(sources, guessed=input_format is None)
    pipeline = load_pipeline(
        directory,
        threads=threads,
        decoder=decoder,
        frames=not no_frames,
        rule_out_roles=rule_out_roles,
        device=device,
    )
    label = labelling(pipeline, chosen)
    on_screen = out == STANDARD_STREAM and sys.stdout is not None and sys.stdout.isatty()
    with progress_bar(hidden=on_screen) as progress:
        sentences: Iterator[Sentence] = (sent for source in sources for sent in source.sentences(progress))
        if precomputed is not None:
            sentences = with_precomputed(pipeline, precomputed, sentences)
        losses = write_labelled(out, in_growing_groups(label, sentences), output_format, pipeline.frames)
    if losses:
        click.echo(f"spansrl: {losses}", err=True)


def _sources(inputs: Sequence[str], format: str | None, *, finds: bool) -> list[Source]:
    """What is to be read; for a model that finds no predicates, a file's content tells its format."""
    sources = [source_of(argument, format) for argument in inputs]
    if format is not None or finds:
        return sources
    return [
        Source(None, argument) if source.path is not None or source.looks_like_a_file else source
        for argument, source in zip(inputs, sources, strict=True)
    ]


def _warn_of_unlikely_texts(sources: Sequence[Source], *, guessed: bool) -> None:
    """Tell of texts that may have been meant as something else."""
    for source in sources:
        if guessed and source.is_other_data:
            told = f"{source.path} is labelled as plain text, every character of it; see --input for formats"
            click.echo(f"spansrl: warning: {told}", err=True)
        if source.looks_like_a_file:
            click.echo(f"spansrl: warning: there is no file '{source.text}'; labelled as text", err=True)
    if len(sources) > 1 and all(source.is_a_word for source in sources):
        told = f"{len(sources)} texts of one word each; if they are one text, put it in quotes"
        click.echo(f"spansrl: warning: {told}", err=True)


def _chosen_predicates(
    predicates: Predicates | None, sources: Sequence[Source], directory: Path, *, finds: bool
) -> Predicates:
    """The predicates that were asked for, or all that the model can label, if that makes sense."""
    chosen = predicates or (PREDICATE_TYPES if finds else "given")
    texts = [source for source in sources if source.format in (TEXT, TOKENS)]
    if chosen == "given" and (finds or predicates) and texts:
        missing = [f"there is no file '{source.text}', and " for source in texts if source.looks_like_a_file]
        raise click.UsageError(
            "--predicates given needs a file that has predicates (--input jsonl, conll05, …); "
            f"{''.join(missing[:1])}text has none: give types or places, as in --predicates verbs or 1,4"
        )
    if not finds and (set(chosen) & set(PREDICATE_TYPES) or (chosen == "given" and texts)):
        advice = "give a file that has them, or their places with --predicates 1,4"
        raise ConfigError(f"{directory}: this model does not find predicates; {advice}")
    return chosen


def in_growing_groups(label: Label, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """The sentences, labelled in groups: small ones first, so that the first answers come soon."""
    stream, size = iter(sentences), 1
    while group := list(islice(stream, size)):
        yield from label(group)
        size = min(2 * size, _LARGEST_GROUP)
