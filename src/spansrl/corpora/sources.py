"""Where raw corpora come from: a directory, a tar or zip archive, or a download; all look like named bytes.

Archives are read in one pass and never unpacked to disk.
"""

from __future__ import annotations

import lzma
import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from spansrl.errors import DataError

ARCHIVE_SUFFIXES = (".tar.xz", ".tar.gz", ".tar.bz2", ".tar", ".tgz", ".txz", ".zip")
_DAMAGED = (EOFError, tarfile.ReadError, lzma.LZMAError, zlib.error, zipfile.BadZipFile)


def read_members(source: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """Name (with ``/``) and content of every file below a directory or in an archive that `wanted` accepts."""
    if source.is_dir():
        yield from _directory_members(source, wanted)
    elif not source.exists():
        raise DataError(f"{source}: no such file or directory")
    elif not source.name.endswith(ARCHIVE_SUFFIXES):
        raise DataError(f"{source}: neither a directory nor an archive ({', '.join(ARCHIVE_SUFFIXES)})")
    else:
        try:
            yield from (_zip_members if source.suffix == ".zip" else _tar_members)(source, wanted)
        except _DAMAGED as error:
            reason = str(error) or type(error).__name__
            raise DataError(f"{source}: damaged or truncated archive ({reason}); fetch it again") from error
        except OSError as error:
            raise DataError(f"{source}: cannot read it: {error.strerror or error}") from error


def _directory_members(root: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    for folder, folders, names in os.walk(root, followlinks=True):
        folders.sort()
        for name in sorted(names):
            path = Path(folder, name)
            relative = path.relative_to(root).as_posix()
            if wanted(relative):
                try:
                    content = path.read_bytes()
                except OSError as error:
                    raise DataError(f"{path}: cannot read it: {error.strerror or error}") from error
                yield relative, content


def _tar_members(archive: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(archive, "r|*") as tar:
        for member in tar:
            if member.isfile() and wanted(member.name):
                content = tar.extractfile(member)
                if content is not None:
                    yield member.name, content.read()


def _zip_members(archive: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(archive) as opened:
        for name in sorted(opened.namelist()):
            if not name.endswith("/") and wanted(name):
                yield name, opened.read(name)
