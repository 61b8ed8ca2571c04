"""MASC, the part of the Open American National Corpus that PropBank annotated, joined from two free sources.

PropBank's release has propositions and part-of-speech tags without words, one row per token
(``data/oanc/masc/MODE/00/NAME.gold_skel``). MASC itself has the words with automatic tags, one sentence or
turn per line (``masc_tagged/MODE/NAME.txt``). `tag_joining` aligns the two by their tags. A table assigns
each document to a genre and a split; ``masc-split.tsv`` next to this module is the default.

Mostly verbs are annotated, so an unlabeled noun or adjective may still be a predicate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib import resources
from itertools import accumulate, groupby
from pathlib import Path
from typing import NamedTuple

from spansrl.corpora.corpus import DOCUMENT_KEY, Audit, CorpusSplits, word_runs
from spansrl.corpora.tag_joining import Rejected, TaggedWord, join_by_tags
from spansrl.errors import DataError, FormatError
from spansrl.formats.archives import SourceFiles, fingerprint
from spansrl.formats.conll import read_conll
from spansrl.formats.layouts import LAYOUTS
from spansrl.formats.text_files import read_lines
from spansrl.language.english.lemmas import Lemmatizer, predicate_type
from spansrl.language.english.lemmas.derivation import respelled
from spansrl.progress import Progress, no_progress
from spansrl.structures import Argument, Proposition, Sentence, Span

SPLITS = ("train", "dev", "test")
GENRE_KEY = "genre"  # of Sentence.extra
SPLIT_TABLE = Path(str(resources.files("spansrl.corpora"))) / "masc-split.tsv"

_SKELETON = r"oanc/masc/(spoken|written)/[^/]+/([^/]+)\.gold_skel"
_TAGGED = r"(spoken|written)/([^/]+)\.txt"
_NO_WORD = frozenset({"CODE", "SU"})  # tags of rows for speaker codes, markup and ends of turns
_COLUMNS = ["document", "mode", "genre", "split"]
_TAG_COLUMN = 4  # of a skeleton
_DAMAGED_KEY = "damaged"  # of Sentence.extra, inside this module only
_DROPPED = "its sentence was dropped"  # the reason of propositions
LEMMA_CHECK = "the predicate's word fits its lemma"
_LEMMATIZER = Lemmatizer()


class MascDocument(NamedTuple):
    """A line of the split table."""

    name: str
    mode: str  # spoken or written
    genre: str
    split: str

    @property
    def key(self) -> str:
        """The document's name in both sources."""
        return f"{self.mode}/{self.name}"

    @property
    def id(self) -> str:
        """The document's name in the corpus."""
        return f"{self.genre}/{self.name}"


def build_masc(
    propbank: str,
    tagged: str,
    split: Path | None = None,
    unlike: Iterable[Sentence] = (),
    *,
    progress: Progress = no_progress,
) -> CorpusSplits:
    """Return the corpus from PropBank's release, the tagged words, and the table of documents.

    The first two are directories, archives or URLs; the default table is the package's own. Sentences of
    train that share eight words in a row, or all of their words if they have fewer, with one of the sentences
    `unlike` are left out.
    """
    split = split or SPLIT_TABLE
    documents = read_split(split)
    skeletons = SourceFiles.read(propbank, [_SKELETON], what="propbank", progress=progress)
    _check_documents(documents, split, skeletons, "data/oanc/masc/MODE/NN/NAME.gold_skel")
    words = SourceFiles.read(tagged, [_TAGGED], what="tagged", progress=progress)
    _check_documents(documents, split, words, "masc_tagged/MODE/NAME.txt")
    audit = Audit("masc", SPLITS)
    audit.sources["propbank"] = skeletons.provenance()
    audit.sources["tagged"] = words.provenance()
    audit.sources["split"] = {"files": 1, "sha256": fingerprint({"split": split.read_bytes()})}
    held_out = {run for sent in unlike for run in word_runs(sent.tokens)}
    return CorpusSplits(_sentences(documents, skeletons, words, held_out, audit, progress), audit)


def read_split(path: Path) -> list[MascDocument]:
    """Return the documents of a table with the columns document, mode, genre and split, separated by tabs."""
    table = [(line.number, line.text.split("\t")) for line in read_lines(path)]
    if not table or table[0][1] != _COLUMNS:
        message = f"expected a header with the columns {', '.join(_COLUMNS)}, separated by tabs"
        raise FormatError(message, path=str(path), line=1)
    for number, cells in table[1:]:
        if len(cells) != len(_COLUMNS):
            message = f"expected {len(_COLUMNS)} columns, found {len(cells)}"
            raise FormatError(message, path=str(path), line=number)
        if cells[-1] not in SPLITS:
            message = f"unknown split '{cells[-1]}'. Choose from: {', '.join(SPLITS)}"
            raise FormatError(message, path=str(path), line=number)
    return [MascDocument(*cells) for _, cells in table[1:]]


def read_tagged_line(line: str) -> list[TaggedWord]:
    """Return the words of a line of ``word_TAG``; a word without a tag counts as a noun."""
    cells = (cell.rpartition("_") for cell in line.split())
    return [TaggedWord(form, tag) if form else TaggedWord(tag, "NN") for form, _, tag in cells]


def _check_documents(documents: list[MascDocument], split: Path, source: SourceFiles, expected: str) -> None:
    if not source.files:
        raise DataError(f"{source.root}: no documents of MASC found; expected files like {expected}")
    missing = [document.key for document in documents if document.key not in source.files]
    if missing:
        raise DataError(
            f"{source.root}: {len(missing)} of {len(documents)} documents in {split} not found, "
            f"the first of them {missing[0]}"
        )


def _sentences(
    documents: list[MascDocument],
    skeletons: SourceFiles,
    words: SourceFiles,
    held_out: set[tuple[str, ...]],
    audit: Audit,
    progress: Progress,
) -> Iterator[tuple[str, Sentence]]:
    for key in sorted(set(skeletons.files).difference(document.key for document in documents)):
        audit.drop("document", key, "not in the split table")
    for done, document in enumerate(documents, start=1):
        for sent in _document_sentences(document, skeletons, words, audit):
            if document.split == "train" and not held_out.isdisjoint(word_runs(sent.tokens)):
                audit.drop_sentence(sent, "like a sentence in an --unlike file", _DROPPED)
                continue
            for prop in sent.props:
                audit.check(LEMMA_CHECK, fits_lemma(sent, prop))
            yield document.split, sent
        progress("joining documents", done, len(documents))


def _document_sentences(
    document: MascDocument, skeletons: SourceFiles, words: SourceFiles, audit: Audit
) -> Iterator[Sentence]:
    lines = [read_tagged_line(line.text) for line in words.files[document.key].lines()]
    sentences = list(_skeletons(document, skeletons))
    tags = [[tag for tag in sent.pos or () if tag not in _NO_WORD] for sent in sentences]
    for sent, joined in zip(sentences, join_by_tags(tags, filter(None, lines)), strict=True):
        if _DAMAGED_KEY in sent.extra:
            audit.drop_sentence(sent, "damaged in PropBank's release", _DROPPED)
            continue
        if isinstance(joined, Rejected):
            audit.drop_sentence(sent, joined.reason, _DROPPED)
            continue
        if joined.restored:
            audit.repair("sentence", sent.id or "?", "punctuation missing from the words was restored")
        if joined.ignored:
            audit.repair("sentence", sent.id or "?", "punctuation missing from the skeleton was left out")
        yield _sentence(document, sent, joined.words, audit)


def _skeletons(document: MascDocument, skeletons: SourceFiles) -> Iterator[Sentence]:
    """Yield the sentences that have a word, numbered from 0.

    One that cannot be read has tags only, so that its words are not given to its neighbors.
    """
    file = skeletons.files[document.key]
    groups = groupby(file.lines(), key=lambda line: bool(line.text.strip()))
    for number, block in enumerate(list(group) for has_text, group in groups if has_text):
        try:
            sent = next(read_conll(block, LAYOUTS["skel"], file.path))
        except FormatError:
            tags = tuple(f"{line.text} ? ? ? ? ?".split()[_TAG_COLUMN] for line in block)
            sent = Sentence(tags, pos=tags, extra={_DAMAGED_KEY: True})
        if not _NO_WORD.issuperset(sent.pos or ()):
            yield replace(sent, id=f"{document.id}#{number}")


def _sentence(document: MascDocument, skeleton: Sentence, words: Iterable[str], audit: Audit) -> Sentence:
    tags = skeleton.pos or ()
    kept = [index for index, tag in enumerate(tags) if tag not in _NO_WORD]
    moved = [0, *accumulate(int(tag not in _NO_WORD) for tag in tags)]  # old index -> new index
    props = []
    for prop in skeleton.props:
        where = f"{skeleton.id or '?'}:{prop.pred}"
        if tags[prop.pred] in _NO_WORD:
            audit.drop("proposition", where, "its predicate is not a word")
            continue
        if any(moved[arg.start] == moved[arg.end] for arg in prop.args):
            audit.repair("proposition", where, "an argument without words was left out")
        props.append(_moved(prop, moved))
    return Sentence(
        tokens=tuple(words),
        props=tuple(props),
        id=skeleton.id,
        pos=tuple(tags[index] for index in kept),
        extra={DOCUMENT_KEY: document.id, GENRE_KEY: document.genre},
    )


def _moved(prop: Proposition, moved: list[int]) -> Proposition:
    pred = moved[prop.pred]
    args = [Argument(arg.role, Span(moved[arg.start], moved[arg.end])) for arg in prop.args]
    verb = tuple(
        Span(moved[start], moved[end]) for start, end in prop.verb_spans if moved[start] < moved[end]
    )
    return Proposition(
        pred,
        tuple(arg for arg in args if arg.start < arg.end),
        lemma=prop.lemma,
        sense=prop.sense,
        v=None if verb == (Span(pred, pred + 1),) else verb,
    )


def fits_lemma(sent: Sentence, prop: Proposition) -> bool:
    """Return whether the predicate's word looks like a form of its lemma or of its roleset's.

    The join does not use lemmas, so this check is independent of it. A word that begins with the same three
    letters passes, because the rules do not cover all of English inflection.
    """
    word = sent.tokens[prop.pred].lower()
    lemmas = {prop.lemma or "", (prop.sense or "").rpartition(".")[0]}
    types = (predicate_type(sent, prop), "verb", "noun")
    found = {respelled(_LEMMATIZER.lemma(word, type)) for type in types}
    return not found.isdisjoint(lemmas) or any(word[:3] == lemma[:3] for lemma in lemmas)
