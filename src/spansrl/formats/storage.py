"""Compression and atomic writes, for every module that reads or writes files.

Compressed input is recognized by its first bytes, compressed output by its name. A file
that is being replaced keeps its old content until the new content is complete.
"""

from __future__ import annotations

import bz2
import contextlib
import errno
import gzip
import io
import lzma
import os
import secrets
import shutil
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

from spansrl.errors import ConfigError

# Suffix -> the bytes that such a file begins with.
MAGIC = {".gz": b"\x1f\x8b", ".xz": b"\xfd7zXZ\x00", ".bz2": b"BZh"}
_OPEN: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
# What reading damaged compressed data raises.
DAMAGED = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)


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


@contextlib.contextmanager
def replacing(*targets: Path, unique: bool = True) -> Iterator[Sequence[Path]]:
    """Yield a temporary path beside each target; at the end they replace the targets, or none does.

    With ``unique=False`` the temporary names are fixed, so that the next write removes what a crash left;
    use it only where a single process writes.
    """
    for target in targets:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "Is a directory", str(target))
    token = f".{secrets.token_hex(4)}" if unique else ""
    temporaries = [target.with_name(f".{target.name}{token}.tmp") for target in targets]
    try:
        yield temporaries
        for temporary, target in zip(temporaries, targets, strict=True):
            temporary.replace(target)
    finally:
        for temporary in temporaries:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a file atomically and flush it to disk."""
    with replacing(path, unique=False) as (temporary,), temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def appearing(out: Path) -> Iterator[Path]:
    """A directory to fill, which is renamed to `out` at the end, or removed after an error."""
    if out.exists():
        raise ConfigError(f"{out}: exists already; choose another --out, or remove it first")
    partial = out.absolute().with_name(f".{out.name}.{secrets.token_hex(4)}.tmp")
    partial.mkdir(parents=True)
    try:
        yield partial
        partial.rename(out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
