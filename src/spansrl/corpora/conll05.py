"""CoNLL-2005 from your own copies: WSJ sections 02–21 (train), 24 (dev), 23 (test), and Brown ck01–ck03.

The release of the shared task has one file per section and layer (``train/props/train.02.props.gz``,
``words``, ``synt.cha``, ``ne``, ``senses``), or, once its scripts have run, all layers merged in one file
per split (``train-set.gz``). Where words are missing, as in the release itself, they come from Penn
Treebank trees (``wsj/02/wsj_0200.mrg``, ``brown/ck/ck01.mrg``). Layers are pasted side by side, as the
task's own scripts do, and then read like a merged file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from spansrl.corpora.audit import DOCUMENT_KEY, Audit
from spansrl.corpora.corpus import Corpus
from spansrl.corpora.ptb import read_terminals
from spansrl.errors import DataError, FormatError, counted
from spansrl.formats.conll import Block, read_conll, split_blocks
from spansrl.formats.detect import conll05_form
from spansrl.formats.files import Line
from spansrl.formats.layouts import FRAME, LAYOUTS, NE, PARSE, POS
from spansrl.formats.sources import decompressed_bytes, fingerprint, lines_of, member_path, read_members
from spansrl.progress import Progress, no_progress
from spansrl.structures import Sentence

# Names of the parts as the release has them, and the split that each belongs to.
PARTS = {
    **{f"train.{section:02}": "train" for section in range(2, 22)},
    "devel.24": "dev",
    "test.wsj": "test.wsj",
    "test.brown": "test.brown",
}
SPLITS = tuple(dict.fromkeys(PARTS.values()))
_MERGED_SPLITS = {**{split: split for split in SPLITS}, "devel": "dev"}
_TREES_OF_PART = {**{part: part[-2:] for part in PARTS}, "test.wsj": "23", "test.brown": "brown"}
# Parses that the release may have, the one used by the shared task's own scripts first.
_PARSES = ("synt.cha", "synt.col2h", "synt.col2", "synt.upc")

_ONE_RELEASE = "all layers must be from one release"

_COMPRESSED = r"(?:\.gz|\.xz)?$"
_LAYER = re.compile(
    r"(?:^|/)(train\.\d\d|devel\.24|test\.wsj|test\.brown)\.(words|props|ne|senses|synt\.\w+)" + _COMPRESSED
)
_MERGED = re.compile(
    r"(?:^|/)(train|devel|dev|test[._-]wsj|test[._-]brown)(?:[._-]set)?(?:\.(?:txt|conll|conll05))?"
    + _COMPRESSED
)
_WSJ_TREES = re.compile(r"(?:^|/)(wsj_(\d\d)\d\d)\.(?:mrg|parse)(?:\.gz)?$", re.IGNORECASE)
_BROWN_TREES = re.compile(r"(?:^|/)(ck0[1-3])\.(?:mrg|parse)(?:\.gz)?$", re.IGNORECASE)


class Content(NamedTuple):
    """A file's bytes, decompressed, and its path for messages."""

    path: str
    data: bytes

    def lines(self) -> Iterator[Line]:
        return lines_of(self.data, self.path)

    def blocks(self) -> Iterator[Block]:
        return split_blocks(self.lines())


@dataclass(slots=True)
class _Files:
    layers: dict[str, dict[str, Content]] = field(default_factory=dict)  # part -> layer -> file
    merged: dict[str, Content] = field(default_factory=dict)  # split -> file
    trees: dict[str, dict[str, Content]] = field(default_factory=dict)  # section or "brown" -> document

    def splits(self) -> list[str]:
        parts = {PARTS[part] for part, layers in self.layers.items() if "props" in layers}
        return [split for split in SPLITS if split in parts or split in self.merged]

    def contents(self) -> dict[str, bytes]:
        """Return all files by a name that does not depend on where they are stored."""
        found = dict(self.merged)
        for part, layers in self.layers.items():
            found |= {f"{part}.{layer}": file for layer, file in layers.items()}
        for documents in self.trees.values():
            found |= documents
        return {name: file.data for name, file in found.items()}


def build_conll05(source: Path, trees: Sequence[Path] = (), *, progress: Progress = no_progress) -> Corpus:
    """Return the corpus of the column files below `source`, with words from `trees` where they have none.

    Both may be directories or archives; `source` may also be one merged file.
    """
    files = _Files()
    _collect_columns(source, files)
    for tree_source in trees:
        _collect_trees(tree_source, files)
    splits = files.splits()
    if not splits:
        raise DataError(
            f"{source}: no CoNLL-2005 files; expected names like train.02.props.gz with train.02.words.gz, "
            "or merged train-set.gz, devel-set.gz, test.wsj.gz, test.brown.gz"
        )
    audit = Audit("conll05", splits)
    contents = files.contents()
    audit.sources["conll05"] = {"files": len(contents), "sha256": fingerprint(contents)}
    return Corpus(_sentences(files, splits, audit, progress), audit)


def _collect_columns(source: Path, files: _Files) -> None:
    wanted = re.compile(f"{_LAYER.pattern}|{_MERGED.pattern}")
    for name, data in read_members(source, str(source), lambda name: bool(wanted.search(name)), alone=True):
        content = _content(source, name, data)
        if match := _LAYER.search(name):
            if match[1] in PARTS:
                files.layers.setdefault(match[1], {})[match[2]] = content
        elif match := _MERGED.search(name):
            files.merged[_MERGED_SPLITS[re.sub("[_-]", ".", match[1])]] = content


def _content(source: Path, name: str, data: bytes) -> Content:
    path = member_path(source, name)
    return Content(path, decompressed_bytes(data, path))


def _collect_trees(source: Path, files: _Files) -> None:
    members = list(read_members(source, str(source), lambda name: _tree_document(name) is not None))
    for name, data in members:
        if names := _tree_document(name):
            section, document = names
            files.trees.setdefault(section, {})[document] = _content(source, name, data)
    if not members:
        raise DataError(f"{source}: no trees; expected names like wsj/02/wsj_0200.mrg or brown/ck/ck01.mrg")


def _tree_document(name: str) -> tuple[str, str] | None:
    if match := _WSJ_TREES.search(name):
        return match[2], match[1].lower()
    if match := _BROWN_TREES.search(name):
        return "brown", match[1].lower()
    return None


def _sentences(
    files: _Files, splits: Sequence[str], audit: Audit, progress: Progress
) -> Iterator[tuple[str, Sentence]]:
    for split in SPLITS:
        if split not in splits:
            audit.drop("split", split, "not in the source")
    for done, (part, split) in enumerate(PARTS.items(), 1):
        if split not in splits or (split in files.merged and not _has_layers(files, split)):
            continue
        layers = files.layers.get(part, {})
        if "props" in layers:
            for sent in _part_sentences(part, layers, files):
                yield split, sent
        else:
            audit.drop("section", part, "not in the source")
        progress("reading sections", done, len(PARTS))
    for split, content in files.merged.items():
        if not _has_layers(files, split):
            for sent in _merged_sentences(split, content):
                yield split, sent


def _has_layers(files: _Files, split: str) -> bool:
    return any(PARTS[part] == split and "props" in layers for part, layers in files.layers.items())


def _merged_sentences(split: str, content: Content) -> Iterator[Sentence]:
    lines = content.lines()
    head = list(islice(lines, 1000))  # far longer than a sentence
    form = conll05_form(head)
    if form == "conll05-props":
        message = "propositions without words; name it like test.wsj.props"
        raise FormatError(message, path=content.path, line=1)
    for number, sent in enumerate(read_conll(chain(head, lines), LAYOUTS[form], content.path)):
        yield replace(sent, id=f"{split}#{number}")


def _part_sentences(part: str, layers: dict[str, Content], files: _Files) -> Iterator[Sentence]:
    """Yield the sentences of one section, whose layers are pasted together and read as a merged file."""
    props = layers["props"]
    words = list(_words(part, layers, files))
    pasted = _paste(props, words, layers)
    for number, sent in enumerate(read_conll(pasted, LAYOUTS["conll05-train"], props.path)):
        document = words[number].document
        extra = sent.extra if document is None else {**sent.extra, DOCUMENT_KEY: document}
        yield replace(sent, id=f"{part}#{number}", extra=extra)


class _Words(NamedTuple):
    """The words of one sentence and their source; trees have tags too."""

    words: tuple[str, ...]
    tags: tuple[str, ...] | None
    document: str | None


def _words(part: str, layers: dict[str, Content], files: _Files) -> Iterator[_Words]:
    found = False
    if "words" in layers:  # the release has empty files where words may not be distributed
        for block in layers["words"].blocks():
            found = True
            yield _Words(tuple(row[0] for row in block.rows), None, None)
    if found:
        return
    section = _TREES_OF_PART[part]
    documents = files.trees.get(section)
    if not documents:
        wsj = f"wsj/{section}/wsj_{section}00.mrg and so on"
        where = "brown/ck/ck01.mrg to ck03.mrg" if section == "brown" else wsj
        path = layers["props"].path
        raise DataError(f"{path}: {part} has no words; give the treebank with --trees ({where})")
    for document in sorted(documents):
        content = documents[document]
        for tree in read_terminals(content.lines(), content.path):
            yield _Words(tree.words, tree.tags, document)


def _paste(props: Content, words: Sequence[_Words], layers: dict[str, Content]) -> Iterator[Line]:
    """Yield rows ``WORD POS PARSE NE FRAME LEMMA ARGS…``; a missing layer has empty cells."""
    parse = next((layers[name] for name in _PARSES if name in layers), None)
    parse_width = 1 if parse is not None and parse is layers.get("synt.upc") else 2
    columns = [
        _Column(parse, parse_width, (POS.empty, PARSE.empty)),
        _Column(layers.get("ne"), 1, (NE.empty,)),
        _Column(layers.get("senses"), 1, (FRAME.empty,)),
    ]
    count = 0
    for count, block in enumerate(props.blocks(), 1):
        size, line = len(block.rows), block.numbers[0]
        if count > len(words):
            message = f"sentence {count} has no words: they end after {len(words)}; {_ONE_RELEASE}"
            raise FormatError(message, path=props.path, line=line)
        own = words[count - 1]
        if len(own.words) != size:
            found = f"sentence {count} has {counted(size, 'row')}, but {counted(len(own.words), 'word')}"
            where = f" in {own.document}" if own.document else ""
            raise FormatError(f"{found}{where}; {_ONE_RELEASE}", path=props.path, line=line)
        cells = [column.next(size, count, props.path) for column in columns]
        for index, (row, number) in enumerate(zip(block.rows, block.numbers, strict=True)):
            pos, syntax = cells[0][index]
            if pos == POS.empty and own.tags is not None:
                pos = own.tags[index]
            joined = (own.words[index], pos, syntax, *cells[1][index], *cells[2][index], *row)
            yield Line(number, " ".join(joined))
        yield Line(block.numbers[-1] + 1, "")
    if count < len(words):
        message = f"{counted(count, 'sentence')}, but words for {len(words)}; {_ONE_RELEASE}"
        raise FormatError(message, path=props.path)


class _Column:
    """A layer next to the propositions, read sentence by sentence."""

    def __init__(self, content: Content | None, width: int, empty: tuple[str, ...]) -> None:
        self.path = "" if content is None else content.path
        self.width = width
        self.empty = empty
        self.blocks = None if content is None else content.blocks()

    def next(self, size: int, count: int, props: str) -> list[tuple[str, ...]]:
        """Return the cells of the next sentence, which must have `size` rows."""
        if self.blocks is None:
            return [self.empty] * size
        block = next(self.blocks, None)
        if block is None or len(block.rows) != size:
            found = "is missing" if block is None else f"has {counted(len(block.rows), 'row')}"
            line = None if block is None else block.numbers[0]
            message = f"sentence {count} {found}, but {counted(size, 'row')} in {props}; {_ONE_RELEASE}"
            raise FormatError(message, path=self.path, line=line)
        return [self._cells(row, number) for row, number in zip(block.rows, block.numbers, strict=True)]

    def _cells(self, row: Sequence[str], line: int) -> tuple[str, ...]:
        if len(row) < self.width:
            raise FormatError(f"expected {self.width} columns, found {len(row)}", path=self.path, line=line)
        return (*row[: self.width], *self.empty[self.width :])
