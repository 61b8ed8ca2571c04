"""Where raw corpora come from: a directory, a tar or zip archive, or a download; all look like named bytes.

Archives are read in one pass and never unpacked to disk.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import http.client
import io
import lzma
import os
import tarfile
import tempfile
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, cast

from spansrl.errors import DataError, FormatError
from spansrl.formats.files import Line, decoded_lines
from spansrl.progress import Progress, no_progress

# A file's name, its size, and how it is read, which must happen before the next is asked for.
Member = tuple[str, int, Callable[[], bytes]]

_DAMAGED = (EOFError, tarfile.TarError, lzma.LZMAError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile)
_OPENERS: dict[bytes, Callable[[IO[bytes]], object]] = {
    b"\xfd7zXZ\x00": lzma.open,
    b"\x1f\x8b": lambda stream: gzip.GzipFile(fileobj=stream),
    b"BZh": bz2.open,
}
_CHUNK = 1 << 18
_TIMEOUT_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Pin:
    """A public commit: the address of its archive, and the `fingerprint` of the files that we use from it."""

    commit: str
    url: str
    sha256: str


def pinned_commit(pin: Pin, digest: str, shown: str, *, must_match: bool) -> str | None:
    """The pin's commit if the files with this digest are its files; if they must be, all else is an error."""
    if digest == pin.sha256:
        return pin.commit
    if must_match:
        raise DataError(
            f"{shown}: the files are not those of commit {pin.commit}: "
            f"their digest is {digest}, expected {pin.sha256}"
        )
    return None


def is_url(source: str) -> bool:
    """Whether a source is to be downloaded."""
    return source.startswith(("http://", "https://"))


def read_members(
    source: Path,
    shown: str,
    wanted: Callable[[str], bool],
    *,
    alone: bool = False,
    largest: int | None = None,
) -> Iterator[tuple[str, bytes]]:
    """Name (with ``/``) and content of every file below a directory or in an archive that `wanted` accepts.

    `shown` is what messages call the source: a temporary file's name would tell nobody anything. With `alone`
    a file whose own name is wanted is its only member. A member of more than `largest` bytes is an error,
    raised before it is read.
    """
    if not source.exists():
        raise DataError(f"{shown}: no such file or directory")
    try:
        if source.is_dir():
            members = _directory_members(source, wanted)
        elif alone and wanted(source.name):
            members = iter([(source.name, source.stat().st_size, source.read_bytes)])
        elif zipfile.is_zipfile(source):
            members = _zip_members(source, wanted)
        else:
            members = _tar_members(source, wanted)
        for name, size, read in members:
            if largest is not None and size > largest:
                raise DataError(f"{shown}/{name}: has {size:,} bytes, more than the {largest:,} expected")
            yield name, read()
    except _DAMAGED as error:
        reason = str(error) or type(error).__name__
        raise DataError(
            f"{shown}: not an archive, or damaged or cut short ({reason}); get it again"
        ) from error
    except OSError as error:
        raise DataError(
            f"{error.filename or shown}: cannot be read: {error.strerror or error}; check the path"
        ) from error


def member_path(source: Path, name: str) -> str:
    """Where a member is, for a message."""
    return str(source) if source.is_file() and source.name == name else f"{source}/{name}"


def member_names(source: Path, shown: str) -> list[str]:
    """The names that `read_members` would offer, without reading their content."""
    names: list[str] = []

    def note(name: str) -> bool:
        names.append(name)
        return False

    for _ in read_members(source, shown, note):
        pass
    return names


def fingerprint(members: Mapping[str, bytes]) -> str:
    """One SHA-256 for a set of named files, the same whatever they were packed in."""
    digest = hashlib.sha256()
    for name in sorted(members):
        digest.update(f"{name}\0{hashlib.sha256(members[name]).hexdigest()}\n".encode())
    return digest.hexdigest()


def lines_of(content: bytes, path: str) -> Iterator[Line]:
    """The lines of a UTF-8 file that was read as bytes, compressed or not; a byte-order mark is accepted."""
    return decoded_lines(io.BytesIO(decompressed(content, path)), path)


def decompressed(content: bytes, path: str) -> bytes:
    """The bytes of a file as they were before somebody compressed it."""
    opener = _opener(content)
    if opener is None:
        return content
    try:
        return cast(IO[bytes], opener(io.BytesIO(content))).read()
    except _DAMAGED as error:
        raise FormatError(
            f"the compressed data is damaged or cut short ({error}); get it again", path=path
        ) from error


@contextmanager
def fetched(
    source: str, what: str, progress: Progress = no_progress, *, instead: str | None = None
) -> Iterator[Path]:
    """The source as a path; one that is a URL is downloaded to a file that is gone afterwards.

    `instead` is how a user gives their own copy, for a message: the option --WHAT unless it is said.
    """
    if not is_url(source):
        yield Path(source)
        return
    with tempfile.TemporaryDirectory(prefix="spansrl-") as folder:
        path = Path(folder, "archive")
        try:
            _download(source, path, f"downloading {what}", progress)
        except (OSError, http.client.HTTPException) as error:  # URLError is an OSError
            reason = getattr(error, "reason", None) or error
            if isinstance(error, urllib.error.HTTPError):  # which is an open answer too
                error.close()
            raise DataError(
                f"{source}: cannot be downloaded ({reason}); "
                f"try again, or give your own copy with {instead or f'--{what}'}"
            ) from error
        yield path


def _download(url: str, path: Path, what: str, progress: Progress) -> None:
    request = urllib.request.Request(url, headers={"User-Agent": "spansrl"})
    with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as response, path.open("wb") as out:
        length = response.headers.get("Content-Length")
        total = int(length) if length is not None and length.isdecimal() else None
        done = 0
        while chunk := response.read(_CHUNK):
            out.write(chunk)
            done += len(chunk)
            progress(what, done, total)
    if total is not None and done != total:
        raise DataError(f"{url}: the connection ended after {done} of {total} bytes; try again")


def _directory_members(root: Path, wanted: Callable[[str], bool]) -> Iterator[Member]:
    for folder, folders, names in os.walk(root, onerror=_raise, followlinks=True):
        folders.sort()
        for name in sorted(names):
            path = Path(folder, name)
            relative = path.relative_to(root).as_posix()
            if wanted(relative):
                yield relative, path.stat().st_size, path.read_bytes


def _raise(error: OSError) -> None:
    raise error


def _tar_members(archive: Path, wanted: Callable[[str], bool]) -> Iterator[Member]:
    with archive.open("rb") as raw:
        opener = _opener(raw.peek(8)[:8])
        stream = raw if opener is None else cast(IO[bytes], opener(raw))
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            for member in tar:
                if member.isfile() and wanted(member.name):
                    content = tar.extractfile(member)
                    if content is not None:
                        yield member.name, member.size, content.read
        while stream.read(_CHUNK):  # to the end, where checksums and cut-short files show
            pass


def _zip_members(archive: Path, wanted: Callable[[str], bool]) -> Iterator[Member]:
    with zipfile.ZipFile(archive) as opened:
        for name in sorted(opened.namelist()):
            if not name.endswith("/") and wanted(name):
                yield name, opened.getinfo(name).file_size, partial(opened.read, name)


def _opener(head: bytes) -> Callable[[IO[bytes]], object] | None:
    return next((opener for magic, opener in _OPENERS.items() if head.startswith(magic)), None)
