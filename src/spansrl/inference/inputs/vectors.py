"""Static word vectors from text files: a word in, a row of a matrix out.

Three shapes are read, plain or compressed (`.gz`, `.xz`):

- GloVe: ``word 0.1 0.2 …`` a line;
- word2vec's text format: the same after a first line ``count width``;
- SENNA: two files, `words.lst` with a word a line and `embeddings.txt` with its numbers in the same line.

A token is looked up lower-cased, digits kept, brackets in the file's own spelling (``(`` or ``-lrb-``).
What is not there gets the row of the file's unknown word (`UNKNOWN`, `<unk>` or `unk`, in this order); a file
without one gets a row `UNKNOWN`, the mean of all its rows.

    vectors = read_vectors(Path("glove.6B.50d.txt"), keep={"Cats", "sleep"})
    vectors.matrix[vectors.lookup(["Cats", "sleep", "-LRB-"])]      # (3, 50)
"""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, zip_longest
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spansrl.errors import DataError, FormatError, counted
from spansrl.formats.storage import DAMAGED, decompressed

UNKNOWN_WORDS = ("UNKNOWN", "<unk>", "unk")
"""Names under which files keep the row for unknown words, the preferred one first."""

_BRACKETS = {"(": "-lrb-", ")": "-rrb-", "[": "-lsb-", "]": "-rsb-", "{": "-lcb-", "}": "-rcb-"}
_BRACKET_SPELLINGS = {
    spelling: (bracket, name, name.upper())
    for bracket, name in _BRACKETS.items()
    for spelling in (bracket, name)
}

_NUMBER = re.compile(rb"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_BLOCK = 8192  # rows parsed at once: enough to leave the work to NumPy, few enough to keep memory flat


@dataclass(frozen=True, eq=False, repr=False)
class Vectors:
    """A word's vector is the row of `matrix` (V, D) at its place in `words`; one word is the unknown word."""

    words: tuple[str, ...]
    matrix: NDArray[np.float32]

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or len(self.words) != len(self.matrix):
            raise DataError(f"{len(self.words)} words do not fit a matrix of shape {self.matrix.shape}")
        if not any(word in self._ids for word in UNKNOWN_WORDS):
            raise DataError(
                f"the vectors have no row for unknown words; add one of {', '.join(UNKNOWN_WORDS)}"
            )

    def __repr__(self) -> str:
        return f"Vectors({counted(len(self.words), 'word')}, width {self.width})"

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.words)}

    @property
    def width(self) -> int:
        """The number of values of each vector."""
        return int(self.matrix.shape[1])

    @cached_property
    def unknown(self) -> int:
        """The row for words that are not there."""
        return next(self._ids[word] for word in UNKNOWN_WORDS if word in self._ids)

    def normalise(self, token: str) -> str:
        """The word whose row represents the token."""
        return next((word for word in _spellings(token) if word in self._ids), self.words[self.unknown])

    def lookup(self, tokens: Sequence[str]) -> NDArray[np.int64]:
        """The tokens' rows in `matrix`."""
        ids = (self._ids[self.normalise(token)] for token in tokens)
        return np.fromiter(ids, dtype=np.int64, count=len(tokens))


def read_vectors(
    path: Path, *, words_path: Path | None = None, keep: Collection[str] | None = None
) -> Vectors:
    """Read a file of vectors; with `words_path`, SENNA's pair of files.

    With `keep`, only the rows that these tokens look up (and the unknown word's) are kept. The unknown word's
    vector is the same with and without: where it is a mean, it is the mean of all rows.
    """
    wanted = None if keep is None else {s for token in keep for s in _spellings(token)}.union(UNKNOWN_WORDS)
    mean_needed = _has_no_unknown_word(path if words_path is None else words_path)
    rows = _glove_rows(path) if words_path is None else _senna_rows(path, words_path)
    words: list[str] = []
    kept: list[NDArray[np.float32]] = []
    total, count = np.zeros(1), 0
    with closing(rows):
        for block in _blocks(row for row in rows if mean_needed or wanted is None or row.word in wanted):
            matrix = _parse(block, path)
            chosen = [k for k, row in enumerate(block) if wanted is None or row.word in wanted]
            words += [block[k].word for k in chosen]
            kept.append(matrix[chosen])
            total, count = total + matrix.sum(axis=0, dtype=np.float64), count + len(block)
    if mean_needed:
        words.append(UNKNOWN_WORDS[0])
        kept.append((total / count).astype(np.float32)[None])
    return Vectors(tuple(words), np.concatenate(kept))


def _spellings(token: str) -> tuple[str, ...]:
    """The words to look for, best first."""
    word = token.lower()
    return (word, *_BRACKET_SPELLINGS.get(word, ()))


class _Row(NamedTuple):
    """One vector as the file has it: still text, known to have the right number of fields."""

    line: int
    word: str
    numbers: bytes


def _lines(path: Path) -> Generator[bytes, None, None]:
    """The file's lines without their ends, tabs as blanks; text vectors are split at blanks only."""
    try:
        with path.open("rb") as raw, decompressed(raw) as file:
            for line in file:
                yield line.replace(b"\t", b" ").rstrip(b" \r\n")
    except DAMAGED as error:
        message = f"the compressed file is damaged ({error}); fetch it again"
        raise FormatError(message, path=str(path)) from error
    except OSError as error:
        raise FormatError(f"cannot be read ({error.strerror or error})", path=str(path)) from error


def _has_no_unknown_word(path: Path) -> bool:
    names = {word.encode() for word in UNKNOWN_WORDS}
    with closing(_lines(path)) as lines:
        return not any(line.partition(b" ")[0] in names for line in lines)


def _glove_rows(path: Path) -> Generator[_Row, None, None]:
    """Rows of a GloVe file, or of a word2vec file, whose header must then be true."""
    with closing(_lines(path)) as lines:
        first = next(lines, None)
        if first is None:
            raise FormatError("the file is empty; expected 'word number number …' lines", path=str(path))
        header = _word2vec_header(first)
        width = len(first.split()) - 1 if header is None else header.width
        if width < 1:
            message = "expected a word and its vector's numbers, found no numbers"
            raise FormatError(message, path=str(path), line=1)
        checker = _WordChecker(path)
        body = enumerate(chain([first], lines), start=1) if header is None else enumerate(lines, start=2)
        for number, line in body:
            word, _, numbers = line.partition(b" ")
            if numbers.count(b" ") != width - 1 or b"  " in line:
                word, numbers = _split_unusual(line, width, path, number)
            yield _Row(number, checker.check(word, number), numbers)
    if header is not None and len(checker) != header.words:
        message = f"the header promises {counted(header.words, 'word')}, the file has {len(checker)}"
        raise FormatError(message, path=str(path), line=1)
    if not len(checker):
        raise FormatError("no vector follows the header", path=str(path), line=1)


class _Header(NamedTuple):
    words: int
    width: int


def _word2vec_header(line: bytes) -> _Header | None:
    fields = line.split()
    if len(fields) == 2 and all(field.isdigit() for field in fields):
        return _Header(int(fields[0]), int(fields[1]))
    return None


def _split_unusual(line: bytes, width: int, path: Path, number: int) -> tuple[bytes, bytes]:
    """Word and numbers of a line that is not 'word number number …' with single blanks.

    GloVe's largest files have words with blanks inside (``. . .``). They are told from rows with too many
    numbers by this: no field between the word's first and the vector is a number.
    """
    fields = line.split()
    inside = fields[1:-width]
    if len(fields) <= width or any(_is_number(field) for field in inside):
        found = max(len(fields) - 1, 0)
        raise FormatError(
            f"expected a word and {width} numbers, found {found} numbers", path=str(path), line=number
        )
    return b" ".join(fields[:-width]), b" ".join(fields[-width:])


def _senna_rows(path: Path, words_path: Path) -> Generator[_Row, None, None]:
    """Rows of a file of numbers, named by a file of words line by line."""
    checker = _WordChecker(words_path)
    width = 0
    with closing(_lines(words_path)) as words, closing(_lines(path)) as vectors:
        for number, (word, numbers) in enumerate(zip_longest(words, vectors), start=1):
            if word is None or numbers is None:
                longer, shorter = (words_path, path) if numbers is None else (path, words_path)
                message = f"{shorter} ends before this line; the two do not belong together"
                raise FormatError(message, path=str(longer), line=number)
            found = len(numbers.split())
            width = width or found
            if found != width or width == 0:
                message = f"expected {width or 'some'} numbers, found {found}"
                raise FormatError(message, path=str(path), line=number)
            yield _Row(number, checker.check(word, number), numbers)
    if not len(checker):
        raise FormatError("the file is empty; expected one word a line", path=str(words_path))


class _WordChecker:
    """Decodes words and refuses empty and repeated ones; its length is the number of words so far."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        self._first_lines: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._first_lines)

    def check(self, raw: bytes, line: int) -> str:
        try:
            word = raw.decode("utf-8")
        except UnicodeDecodeError:
            raise FormatError(
                f"the word {raw!r} is not UTF-8; convert the file", path=self._path, line=line
            ) from None
        if not word:
            raise FormatError("the word is missing", path=self._path, line=line)
        first = self._first_lines.setdefault(word, line)
        if first != line:
            raise FormatError(
                f"the word '{word}' already has a vector in line {first}", path=self._path, line=line
            )
        return word


def _blocks(rows: Iterable[_Row]) -> Iterator[list[_Row]]:
    block: list[_Row] = []
    for row in rows:
        block.append(row)
        if len(block) == _BLOCK:
            yield block
            block = []
    if block:
        yield block


def _parse(block: list[_Row], path: Path) -> NDArray[np.float32]:
    """The rows' numbers as a matrix (rows, width)."""
    texts = [row.numbers for row in block]
    try:
        matrix = np.loadtxt(texts, dtype=np.float32, comments=None, ndmin=2, encoding="ascii")
    except ValueError:
        matrix = np.full((len(block), 1), np.nan, dtype=np.float32)
    if not np.isfinite(matrix).all():
        raise _explain(block, path)
    return matrix


def _explain(block: list[_Row], path: Path) -> FormatError:
    for row in block:
        for field in row.numbers.split():
            if not _is_number(field):
                message = (
                    f"'{field.decode(errors='replace')}' in the vector of '{row.word}' is not a finite number"
                )
                return FormatError(message, path=str(path), line=row.line)
    return FormatError("a vector cannot be read", path=str(path), line=block[0].line)


def _is_number(field: bytes) -> bool:
    return _NUMBER.fullmatch(field) is not None and abs(float(field)) <= float(np.finfo(np.float32).max)
