"""Files in and out: UTF-8, .gz and .xz, standard streams, and outputs that appear whole or not at all.

Reading yields lines one by one, so memory does not grow with the file. ``-`` is standard input or output.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import gzip
import io
import lzma
import os
import secrets
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TextIO, cast

from spansrl.errors import FormatError

if TYPE_CHECKING:
    _Stream = io.BufferedReader[Any] | gzip.GzipFile | lzma.LZMAFile

STANDARD_STREAM = "-"
_MAGIC = {".gz": b"\x1f\x8b", ".xz": b"\xfd7zXZ\x00"}
_BLOCK = 1 << 14  # bytes of a file that are read at once
_SPOOL_BYTES = 4 << 20  # standard output is held back in memory up to here, beyond it in a temporary file

OnRead = Callable[[int], None]  # is told how many bytes were read, every time that some were


class Line(NamedTuple):
    """One line of a file without its end; lines count from 1."""

    number: int
    text: str


def shown_path(path: str | Path) -> str:
    """The path as messages name it."""
    return "<stdin>" if str(path) == STANDARD_STREAM else str(path) or "''"


def plain_name(path: str | Path) -> str:
    """The file's name without its directory and without the suffix of a compression."""
    name = Path(path).name
    return name[: -len(Path(name).suffix)] if Path(name).suffix in _MAGIC else name


def read_lines(path: str | Path, *, on_read: OnRead | None = None) -> Iterator[Line]:
    """The lines of a UTF-8 file, decompressed if need be; a byte-order mark and CRLF are accepted.

    Raises FormatError for a file that is missing, unreadable, damaged or not UTF-8. `on_read` is told how
    many bytes of the file were read, compressed as they are, whenever there are some more.
    """
    with _readable(path, on_read) as stream:
        yield from decoded_lines(stream, shown_path(path))


def read_text(path: str | Path, *, on_read: OnRead | None = None) -> Iterator[str]:
    """A UTF-8 file block by block, as soon as there is one; line ends are kept, a byte-order mark is not.

    Raises what `read_lines` raises.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    seen, line, last = 0, 1, False
    with _readable(path, on_read) as stream:
        while not last:
            raw = stream.read1(_BLOCK)
            seen, last = seen + len(raw), not raw
            try:
                block = decoder.decode(raw, final=last)
            except UnicodeDecodeError as error:
                begun = seen - len(error.object)  # which is before `raw` if a character is cut in two
                message = _not_utf8(error, f"{begun + error.start + 1} of the file")
                line += error.object.count(b"\n", 0, error.start)
                raise FormatError(message, path=shown_path(path), line=line) from None
            line += block.count("\n")
            if block:
                yield block


@contextlib.contextmanager
def _readable(path: str | Path, on_read: OnRead | None) -> Iterator[_Stream]:
    """A file's bytes; what goes wrong while they are read becomes a FormatError."""
    where = shown_path(path)
    if not str(path):
        raise FormatError("the name is empty; give a file, or - for standard input", path=where)
    try:
        with _opened(path, on_read) as stream:
            yield stream
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        message = f"the compressed data is damaged or cut short ({error}); get the file again"
        raise FormatError(message, path=where) from error
    except OSError as error:
        advice = "give a file or a pipe" if str(path) == STANDARD_STREAM else "check the path"
        raise FormatError(f"cannot be read: {error.strerror or error}; {advice}", path=where) from error


def decoded_lines(raw_lines: Iterable[bytes], where: str) -> Iterator[Line]:
    """The lines of a UTF-8 file from its bytes, without line ends and byte-order mark."""
    for number, raw in enumerate(raw_lines, start=1):
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise FormatError(_not_utf8(error, str(error.start + 1)), path=where, line=number) from None
        if number == 1:
            text = text.removeprefix("\ufeff")
        yield Line(number, text.rstrip("\r\n"))


def _not_utf8(error: UnicodeDecodeError, place: str) -> str:
    byte = error.object[error.start]
    return f"byte 0x{byte:02x} at place {place} is not UTF-8; convert the file, e.g. with iconv"


@contextlib.contextmanager
def open_output(path: str | Path, *, stream: bool = False) -> Iterator[BinaryIO]:
    """A binary stream whose bytes appear at `path` when the block ends well, and nowhere when it does not.

    A name that ends in .gz or .xz is compressed, repeatably to the byte. Pipes and devices are written to
    directly; standard output gets everything at the end, so that a reader never takes a part for the whole,
    unless `stream` says that a reader should not have to wait.
    """
    try:
        with _destination(path, stream) as output:
            yield output
    except BrokenPipeError:
        raise  # whoever reads our output has seen enough; the command line ends quietly
    except OSError as error:
        where = "<stdout>" if str(path) == STANDARD_STREAM else shown_path(path)
        raise FormatError(f"cannot be written: {error.strerror or error}", path=where) from error


@contextlib.contextmanager
def open_outputs(folder: Path, names: Sequence[str]) -> Iterator[list[BinaryIO]]:
    """Like `open_output` for files that belong together: none appears before all are written to the end."""
    try:
        with _replacing([Path(os.path.realpath(folder / name)) for name in names]) as outputs:
            yield outputs
    except OSError as error:
        where = str(error.filename or folder)
        raise FormatError(f"cannot be written: {error.strerror or error}", path=where) from error


@contextlib.contextmanager
def _destination(path: str | Path, stream: bool) -> Iterator[BinaryIO]:
    if str(path) == STANDARD_STREAM:
        standard_output = _binary(sys.stdout)
        if stream:
            yield standard_output
            standard_output.flush()
        else:
            with _held_back(standard_output) as output:
                yield output
        return
    target = Path(os.path.realpath(path))
    is_device = target.exists() and not target.is_file() and not target.is_dir()
    with (
        target.open("wb") if is_device else _replacing_one(target) as target_stream,
        _compressed(target_stream, path) as output,
    ):
        yield output


@contextlib.contextmanager
def _held_back(stream: BinaryIO) -> Iterator[BinaryIO]:
    """A temporary file whose content goes to `stream` in the end."""
    with tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES) as spool:
        yield cast(BinaryIO, spool)
        spool.seek(0)
        shutil.copyfileobj(spool, stream)
        stream.flush()


@contextlib.contextmanager
def _replacing_one(target: Path) -> Iterator[BinaryIO]:
    with _replacing([target]) as (stream,):
        yield stream


@contextlib.contextmanager
def _replacing(targets: Sequence[Path]) -> Iterator[list[BinaryIO]]:
    """Temporary files beside the targets that take their places in the end, when all are closed."""
    for target in targets:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "Is a directory", str(target))
    temporaries = [target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp") for target in targets]
    try:
        with contextlib.ExitStack() as stack:
            # Closing is the last chance of a full disk to show itself.
            yield [stack.enter_context(temporary.open("xb")) for temporary in temporaries]
        for temporary, target in zip(temporaries, targets, strict=True):
            temporary.replace(target)
    except BaseException:
        for temporary in temporaries:
            temporary.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def _compressed(stream: BinaryIO, path: str | Path) -> Iterator[BinaryIO]:
    suffix = Path(path).suffix
    if suffix == ".gz":
        # No name and no time in the header: equal content makes equal files.
        with gzip.GzipFile("", "wb", compresslevel=6, fileobj=stream, mtime=0) as output:
            yield cast(BinaryIO, output)
    elif suffix == ".xz":
        with lzma.open(stream, "wb") as packed:
            yield cast(BinaryIO, packed)
    else:
        yield stream


@contextlib.contextmanager
def _opened(path: str | Path, on_read: OnRead | None) -> Iterator[_Stream]:
    with _raw(path, on_read) as raw:
        head = raw.peek(8)[:8]
        kind = next((suffix for suffix, magic in _MAGIC.items() if head.startswith(magic)), None)
        named = Path(path).suffix
        if named in _MAGIC and named != kind:
            raise FormatError(
                f"is named {named} but does not begin like one; rename it or get it again", path=str(path)
            )
        if kind == ".gz":
            with gzip.GzipFile(fileobj=raw) as stream:
                yield stream
        elif kind == ".xz":
            with lzma.open(raw) as unpacked:
                yield unpacked
        else:
            yield raw


@contextlib.contextmanager
def _raw(path: str | Path, on_read: OnRead | None) -> Iterator[io.BufferedReader[Any]]:
    with contextlib.ExitStack() as stack:
        if str(path) == STANDARD_STREAM:
            source = _binary(sys.stdin)  # not ours to close
        else:
            source = stack.enter_context(Path(path).open("rb"))
        yield stack.enter_context(io.BufferedReader(_Watched(source, on_read), _BLOCK))


class _Watched(io.RawIOBase):
    """The bytes of another stream as they come: whoever reads a pipe need not wait for a full buffer."""

    def __init__(self, source: BinaryIO, on_read: OnRead | None) -> None:
        self._source = cast("io.BufferedReader[Any]", source)
        self._on_read = on_read

    def readable(self) -> bool:
        """Nothing else can be done with it."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fill the buffer with what there is; 0 is the end."""
        count = self._source.readinto1(buffer)
        if self._on_read is not None:
            self._on_read(count)
        return count


def _binary(stream: TextIO | None) -> BinaryIO:
    """The bytes below a standard stream, which is None where the shell closed it (``>&-``)."""
    if stream is None:
        raise OSError(errno.EBADF, "it is closed")
    return stream.buffer
