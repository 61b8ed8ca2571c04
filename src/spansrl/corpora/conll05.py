"""CoNLL-2005 from your own copies: WSJ sections 02–21 (train), 24 (dev), 23 (test), and Brown ck01–ck03.

The release of the shared task has one file per section and layer (``train/props/train.02.props.gz``,
``words``, ``synt.cha``, ``ne``, ``senses``), or, once its scripts have run, all layers merged in one file
per split (``train-set.gz``). Where words are missing, as in the release itself, they come from Penn
Treebank trees (``wsj/02/wsj_0200.mrg``, ``brown/ck/ck01.mrg``). Layers are pasted side by side, as the
task's own scripts do, and then read like a merged file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from spansrl.corpora.corpus import DOCUMENT_KEY, Audit, CorpusSplits
from spansrl.errors import DataError, FormatError, counted, shortened
from spansrl.formats.archives import SourceFile, SourceFiles
from spansrl.formats.conll import read_conll, split_blocks
from spansrl.formats.layouts import FRAME, LAYOUTS, NE, PARSE, POS
from spansrl.formats.table import Head, conll05_form
from spansrl.formats.text_files import Line
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

_COMPRESSED = r"(?:\.gz|\.xz)?"
_LAYER = rf"({'|'.join(map(re.escape, PARTS))})\.(words|props|ne|senses|synt\.\w+){_COMPRESSED}"
_MERGED = rf"(train|devel|dev|test[._-](?:wsj|brown))(?:[._-]set)?(?:\.(?:txt|conll|conll05))?{_COMPRESSED}"
_TREES = rf"(?i:(wsj_\d{{4}}|ck0[1-3])\.(?:mrg|parse)){_COMPRESSED}"

_TRACE = "-NONE-"
_TOKEN = re.compile(r"[()]|[^\s()]+")


@dataclass(frozen=True, slots=True)
class _Files:
    layers: dict[str, dict[str, SourceFile]]  # part -> layer -> file
    merged: dict[str, SourceFile]  # split -> file, for splits without layers
    trees: dict[str, dict[str, SourceFile]]  # section or "brown" -> document -> file

    @classmethod
    def of(cls, columns: SourceFiles, trees: Mapping[str, SourceFile]) -> _Files:
        files = cls({}, {}, {})
        for name, file in columns.files.items():
            part, _, layer = name.partition("/")
            if layer:
                files.layers.setdefault(part, {})[layer] = file
        for name, file in columns.files.items():
            split = _MERGED_SPLITS.get(re.sub("[_-]", ".", name))
            if split is not None and split not in files.layered:
                files.merged[split] = file
        for name, file in trees.items():
            document = name.lower()
            section = document[4:6] if document.startswith("wsj_") else "brown"
            files.trees.setdefault(section, {})[document] = file
        return files

    @property
    def layered(self) -> set[str]:
        """The splits whose propositions are in layers."""
        return {PARTS[part] for part, layers in self.layers.items() if "props" in layers}


def build_conll05(
    source: Path, trees: Sequence[Path] = (), *, progress: Progress = no_progress
) -> CorpusSplits:
    """Return the corpus of the column files below `source`, with words from `trees` where they have none.

    Both may be directories or archives; `source` may also be one merged file.
    """
    columns = SourceFiles.read(str(source), (_LAYER, _MERGED), what="conll05", progress=progress)
    documents = _read_trees(trees, progress)
    files = _Files.of(columns, documents)
    splits = [split for split in SPLITS if split in files.layered or split in files.merged]
    if not splits:
        raise DataError(
            f"{source}: no CoNLL-2005 files; expected names like train.02.props.gz with train.02.words.gz, "
            "or merged train-set.gz, devel-set.gz, test.wsj.gz, test.brown.gz"
        )
    audit = Audit("conll05", SPLITS)
    audit.keep_splits(splits)
    audit.sources["conll05"] = SourceFiles(str(source), columns.files | documents).provenance()
    return CorpusSplits(_sentences(files, audit, progress), audit)


def _read_trees(sources: Sequence[Path], progress: Progress) -> dict[str, SourceFile]:
    documents: dict[str, SourceFile] = {}
    for source in sources:
        found = SourceFiles.read(str(source), (_TREES,), what="trees", progress=progress).files
        if not found:
            example = "wsj/02/wsj_0200.mrg or brown/ck/ck01.mrg"
            raise DataError(f"{source}: no trees; expected names like {example}")
        documents |= found
    return documents


def _sentences(files: _Files, audit: Audit, progress: Progress) -> Iterator[tuple[str, Sentence]]:
    for done, (part, split) in enumerate(PARTS.items(), 1):
        if split not in audit.splits or split in files.merged:
            continue
        layers = files.layers.get(part, {})
        if "props" in layers:
            for sent in _part_sentences(part, layers, files):
                yield split, sent
        else:
            audit.drop("section", part, "not in the source")
        progress("reading sections", done, len(PARTS))
    for split, file in files.merged.items():
        for sent in _merged_sentences(split, file):
            yield split, sent


def _merged_sentences(split: str, file: SourceFile) -> Iterator[Sentence]:
    lines = file.lines()
    head = list(islice(lines, 1000))  # far longer than a sentence
    form = conll05_form(Head(head))
    if form == "conll05-props":
        message = "propositions without words; name it like test.wsj.props"
        raise FormatError(message, path=file.path, line=1)
    for number, sent in enumerate(read_conll(chain(head, lines), LAYOUTS[form], file.path)):
        yield replace(sent, id=f"{split}#{number}")


def _part_sentences(part: str, layers: dict[str, SourceFile], files: _Files) -> Iterator[Sentence]:
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


def _words(part: str, layers: dict[str, SourceFile], files: _Files) -> Iterator[_Words]:
    found = False
    if "words" in layers:  # the release has empty files where words may not be distributed
        for block in split_blocks(layers["words"].lines()):
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
        file = documents[document]
        for tree in read_terminals(file.lines(), file.path):
            yield _Words(tree.words, tree.tags, document)


def _paste(props: SourceFile, words: Sequence[_Words], layers: dict[str, SourceFile]) -> Iterator[Line]:
    """Yield rows ``WORD POS PARSE NE FRAME LEMMA ARGS…``; a missing layer has empty cells."""
    parse = next((layers[name] for name in _PARSES if name in layers), None)
    parse_width = 1 if parse is not None and parse is layers.get("synt.upc") else 2
    columns = [
        _Column(parse, parse_width, (POS.empty, PARSE.empty)),
        _Column(layers.get("ne"), 1, (NE.empty,)),
        _Column(layers.get("senses"), 1, (FRAME.empty,)),
    ]
    count = 0
    for count, block in enumerate(split_blocks(props.lines()), 1):
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

    def __init__(self, file: SourceFile | None, width: int, empty: tuple[str, ...]) -> None:
        self.path = "" if file is None else file.path
        self.width = width
        self.empty = empty
        self.blocks = None if file is None else split_blocks(file.lines())

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


class Terminals(NamedTuple):
    words: tuple[str, ...]
    tags: tuple[str, ...]


def read_terminals(lines: Iterable[Line], path: str) -> Iterator[Terminals]:
    """Yield the words and tags of each tree: ``( (S (NP (DT The) (NN dog)) (VP (VBD barked))))``.

    Traces (``-NONE-``) are left out. Words are kept as the treebank has them (``-LRB-``, ``1\\/2``).
    """
    depth, opened_at = 0, 0
    before: list[str] = []  # the atoms since the last bracket: a tag, or a tag and its word
    leaves: list[tuple[str, str]] = []
    for number, text in lines:
        for token in _TOKEN.findall(text):
            if token == "(":
                opened_at = opened_at if depth else number
                depth += 1
                before = []
            elif token != ")":
                before.append(token)
                if depth == 0 or len(before) > 2:
                    raise FormatError(
                        f"'{shortened(token)}' is outside a leaf (TAG WORD)", path=path, line=number
                    )
            elif depth == 0:
                raise FormatError("')' closes nothing", path=path, line=number)
            else:
                depth -= 1
                if len(before) == 2 and before[0] != _TRACE:
                    leaves.append((before[0], before[1]))
                before = []
                if depth == 0:
                    yield Terminals(tuple(word for _, word in leaves), tuple(tag for tag, _ in leaves))
                    leaves = []
    if depth:
        raise FormatError("this tree is still open when the file ends", path=path, line=opened_at)
