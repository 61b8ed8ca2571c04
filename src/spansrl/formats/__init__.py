"""Read and write sentences: JSON Lines, the CoNLL formats, brat. See docs/formats.md.

>>> from spansrl.formats import read_sentences, write_sentences
>>> losses = write_sentences("dev.props", read_sentences("dev.jsonl.gz"))     # doctest: +SKIP
>>> print(losses or "nothing was lost")                                       # doctest: +SKIP
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from spansrl.errors import DataError, FormatError
from spansrl.formats.conll_writing import Losses
from spansrl.formats.jsonl import sentence_schema
from spansrl.formats.table import (
    FORMATS,
    READABLE,
    WRITABLE,
    Format,
    Head,
    format_of_content,
    format_of_name,
)
from spansrl.formats.text_files import (
    STANDARD_STREAM,
    Line,
    open_output,
    open_outputs,
    read_lines,
    shown_path,
)
from spansrl.progress import Progress, no_progress
from spansrl.structures import Sentence

__all__ = [
    "READABLE",
    "WRITABLE",
    "Losses",
    "open_lines",
    "open_output",
    "read_lines",
    "read_sentences",
    "sentence_schema",
    "write_sentences",
]


def read_sentences(
    path: str | Path,
    format: str | None = None,
    *,
    encoding: str | None = None,
    progress: Progress = no_progress,
) -> Iterator[Sentence]:
    """Yield the sentences of a file; without `format` it is guessed from the name, then from the content.

    ``-`` is standard input; compressed files are decompressed. `encoding` is that of a file without a
    byte-order mark, by default UTF-8. Raises FormatError with file and line.
    """
    _check_readable(format)
    return _read(path, format, encoding, progress)


def open_lines(
    path: str | Path,
    format: str | None = None,
    *,
    encoding: str | None = None,
    progress: Progress = no_progress,
) -> tuple[Format | None, Iterator[Line]]:
    """Return the format of a file (`conll05` resolved to its form; None for an empty file) and its lines."""
    _check_readable(format)
    rest = read_lines(path, encoding=encoding, progress=progress)
    head = _first_sentence(rest)
    if not head:
        return None, iter(())
    start = Head(head)
    format = format or format_of_name(path) or format_of_content(start) or format_of_name(path, loosely=True)
    if format is None:
        message = f"unknown format; name it with --from: {', '.join(READABLE)}"
        raise FormatError(message, path=shown_path(path), line=head[0].number)
    form = FORMATS[format].form
    found = FORMATS[format] if form is None else FORMATS[form(start)]
    if found.read is None:
        readable = f"choose a file in one of: {', '.join(READABLE)}"
        raise FormatError(f"the format '{found.name}' cannot be read; {readable}", path=shown_path(path))
    return found, chain(head, rest)


def _check_readable(format: str | None) -> None:
    if format is not None and format not in READABLE:
        raise DataError(f"unknown format '{format}'. Choose from: {', '.join(READABLE)}")


def write_sentences(
    path: str | Path, sentences: Iterable[Sentence], format: str | None = None, *, stream: bool = False
) -> Losses:
    """Write a file atomically, and return what the format could not hold.

    Without `format` the name decides. ``-`` is standard output, by default in JSON Lines; with `stream` it
    gets each sentence immediately.
    """
    name = format or _format_to_write(path)
    found = FORMATS.get(name)
    if found is None or found.write is None:
        raise DataError(f"the format '{name}' cannot be written. Choose from: {', '.join(WRITABLE)}")
    losses = Losses(name)
    with _outputs(path, found, stream) as outputs:
        for number, line in enumerate(found.write(sentences, losses, str(path))):
            output = outputs[number % len(outputs)]
            if line or len(outputs) == 1 or number % 2:
                output.write(f"{line}\n".encode())
            if stream:
                output.flush()
    return losses


@contextmanager
def _outputs(path: str | Path, format: Format, stream: bool) -> Iterator[list[BinaryIO]]:
    """Yield the file to write, and its companion if there is one, which never replaces a file."""
    if not format.companion:
        with open_output(path, stream=stream) as output:
            yield [output]
        return
    own, other = Path(path), Path(path).with_suffix(format.companion)
    if own.suffix not in format.suffixes:
        message = f"{format.name} is two files; name the output NAME{format.suffixes[0]}"
        raise DataError(f"{shown_path(path)}: {message}")
    if os.path.lexists(other):
        raise DataError(f"{other}: exists already, and {own.name} needs a text file of its own; rename one")
    with open_outputs(own.parent, [own.name, other.name]) as outputs:
        yield outputs


def _read(
    path: str | Path, format: str | None, encoding: str | None, progress: Progress
) -> Iterator[Sentence]:
    found, lines = open_lines(path, format, encoding=encoding, progress=progress)
    if found is not None and found.read is not None:
        yield from found.read(lines, shown_path(path))


def _first_sentence(lines: Iterator[Line]) -> list[Line]:
    head: list[Line] = []
    for line in lines:
        blank = not line.text.strip()
        if head or not blank:
            head.append(line)
        begun = any(not line.text.startswith("#begin") for line in head)
        # JSON lines have no blank line to stop at.
        if (blank and begun) or line.text.lstrip().startswith("{"):
            break
    return head


def _format_to_write(path: str | Path) -> str:
    if str(path) == STANDARD_STREAM:
        return "jsonl"
    format = format_of_name(path, loosely=True)
    if format is None:
        message = f"the name has no known extension; name the format with --to: {', '.join(WRITABLE)}"
        raise FormatError(message, path=shown_path(path))
    return format
