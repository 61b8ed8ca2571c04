"""Text files in and out: encodings, compression, standard streams, outputs that appear atomically.

Reading yields lines one by one, so memory does not grow with the file. Compressed input is recognized by its
first bytes, compressed output by its name. ``-`` is standard input or output.
"""

from __future__ import annotations

import bz2
import codecs
import contextlib
import errno
import gzip
import io
import lzma
import os
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO, cast

from spansrl.errors import FormatError
from spansrl.formats.atomic import atomic_write
from spansrl.progress import Progress, no_progress

STANDARD_STREAM = "-"
LONGEST_LINE = 1 << 24  # bytes; a longer line is not text
_BLOCK = 1 << 14  # bytes of a file that are read at once
# Suffix -> the bytes that such a file begins with.
MAGIC = {".gz": b"\x1f\x8b", ".xz": b"\xfd7zXZ\x00", ".bz2": b"BZh"}
_OPEN: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
# What reading damaged compressed data raises.
DAMAGED = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",  # begins like UTF-16's
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
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


def read_lines(
    path: str | Path, *, encoding: str | None = None, progress: Progress = no_progress
) -> Iterator[Line]:
    """Yield the lines of a file, compressed or not; a byte-order mark and CRLF are accepted.

    The encoding is that of the byte-order mark, or else `encoding`, or else UTF-8. Raises FormatError for a
    file that is missing, not a regular file, unreadable, damaged or in another encoding. Progress is in bytes
    of the file as it is stored.
    """
    with _readable(path, encoding, progress) as stream:
        yield from decoded_lines(stream, shown_path(path))


def read_text(
    path: str | Path, *, encoding: str | None = None, progress: Progress = no_progress
) -> Iterator[str]:
    """Yield a file in blocks as soon as they arrive; line ends are kept, a byte-order mark is not.

    Raises what `read_lines` raises.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    seen, line, last = 0, 1, False
    with _readable(path, encoding, progress) as stream:
        while not last:
            raw = stream.read1(_BLOCK)
            seen, last = seen + len(raw), not raw
            try:
                block = decoder.decode(raw, final=last)
            except UnicodeDecodeError as error:
                begun = seen - len(error.object)  # which is before `raw` if a character is cut in two
                line += error.object.count(b"\n", 0, error.start)
                message = not_utf8(error, f"{begun + error.start + 1} of the file")
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
            raise FormatError(not_utf8(error), path=where, line=number) from None
        yield Line(number, (text.removeprefix("\ufeff") if number == 1 else text).rstrip("\r\n"))


def not_utf8(error: UnicodeDecodeError, offset: str = "") -> str:
    """Say which byte is not UTF-8, and what to do."""
    raw = error.object
    found = f"not UTF-8: byte 0x{raw[error.start]:02x} at byte {offset or error.start + 1}"
    likely = _likely_encoding(raw[: 1 << 16])
    return f"{found}; the encoding is probably {likely}: use --encoding {likely}, or convert it with iconv"


def _likely_encoding(raw: bytes) -> str:
    """Return the encoding that bytes are probably in which are not UTF-8, or ASCII with NULs."""
    even, odd = raw[::2].count(0), raw[1::2].count(0)
    if 4 * max(even, odd) >= len(raw):
        return "utf-16-le" if odd >= even else "utf-16-be"
    return "cp1252" if any(0x80 <= byte < 0xA0 for byte in raw) else "latin-1"


def as_utf8(stream: BinaryIO, encoding: str | None = None) -> BinaryIO:
    """Return a stream of UTF-8 without a byte-order mark, recoded where the mark or `encoding` says so."""
    head = cast("io.BufferedReader[Any]", stream).peek(4)[:4]
    if head.startswith(codecs.BOM_UTF8):
        stream.read(len(codecs.BOM_UTF8))
        return stream
    encoding = next((marked for mark, marked in _MARKS.items() if head.startswith(mark)), encoding)
    if encoding is None or codecs.lookup(encoding).name == "utf-8":
        return stream
    return cast(BinaryIO, io.BufferedReader(_Recoded(stream, encoding), _BLOCK))


class _Recoded(io.RawIOBase):
    """The text of another stream in UTF-8."""

    def __init__(self, source: BinaryIO, encoding: str) -> None:
        self._source = cast("io.BufferedReader[Any]", source)
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._ready = b""
        self._is_last = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        while not self._ready and not self._is_last:
            raw = self._source.read1(_BLOCK)
            self._is_last = not raw
            try:
                self._ready = self._decoder.decode(raw, final=self._is_last).encode()
            except UnicodeError as error:
                reason = getattr(error, "reason", error)
                raise OSError(
                    errno.EILSEQ, f"not {self._encoding} ({reason}); name another --encoding"
                ) from None
        count = min(len(buffer), len(self._ready))
        buffer[:count], self._ready = self._ready[:count], self._ready[count:]
        return count


def special_kind(path: str | Path) -> str | None:
    """Return what a path is that is neither a regular file nor a directory; None too if nothing is there."""
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return None
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return None
    return "a FIFO" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"


@contextlib.contextmanager
def _readable(path: str | Path, encoding: str | None, progress: Progress) -> Iterator[io.BufferedReader[Any]]:
    """Yield a file's UTF-8, decompressed; what goes wrong while it is read becomes a FormatError."""
    where = shown_path(path)
    if not str(path):
        raise FormatError("the file name is empty; give a file, or - for standard input", path=where)
    special = special_kind(path)
    is_pipe = special == "a FIFO" and where.startswith(("/dev/", "/proc/"))  # process substitution, <(…)
    if special and not is_pipe and where != os.devnull:
        raise FormatError(f"{special}, not a regular file; give a file, or pipe it in with -", path=where)
    try:
        with _opened(path, progress) as raw:
            named = Path(path).suffix
            if named in MAGIC and named != compression_of(raw.peek(8)[:8]):
                raise FormatError(f"not a {named} file; rename it or download it again", path=where)
            with contextlib.closing(decompressed(raw)) as stream:
                yield cast("io.BufferedReader[Any]", as_utf8(stream, encoding))
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
    with atomic_write(*targets) as temporaries, contextlib.ExitStack() as stack:
        # Closing the files may fail on a full disk, so it happens before they replace the targets.
        yield [stack.enter_context(temporary.open("xb")) for temporary in temporaries]


def _binary(stream: TextIO | None) -> BinaryIO:
    """Return the bytes below a standard stream, which is None where the shell closed it (``>&-``)."""
    if stream is None:
        raise OSError(errno.EBADF, "it is closed")
    return stream.buffer


def compression_of(head: bytes) -> str | None:
    """Return the suffix of the compression that these first bytes belong to."""
    return next((suffix for suffix, magic in MAGIC.items() if head.startswith(magic)), None)


def decompressed(raw: io.BufferedReader[Any]) -> BinaryIO:
    """Return a stream of the decompressed bytes; plain data is returned as it is."""
    suffix = compression_of(raw.peek(8)[:8])
    return cast(BinaryIO, raw if suffix is None else _OPEN[suffix](raw))


@contextlib.contextmanager
def compressed(stream: BinaryIO, path: str | Path) -> Iterator[BinaryIO]:
    """Compress what is written to `stream` if the name of the file ends in .gz, .xz or .bz2."""
    match Path(path).suffix:
        case ".gz":
            # No name and no time in the header: equal content makes equal files.
            with gzip.GzipFile("", "wb", compresslevel=6, fileobj=stream, mtime=0) as output:
                yield cast(BinaryIO, output)
        case ".xz" | ".bz2" as suffix:
            with _OPEN[suffix](stream, "wb") as output:
                yield cast(BinaryIO, output)
        case _:
            yield stream
