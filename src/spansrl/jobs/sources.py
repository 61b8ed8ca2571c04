"""Documents in files: plain text, JSON Lines, CSV and Parquet; all but Parquet also compressed.

A document that cannot be read is a Record with a reason instead of a text, so that one bad line does not stop
a job. Memory does not grow with the file.
"""

from __future__ import annotations

import contextlib
import csv
import glob
import io
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from spansrl.checks import kind
from spansrl.errors import DataError
from spansrl.formats.storage import DAMAGED, MAGIC, decompressed

SUFFIXES = (".txt", ".jsonl", ".csv", ".parquet")
_LINE_BYTES = 1 << 26  # a line of JSON may hold more than the text; a longer line is skipped unread
_LONG_LINE = f"too long: the line has more than {_LINE_BYTES:,} bytes"


@dataclass(frozen=True, slots=True)
class Reading:
    """How documents are found in files."""

    text: str = "text"  # column of the text in JSON Lines, CSV and Parquet
    id: str | None = None  # column of the id; None: the path and line
    lines: bool = False  # one document per line of .txt files, otherwise one per file
    max_chars: int = 1_000_000

    def missing(self, columns: Sequence[str]) -> str | None:
        """Return the reason why documents with these columns cannot be read, if there is one."""
        absent = [column for column in self.columns if column not in columns]
        found = ", ".join(map(str, columns[:10])) or "none"
        return f"no column {absent[0]!r}; found {found}" if absent else None

    @property
    def columns(self) -> list[str]:
        """The columns of text and id, if there is one."""
        return [self.text] if self.id is None else [self.text, self.id]


class Record(NamedTuple):
    """One document of a file, or the reason why it cannot be read.

    `number` is the line or row in its file, from 0; `offset` is the byte where reading can start again, None
    where files are compressed or have no lines.
    """

    number: int
    where: str
    id: str
    text: str = ""
    reason: str | None = None
    offset: int | None = None


def find_files(inputs: Sequence[str], *, leave_out: Path) -> tuple[list[str], int]:
    """Return the files that are named by files, directories and globs, and how many others were skipped.

    Directories are read recursively, in the order of names, without hidden files and without `leave_out`, the
    directory of the output. A file that is found twice is read once.
    """
    found: dict[str, str] = {}
    skipped = 0
    for name in inputs:
        is_named = Path(name).is_file()
        for path in _expanded(name):
            real = os.path.realpath(path)
            if Path(real).is_relative_to(leave_out.resolve()):
                continue
            if _suffix(path) in SUFFIXES:
                found.setdefault(real, path)
            elif is_named:
                raise DataError(
                    f"{path}: unknown kind of file; give one of {', '.join(SUFFIXES)} (compressed or not)"
                )
            else:
                skipped += 1
    return list(found.values()), skipped


def _expanded(name: str) -> Iterator[str]:
    if Path(name).is_file():
        yield name
    elif Path(name).is_dir():
        yield from _walked(name)
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


def read_records(
    path: str, reading: Reading, *, start: int = 0, offset: int | None = None
) -> Iterator[Record]:
    """Yield the documents of a file from number `start` on; `offset` is that record's, if it has one."""
    read = _READERS[_suffix(path)]
    if read is _read_text and reading.lines:
        read = _read_lines
    number = start
    try:
        for record in read(path, reading, start, offset):
            yield record
            number = record.number + 1
    except (*DAMAGED, OSError) as error:
        reason = getattr(error, "strerror", None) or f"damaged or truncated ({error})"
        where = f"{shown(path)}:{number + 1}"
        yield Record(number, where, where, reason=f"cannot be read: {reason}")


def shown(path: str) -> str:
    """Return a path as messages and ids have it: names that are not Unicode are escaped."""
    return path.encode("utf-8", "backslashreplace").decode()


@contextlib.contextmanager
def _open(path: str) -> Iterator[BinaryIO]:
    """Open a file for reading bytes, decompressed."""
    with Path(path).open("rb") as raw, contextlib.closing(decompressed(raw)) as stream:
        yield stream


def _read_text(path: str, reading: Reading, start: int, offset: int | None) -> Iterator[Record]:
    if start:
        return
    limit, where = 4 * reading.max_chars + 3, shown(path)  # bytes of UTF-8, and a byte-order mark
    with _open(path) as stream:
        raw = stream.read(limit + 1)
    if len(raw) > limit:
        yield Record(0, where, where, reason=_too_long(f"over {reading.max_chars:,}", reading))
    else:
        yield _record(0, where, [raw], reading)


def _read_lines(path: str, reading: Reading, start: int, offset: int | None) -> Iterator[Record]:
    """One document per line, of text or of JSON."""
    is_json = _suffix(path) == ".jsonl"
    for number, begin, raw in _lines(path, start, offset):
        where = f"{shown(path)}:{number + 1}"
        if raw is None:
            yield Record(number, where, where, reason=_LONG_LINE, offset=begin)
        elif is_json and raw.strip():
            yield _json_record(number, where, raw, reading)._replace(offset=begin)
        elif raw.strip():
            yield _record(number, where, [raw.rstrip(b"\r\n")], reading)._replace(offset=begin)


def _json_record(number: int, where: str, raw: bytes, reading: Reading) -> Record:
    try:
        row = json.loads(raw.strip().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return Record(number, where, where, reason=_not_utf8(error))
    except json.JSONDecodeError as error:
        return Record(number, where, where, reason=f"not JSON: {error.msg} at column {error.colno}")
    except (ValueError, RecursionError) as error:
        return Record(number, where, where, reason=f"not JSON: {error}")
    if not isinstance(row, dict):
        return Record(number, where, where, reason=f"expected a JSON object, found {kind(row)}")
    if missing := reading.missing(list(row)):
        return Record(number, where, where, reason=missing)
    return _record(number, where, [row[column] for column in reading.columns], reading)


def _lines(path: str, start: int, offset: int | None) -> Iterator[tuple[int, int | None, bytes | None]]:
    """Yield number, byte offset (None if compressed) and bytes of each line; None for a line too long."""
    is_seekable = not path.endswith(tuple(MAGIC))
    with _open(path) as stream:
        number = begin = 0
        if offset is not None:
            stream.seek(offset)
            number, begin = start, offset
        while raw := stream.readline(_LINE_BYTES):
            size = len(raw)
            whole = raw.endswith(b"\n") or size < _LINE_BYTES
            while not whole and (rest := stream.readline(_LINE_BYTES)):
                size += len(rest)
                whole = rest.endswith(b"\n")
            if number >= start:
                yield number, begin if is_seekable else None, raw if size == len(raw) else None
            number, begin = number + 1, begin + size


def _read_csv(path: str, reading: Reading, start: int, offset: int | None) -> Iterator[Record]:
    """Rows of a CSV file with a header; bytes that are not UTF-8 survive until the row is looked at."""
    csv.field_size_limit(_LINE_BYTES)
    with (
        _open(path) as stream,
        io.TextIOWrapper(
            cast(Any, stream), encoding="utf-8-sig", errors="surrogateescape", newline=""
        ) as text,
    ):
        rows = csv.reader(text)
        header = next(rows, None)
        if header is None:
            return
        if missing := reading.missing(header):
            yield Record(0, f"{shown(path)}:1", shown(path), reason=missing)
            return
        indices = [header.index(column) for column in reading.columns]
        number = 0
        while True:
            where = f"{shown(path)}:{rows.line_num + 1}"
            try:
                row = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                record = Record(number, where, where, reason=f"not CSV: {error}")
            else:
                if not row:
                    continue
                if len(row) != len(header):
                    reason = f"expected {len(header)} columns, found {len(row)}"
                    record = Record(number, where, where, reason=reason)
                else:
                    values = [row[index].encode("utf-8", "surrogateescape") for index in indices]
                    record = _record(number, where, values, reading)
            if number >= start:
                yield record
            number += 1


def _read_parquet(path: str, reading: Reading, start: int, offset: int | None) -> Iterator[Record]:
    from spansrl.jobs import parquet  # an extra

    if missing := reading.missing(parquet.column_names(path)):
        yield Record(0, shown(path), shown(path), reason=missing)
        return
    for number, values in parquet.read_values(path, reading.columns, start):
        yield _record(number, f"{shown(path)}:{number + 1}", values, reading)


_Reader = Callable[[str, Reading, int, int | None], Iterator[Record]]
_READERS: dict[str, _Reader] = {
    ".txt": _read_text,
    ".jsonl": _read_lines,
    ".csv": _read_csv,
    ".parquet": _read_parquet,
}


def _record(number: int, where: str, values: Sequence[Any], reading: Reading) -> Record:
    """Check the text of a document, and its id if there is one; bytes are decoded."""
    text, id = values if len(values) == 2 else (*values, where)
    try:
        id = id.decode("utf-8") if isinstance(id, bytes) else id
        text = text.decode("utf-8-sig") if isinstance(text, bytes) else text
    except UnicodeDecodeError as error:
        return Record(number, where, where, reason=_not_utf8(error))
    if isinstance(id, bool) or not isinstance(id, (str, int)) or id == "":
        found = "an empty string" if id == "" else kind(id)
        return Record(number, where, where, reason=f"the id must be a string or an integer, found {found}")
    name = str(id)
    if not isinstance(text, str):
        return Record(number, where, name, reason=f"the text must be a string, found {kind(text)}")
    if len(text) > reading.max_chars:
        return Record(number, where, name, reason=_too_long(f"{len(text):,}", reading))
    if not _is_encodable(name):
        return Record(number, where, where, reason="the id has a lone surrogate, which is not a character")
    if not _is_encodable(text):
        return Record(number, where, name, reason="the text has a lone surrogate, which is not a character")
    return Record(number, where, name, text)


def _is_encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _not_utf8(error: UnicodeDecodeError) -> str:
    return f"not UTF-8: byte 0x{error.object[error.start]:02x} at byte {error.start + 1}"


def _too_long(found: str, reading: Reading) -> str:
    return f"too long: {found} characters, the limit is {reading.max_chars:,}"
