"""CoNLL-2005's Brown test set: the shared task's propositions, which have no words, and the Brown corpus.

``test.brown.props`` covers ``ck01`` to ``ck03`` (word/tag) token by token, once Brown's words are split as in
the Penn Treebank. The set is for testing only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from spansrl.corpora.corpus import Audit, CorpusSplits
from spansrl.corpora.masc import LEMMA_CHECK, fits_lemma
from spansrl.errors import DataError, FormatError
from spansrl.formats.archives import SourceFile, SourceFiles
from spansrl.formats.conll import ColumnBlock, Ids, read_block, split_blocks
from spansrl.formats.layouts import LAYOUTS
from spansrl.progress import Progress, no_progress
from spansrl.structures import Sentence

SPLIT = "test.brown"

_PROPS = r"(test\.brown\.props)(?:\.gz|\.xz)?"
_WORDS = r"(ck0[1-3])"
_DOCUMENTS = ("ck01", "ck02", "ck03")
_CONTRACTION = re.compile(
    r"(?P<can>can)(?P<not>not)|(?P<stem>.+?)(?P<suffix>n't|'(?:s|ll|d|re|ve|m)|(?<=s)')", re.IGNORECASE
)
_OPENING_QUOTE = "``"


def build_brown(source: str, *, progress: Progress = no_progress) -> CorpusSplits:
    """Return the corpus of a directory or an archive with the propositions and the Brown corpus's files."""
    files = SourceFiles.read(source, (_PROPS, _WORDS), what="brown", progress=progress)
    missing = [name for name in ("test.brown.props", *_DOCUMENTS) if name not in files.files]
    if missing:
        raise DataError(
            f"{source}: {missing[0]} not found; expected test.brown.props.gz of CoNLL-2005 "
            "and ck01, ck02, ck03 of the Brown corpus (word/tag)"
        )
    audit = Audit("conll05-brown", (SPLIT,))
    audit.sources["brown"] = files.provenance()
    return CorpusSplits(_sentences(files.files, audit), audit)


def split_as_penn(word: str) -> tuple[str, ...]:
    """Split a word of the Brown corpus as the Penn Treebank does: ``didn't`` is ``did`` and ``n't``."""
    match = _CONTRACTION.fullmatch(word)
    return tuple(filter(None, match.groups())) if match else (word,)


def _sentences(files: dict[str, SourceFile], audit: Audit) -> Iterator[tuple[str, Sentence]]:
    props = files["test.brown.props"]
    blocks = list(split_blocks(props.lines()))
    words = [word for name in _DOCUMENTS for word in _words(files[name])]
    rows = sum(len(block.rows) for block in blocks)
    if len(words) != rows:
        message = f"{rows} rows, but {len(words)} words in {', '.join(_DOCUMENTS)}; get the files again"
        raise FormatError(message, path=props.path)
    ids, start = Ids(), 0
    for number, block in enumerate(blocks):
        end = start + len(block.rows)
        if _is_exchanged(words, end):
            words[end - 1 : end + 1] = words[end], words[end - 1]
            audit.repair(
                "sentence",
                f"{SPLIT}#{number}",
                "its final period came after the quote that opens the next one",
            )
        own = [[word, *row] for word, row in zip(words[start:end], block.rows, strict=True)]
        sent = read_block(ColumnBlock(own, block.numbers), LAYOUTS["conll05-words"], props.path, ids)
        sent = replace(sent, id=f"{SPLIT}#{number}")
        for prop in sent.props:
            audit.check(LEMMA_CHECK, fits_lemma(sent, prop))
        yield SPLIT, sent
        start = end


def _is_exchanged(words: Sequence[str], end: int) -> bool:
    """Whether the words have a sentence's period after the quote that opens the next one."""
    return end < len(words) and words[end - 1] == _OPENING_QUOTE and words[end] == "."


def _words(file: SourceFile) -> Iterator[str]:
    for line in file.lines():
        for item in line.text.split():
            word, slash, _ = item.rpartition("/")
            if not slash or not word:
                raise FormatError(f"expected word/tag, found '{item[:40]}'", path=file.path, line=line.number)
            yield from split_as_penn(word)
