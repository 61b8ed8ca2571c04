"""`spansrl data`: corpora from their raw sources, as JSON Lines with an audit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from spansrl.cli import options
from spansrl.cli.progress import progress_bar
from spansrl.corpora.brown import build_brown
from spansrl.corpora.conll05 import build_conll05
from spansrl.corpora.conll12 import build_conll12
from spansrl.corpora.corpus import (
    AUDIT_FILE,
    KINDS,
    Audit,
    CorpusSplits,
    Note,
    by_reason,
    write_corpus,
)
from spansrl.corpora.ewt import build_ewt
from spansrl.corpora.examples import build_examples
from spansrl.corpora.masc import build_masc
from spansrl.corpora.written import build_written
from spansrl.formats import read_sentences
from spansrl.progress import Progress

_WIDTH = 100

_out = options.out("Directory for the files.")
_unlike = options.path(
    "--unlike",
    metavar="FILE",
    multiple=True,
    help="Leave out training sentences that share eight words in a row with this file; may be repeated.",
)


@click.group()
def command() -> None:
    """Build a corpus: JSON Lines for every split, and an audit of what was kept and dropped.

    Each builder writes SPLIT.jsonl and audit.json into one directory, all of them or none, and prints a table
    of their contents. The same sources always give the same bytes.

    \b
    Examples
      spansrl data ewt --out data/ewt                       # free; downloads its two sources
      spansrl data examples --unlike data/ewt/dev.jsonl --unlike data/ewt/test.jsonl --out data/examples
      spansrl data masc --propbank propbank-release --tagged masc_tagged --out data/masc
      spansrl data conll05 conll05st-release --trees treebank_3 --out data/conll05
      spansrl data conll12 conll-2012/v4 --out data/conll12
    """


@command.command()
@click.option("--propbank", metavar="SRC", help="The PropBank release.  [default: downloaded]")
@click.option("--ud", metavar="SRC", help="UD_English-EWT.  [default: downloaded]")
@_out
def ewt(propbank: str | None, ud: str | None, out: Path) -> None:
    """Build the English Web Treebank PropBank, which is free: 16,578 sentences, 50,262 propositions.

    PropBank's release contains the propositions, Universal Dependencies the words; they are joined
    sentence by sentence, and aligned where their tokens differ. SRC is a directory, an archive (.tar.xz,
    .tar.gz, .zip) or a URL. By default two tested commits are downloaded from GitHub: propbank-release
    4abade0 and UD_English-EWT 15d613d, both CC BY-SA 4.0.

    \b
    Writes train.jsonl, dev.jsonl, test.jsonl and audit.json.

    \b
    Examples
      spansrl data ewt --out data/ewt
      spansrl data ewt --propbank propbank-release.tar.xz --ud UD_English-EWT --out data/ewt
    """
    _build(lambda progress: build_ewt(propbank, ud, progress=progress), out)


@command.command()
@click.option("--propbank", metavar="SRC", required=True, help="The PropBank release.")
@click.option("--tagged", metavar="SRC", required=True, help="MASC's tagged words (masc_tagged).")
@options.path(
    "--split",
    metavar="FILE",
    help="Table of documents with the columns document, mode, genre and split.  [default: the package's]",
)
@_unlike
@_out
def masc(propbank: str, tagged: str, split: Path | None, unlike: tuple[Path, ...], out: Path) -> None:
    """Build MASC, which is free: 4,878 sentences, 13,159 propositions in twelve genres.

    PropBank's release contains the propositions, MASC the words. The two are aligned by their part-of-speech
    tags; sentences that do not fit are dropped. SRC is a directory, an archive (.tar.xz, .tar.gz, .zip) or a
    URL. Mostly verbs are annotated, so use the training split as training.partial next to another corpus.

    \b
    Writes train.jsonl, dev.jsonl, test.jsonl and audit.json.

    \b
    Examples
      spansrl data masc --propbank propbank-release --tagged masc_tagged.zip \\
          --unlike data/ewt/dev.jsonl --unlike data/ewt/test.jsonl --out data/masc
    """
    held_out = (sent for path in unlike for sent in read_sentences(path))
    _build(lambda progress: build_masc(propbank, tagged, split, held_out, progress=progress), out)


@command.command()
@click.argument("source", metavar="SRC", type=options.PATH)
@options.path(
    "--trees",
    metavar="SRC",
    multiple=True,
    help="Penn Treebank trees (WSJ, Brown) for the words, if SRC has none; may be repeated.",
)
@_out
def conll05(source: Path, trees: tuple[Path, ...], out: Path) -> None:
    """Build CoNLL-2005 from your own copy: WSJ 02-21, 24 and 23, and Brown ck01-ck03.

    SRC is a directory or an archive with the shared task's column files, plain or compressed: one file per
    section and layer, or all layers merged in one file per split. Trees have names like wsj_0200.mrg and
    ck01.mrg.

    \b
    Layers             train.02.words.gz train.02.props.gz train.02.synt.cha.gz train.02.ne.gz
                       train.02.senses.gz … devel.24.* test.wsj.* test.brown.*
    Merged             train-set.gz devel-set.gz test.wsj.gz test.brown.gz
                       WORD POS PARSE NE [FRAME] LEMMA ARGS…  or  WORD LEMMA ARGS…

    \b
    Writes train.jsonl, dev.jsonl, test.wsj.jsonl, test.brown.jsonl (as far as SRC has them) and audit.json.

    \b
    Examples
      spansrl data conll05 conll05st-release --out data/conll05
      spansrl data conll05 conll05st-release.tar.gz --trees treebank_3/parsed/mrg --out data/conll05
    """
    _build(lambda progress: build_conll05(source, trees, progress=progress), out)


@command.command()
@click.argument("source", metavar="SRC", type=options.PATH)
@options.path("--train-list", metavar="FILE", help="Documents of train.")
@options.path("--dev-list", metavar="FILE", help="Documents of dev.")
@options.path("--test-list", metavar="FILE", help="Documents of test.")
@_out
def conll12(
    source: Path, train_list: Path | None, dev_list: Path | None, test_list: Path | None, out: Path
) -> None:
    """Build CoNLL-2012 from your own *_gold_conll files.

    SRC is a directory or an archive that contains such files at any depth. A file belongs to the split whose
    directory it is in (train, development, test; conll-2012-test takes precedence over test), or to the split
    whose list names it, one document per line: bc/cctv/00/cctv_0000. Only English documents are used.

    \b
    Writes train.jsonl, dev.jsonl, test.jsonl (as far as SRC has them) and audit.json.

    \b
    Examples
      spansrl data conll12 conll-2012/v4/data --out data/conll12
      spansrl data conll12 annotations --train-list train.txt --dev-list dev.txt --test-list test.txt \\
          --out data/conll12
    """
    given = {"train": train_list, "dev": dev_list, "test": test_list}
    lists = {split: path for split, path in given.items() if path is not None}
    _build(lambda progress: build_conll12(source, lists, progress=progress), out)


@command.command()
@click.option("--frames", metavar="SRC", help="PropBank's frames.  [default: downloaded]")
@_unlike
@_out
def examples(frames: str | None, unlike: tuple[Path, ...], out: Path) -> None:
    """Build a corpus of the examples in PropBank's frames, which are free: about 23,000 propositions.

    Each sentence has only one labeled predicate, so use the corpus for training next to another one
    (training.partial), not for testing. SRC is a directory, an archive or a URL as for `spansrl frames`. With
    --unlike, name the files that a model will be tested on.

    \b
    Writes train.jsonl and audit.json.

    \b
    Examples
      spansrl data examples --unlike data/ewt/dev.jsonl --unlike data/ewt/test.jsonl --out data/examples
      spansrl data examples --frames propbank-frames.tar.xz --out data/examples
    """
    held_out = (sent for path in unlike for sent in read_sentences(path))
    _build(lambda progress: build_examples(frames, held_out, progress=progress), out)


@command.command("conll05-brown")
@click.argument("source", metavar="SRC")
@_out
def conll05_brown(source: str, out: Path) -> None:
    """Build CoNLL-2005's Brown test set without the Penn Treebank: 426 sentences, 804 propositions.

    SRC is a directory or an archive with test.brown.props.gz of the shared task, which has no words, and the
    files ck01, ck02 and ck03 of the Brown corpus (word/tag), which it covers token by token. For tests only.

    \b
    Writes test.brown.jsonl and audit.json.

    \b
    Examples
      spansrl data conll05-brown brown.tar.xz --out data/brown
    """
    _build(lambda progress: build_brown(source, progress=progress), out)


@command.command()
@click.argument("files", metavar="FILE …", nargs=-1, required=True, type=options.PATH)
@_unlike
@_out
def written(files: tuple[Path, ...], unlike: tuple[Path, ...], out: Path) -> None:
    """Build a corpus of sentences that were written for a roleset, one labeled predicate each.

    A line of a FILE has a roleset, a tab, and tokens with brackets around the arguments and the predicate.
    Sentences are checked against PropBank's frames; those with an unknown sense, a role that the sense does
    not have or a missing particle are left out, and so are repetitions. A tenth of the rolesets, always the
    same ones, is the development part.

    \b
    Writes train.jsonl, dev.jsonl and audit.json.

    \b
    Examples
      spansrl data written written/*.tsv --out data/written
      spansrl data written mine.tsv --unlike data/ewt/dev.jsonl --unlike data/ewt/test.jsonl --out mine
    """
    held_out = (sent for path in unlike for sent in read_sentences(path))
    _build(lambda progress: build_written(files, held_out, progress=progress), out)


def _build(builder: Callable[[Progress], CorpusSplits], out: Path) -> None:
    with progress_bar() as progress:
        corpus = builder(progress)
        write_corpus(corpus, out)
    _show(corpus.audit, out)


def _show(audit: Audit, out: Path) -> None:
    # A path may contain what rich takes for markup, such as [red] or :smile:.
    console = Console(width=_WIDTH, highlight=False, markup=False, emoji=False)
    console.print(_table(audit))
    for title, notes in (("Dropped", audit.dropped), ("Aligned", audit.repaired)):
        console.print(f"\n{title}:{_summary(notes)}", soft_wrap=True)
    for what, counts in audit.checks.items():
        passed, total = counts[True], counts.total()
        console.print(f"\nChecked: {what}, {passed:,} of {total:,} ({passed / total:.2%})", soft_wrap=True)
    groups = audit.duplicate_groups()
    console.print(f"\nGroups of identical sentences in more than one split: {len(groups):,}", soft_wrap=True)
    names = ", ".join(f"{split}.jsonl" for split in audit.splits)
    console.print(f"\nWritten to {out}: {names}, {AUDIT_FILE}", soft_wrap=True)


def _table(audit: Audit) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(audit.corpus)
    for name in (*audit.splits, "all"):
        table.add_column(name, justify="right")
    splits = audit.splits.values()
    rows = {
        "documents": [len(counts.documents) for counts in splits],
        "sentences": [counts.sentences for counts in splits],
        "tokens": [counts.tokens for counts in splits],
        "propositions": [counts.propositions for counts in splits],
        **{f"  {kind}": [counts.kinds[kind] for counts in splits] for kind in KINDS},
        "arguments": [counts.arguments for counts in splits],
    }
    for name, figures in rows.items():
        if name != "documents" or any(figures):  # column files do not mark documents
            table.add_row(name, *(f"{value:,}" for value in (*figures, sum(figures))))
    return table


def _summary(notes: list[Note]) -> str:
    lines = [f"\n  {count:,} × {what}: {reason}" for (what, reason), count in by_reason(notes).items()]
    return "".join(lines) or " nothing"
