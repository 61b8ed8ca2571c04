"""Text files in and out: UTF-8, compressed or plain, standard streams, outputs that appear atomically.

Reading yields lines one by one, so memory does not grow with the file. ``-`` is standard input or output.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO, cast

from spansrl.errors import FormatError
from spansrl.formats.storage import DAMAGED, MAGIC, compressed, compression_of, decompressed, replacing
from spansrl.progress import Progress, no_progress

STANDARD_STREAM = "-"
LONGEST_LINE = 1 << 24  # bytes; a longer line is not text
_BLOCK = 1 << 14  # bytes of a file that are read at once
_SPOOL_BYTES = 4 << 20  # standard output is held back in memory up to here, beyond it in a temporary file


class Line(NamedTuple):
    """One line of a file without its end; lines count from 1."""

    number: int
    text: str


def shown_path(path: str | Path) -> str:
    """Return the path as messages name it."""
    return "<stdin>" if str(path) == STANDARD_STREAM else str(path) or "''"


def plain_name(path: str | Path) -> str:
    """Return the file's name without its directory and without the suffix of a compression."""
    name = Path(path).name
    return name[: -len(Path(name).suffix)] if Path(name).suffix in MAGIC else name


def read_lines(path: str | Path, *, progress: Progress = no_progress) -> Iterator[Line]:
    """Yield the lines of a UTF-8 file, compressed or not; a byte-order mark and CRLF are accepted.

    Raises FormatError for a file that is missing, unreadable, damaged or not UTF-8. Progress is in bytes of
    the file as it is stored.
    """
    with _readable(path, progress) as stream:
        yield from decoded_lines(stream, shown_path(path))


def read_text(path: str | Path, *, progress: Progress = no_progress) -> Iterator[str]:
    """Yield a UTF-8 file in blocks as soon as they arrive; line ends are kept, a byte-order mark is not.

    Raises what `read_lines` raises.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    seen, line, last = 0, 1, False
    with _readable(path, progress) as stream:
        while not last:
            raw = stream.read1(_BLOCK)
            seen, last = seen + len(raw), not raw
            try:
                block = decoder.decode(raw, final=last)
            except UnicodeDecodeError as error:
                begun = seen - len(error.object)  # which is before `raw` if a character is cut in two
                line += error.object.count(b"\n", 0, error.start)
                message = _not_utf8(error, f"{begun + error.start + 1} of the file")
                raise FormatError(message, path=shown_path(path), line=line) from None
            line += block.count("\n")
            if block:
                yield block


def decoded_lines(stream: BinaryIO, where: str) -> Iterator[Line]:
    """Yield the lines of UTF-8 bytes, without line ends and byte-order mark."""
    number = 0
    while raw := stream.readline(LONGEST_LINE + 1):
        number += 1
        if len(raw) > LONGEST_LINE:
            message = f"the line has more than {LONGEST_LINE:,} bytes; is this a text file?"
            raise FormatError(message, path=where, line=number)
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise FormatError(_not_utf8(error, str(error.start + 1)), path=where, line=number) from None
        yield Line(number, (text.removeprefix("\ufeff") if number == 1 else text).rstrip("\r\n"))


def _not_utf8(error: UnicodeDecodeError, offset: str) -> str:
    byte = error.object[error.start]
    return f"not UTF-8: byte 0x{byte:02x} at byte {offset}; convert the file, e.g. with iconv"


@contextlib.contextmanager
def _readable(path: str | Path, progress: Progress) -> Iterator[io.BufferedReader[Any]]:
    """Yield a file's bytes, decompressed; what goes wrong while they are read becomes a FormatError."""
    where = shown_path(path)
    if not str(path):
        raise FormatError("the file name is empty; give a file, or - for standard input", path=where)
    try:
        with _opened(path, progress) as raw:
            named = Path(path).suffix
            if named in MAGIC and named != compression_of(raw.peek(8)[:8]):
                raise FormatError(f"not a {named} file; rename it or download it again", path=where)
            with contextlib.closing(decompressed(raw)) as stream:
                yield cast("io.BufferedReader[Any]", stream)
    except DAMAGED as error:
        message = f"the compressed data is damaged or truncated ({error}); download the file again"
        raise FormatError(message, path=where) from error
    except OSError as error:
        advice = "give a file or a pipe" if str(path) == STANDARD_STREAM else "check the path"
        raise FormatError(f"cannot be read: {error.strerror or error}; {advice}", path=where) from error


@contextlib.contextmanager
def _opened(path: str | Path, progress: Progress) -> Iterator[io.BufferedReader[Any]]:
    with contextlib.ExitStack() as stack:
        if str(path) == STANDARD_STREAM:
            source, size = _binary(sys.stdin), None  # not ours to close
        else:
            source = stack.enter_context(Path(path).open("rb"))
            size = os.fstat(source.fileno()).st_size or None
        report = _Reported(source, lambda done: progress(f"reading {shown_path(path)}", done, size))
        yield stack.enter_context(io.BufferedReader(report, _BLOCK))


class _Reported(io.RawIOBase):
    """The bytes of another stream as they arrive, without waiting for a full buffer."""

    def __init__(self, source: BinaryIO, report: Any) -> None:
        self._source = cast("io.BufferedReader[Any]", source)
        self._report = report
        self._done = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        count = self._source.readinto1(buffer)
        self._done += count
        self._report(self._done)
        return count


@contextlib.contextmanager
def open_output(path: str | Path, *, stream: bool = False) -> Iterator[BinaryIO]:
    """Yield a binary stream whose bytes appear at `path` when the block ends without an error.

    A name that ends in .gz, .xz or .bz2 is compressed, repeatably to the byte. Pipes and devices are written
    to directly. Standard output gets everything at the end, so that a reader never gets a partial result,
    unless `stream` is set.
    """
    try:
        with _destination(path, stream) as output:
            yield output
    except BrokenPipeError:
        raise  # the reader closed the pipe, which the command line handles
    except OSError as error:
        where = "<stdout>" if str(path) == STANDARD_STREAM else shown_path(path)
        raise FormatError(f"cannot be written: {error.strerror or error}", path=where) from error


@contextlib.contextmanager
def open_outputs(folder: Path, names: Sequence[str]) -> Iterator[list[BinaryIO]]:
    """Like `open_output` for files that belong together: none appears before all are complete."""
    try:
        with _replacing([Path(os.path.realpath(folder / name)) for name in names]) as outputs:
            yield outputs
    except OSError as error:
        where = str(error.filename or folder)
        raise FormatError(f"cannot be written: {error.strerror or error}", path=where) from error


@contextlib.contextmanager
def _destination(path: str | Path, stream: bool) -> Iterator[BinaryIO]:
    if str(path) == STANDARD_STREAM:
        with contextlib.nullcontext(_binary(sys.stdout)) if stream else _held_back() as output:
            yield output
            output.flush()
        return
    target = Path(os.path.realpath(path))
    is_device = target.exists() and not target.is_file() and not target.is_dir()
    with contextlib.ExitStack() as stack:
        if is_device:
            output = stack.enter_context(target.open("wb"))
        else:
            (output,) = stack.enter_context(_replacing([target]))
        yield stack.enter_context(compressed(output, path))


@contextlib.contextmanager
def _held_back() -> Iterator[BinaryIO]:
    """Yield a temporary file whose content goes to standard output in the end."""
    standard_output = _binary(sys.stdout)
    with tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES) as spool:
        yield cast(BinaryIO, spool)
        spool.seek(0)
        shutil.copyfileobj(spool, standard_output)
        standard_output.flush()


@contextlib.contextmanager
def _replacing(targets: Sequence[Path]) -> Iterator[list[BinaryIO]]:
    with replacing(*targets) as temporaries, contextlib.ExitStack() as stack:
        # Closing the files may fail on a full disk, so it happens before they replace the targets.
        yield [stack.enter_context(temporary.open("xb")) for temporary in temporaries]


def _binary(stream: TextIO | None) -> BinaryIO:
    """Return the bytes below a standard stream, which is None where the shell closed it (``>&-``)."""
    if stream is None:
        raise OSError(errno.EBADF, "it is closed")
    return stream.buffer
