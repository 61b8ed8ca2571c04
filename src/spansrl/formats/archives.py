"""Raw corpora as named bytes, from a directory, a tar or zip archive, or a download.

Archives are read in one pass and never unpacked to disk.
"""

from __future__ import annotations

import hashlib
import http.client
import io
import os
import re
import tarfile
import tempfile
import urllib.error
import urllib.request
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from spansrl.checks import Json
from spansrl.errors import DataError, FormatError, SpansrlWarning
from spansrl.formats.text_files import DAMAGED, Line, decoded_lines, decompressed, special_kind
from spansrl.progress import Progress, no_progress

# A file's name, its size, and the open file, which must be read before the next member is requested.
Member = tuple[str, int, IO[bytes]]

# zipfile raises RuntimeError for encrypted members, and a subclass of it for unknown compressions.
_DAMAGED = (*DAMAGED, tarfile.TarError, zipfile.BadZipFile, RuntimeError)
_CHUNK = 1 << 18
_TIMEOUT_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Pin:
    """A public commit: the address of its archive, and the `fingerprint` of the files that we use from it."""

    commit: str
    url: str
    sha256: str


class SourceFile(NamedTuple):
    """The bytes of a file, decompressed, and its path for messages."""

    path: str
    data: bytes

    @classmethod
    def of(cls, path: str, content: bytes) -> SourceFile:
        try:
            return cls(path, decompressed(io.BufferedReader(io.BytesIO(content))).read())
        except DAMAGED as error:
            message = f"the compressed data is damaged or truncated ({error}); download it again"
            raise FormatError(message, path=path) from error

    def lines(self) -> Iterator[Line]:
        return decoded_lines(io.BytesIO(self.data), self.path)


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """The files that are used from one source, by names that do not depend on how they were packed."""

    root: str  # the name of the source in messages
    files: dict[str, SourceFile]

    @classmethod
    def read(
        cls,
        root: str,
        patterns: Iterable[str],
        *,
        what: str,
        instead: str | None = None,
        largest: int | None = None,
        progress: Progress = no_progress,
    ) -> SourceFiles:
        """Read the files of a directory, an archive or a URL whose paths end in a match of a pattern.

        The groups of the match, joined by slashes, are the name of the file. See `fetched` for `what` and
        `instead`, and `read_members` for `largest`.
        """
        pattern = re.compile(f"(?:^|/)(?:{'|'.join(patterns)})$")
        files = {}
        with fetched(root, what, progress, instead=instead) as source:
            members = read_members(
                source,
                root,
                lambda name: bool(pattern.search(name)),
                alone=True,
                largest=largest,
                progress=progress,
            )
            for name, content in members:
                if match := pattern.search(name):
                    path = member_path(source, name, root)
                    files["/".join(filter(None, match.groups()))] = SourceFile.of(path, content)
        return cls(root, files)

    def provenance(self, pin: Pin | None = None, *, must_match: bool = False) -> Json:
        """Describe the files, independent of where they are stored.

        With a pin, `commit` is its commit, or None if the files are not those of the commit, which is an
        error if they must match.
        """
        digest = fingerprint({name: file.data for name, file in self.files.items()})
        facts = {"files": len(self.files), "sha256": digest}
        if pin is None:
            return facts
        if digest != pin.sha256 and must_match:
            found = f"their digest is {digest}, expected {pin.sha256}"
            raise DataError(f"{self.root}: the files are not those of commit {pin.commit}: {found}")
        return {"commit": pin.commit if digest == pin.sha256 else None, **facts}


def is_url(source: str) -> bool:
    return source.startswith(("http://", "https://"))


def read_members(
    source: Path,
    shown: str,
    wanted: Callable[[str], bool],
    *,
    alone: bool = False,
    largest: int | None = None,
    progress: Progress = no_progress,
) -> Iterator[tuple[str, bytes]]:
    """Yield name (with ``/``) and content of every file in a directory or an archive that `wanted` accepts.

    `shown` is the name of the source in messages, since a temporary file's name would not help. With `alone`
    a file whose own name is wanted is its only member. A member of more than `largest` bytes is an error,
    whatever size the archive claims.
    """
    if not source.exists():
        raise DataError(f"{shown}: no such file or directory")
    total = source.stat().st_size if source.is_file() else None
    most = -1 if largest is None else largest + 1
    try:
        members = _members(source, wanted, alone, lambda done: progress(f"reading {shown}", done, total))
        for name, size, file in members:
            content = file.read(most) if largest is None or size <= largest else b""
            if largest is not None and max(size, len(content)) > largest:
                raise DataError(f"{shown}/{name}: larger than the {largest:,} bytes expected")
            yield name, content
    except _DAMAGED as error:
        reason = str(error) or type(error).__name__
        message = f"{shown}: not an archive, or damaged or truncated ({reason}); download it again"
        raise DataError(message) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise DataError(f"{error.filename or shown}: cannot be read: {reason}; check the path") from error


def _members(
    source: Path, wanted: Callable[[str], bool], alone: bool, report: Callable[[int], None]
) -> Iterator[Member]:
    if source.is_dir():
        return _directory_members(source, wanted)
    if alone and wanted(source.name):
        return _file_member(source, source.name)
    if zipfile.is_zipfile(source):
        return _zip_members(source, wanted)
    return _tar_members(source, wanted, report)


def member_path(source: Path, name: str, shown: str) -> str:
    """Return the path of a member in messages."""
    return shown if source.is_file() and source.name == name else f"{shown}/{name}"


def member_names(source: Path, shown: str) -> list[str]:
    """Return the names that `read_members` would offer, without reading the files."""
    names: list[str] = []

    def note(name: str) -> bool:
        names.append(name)
        return False

    for _ in read_members(source, shown, note):
        pass
    return names


def fingerprint(members: Mapping[str, bytes]) -> str:
    """Return one SHA-256 for a set of named files, independent of how they were packed."""
    digest = hashlib.sha256()
    for name in sorted(members):
        digest.update(f"{name}\0{hashlib.sha256(members[name]).hexdigest()}\n".encode())
    return digest.hexdigest()


@contextmanager
def fetched(
    source: str, what: str, progress: Progress = no_progress, *, instead: str | None = None
) -> Iterator[Path]:
    """Yield the source as a path; a URL is downloaded to a temporary file.

    `instead` is how to name a local copy, for the error message; by default with the option --WHAT.
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
            advice = f"try again, or use a local copy with {instead or f'--{what}'}"
            raise DataError(f"{source}: cannot be downloaded ({reason}); {advice}") from error
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
                if special := special_kind(path):
                    warnings.warn(f"{path}: skipped: {special}", SpansrlWarning, stacklevel=2)
                else:
                    yield from _file_member(path, relative)


def _raise(error: OSError) -> None:
    raise error


def _file_member(path: Path, name: str) -> Iterator[Member]:
    with path.open("rb") as file:
        yield name, path.stat().st_size, file


def _tar_members(
    archive: Path, wanted: Callable[[str], bool], report: Callable[[int], None]
) -> Iterator[Member]:
    with archive.open("rb") as raw:
        stream: IO[bytes] = decompressed(raw)
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            for member in tar:
                report(raw.tell())
                if member.isfile() and wanted(member.name):
                    content = tar.extractfile(member)
                    if content is not None:
                        yield member.name, member.size, content
        while stream.read(_CHUNK):  # to the end, where checksums and truncation show
            pass


def _zip_members(archive: Path, wanted: Callable[[str], bool]) -> Iterator[Member]:
    with zipfile.ZipFile(archive) as opened:
        for name in sorted(opened.namelist()):
            if not name.endswith("/") and wanted(name):
                with opened.open(name) as member:
                    yield name, opened.getinfo(name).file_size, member
