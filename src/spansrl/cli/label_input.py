"""The input of `spansrl label`: text, tokens or sentences, from arguments, files or a pipe."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from spansrl.errors import FormatError
from spansrl.formats import READABLE, read_lines, read_sentences
from spansrl.formats.table import format_of_name
from spansrl.formats.text_files import STANDARD_STREAM, read_text, shown_path
from spansrl.progress import Progress
from spansrl.structures import Sentence

if TYPE_CHECKING:
    from spansrl.inference.pipeline import Pipeline
    from spansrl.jobs.documents import InputOptions

TEXT, TOKENS = "text", "tokens"
INPUTS = (TEXT, TOKENS, *READABLE)

_DATA = re.compile(r"\.(conll|xml|html?|csv|tsv|json|pdf|docx?)(\.(gz|xz|bz2))?$", re.IGNORECASE)
_JSON_SENTENCE = re.compile(r'\s*\{\s*"[^"\n]{1,40}"\s*:')
_PATH = re.compile(r"\S*[\\/]\S*|\S+\.[A-Za-z]\w{0,9}")


class Source(NamedTuple):
    """A file, or a text that was given as an argument."""

    format: str | None  # None: to be detected from the file's content
    path: str | None = None
    text: str = ""
    encoding: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it is text or tokens, which have no predicates."""
        return self.format in (TEXT, TOKENS)

    def sentences(self, pipeline: Pipeline, progress: Progress) -> Iterator[Sentence]:
        if self.path is not None and not self.is_plain:
            return read_sentences(self.path, self.format, encoding=self.encoding, progress=progress)
        if self.format == TOKENS:
            lines = (
                self.text.splitlines()
                if self.path is None
                else (line.text for line in read_lines(self.path, encoding=self.encoding, progress=progress))
            )
            return (Sentence(tuple(line.split())) for line in lines if line.strip())
        if self.path is None:
            return pipeline.sentences(self.text)
        text = read_text(self.path, encoding=self.encoding, progress=progress)
        return pipeline.sentences(_warned_of_json(text, self.path))


def source_of(argument: str, format: str | None, encoding: str | None, *, guess: bool) -> Source:
    """Return what an argument names; with `guess` the format of a file is detected from its content."""
    is_file = argument == STANDARD_STREAM or os.path.exists(argument)
    if not is_file and (_PATH.fullmatch(argument) or format not in (None, TEXT, TOKENS)):
        advice = "to label it as text, pass it on standard input"
        raise FormatError(f"cannot be read: No such file or directory; {advice}", path=argument or "''")
    if not is_file:
        return Source(format or TEXT, text=argument)
    if format is None and not guess:
        format = format_of_name(argument, loosely=True) or TEXT
    return Source(format, argument, encoding=encoding)


class ColumnSource(NamedTuple):
    """Documents in the rows of tables; the `id` of a sentence is that of its document."""

    paths: Sequence[str]
    options: InputOptions
    format: str | None = TEXT
    path: str | None = None
    text: str = ""
    is_plain: bool = True

    def sentences(self, pipeline: Pipeline, progress: Progress) -> Iterator[Sentence]:
        from spansrl.jobs.documents import InputReader

        for path in self.paths:
            for document in InputReader(self.options).read(path):
                if document.reason is not None:
                    _warn(f"{document.where}: skipped: {document.reason}")
                yield from (replace(sent, id=document.id) for sent in pipeline.sentences(document.text))


def column_source(paths: Sequence[str], text: str, id: str | None, encoding: str | None) -> ColumnSource:
    """Return the documents in a column of tables; raises DataError if no file has it."""
    from spansrl.jobs.documents import InputOptions, check_columns, find_files

    if not paths:
        raise click.UsageError("--text names a column of a file; name the file too")
    options = InputOptions(text=text, id=id, encoding=encoding)
    found, _ = find_files(paths, leave_out=Path(os.devnull))
    check_columns(found, options)
    return ColumnSource(found, options)


def check_texts(sources: Sequence[Source | ColumnSource], *, guessed: bool) -> None:
    """Warn about texts that may have been meant as something else."""
    for source in sources:
        if guessed and source.format == TEXT and source.path is not None and _DATA.search(source.path):
            advice = "name its format with --from, or a column with --text"
            _warn(f"{source.path} is labeled as plain text; {advice}")
    words = [source.text for source in sources if source.path is None and len(source.text.split()) == 1]
    if 1 < len(words) == len(sources):
        _warn(f"{len(words)} texts of one word each; if they are one text, put it in quotes")
    elif words and re.fullmatch(r"[\w-]+", words[0]):
        _warn(f"{words[0]} is labeled as text; there is no file of that name")


def typed_texts() -> Iterator[str]:
    """Yield the lines that a user types, until Ctrl-D."""
    click.echo("Type a text and press Enter to label it. Press Ctrl-D to quit.", err=True)
    while True:
        try:
            line = input("> " if sys.stdout is not None and sys.stdout.isatty() else "")
        except EOFError:
            click.echo(err=True)
            return
        yield line


def _warned_of_json(blocks: Iterator[str], path: str) -> Iterator[str]:
    """Yield the text, after a warning if it begins like a file of JSON Lines."""
    first = next(blocks, "")
    if _JSON_SENTENCE.match(first):
        _warn(f"{shown_path(path)} looks like JSON Lines, but is labeled as text; use --from jsonl")
    yield first
    yield from blocks


def _warn(message: str) -> None:
    click.echo(f"spansrl: warning: {message}", err=True)
