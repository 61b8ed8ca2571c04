"""What `spansrl label` reads: text, tokens, or sentences in a file format, from arguments, files or a pipe.

Everything is read as a stream. Text is cut where nothing before the cut can matter to what follows, so that
memory stays bounded and sentences come out as they would of the whole text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import click

from spansrl.errors import FormatError
from spansrl.formats import READABLE, read_lines, read_sentences
from spansrl.formats.detect import format_of_name
from spansrl.formats.files import STANDARD_STREAM, read_text
from spansrl.progress import Progress
from spansrl.structures import Sentence

TEXT, TOKENS = "text", "tokens"
INPUTS = (TEXT, TOKENS, *READABLE)

_BLANK_LINE = re.compile(r"\n[^\S\n]*\n\s*")
_LONG = 1 << 15  # characters without a blank line after which sentences are looked at one by one
_UNSETTLED = 400  # characters at the end of a text that goes on
_DATA = re.compile(r"\.(conllu?|xml|html?|csv|tsv|json|pdf|docx?)(\.(gz|xz))?$", re.IGNORECASE)
_JSON_SENTENCE = re.compile(r'\s*\{\s*"[^"\n]{1,40}"\s*:')
_FILE_NAME = re.compile(r"\S*[\\/]\S+|\S+\.\w{2,5}")


class Source(NamedTuple):
    """One thing to read: a file, or a text that was given as it is."""

    format: str | None  # None: to be guessed from the file
    path: str | None = None
    text: str = ""

    @property
    def size(self) -> int | None:
        """Bytes of the file, where it is a file that has some."""
        return os.path.getsize(self.path) if self.path is not None and os.path.isfile(self.path) else None

    def check(self) -> None:
        """Raise what reading will raise where there is no such file, before anything else is read."""
        if self.path not in (None, STANDARD_STREAM) and not os.path.exists(self.path or ""):
            raise FormatError("cannot be read: No such file or directory; check the path", path=self.path)

    @property
    def is_other_data(self) -> bool:
        """Whether it is read as text although its name stands for something else."""
        return self.format == TEXT and self.path is not None and _DATA.search(self.path) is not None

    @property
    def looks_like_a_file(self) -> bool:
        """Whether a text may have been meant as the name of a file."""
        return self.path is None and _FILE_NAME.fullmatch(self.text) is not None

    @property
    def is_a_word(self) -> bool:
        """Whether it is a text without blanks, perhaps one of many that were meant to be one."""
        return self.path is None and len(self.text.split()) == 1

    def sentences(self, progress: Progress) -> Iterator[Sentence]:
        """The sentences, read when they are asked for."""
        if self.format not in (TEXT, TOKENS):
            return read_sentences(self.path or "", self.format, progress=progress)
        if self.format == TOKENS:
            lines = self.text.splitlines() if self.path is None else _lines(self.path, progress)
            return (Sentence(tuple(line.split())) for line in lines if line.strip())
        if self.path is None:
            return text_sentences([self.text])
        return text_sentences(_warned_of_json(read_text(self.path, progress=progress), self.path))


def source_of(argument: str, format: str | None) -> Source:
    """What an argument stands for; without a format, text unless it is named like a file of sentences."""
    if argument == STANDARD_STREAM:
        return Source(format or TEXT, argument)
    if format is None and _FILE_NAME.fullmatch(argument):
        format = format_of_name(argument, loosely=True)
    if format not in (None, TEXT, TOKENS) or os.path.exists(argument):
        return Source(format or TEXT, argument)
    return Source(format or TEXT, text=argument)


def text_sentences(blocks: Iterable[str]) -> Iterator[Sentence]:
    """The sentences of a text that comes in blocks; `char_start` counts from its beginning."""
    from spansrl.inference.cutting import LanguageCheck, sentences_of

    checked = LanguageCheck()
    rest, start = "", 0
    for block in blocks:
        rest += block
        cut = _after_blank_line(rest) or (_between_sentences(rest) if len(rest) > _LONG else 0)
        if cut:
            yield from checked(sentences_of(rest[:cut], char_start=start))
            rest, start = rest[cut:], start + cut
    yield from checked(sentences_of(rest, char_start=start))


def _after_blank_line(text: str) -> int:
    """Behind the last blank line, over which no sentence goes; 0 if there is none."""
    return max((match.end() for match in _BLANK_LINE.finditer(text)), default=0)


def _between_sentences(text: str) -> int:
    """A place before one of the last sentences, at the beginning of a line if some sentence begins there.

    What is near to the end may look different when the text goes on.
    """
    from spansrl.language.tokenizer import iter_sentences

    cut = line = end = 0
    for sent in iter_sentences(text):
        if sent.start > len(text) - _UNSETTLED:
            break
        cut, line = sent.start, sent.start if "\n" in text[end : sent.start] else line
        end = sent.end
    return line or cut or len(text)


def _warned_of_json(blocks: Iterator[str], path: str) -> Iterator[str]:
    """The text, after a warning if it begins as a file of JSON lines does."""
    first = next(blocks, "")
    if _JSON_SENTENCE.match(first):
        name = "standard input" if path == STANDARD_STREAM else path
        told = f"{name} looks like JSON lines, and is labelled as text; if that is not meant: --input jsonl"
        click.echo(f"spansrl: warning: {told}", err=True)
    yield first
    yield from blocks


def _lines(path: str, progress: Progress) -> Iterator[str]:
    return (line.text for line in read_lines(path, progress=progress))
