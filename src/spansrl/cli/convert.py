"""`spansrl convert`: from one file format to another."""

from __future__ import annotations

import sys

import click

from spansrl.cli import options
from spansrl.cli.progress import progress_bar
from spansrl.formats import WRITABLE, read_sentences, write_sentences
from spansrl.formats.text_files import STANDARD_STREAM


@click.command()
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@options.from_format("Format of IN.  [default: detected]", "source_format")
@click.option(
    "--to", "target_format", type=click.Choice(WRITABLE), help="Format of OUT.  [default: by its name]"
)
@options.encoding
def command(
    source: str, target: str, source_format: str | None, target_format: str | None, encoding: str | None
) -> None:
    """Convert sentences and their propositions from one format to another.

    The format of IN is detected from its name or its first sentence, that of OUT from its name. Use '-'
    for standard input or output (JSON Lines by default); '- -' is converted as a stream. Files that end
    in .gz, .xz or .bz2 are compressed. OUT is written atomically; IN and OUT may be the same file. What
    the format of OUT cannot hold is left out and reported in one line.

    \b
    Formats
      jsonl          one JSON object per sentence; holds everything
      conll05        words and propositions in one file; the form is detected from the first sentence:
        conll05-train    WORD POS PARSE NE FRAME LEMMA ARGS…
        conll05-test     WORD POS PARSE NE LEMMA ARGS…
        conll05-words    WORD LEMMA ARGS…
      conll05-props  LEMMA ARGS…, the input of the official scorer (name.props)
      conll12        CoNLL-2012 and OntoNotes (name.gold_conll)
      skel           PropBank skeletons, read only (name.gold_skel)
      bio            WORD LEMMA ROLESET, then one column of BIO tags per predicate
      conllup        CoNLL-U Plus with the columns of Universal Propositions; reads CoNLL-U
      allennlp       words, verbs and BIO tags as AllenNLP's predictor returned them, write only
      brat           brat standoff, write only: NAME.ann and NAME.txt

    \b
    Examples
      spansrl convert dev.jsonl dev.props                    # for the official scorer
      spansrl convert wsj_0001.v4_gold_conll wsj_0001.jsonl.gz
      spansrl convert --from conll05-test test-wsj test-wsj.jsonl
      zcat train.props.gz | spansrl convert - - | head -1
    """
    on_screen = target == STANDARD_STREAM and sys.stdout is not None and sys.stdout.isatty()
    with progress_bar(hidden=on_screen) as progress:
        sentences = read_sentences(source, source_format, encoding=encoding, progress=progress)
        streams = source == target == STANDARD_STREAM
        losses = write_sentences(target, sentences, target_format, stream=streams)
    if losses:
        click.echo(f"spansrl: {losses}", err=True)
