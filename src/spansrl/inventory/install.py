"""PropBank's frames from a directory, an archive or a download, made into an index."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spansrl.checks import Json
from spansrl.errors import DataError, FormatError, counted
from spansrl.formats.archives import Pin, SourceFile, SourceFiles, is_url
from spansrl.inventory.frame_files import Roleset, read_frame_file
from spansrl.inventory.frame_index import FrameIndex
from spansrl.inventory.frame_store import Registration, read_index, save_frames, shipped_path
from spansrl.progress import Progress, no_progress

# Abbreviated and digested as the pins of corpora.ewt are.
FRAMES = Pin(
    commit="c66e0cc",
    url="https://github.com/propbank/propbank-frames/archive/c66e0cc.tar.gz",
    sha256="48bcf5937b56e303a63834824400fefb6809fc6c21f54d1b6c20b19d4750549b",
)

_LARGEST_FILE = 8 << 20  # bytes; PropBank's largest has 0.2 million
_IN_FRAMES = re.compile(r"(?:^|/)(frames/[^/]+\.xml)$")


# A frame file -> for each of its rolesets examples: their tokens and the index of the predicate.
ExampleFinder = Callable[[SourceFile], Mapping[str, Sequence[tuple[Sequence[str], int]]]]


@dataclass(frozen=True, slots=True)
class Read:
    """What was found in a source: an index, its description, and what was wrong, in order."""

    index: FrameIndex
    registration: Registration
    errors: tuple[FormatError, ...]


def register_frames(
    source: str | None = None, examples: ExampleFinder | None = None, *, progress: Progress = no_progress
) -> Read:
    """Read the frames and install them; None for the pinned commit.

    `examples` finds the examples of rolesets in a file, from which models learn those that they do not know.
    """
    read = read_frames(source, examples, progress=progress)
    save_frames(read.index, read.registration)
    return read


def read_frames(
    source: str | None = None, examples: ExampleFinder | None = None, *, progress: Progress = no_progress
) -> Read:
    """The frames of a directory, an archive or a URL; None for the pinned commit.

    Where there are files ``frames/NAME.xml``, all others are ignored. Broken files are reported, not fatal.
    """
    frames, provenance = read_frame_files(source, "spansrl frames PATH", progress=progress)
    shown, files = frames.root, frames.files
    rolesets: list[Roleset] = []
    errors: list[FormatError] = []
    for done, name in enumerate(sorted(files), start=1):
        own, error = read_frame_file(files[name].data, files[name].path)
        rolesets += own
        errors += [] if error is None else [error]
        progress("reading frames", done, len(files))
    if not rolesets:
        cause = f"; the first of {counted(len(errors), 'error')}: {errors[0]}" if errors else ""
        raise DataError(
            f"{shown}: no rolesets; expected PropBank's frames, with frames/NAME.xml in it{cause}"
        )
    index = FrameIndex.of(rolesets)
    if examples is not None:
        known = read_index(shipped_path())
        new = {roleset.id: roleset for roleset in rolesets if roleset.id not in known}
        found = [examples(files[name]) for name in sorted(files)] if new else []
        index = index.with_examples(new.values(), {key: own for part in found for key, own in part.items()})
    origin = shown if is_url(shown) else str(Path(shown).absolute())
    registration = Registration(origin, provenance["commit"], len(files), len(errors), len(index))
    return Read(index, registration, tuple(errors))


def read_frame_files(
    source: str | None, instead: str, *, progress: Progress = no_progress
) -> tuple[SourceFiles, Json]:
    """Return the files of a directory, an archive or a URL, and their provenance; None is the pinned commit.

    `instead` is how a user gives their own copy, for messages.
    """
    found = SourceFiles.read(
        source or FRAMES.url,
        [r"(.+\.xml)"],
        what="frames",
        instead=instead,
        largest=_LARGEST_FILE,
        progress=progress,
    )
    in_frames = {match[1]: file for name, file in found.files.items() if (match := _IN_FRAMES.search(name))}
    frames = SourceFiles(found.root, in_frames or found.files)
    return frames, frames.provenance(FRAMES, must_match=source is None)
