"""The output of `spansrl label`: a drawing, a table, a page, or any file format."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spansrl.checks import Json
from spansrl.errors import DataError, FormatError
from spansrl.formats import WRITABLE, Losses, open_output, write_sentences
from spansrl.formats.jsonl import jsonl_lines
from spansrl.formats.spreadsheet import write_workbook
from spansrl.formats.table import format_of_name
from spansrl.formats.text_files import STANDARD_STREAM, plain_name
from spansrl.statements import STATEMENT_COLUMNS, Statements, statements_of
from spansrl.structures import ROW_COLUMNS, Sentence

if TYPE_CHECKING:
    from spansrl.inventory import RoleInventory

PRETTY, PARQUET = "pretty", "parquet"
TABLES = ("csv", "tsv", "xlsx", PARQUET)
OUTPUTS = (PRETTY, "json", "html", "svg", *TABLES, *WRITABLE)

_EXTENSIONS = {f".{name}": name for name in ("json", "html", "svg", *TABLES)}
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
    if format in (PARQUET, "xlsx"):
        _write_binary(path, _rows(sentences), ROW_COLUMNS, format)
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
    return _json_rows(jsonl_lines(sentences, path))


def _table(
    sentences: Iterable[Sentence], path: str, frames: RoleInventory | None, *, dialect: str
) -> Iterator[str]:
    """Yield a header and one row per argument, as in `Sentence.rows`."""
    return _lines(_rows(sentences), ROW_COLUMNS, dialect)


def _rows(sentences: Iterable[Sentence]) -> Iterator[list[Json]]:
    """The rows of each sentence."""
    return (sent.rows(number=number) for number, sent in _numbered(sentences))


def _numbered(sentences: Iterable[Sentence]) -> Iterator[tuple[int, Sentence]]:
    """Sentences with their numbers, from the beginning of their document."""
    for _, own in groupby(sentences, key=lambda sent: sent.id):
        yield from enumerate(own)


def _lines(groups: Iterable[list[Json]], columns: Iterable[str], dialect: str) -> Iterator[str]:
    buffer = io.StringIO()
    table = csv.DictWriter(buffer, list(columns), dialect=dialect, lineterminator="\n")
    table.writeheader()
    for rows in groups:
        # A row stays one line, for cut, awk and wc: a line break in the text of an argument becomes a space.
        table.writerows(
            {key: " ".join(cell.split()) if isinstance(cell, str) else cell for key, cell in row.items()}
            for row in rows
        )
        yield buffer.getvalue().encode("utf-8", "replace").decode()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue()  # the header, if there was no sentence


def write_statements(path: str, sentences: Iterable[Sentence], format: str) -> None:
    """Write the statements of sentences as they arrive."""
    groups = ([one.row() for one in found] for found in _statements(sentences))
    if format in (PARQUET, "xlsx"):
        _write_binary(path, groups, STATEMENT_COLUMNS, format)
        return
    pieces: Iterable[str]
    if format == PRETTY:
        pieces = (f"{one}\n" for found in _statements(sentences) for one in found)
    elif format in ("csv", "tsv"):
        pieces = _lines(groups, STATEMENT_COLUMNS, "excel" if format == "csv" else "excel-tab")
    else:
        rows = (json.dumps(row, ensure_ascii=False) for rows in groups for row in rows)
        pieces = _json_rows(rows) if format == "json" else (f"{row}\n" for row in rows)
    with open_output(path, stream=True) as output:
        for piece in pieces:
            output.write(piece.encode("utf-8", "replace"))
            output.flush()


def _statements(sentences: Iterable[Sentence]) -> Iterator[Statements]:
    """The statements of each sentence."""
    return (statements_of([sent], first=number) for number, sent in _numbered(sentences))


def _json_rows(rows: Iterable[str]) -> Iterator[str]:
    separator = "[\n"
    for row in rows:
        yield separator + row
        separator = ",\n"
    yield "[]\n" if separator == "[\n" else "\n]\n"


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


def _write_binary(path: str, groups: Iterable[list[Json]], columns: Mapping[str, Any], format: str) -> None:
    """Write groups of rows as Parquet or as an Excel workbook."""
    if path == STANDARD_STREAM:
        name = {PARQUET: "Parquet", "xlsx": "An Excel workbook"}[format]
        raise click.UsageError(f"{name} cannot be written to standard output; name a file with -o")
    stream = iter(groups)
    if format == "xlsx":
        with open_output(path) as output:
            write_workbook(output, list(columns), (list(row.values()) for rows in stream for row in rows))
        return
    from spansrl.jobs.parquet import schema_of, write_groups

    many = iter(lambda: list(islice(stream, _GROUP)), [])
    with open_output(path) as output:
        write_groups(output, ([row for rows in group for row in rows] for group in many), schema_of(columns))
