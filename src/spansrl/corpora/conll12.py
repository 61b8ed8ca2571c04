"""CoNLL-2012 from a user's own ``*_gold_conll`` files, made from OntoNotes by the shared task's scripts.

The split is that of the directories (``data/train/…``, ``data/development/…``, ``data/test/…``; a directory
``conll-2012-test`` next to ``test`` holds the official test set, so it wins), or that of lists of documents.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from spansrl.corpora.corpus import Audit, CorpusSplits
from spansrl.errors import DataError
from spansrl.formats.archives import SourceFile, member_names, member_path, read_members
from spansrl.formats.conll import read_conll
from spansrl.formats.layouts import LAYOUTS
from spansrl.formats.text_files import read_lines
from spansrl.progress import Progress, no_progress
from spansrl.structures import Sentence

SPLITS = ("train", "dev", "test")
_OFFICIAL_TEST, _OTHER_TEST = "conll-2012-test", "test"
_SPLIT_OF_DIRECTORY = {**{split: split for split in SPLITS}, "development": "dev", _OFFICIAL_TEST: "test"}
_OTHER_LANGUAGES = frozenset({"arabic", "chinese"})
_SUFFIX = re.compile(r"(?:\.v\d+)?[._]gold_(?:conll|skel)(?:\.gz|\.xz)?$")
_GOLD = re.compile(r"[._]gold_conll(?:\.gz|\.xz)?$")


def build_conll12(
    source: Path, lists: Mapping[str, Path] | None = None, *, progress: Progress = no_progress
) -> CorpusSplits:
    """Return the corpus of the files below `source`, a directory or an archive.

    `lists` has one file per split, with one document per line (``bc/cctv/00/cctv_0000``); it replaces the
    assignment by directories.
    """
    names = [name for name in member_names(source, str(source)) if _GOLD.search(name)]
    if not names:
        raise DataError(
            f"{source}: no *_gold_conll files; expected CoNLL-2012 as made by its scripts, "
            "like data/train/data/english/annotations/bc/cctv/00/cctv_0001.v4_gold_conll"
        )
    audit = Audit("conll12", SPLITS)
    names = list(_english(names, audit))
    split_of = _by_list(names, lists, audit) if lists else _by_directory(names, audit)
    if not split_of:
        where = "in the lists" if lists else "below a directory train, development or test"
        raise DataError(f"{source}: none of the {len(names)} files is {where}")
    audit.keep_splits(split_of.values())
    return CorpusSplits(_sentences(source, split_of, audit, progress), audit)


def _english(names: Iterable[str], audit: Audit) -> Iterator[str]:
    for name in names:
        if _OTHER_LANGUAGES & set(PurePosixPath(name).parts):
            audit.drop("document", name, "not English")
        else:
            yield name


def _by_directory(names: list[str], audit: Audit) -> dict[str, str]:
    """Return the split of every file, by the first directory above it that has the name of a split."""
    directories = {name: _split_directory(name) for name in names}
    official = _OFFICIAL_TEST in directories.values()
    found: dict[str, str] = {}
    for name, directory in directories.items():
        if directory is None:
            audit.drop("document", name, "not below train, development or test")
        elif official and directory == _OTHER_TEST:
            audit.drop("document", name, f"in test, but {_OFFICIAL_TEST} is the official test set")
        else:
            found[name] = _SPLIT_OF_DIRECTORY[directory]
    return found


def _split_directory(name: str) -> str | None:
    return next((part for part in PurePosixPath(name).parts[:-1] if part in _SPLIT_OF_DIRECTORY), None)


def _by_list(names: list[str], lists: Mapping[str, Path], audit: Audit) -> dict[str, str]:
    """Return the split of every listed file, by the last four parts of its name."""
    split_of: dict[str, str] = {}
    for split, path in lists.items():
        for line in read_lines(path):
            if line.text.strip():
                split_of[_document(line.text.strip())] = split
    found: dict[str, str] = {}
    placed: set[str] = set()
    for name in names:
        document = _document(name)
        if document not in split_of:
            audit.drop("document", document, "in none of the lists")
        elif document in placed:
            audit.drop("document", name, "the same document twice")
        else:
            found[name] = split_of[document]
            placed.add(document)
    for document in split_of:
        if document not in placed:
            audit.drop("document", document, "in a list, but not in the source")
    return found


def _document(name: str) -> str:
    return "/".join(PurePosixPath(_SUFFIX.sub("", name)).parts[-4:])


def _sentences(
    source: Path, split_of: dict[str, str], audit: Audit, progress: Progress
) -> Iterator[tuple[str, Sentence]]:
    digest = hashlib.sha256()
    members = read_members(source, str(source), split_of.__contains__)
    for done, (name, content) in enumerate(members, 1):
        file = SourceFile.of(member_path(source, name, str(source)), content)
        digest.update(f"{_document(name)}\0{hashlib.sha256(file.data).hexdigest()}\n".encode())
        for sent in read_conll(file.lines(), LAYOUTS["conll12"], file.path):
            yield split_of[name], sent
        progress("reading documents", done, len(split_of))
    audit.sources["conll12"] = {"files": len(split_of), "sha256": digest.hexdigest()}
