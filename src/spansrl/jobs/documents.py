"""Documents in files: plain text, JSON Lines, CSV and Parquet; all but Parquet also compressed.

A document that cannot be read is an InputDocument with a reason instead of a text, so that one bad line does
not stop a job. Memory does not grow with the file: a line or a row that is too long is skipped unread.
"""

from __future__ import annotations

import contextlib
import csv
import glob
import hashlib
import io
import json
import os
import sqlite3
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, AnyStr, BinaryIO, NamedTuple, TextIO, cast

from spansrl.checks import kind
from spansrl.errors import DataError, SpansrlError, SpansrlWarning, counted, shortened
from spansrl.formats.text_files import DAMAGED, MAGIC, as_utf8, decompressed, not_utf8, special_kind

SUFFIXES = (".txt", ".jsonl", ".csv", ".parquet")
LINE_BYTES = 1 << 24  # of a line of JSON or a row of CSV; more if documents may be longer
ID_CHARS = 1000
MAX_DUPLICATES = 10_000  # more of them are not mistakes in single documents but the wrong column
_NO_COLUMN = "no column "
_USUAL_COLUMNS = (
    "text",
    "body",
    "content",
    "article",
    "abstract",
    "sentence",
    "comment",
    "review",
    "message",
)


@dataclass(frozen=True, slots=True)
class InputOptions:
    """How documents are found in files."""

    text: str = "text"  # column of the text in JSON Lines, CSV and Parquet
    id: str | None = None  # column of the id; None: the path and line
    lines: bool = False  # one document per line of .txt files, otherwise one per file
    max_chars: int = 1_000_000
    encoding: str | None = None  # of files without a byte-order mark; None: UTF-8

    @property
    def line_bytes(self) -> int:
        """The most bytes of a line of JSON or a row of CSV, which may hold more than the text."""
        return max(LINE_BYTES, 8 * self.max_chars)

    @property
    def columns(self) -> list[str]:
        """The columns of text and id, if there is one."""
        return [self.text] if self.id is None else [self.text, self.id]

    def missing(self, columns: Sequence[str]) -> str | None:
        """Return the reason why documents with these columns cannot be read, if there is one."""
        absent = [column for column in self.columns if column not in columns]
        if not absent:
            return None
        found = ", ".join(shortened(column) for column in columns[:10]) or "none"
        reason = f"{_NO_COLUMN}{shortened(absent[0])!r}; found {found}"
        others = [column for column in columns if column and column != self.id]
        if absent[0] != self.text or not others:
            return reason
        usual = (column for column in others if column.lower() in _USUAL_COLUMNS)
        return f"{reason}. Name it, for example --text {shortened(next(usual, others[-1]))}"


class InputDocument(NamedTuple):
    """One document of a file, or the reason why it cannot be read."""

    where: str
    id: str
    text: str = ""
    reason: str | None = None

    @property
    def error(self) -> dict[str, str]:
        return error_of(self, self.reason or "")


def error_of(document: InputDocument, reason: str) -> dict[str, str]:
    """Return a line of errors.jsonl: bounded, and without halves of surrogate pairs."""
    return {"id": document.id, "where": document.where, "reason": _printable(shortened(reason, 400))}


@dataclass(frozen=True, slots=True)
class Shard:
    """Documents that are labeled and written together."""

    number: int
    documents: tuple[InputDocument, ...]
    bytes: int  # of the input that were read for it

    @property
    def digest(self) -> str:
        """SHA-256 of the documents."""
        digest = hashlib.sha256()
        for document in self.documents:
            for value in document:
                digest.update(f"{value}\0".encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


def find_files(inputs: Sequence[str], *, leave_out: Path) -> tuple[list[str], int]:
    """Return the files that are named by files, directories and globs, and how many others were skipped.

    Directories are read recursively, in the order of names, without hidden files and without `leave_out`, the
    directory of the output. A file that is found twice is read once. What is not a regular file is skipped
    with a warning.
    """
    found: dict[str, str] = {}
    skipped = 0
    for name in inputs:
        is_named = Path(name).exists() and not Path(name).is_dir()
        for path in _expanded(name):
            real = os.path.realpath(path)
            if Path(real).is_relative_to(leave_out.resolve()):
                continue
            special = special_kind(path)
            if is_named and special:
                raise DataError(f"{path}: {special}, not a regular file; write its content to a file first")
            if is_named and _suffix(path) not in SUFFIXES:
                raise DataError(
                    f"{path}: unknown kind of file; give one of {', '.join(SUFFIXES)} (compressed or not)"
                )
            if _suffix(path) not in SUFFIXES:
                skipped += 1
            elif special:
                warnings.warn(f"{_printable(path)}: skipped: {special}", SpansrlWarning, stacklevel=2)
            else:
                found.setdefault(real, path)
    return list(found.values()), skipped


def _expanded(name: str) -> Iterator[str]:
    if Path(name).is_dir():
        yield from _walked(name)
    elif Path(name).exists():
        yield name
    elif glob.has_magic(name):
        matches = sorted(glob.glob(name, recursive=True))
        if not matches:
            raise DataError(f"{name}: no file matches; check the pattern")
        for match in matches:
            yield from _expanded(match)
    else:
        raise DataError(f"{name}: no such file or directory; check the path")


def _walked(folder: str) -> Iterator[str]:
    for parent, folders, names in os.walk(folder, onerror=_raise):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith("."):
                yield Path(parent, name).as_posix()


def _raise(error: OSError) -> None:
    raise DataError(f"{error.filename}: cannot be read: {error.strerror}; check the permissions") from error


def _suffix(path: str) -> str:
    stem, suffix = os.path.splitext(path)
    return os.path.splitext(stem)[1] if suffix in MAGIC else suffix


def check_columns(paths: Sequence[str], options: InputOptions) -> None:
    """Raise DataError if no file has the columns of text and id."""
    problem = None
    for path in paths:
        with contextlib.closing(InputReader(options).read(path)) as documents:
            first = next(documents, None)
        if first is None or first.reason is None or not first.reason.startswith(_NO_COLUMN):
            return
        problem = problem or f"{first.where}: {_printable(first.reason)}"
    if problem is not None:
        raise DataError(problem)


class InputReader:
    """Reads files once, one document after the other."""

    def __init__(self, options: InputOptions) -> None:
        self._options = options
        self._files = 0  # bytes of the files that were read
        self._file: BinaryIO | None = None

    @property
    def bytes(self) -> int:
        """The bytes of the files that were read so far."""
        return self._files + (self._file.tell() if self._file is not None else 0)

    def shards(self, paths: Sequence[str], chars: int) -> Iterator[Shard]:
        """Cut the documents of files into shards of about `chars` characters; without any, one is empty."""
        number = size = begin = 0
        documents: list[InputDocument] = []
        for document in self._unique(d for path in paths for d in self.read(path)):
            if size >= chars:
                yield Shard(number, tuple(documents), self.bytes - begin)
                number, size, begin, documents = number + 1, 0, self.bytes, []
            documents.append(document)
            size += len(document.text) + 1
        yield Shard(number, tuple(documents), self.bytes - begin)

    def _unique(self, documents: Iterator[InputDocument]) -> Iterator[InputDocument]:
        """Give documents a reason whose id was used before."""
        if self._options.id is None:
            yield from documents
            return
        duplicates = 0  # compared on disk, so that memory does not grow with the ids
        with contextlib.closing(sqlite3.connect("", isolation_level=None)) as ids:
            ids.execute("PRAGMA journal_mode = OFF")
            ids.execute("CREATE TABLE used (id TEXT PRIMARY KEY, place TEXT) WITHOUT ROWID")
            ids.execute("BEGIN")
            for number, document in enumerate(documents, start=1):
                if document.reason is None:
                    try:
                        insert = "INSERT OR IGNORE INTO used VALUES (?, ?)"
                        is_new = ids.execute(insert, (document.id, document.where)).rowcount
                    except sqlite3.Error as error:
                        raise SpansrlError(
                            f"ids cannot be kept in the temporary directory: {error}"
                        ) from error
                    if not is_new:
                        (place,) = ids.execute(
                            "SELECT place FROM used WHERE id = ?", [document.id]
                        ).fetchone()
                        document = document._replace(text="", reason=f"the id is already used at {place}")
                        duplicates += 1
                if duplicates > MAX_DUPLICATES:
                    found = f"{duplicates:,} of {number:,} values are duplicates"
                    raise DataError(
                        f"the column {self._options.id!r} does not identify documents: {found}; "
                        "choose another --id, and another directory for the output"
                    )
                yield document

    def read(self, path: str) -> Generator[InputDocument, None, None]:
        """Yield the documents of a file; what cannot be read is the last one, with the reason."""
        suffix, where, number, size = _suffix(path), _printable(path), 0, 0
        read = _read_lines if suffix == ".txt" and self._options.lines else _READERS[suffix]
        try:
            with Path(path).open("rb") as self._file:
                size = os.fstat(self._file.fileno()).st_size
                stream = cast("io.BufferedReader[Any]", self._file)
                content = (
                    stream if suffix == ".parquet" else as_utf8(decompressed(stream), self._options.encoding)
                )
                for document in read(content, where, self._options):
                    yield document
                    number += 1
        except (*DAMAGED, OSError) as error:
            damage = f"damaged or truncated after {counted(number, 'document')} ({error})"
            reason = getattr(error, "strerror", None) or damage
            yield InputDocument(where, where, reason=f"cannot be read: {reason}")
        finally:
            self._file = None
            self._files += size


def _read_text(stream: BinaryIO, path: str, options: InputOptions) -> Iterator[InputDocument]:
    limit = 4 * options.max_chars  # bytes of UTF-8
    raw = stream.read(limit + 1)
    if len(raw) > limit:
        yield InputDocument(path, path, reason=_too_long(f"over {options.max_chars:,}", options))
    else:
        yield _document(path, [raw], options)


def _read_lines(stream: BinaryIO, path: str, options: InputOptions) -> Iterator[InputDocument]:
    for number, raw in _bounded_lines(stream.readline, options):
        where = f"{path}:{number}"
        if raw is None:
            yield InputDocument(where, where, reason=_long_line(options))
        elif raw.strip():
            yield _document(where, [raw.rstrip(b"\r\n")], options)


def _read_json(stream: BinaryIO, path: str, options: InputOptions) -> Iterator[InputDocument]:
    for number, raw in _bounded_lines(stream.readline, options):
        where = f"{path}:{number}"
        if raw is None:
            yield InputDocument(where, where, reason=_long_line(options))
        elif raw.strip():
            found = _json_values(raw, options)
            yield (
                InputDocument(where, where, reason=found)
                if isinstance(found, str)
                else _document(where, found, options)
            )


def _json_values(raw: bytes, options: InputOptions) -> list[Any] | str:
    """Return the values of a line, or what is wrong with it."""
    try:
        row = json.loads(raw.strip().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return not_utf8(error)
    except json.JSONDecodeError as error:
        return f"not JSON: {error.msg} at column {error.colno}"
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error}"
    if not isinstance(row, dict):
        return f"expected a JSON object, found {kind(row)}"
    return options.missing(list(row)) or [row[column] for column in options.columns]


def _bounded_lines(
    readline: Callable[[int], AnyStr], options: InputOptions
) -> Iterator[tuple[int, AnyStr | None]]:
    """Yield the number and content of each line, from 1 on; None for a line that is too long."""
    number, limit = 0, options.line_bytes
    while line := readline(limit):
        number += 1
        end = line
        while len(end) == limit and end[-1:] not in ("\n", b"\n"):
            end = readline(limit)
        yield number, line if end is line else None


class _CsvLines:
    """The lines of a CSV file for the parser, and the size of the row that it reads."""

    def __init__(self, text: TextIO, options: InputOptions) -> None:
        self._options = options
        self._lines = _bounded_lines(text.readline, options)
        self.number = self.size = 0

    def __iter__(self) -> _CsvLines:
        return self

    def __next__(self) -> str:
        self.number, line = next(self._lines)
        self.size += len(line or "")
        if line is None or self.size > self._options.line_bytes:
            raise csv.Error(_long_line(self._options))
        return line


def _read_csv(stream: BinaryIO, path: str, options: InputOptions) -> Iterator[InputDocument]:
    """Rows of a CSV file with a header; bytes that are not UTF-8 survive until a row is looked at."""
    csv.field_size_limit(options.line_bytes)
    with io.TextIOWrapper(cast(Any, stream), "utf-8", errors="surrogateescape", newline="") as text:
        lines = _CsvLines(text, options)
        rows = csv.reader(lines)
        header: list[str] | None = None
        while True:
            lines.size, where, reason = 0, f"{path}:{lines.number + 1}", None
            try:
                row = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                row, reason = [], f"not CSV: {error}"
            if reason is None and not row:
                continue
            if header is None:  # without one, nothing can be read
                if reason := reason or _header_problem(row, options):
                    yield InputDocument(where, path, reason=reason)
                    return
                header, indices = row, [row.index(column) for column in options.columns]
                continue
            if reason is None and len(row) != len(header):
                reason = f"expected {len(header)} columns, found {len(row)}"
            if reason is None:
                values = [row[index].encode("utf-8", "surrogateescape") for index in indices]
                yield _document(where, values, options)
            else:
                yield InputDocument(where, where, reason=reason)


def _header_problem(header: list[str], options: InputOptions) -> str | None:
    raw = ",".join(header).encode("utf-8", "surrogateescape")
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return not_utf8(error)
    if (nul := raw.find(0)) >= 0:  # as in UTF-16
        return not_utf8(UnicodeDecodeError("utf-8", raw, nul, nul + 1, "NUL"))
    return options.missing(header)


def _read_parquet(stream: BinaryIO, path: str, options: InputOptions) -> Iterator[InputDocument]:
    from spansrl.jobs import parquet  # an extra

    if missing := options.missing(parquet.column_names(stream)):
        yield InputDocument(path, path, reason=missing)
        return
    for number, values in enumerate(parquet.read_values(stream, options.columns), start=1):
        yield _document(f"{path}:{number}", values, options)


_READERS: dict[str, Callable[[BinaryIO, str, InputOptions], Iterator[InputDocument]]] = {
    ".txt": _read_text,
    ".jsonl": _read_json,
    ".csv": _read_csv,
    ".parquet": _read_parquet,
}


def _document(where: str, values: Sequence[Any], options: InputOptions) -> InputDocument:
    """Check the text of a document, and its id if there is one; bytes are decoded."""
    text, id = values if len(values) == 2 else (*values, where)
    try:
        id = id.decode("utf-8") if isinstance(id, bytes) else id
        text = text.decode("utf-8-sig") if isinstance(text, bytes) else text
    except UnicodeDecodeError as error:
        return InputDocument(where, where, reason=not_utf8(error))
    if isinstance(id, bool) or not isinstance(id, (str, int)) or id == "":
        found = "an empty string" if id == "" else kind(id)
        return InputDocument(where, where, reason=f"the id must be a string or an integer, found {found}")
    name = str(id)
    if len(name) > ID_CHARS:
        reason = f"the id has {len(name):,} characters, the limit is {ID_CHARS:,}"
        return InputDocument(where, where, reason=reason)
    if _printable(name) != name:
        return InputDocument(where, where, reason="the id has a lone surrogate, which is not a character")
    if not isinstance(text, str):
        return InputDocument(where, name, reason=f"the text must be a string, found {kind(text)}")
    if len(text) > options.max_chars:
        return InputDocument(where, name, reason=_too_long(f"{len(text):,}", options))
    if _printable(text) is not text:
        return InputDocument(where, name, reason="the text has a lone surrogate, which is not a character")
    return InputDocument(where, name, text)


def _printable(text: str) -> str:
    """Return a text that UTF-8 can hold: names that are not Unicode, and lone surrogates, are escaped."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text


def _too_long(found: str, options: InputOptions) -> str:
    return f"too long: {found} characters, the limit is {options.max_chars:,}"


def _long_line(options: InputOptions) -> str:
    return f"too long: the line has more than {options.line_bytes:,} bytes"
