"""PropBank's frames from a directory, an archive or a download, made into an index."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from spansrl.errors import DataError, FormatError, counted
from spansrl.formats.sources import Pin, fetched, fingerprint, is_url, pinned_commit, read_members
from spansrl.language.frames.index import FrameIndex
from spansrl.language.frames.parsing import Roleset, read_frame_file
from spansrl.language.frames.store import Registration, save_frames
from spansrl.progress import Progress, no_progress

# Abbreviated and digested as the pins of corpora.ewt are.
FRAMES = Pin(
    commit="c66e0cc",
    url="https://github.com/propbank/propbank-frames/archive/c66e0cc.tar.gz",
    sha256="48bcf5937b56e303a63834824400fefb6809fc6c21f54d1b6c20b19d4750549b",
)

_LARGEST_FILE = 8 << 20  # bytes; PropBank's largest has 0.2 million
_IN_FRAMES = re.compile(r"(?:^|/)(frames/[^/]+\.xml)$")


@dataclass(frozen=True, slots=True)
class Read:
    """What was found in a source: an index, its description, and what was wrong, in order."""

    index: FrameIndex
    registration: Registration
    errors: tuple[FormatError, ...]


@dataclass(frozen=True, slots=True)
class FrameFiles:
    """Frame files by name; `commit` is the pinned one where they are just its files."""

    shown: str  # what messages call their source
    files: dict[str, bytes]
    digest: str
    commit: str | None


def register_frames(source: str | None = None, *, progress: Progress = no_progress) -> Read:
    """Read the frames and install them; None for the pinned commit."""
    read = read_frames(source, progress=progress)
    save_frames(read.index, read.registration)
    return read


def read_frames(source: str | None = None, *, progress: Progress = no_progress) -> Read:
    """The frames of a directory, an archive or a URL; None for the pinned commit.

    Where there are files ``frames/NAME.xml``, all others are ignored. Broken files are reported, not fatal.
    """
    found = read_frame_files(source, "spansrl frames PATH", progress=progress)
    shown, files = found.shown, found.files
    rolesets: list[Roleset] = []
    errors: list[FormatError] = []
    for done, name in enumerate(sorted(files), start=1):
        own, error = read_frame_file(files[name], f"{shown}/{name}")
        rolesets += own
        errors += [] if error is None else [error]
        progress("reading frames", done, len(files))
    if not rolesets:
        told = f"; the first of {counted(len(errors), 'error')}: {errors[0]}" if errors else ""
        raise DataError(f"{shown}: no rolesets; expected PropBank's frames, with frames/NAME.xml in it{told}")
    index = FrameIndex.of(rolesets)
    origin = shown if is_url(shown) else str(Path(shown).absolute())
    return Read(index, Registration(origin, found.commit, len(files), len(errors), len(index)), tuple(errors))


def read_frame_files(source: str | None, instead: str, *, progress: Progress = no_progress) -> FrameFiles:
    """The files of a directory, an archive or a URL; None for the pinned commit.

    `instead` is how a user gives their own copy, for messages.
    """
    shown = source or FRAMES.url
    files = _files(shown, instead, progress)
    digest = fingerprint(files)
    commit = pinned_commit(FRAMES, digest, shown, must_match=source is None)
    return FrameFiles(shown, files, digest, commit)


def _files(shown: str, instead: str, progress: Progress) -> dict[str, bytes]:
    with fetched(shown, "frames", progress, instead=instead) as path:
        members = read_members(
            path,
            shown,
            lambda name: name.endswith(".xml"),
            alone=True,
            largest=_LARGEST_FILE,
            progress=progress,
        )
        files = dict(members)
    found = {match[1]: name for name in files if (match := _IN_FRAMES.search(name))}
    return {name: files[name_in_source] for name, name_in_source in found.items()} or files
