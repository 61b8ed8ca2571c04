"""`spansrl convert`: from one file format to another."""

from __future__ import annotations

import click

from spansrl.formats import READABLE, WRITABLE, read_sentences, write_sentences


@click.command()
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@click.option(
    "--from", "source_format", type=click.Choice(READABLE), help="Format of IN, if not to be guessed."
)
@click.option(
    "--to", "target_format", type=click.Choice(WRITABLE), help="Format of OUT, if its name does not say."
)
def command(source: str, target: str, source_format: str | None, target_format: str | None) -> None:
    """Convert sentences and their propositions from one format to another.

    The format of IN is guessed from its name or its first sentence, that of OUT from its name. '-' is
    standard input or output (JSON lines unless --to says otherwise). Names that end in .gz or .xz are
    compressed files. OUT appears only when everything went well; IN and OUT may be the same file. What the
    format of OUT cannot hold is left out and said in one line.

    \b
    Formats
      jsonl          one JSON object a sentence; holds everything
      conll05        words and propositions in one file; the form is found in the first sentence:
        conll05-train    WORD POS PARSE NE FRAME LEMMA ARGS…
        conll05-test     WORD POS PARSE NE LEMMA ARGS…
        conll05-words    WORD LEMMA ARGS…
      conll05-props  LEMMA ARGS…, what the official scorer reads (name.props)
      conll12        CoNLL-2012 and OntoNotes (name.gold_conll)
      skel           PropBank skeletons, read only (name.gold_skel)
      bio            WORD LEMMA ROLESET, then one column of BIO tags a predicate

    \b
    Examples
      spansrl convert dev.jsonl dev.props                    # for the official scorer
      spansrl convert wsj_0001.v4_gold_conll wsj_0001.jsonl.gz
      spansrl convert --from conll05-test test-wsj test-wsj.jsonl
      zcat train.props.gz | spansrl convert - - | head -1
    """
    losses = write_sentences(target, read_sentences(source, source_format), target_format)
    if losses:
        click.echo(f"convert: {losses}", err=True)
