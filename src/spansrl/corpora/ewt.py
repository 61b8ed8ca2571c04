"""The English Web Treebank PropBank, joined from two free sources.

PropBank's release has the propositions without words (``data/google/ewt/GENRE/NN/NAME.xml.gold_skel``) and
the split (``docs/evaluation/ewt.SPLIT.txt``); Universal Dependencies has the words, a file a document
(``not-to-release/sources/GENRE/NAME.xml.conllu``). `joining` brings the two together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from spansrl.checks import Json
from spansrl.corpora.audit import Audit
from spansrl.corpora.conllu import read_conllu
from spansrl.corpora.corpus import Corpus
from spansrl.corpora.joining import join_document
from spansrl.errors import DataError
from spansrl.formats.conll import read_conll
from spansrl.formats.layouts import LAYOUTS
from spansrl.formats.sources import Pin, fetched, fingerprint, lines_of, pinned_commit, read_members
from spansrl.progress import Progress, no_progress
from spansrl.structures import Sentence

SPLITS = ("train", "dev", "test")

# Commits are abbreviated as our sources name them; GitHub documents such addresses for whole ids only. It may
# recompress an archive at any time, so the digests are those of the files that we read from it.
PROPBANK = Pin(
    commit="4abade0",
    url="https://github.com/propbank/propbank-release/archive/4abade0.tar.gz",
    sha256="572120df1373f8262ff80bd24a89dd69ed8478fc431d87bef114b944c8c9eb5d",
)
UD = Pin(
    commit="15d613d",
    url="https://github.com/UniversalDependencies/UD_English-EWT/archive/15d613d.tar.gz",
    sha256="de76f5adf878ece474e805fb176a9ff81c1321683564ea453af0b8c418aa7f03",
)

_SKELETON = re.compile(r"(?:^|/)(google/ewt/([^/]+)/[^/]+/([^/]+\.xml))\.gold_skel$")
_LIST = re.compile(r"(?:^|/)docs/evaluation/(ewt\.(?:train|dev|test)\.txt)$")
_WORDS = re.compile(r"(?:^|/)not-to-release/sources/([^/]+/[^/]+\.xml)\.conllu$")


@dataclass(frozen=True, slots=True)
class Source:
    """The files that are used from one of the two sources; `root` names it in messages."""

    root: str
    files: dict[str, bytes]  # by a name that does not depend on how they were packed
    paths: dict[str, str]  # the same names -> paths below the root

    @property
    def documents(self) -> list[str]:
        """Names of the documents, without the split lists."""
        return sorted(name for name in self.files if "/" in name)

    def path(self, name: str) -> str:
        return f"{self.root}/{self.paths[name]}"


def build_ewt(
    propbank: str | None = None, ud: str | None = None, *, progress: Progress = no_progress
) -> Corpus:
    """Return the corpus of two sources, each a directory, an archive or a URL; None is the pinned commit."""
    with fetched(propbank or PROPBANK.url, "propbank", progress) as path:
        skeletons = _read(path, propbank or PROPBANK.url, (_SKELETON, _LIST), progress)
    _check_propbank(skeletons)
    with fetched(ud or UD.url, "ud", progress) as path:
        words = _read(path, ud or UD.url, (_WORDS,), progress)
    _check_words(words, skeletons)
    audit = Audit("ewt", SPLITS)
    audit.sources["propbank"] = _provenance(skeletons, PROPBANK, must_match=propbank is None)
    audit.sources["ud"] = _provenance(words, UD, must_match=ud is None)
    return Corpus(_sentences(skeletons, words, audit, progress), audit)


def _read(path: Path, root: str, patterns: tuple[re.Pattern[str], ...], progress: Progress) -> Source:
    source = Source(root, {}, {})
    for path_below, content in read_members(
        path, root, lambda name: any(pattern.search(name) for pattern in patterns), progress=progress
    ):
        name = next(match[1] for pattern in patterns if (match := pattern.search(path_below)))
        source.files[name] = content
        source.paths[name] = path_below
    return source


def _check_propbank(source: Source) -> None:
    if not source.documents:
        raise DataError(
            f"{source.root}: no skeletons of EWT; expected the PropBank release, "
            "with data/google/ewt/GENRE/NN/NAME.xml.gold_skel in it"
        )
    missing = [name for name in map(_list_name, SPLITS) if name not in source.files]
    if missing:
        raise DataError(
            f"{source.root}: the split list docs/evaluation/{missing[0]} is missing; download it again"
        )


def _check_words(words: Source, skeletons: Source) -> None:
    if not words.files:
        raise DataError(
            f"{words.root}: no documents; expected UD_English-EWT, "
            "with not-to-release/sources/GENRE/NAME.xml.conllu in it"
        )
    wanted = [_document(name) for name in skeletons.documents]
    missing = [document for document in wanted if document not in words.files]
    if missing:
        raise DataError(
            f"{words.root}: no words for {len(missing)} of {len(wanted)} documents, the first of them "
            f"not-to-release/sources/{missing[0]}.conllu; get UD_English-EWT at commit {UD.commit}"
        )


def _provenance(source: Source, pin: Pin, *, must_match: bool) -> Json:
    """Return the description of a source in audit.json, independent of where it is stored."""
    found = fingerprint(source.files)
    commit = pinned_commit(pin, found, source.root, must_match=must_match)
    return {"commit": commit, "files": len(source.files), "sha256": found}


def _sentences(
    skeletons: Source, words: Source, audit: Audit, progress: Progress
) -> Iterator[tuple[str, Sentence]]:
    listed = {split: _listed_names(skeletons, split) for split in SPLITS}
    total, done = sum(map(len, listed.values())), 0
    for name in sorted(set(skeletons.documents).difference(*listed.values())):
        audit.drop("document", _document(name), "not in any split list")
    for split, names in listed.items():
        for name in names:
            if name in skeletons.files:
                for sent in _document_sentences(name, skeletons, words, audit):
                    yield split, sent
            else:
                audit.drop("document", _document(name), "in a split list, but not annotated in PropBank")
            done += 1
            progress("joining documents", done, total)


def _document_sentences(name: str, skeletons: Source, words: Source, audit: Audit) -> Iterator[Sentence]:
    document, path = _document(name), skeletons.path(name)
    read = read_conll(lines_of(skeletons.files[name], path), LAYOUTS["skel"], path)
    numbered = [replace(sent, id=f"{document}#{number}") for number, sent in enumerate(read)]
    path = words.path(document)
    sentences = list(read_conllu(lines_of(words.files[document], path), path))
    return join_document(document, numbered, sentences, audit)


def _listed_names(skeletons: Source, split: str) -> list[str]:
    """Return the names of a split's documents as in the skeletons; the list of dev has ``.xml.conllu``."""
    name = _list_name(split)
    lines = (line.text.strip() for line in lines_of(skeletons.files[name], skeletons.path(name)))
    return [f"google/ewt/{line.removesuffix('.conllu')}" for line in lines if line]


def _list_name(split: str) -> str:
    return f"ewt.{split}.txt"


def _document(name: str) -> str:
    """``GENRE/NAME.xml`` for ``google/ewt/GENRE/NN/NAME.xml``."""
    _, _, genre, _, base = name.split("/")
    return f"{genre}/{base}"
