"""What `spansrl label` writes: a drawing for people, rows for data frames, pages, or any file format."""

from __future__ import annotations

import csv
import io
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from spansrl.errors import DataError, FormatError
from spansrl.formats import WRITABLE, Losses, open_output, write_sentences
from spansrl.formats.detect import format_of_name
from spansrl.formats.files import STANDARD_STREAM, plain_name
from spansrl.structures import Proposition, Sentence

if TYPE_CHECKING:
    from spansrl.language.frames import FrameIndex

PRETTY = "pretty"
OUTPUTS = (PRETTY, "table", "html", "svg", *WRITABLE)

_SUFFIXES = {".html": "html", ".svg": "svg", ".tsv": "table", ".txt": PRETTY}

Pieces = Iterator[str]


def format_to_write(path: str) -> str:
    """The format that the file's name stands for; a terminal gets a drawing, a pipe JSON lines."""
    if path == STANDARD_STREAM:
        return PRETTY if sys.stdout is not None and sys.stdout.isatty() else "jsonl"
    format = _SUFFIXES.get(Path(plain_name(path)).suffix) or format_of_name(path, loosely=True)
    if format is None:
        message = f"the name does not say what to write; choose one with --output: {', '.join(OUTPUTS)}"
        raise FormatError(message, path=path)
    return format


def write_labelled(
    path: str, sentences: Iterable[Sentence], format: str, frames: FrameIndex | None
) -> Losses | None:
    """Write sentences as they come, and return what the format could not hold.

    Files appear whole or not at all.
    """
    if format not in _WRITERS:
        return write_sentences(path, sentences, format, stream=True)
    with open_output(path, stream=True) as output:
        encoding = sys.stdout.encoding if path == STANDARD_STREAM and format == PRETTY else "utf-8"
        for piece in _WRITERS[format](sentences, path, frames):
            output.write(piece.encode(encoding))
            output.flush()
    return None


def _drawn(sentences: Iterable[Sentence], path: str, frames: FrameIndex | None) -> Pieces:
    """Brackets below the words, in colour on a terminal that has not asked for none."""
    from spansrl.visualize import sentence_text

    screen = path == STANDARD_STREAM
    width = shutil.get_terminal_size().columns if screen else 80
    color = screen and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    encoding = sys.stdout.encoding if screen else "utf-8"
    for number, sent in enumerate(sentences):
        drawing = sentence_text(sent, width=width, color=color, encoding=encoding, frames=frames)
        yield f"{drawing}\n" if number == 0 else f"\n{drawing}\n"


def _rows(sentences: Iterable[Sentence], path: str, frames: FrameIndex | None) -> Pieces:
    """Tab-separated values with a header: what `rows` gives, one row an argument."""
    columns = list(Sentence(("",), (Proposition(0),)).rows()[0])
    buffer = io.StringIO()
    table = csv.DictWriter(buffer, columns, dialect="excel-tab", lineterminator="\n")
    table.writeheader()
    for number, sent in enumerate(sentences):
        # A row stays one line, for cut, awk and wc: a line break in the text of an argument becomes a blank.
        table.writerows(
            {key: " ".join(cell.split()) if isinstance(cell, str) else cell for key, cell in row.items()}
            for row in sent.rows(number=number)
        )
        yield buffer.getvalue().encode("utf-8", "replace").decode()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue()  # the header, if there was no sentence


def _page(sentences: Iterable[Sentence], path: str, frames: FrameIndex | None) -> Pieces:
    """One HTML page, without holding all of it."""
    from spansrl.visualize import document_html, sentence_html

    head, foot = document_html([]).split("</body>")
    yield head
    for sent in sentences:
        yield sentence_html(sent, frames=frames) + "\n"
    yield f"</body>{foot}"


def _image(sentences: Iterable[Sentence], path: str, frames: FrameIndex | None) -> Pieces:
    """One SVG image, of one sentence."""
    from spansrl.visualize import sentence_svg

    found = list(islice(sentences, 2))
    if len(found) != 1:
        how_many = "more than one sentence; use --output html" if found else "no sentence in the input"
        raise DataError(f"an SVG image shows one sentence, and there is {how_many}")
    yield sentence_svg(found[0], frames=frames)


_WRITERS: dict[str, Callable[[Iterable[Sentence], str, FrameIndex | None], Pieces]] = {
    PRETTY: _drawn,
    "table": _rows,
    "html": _page,
    "svg": _image,
}
