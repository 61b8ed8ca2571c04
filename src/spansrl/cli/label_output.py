"""The output of `spansrl label`: a drawing, a table, a page, or any file format."""

from __future__ import annotations

import csv
import io
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spansrl.errors import DataError, FormatError
from spansrl.formats import WRITABLE, Losses, open_output, write_sentences
from spansrl.formats.detect import format_of_name
from spansrl.formats.files import STANDARD_STREAM, plain_name
from spansrl.formats.jsonl import jsonl_lines
from spansrl.structures import ROW_COLUMNS, Sentence

if TYPE_CHECKING:
    from spansrl.inventory import RoleInventory

PRETTY, PARQUET = "pretty", "parquet"
OUTPUTS = (PRETTY, "json", "csv", "tsv", "html", "svg", PARQUET, *WRITABLE)

_EXTENSIONS = {f".{name}": name for name in ("json", "csv", "tsv", "html", "svg", PARQUET)}
_EXTENSIONS |= {".txt": PRETTY, ".htm": "html"}
_GROUP = 1000  # sentences per row group of a Parquet file


def format_to_write(path: str) -> str:
    """Return the format of a file name; a terminal gets a drawing, a pipe JSON Lines."""
    if path == STANDARD_STREAM:
        return PRETTY if sys.stdout is not None and sys.stdout.isatty() else "jsonl"
    format = _EXTENSIONS.get(Path(plain_name(path)).suffix) or format_of_name(path, loosely=True)
    if format is None:
        message = f"the name has no known extension; name the format with --to: {', '.join(OUTPUTS)}"
        raise FormatError(message, path=path)
    return format


def write_labeled(
    path: str, sentences: Iterable[Sentence], format: str, frames: RoleInventory | None, *, auxiliaries: bool
) -> Losses | None:
    """Write sentences as they arrive, and return what the format could not hold; files appear atomically.

    Without `auxiliaries`, drawings and tables leave out auxiliaries that have no arguments.
    """
    if format in WRITABLE:
        return write_sentences(path, sentences, format, stream=True)
    if not auxiliaries and format != "json":
        sentences = map(Sentence.without_auxiliaries, sentences)
    if format == PARQUET:
        _write_parquet(sentences, path)
        return None
    with open_output(path, stream=True) as output:
        encoding = sys.stdout.encoding if path == STANDARD_STREAM and format == PRETTY else "utf-8"
        for piece in _WRITERS[format](sentences, path, frames):
            output.write(piece.encode(encoding))
            output.flush()
    return None


def _drawn(sentences: Iterable[Sentence], path: str, frames: RoleInventory | None) -> Iterator[str]:
    """Yield drawings, in color on a terminal unless NO_COLOR is set."""
    from spansrl.visualize import sentence_text

    screen = path == STANDARD_STREAM
    width = shutil.get_terminal_size().columns if screen else 80
    color = screen and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    encoding = sys.stdout.encoding if screen else "utf-8"
    for number, sent in enumerate(sentences):
        drawing = sentence_text(
            sent, width=width, color=color, encoding=encoding, frames=frames, auxiliaries=True
        )
        yield f"{drawing}\n" if number == 0 else f"\n{drawing}\n"


def _json(sentences: Iterable[Sentence], path: str, frames: RoleInventory | None) -> Iterator[str]:
    """Yield one JSON array, with one line per sentence."""
    separator = "[\n"
    for line in jsonl_lines(sentences, path):
        yield separator + line
        separator = ",\n"
    yield "[]\n" if separator == "[\n" else "\n]\n"


def _table(
    sentences: Iterable[Sentence], path: str, frames: RoleInventory | None, *, dialect: str
) -> Iterator[str]:
    """Yield a header and one row per argument, as in `Sentence.rows`."""
    buffer = io.StringIO()
    table = csv.DictWriter(buffer, ROW_COLUMNS, dialect=dialect, lineterminator="\n")
    table.writeheader()
    for number, sent in enumerate(sentences):
        # A row stays one line, for cut, awk and wc: a line break in the text of an argument becomes a space.
        table.writerows(
            {key: " ".join(cell.split()) if isinstance(cell, str) else cell for key, cell in row.items()}
            for row in sent.rows(number=number)
        )
        yield buffer.getvalue().encode("utf-8", "replace").decode()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue()  # the header, if there was no sentence


def _page(sentences: Iterable[Sentence], path: str, frames: RoleInventory | None) -> Iterator[str]:
    from spansrl.visualize import document_html, sentence_html

    head, foot = document_html([]).split("</body>")
    yield head
    for sent in sentences:
        yield sentence_html(sent, frames=frames, auxiliaries=True) + "\n"
    yield f"</body>{foot}"


def _image(sentences: Iterable[Sentence], path: str, frames: RoleInventory | None) -> Iterator[str]:
    from spansrl.visualize import sentence_svg

    found = list(islice(sentences, 2))
    if len(found) != 1:
        reason = "the input has more than one; use --to html" if found else "the input has none"
        raise DataError(f"an SVG image shows one sentence, but {reason}")
    yield sentence_svg(found[0], frames=frames, auxiliaries=True)


_WRITERS: dict[str, Callable[[Iterable[Sentence], str, RoleInventory | None], Iterator[str]]] = {
    PRETTY: _drawn,
    "json": _json,
    "csv": partial(_table, dialect="excel"),
    "tsv": partial(_table, dialect="excel-tab"),
    "html": _page,
    "svg": _image,
}


def _write_parquet(sentences: Iterable[Sentence], path: str) -> None:
    if path == STANDARD_STREAM:
        raise click.UsageError("Parquet cannot be written to standard output; name a file with -o")
    from spansrl.jobs.parquet import schema_of, write_groups
    from spansrl.jobs.rows import ARGUMENT_COLUMNS

    schema = schema_of({column: ARGUMENT_COLUMNS[column] for column in ROW_COLUMNS})
    numbered = enumerate(sentences)
    groups = iter(lambda: list(islice(numbered, _GROUP)), [])
    with open_output(path) as output:
        rows = ([row for number, sent in group for row in sent.rows(number=number)] for group in groups)
        write_groups(output, rows, schema)
