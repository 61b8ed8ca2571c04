"""Read and write sentences: JSON Lines and the CoNLL formats. See docs/formats.md.

>>> from spansrl.formats import read_sentences, write_sentences
>>> losses = write_sentences("dev.props", read_sentences("dev.jsonl.gz"))     # doctest: +SKIP
>>> print(losses or "nothing was lost")                                       # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

from spansrl.errors import DataError, FormatError
from spansrl.formats.conll import read_conll
from spansrl.formats.conll_writing import Losses, conll_lines
from spansrl.formats.detect import conll05_form, format_of_content, format_of_name
from spansrl.formats.files import STANDARD_STREAM, Line, open_output, read_lines, shown_path
from spansrl.formats.jsonl import jsonl_lines, read_jsonl, sentence_schema
from spansrl.formats.layouts import CONLL05_FORMS, FORM_KEY, LAYOUTS, Layout
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

READABLE = ("jsonl", "conll05", *LAYOUTS)
WRITABLE = tuple(name for name in READABLE if name != "skel")


def read_sentences(
    path: str | Path, format: str | None = None, *, progress: Progress = no_progress
) -> Iterator[Sentence]:
    """Yield the sentences of a file; without `format` it is guessed from the name, then from the content.

    ``-`` is standard input; compressed files are decompressed. Raises FormatError with file and line.
    """
    _check_readable(format)
    return _read(path, format, progress)


def open_lines(
    path: str | Path, format: str | None = None, *, progress: Progress = no_progress
) -> tuple[str | None, Iterator[Line]]:
    """Return the format of a file (`conll05` resolved to its form; None for an empty file) and its lines."""
    _check_readable(format)
    rest = read_lines(path, progress=progress)
    head = _first_sentence(rest)
    if not head:
        return None, iter(())
    format = format or format_of_name(path) or format_of_content(head) or format_of_name(path, loosely=True)
    if format is None:
        message = f"unknown format; name it with --from: {', '.join(READABLE)}"
        raise FormatError(message, path=shown_path(path), line=head[0].number)
    return conll05_form(head) if format == "conll05" else format, chain(head, rest)


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
    format = format or _format_to_write(path)
    if format not in WRITABLE:
        raise DataError(f"the format '{format}' cannot be written. Choose from: {', '.join(WRITABLE)}")
    losses = Losses(format)
    with open_output(path, stream=stream) as output:
        for line in _lines(sentences, format, losses, str(path)):
            output.write(f"{line}\n".encode())
            if stream:
                output.flush()
    return losses


def _read(path: str | Path, format: str | None, progress: Progress) -> Iterator[Sentence]:
    found, lines = open_lines(path, format, progress=progress)
    if found is not None:
        where = shown_path(path)
        yield from read_jsonl(lines, where) if found == "jsonl" else read_conll(lines, LAYOUTS[found], where)


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


def _lines(sentences: Iterable[Sentence], format: str, losses: Losses, path: str) -> Iterator[str]:
    if format == "jsonl":
        return jsonl_lines(sentences, path)
    if format == "conll05":
        sentences = iter(sentences)
        first = list(islice(sentences, 1))
        return conll_lines(chain(first, sentences), _conll05_layout(first), losses, path)
    return conll_lines(sentences, LAYOUTS[format], losses, path)


def _conll05_layout(first: list[Sentence]) -> Layout:
    """Return the form that the sentences were read from; by default the train form, which holds most."""
    form = first[0].extra.get(FORM_KEY) if first else None
    return CONLL05_FORMS.get(str(form), LAYOUTS["conll05-train"])
