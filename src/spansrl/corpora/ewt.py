"""The English Web Treebank PropBank, joined from two free sources.

PropBank's release has the propositions without words (``data/google/ewt/GENRE/NN/NAME.xml.gold_skel``) and
the split (``docs/evaluation/ewt.SPLIT.txt``); Universal Dependencies has the words, one file per document
(``not-to-release/sources/GENRE/NAME.xml.conllu``). `joining` brings the two together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from spansrl.corpora.conllu import read_conllu
from spansrl.corpora.corpus import Audit, CorpusSplits
from spansrl.corpora.joining import join_document
from spansrl.errors import DataError
from spansrl.formats.archives import Pin, SourceFiles
from spansrl.formats.conll import read_conll
from spansrl.formats.layouts import LAYOUTS
from spansrl.progress import Progress, no_progress
from spansrl.structures import Sentence

SPLITS = ("train", "dev", "test")

# GitHub may recompress an archive at any time, so the digests are those of the files that we read from it.
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

_SKELETON = r"(google/ewt/[^/]+/[^/]+/[^/]+\.xml)\.gold_skel"
_LIST = r"docs/evaluation/(ewt\.(?:train|dev|test)\.txt)"
_WORDS = r"not-to-release/sources/([^/]+/[^/]+\.xml)\.conllu"


def build_ewt(
    propbank: str | None = None, ud: str | None = None, *, progress: Progress = no_progress
) -> CorpusSplits:
    """Return the corpus of two sources, each a directory, an archive or a URL; None is the pinned commit."""
    patterns = (_SKELETON, _LIST)
    skeletons = SourceFiles.read(propbank or PROPBANK.url, patterns, what="propbank", progress=progress)
    _check_propbank(skeletons)
    words = SourceFiles.read(ud or UD.url, (_WORDS,), what="ud", progress=progress)
    _check_words(words, skeletons)
    audit = Audit("ewt", SPLITS)
    audit.sources["propbank"] = skeletons.provenance(PROPBANK, must_match=propbank is None)
    audit.sources["ud"] = words.provenance(UD, must_match=ud is None)
    return CorpusSplits(_sentences(skeletons, words, audit, progress), audit)


def _check_propbank(source: SourceFiles) -> None:
    if not _documents(source):
        raise DataError(
            f"{source.root}: no skeletons of EWT; expected the PropBank release, "
            "with data/google/ewt/GENRE/NN/NAME.xml.gold_skel in it"
        )
    missing = [name for name in map(_list_name, SPLITS) if name not in source.files]
    if missing:
        raise DataError(
            f"{source.root}: the split list docs/evaluation/{missing[0]} is missing; download it again"
        )


def _check_words(words: SourceFiles, skeletons: SourceFiles) -> None:
    if not words.files:
        raise DataError(
            f"{words.root}: no documents; expected UD_English-EWT, "
            "with not-to-release/sources/GENRE/NAME.xml.conllu in it"
        )
    wanted = [_document(name) for name in _documents(skeletons)]
    missing = [document for document in wanted if document not in words.files]
    if missing:
        raise DataError(
            f"{words.root}: no words for {len(missing)} of {len(wanted)} documents, the first of them "
            f"not-to-release/sources/{missing[0]}.conllu; get UD_English-EWT at commit {UD.commit}"
        )


def _documents(skeletons: SourceFiles) -> list[str]:
    """Names of the documents, without the split lists."""
    return sorted(name for name in skeletons.files if "/" in name)


def _sentences(
    skeletons: SourceFiles, words: SourceFiles, audit: Audit, progress: Progress
) -> Iterator[tuple[str, Sentence]]:
    listed = {split: _listed_names(skeletons, split) for split in SPLITS}
    total, done = sum(map(len, listed.values())), 0
    for name in sorted(set(_documents(skeletons)).difference(*listed.values())):
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


def _document_sentences(
    name: str, skeletons: SourceFiles, words: SourceFiles, audit: Audit
) -> Iterator[Sentence]:
    document = _document(name)
    skeleton, text = skeletons.files[name], words.files[document]
    read = read_conll(skeleton.lines(), LAYOUTS["skel"], skeleton.path)
    numbered = [replace(sent, id=f"{document}#{number}") for number, sent in enumerate(read)]
    return join_document(document, numbered, list(read_conllu(text.lines(), text.path)), audit)


def _listed_names(skeletons: SourceFiles, split: str) -> list[str]:
    """Return the names of a split's documents as in the skeletons; the list of dev has ``.xml.conllu``."""
    lines = (line.text.strip() for line in skeletons.files[_list_name(split)].lines())
    return [f"google/ewt/{line.removesuffix('.conllu')}" for line in lines if line]


def _list_name(split: str) -> str:
    return f"ewt.{split}.txt"


def _document(name: str) -> str:
    """``GENRE/NAME.xml`` for ``google/ewt/GENRE/NN/NAME.xml``."""
    _, _, genre, _, base = name.split("/")
    return f"{genre}/{base}"
