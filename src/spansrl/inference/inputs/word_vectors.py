"""Static word vectors from text files: a word in, a row of a matrix out.

Three shapes are read, plain or compressed (`.gz`, `.xz`):

- GloVe: ``word 0.1 0.2 …`` in each line;
- word2vec's text format: the same after a first line ``count width``;
- SENNA: two files, `words.lst` with one word per line and `embeddings.txt` with its numbers in the same line.

A token is looked up in lower case, with its digits, and brackets in the file's own spelling (``(`` or
``-lrb-``). Unknown tokens get the row of the file's unknown word (`UNKNOWN`, `<unk>` or `unk`, in this
order); a file without one gets a row `UNKNOWN`, the mean of all its rows.

    vectors = read_vectors(Path("glove.6B.50d.txt"))
    vectors.matrix[vectors.lookup(["Cats", "sleep", "-LRB-"])]      # (3, 50)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, zip_longest
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from spansrl.errors import DataError, FormatError, counted
from spansrl.formats.text_files import DAMAGED, decompressed

UNKNOWN_WORDS = ("UNKNOWN", "<unk>", "unk")
"""Names under which files keep the row for unknown words, the preferred one first."""

_BRACKETS = {"(": "-lrb-", ")": "-rrb-", "[": "-lsb-", "]": "-rsb-", "{": "-lcb-", "}": "-rcb-"}
_BRACKET_SPELLINGS = {
    spelling: (bracket, name, name.upper())
    for bracket, name in _BRACKETS.items()
    for spelling in (bracket, name)
}

_NUMBER = re.compile(rb"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")

_Row = tuple[int, bytes, bytes]  # number of the line, word, numbers


@dataclass(frozen=True, eq=False, repr=False)
class Vectors:
    """A word's vector is the row of `matrix` (V, D) at its index in `words`; one word is the unknown word."""

    words: tuple[str, ...]
    matrix: NDArray[np.float32]

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or len(self.words) != len(self.matrix):
            raise DataError(f"{len(self.words)} words do not fit a matrix of shape {self.matrix.shape}")
        if not any(word in self._ids for word in UNKNOWN_WORDS):
            raise DataError(
                f"the vectors have no row for unknown words; add one of {', '.join(UNKNOWN_WORDS)}"
            )

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.words)}

    @property
    def width(self) -> int:
        return int(self.matrix.shape[1])

    @cached_property
    def unknown(self) -> int:
        """The row for words that are not there."""
        return next(self._ids[word] for word in UNKNOWN_WORDS if word in self._ids)

    def normalize(self, token: str) -> str:
        """The word whose row represents the token."""
        word = token.lower()
        spellings = (word, *_BRACKET_SPELLINGS.get(word, ()))  # best first
        return next((spelling for spelling in spellings if spelling in self._ids), self.words[self.unknown])

    def lookup(self, tokens: Sequence[str]) -> NDArray[np.int64]:
        """The tokens' rows in `matrix`."""
        ids = (self._ids[self.normalize(token)] for token in tokens)
        return np.fromiter(ids, dtype=np.int64, count=len(tokens))


def read_vectors(path: Path, *, words_path: Path | None = None) -> Vectors:
    """Read a file of vectors; with `words_path`, SENNA's pair of files."""
    rows = _glove_rows(path) if words_path is None else _senna_rows(path, words_path)
    first_lines: dict[str, int] = {}
    matrix = []
    for line, raw, numbers in rows:
        word = _decoded(raw, words_path or path, line)
        if (first := first_lines.setdefault(word, line)) != line:
            message = f"the word '{word}' already has a vector in line {first}"
            raise FormatError(message, path=str(words_path or path), line=line)
        matrix.append(_parsed(numbers, word, path, line))
    if first_lines.keys().isdisjoint(UNKNOWN_WORDS):
        first_lines[UNKNOWN_WORDS[0]] = 0
        matrix.append(np.asarray(np.mean(matrix, axis=0, dtype=np.float64), np.float32))
    return Vectors(tuple(first_lines), np.stack(matrix))


def _lines(path: Path) -> Iterator[bytes]:
    """The file's lines without their ends, tabs as blanks; text vectors are split at blanks only."""
    try:
        with path.open("rb") as raw, decompressed(raw) as file:
            for line in file:
                yield line.replace(b"\t", b" ").rstrip(b" \r\n")
    except DAMAGED as error:
        message = f"the compressed file is damaged ({error}); download it again"
        raise FormatError(message, path=str(path)) from error
    except OSError as error:
        raise FormatError(f"cannot be read ({error.strerror or error})", path=str(path)) from error


def _glove_rows(path: Path) -> Iterator[_Row]:
    """Rows of a GloVe file, or of a word2vec file, whose header must be right."""
    lines = _lines(path)
    first = next(lines, None)
    if first is None:
        raise FormatError("the file is empty; expected 'word number number …' lines", path=str(path))
    fields = first.split()
    has_header = len(fields) == 2 and all(field.isdigit() for field in fields)
    width = int(fields[1]) if has_header else len(fields) - 1
    if width < 1:
        message = "expected a word and its vector's numbers, found no numbers"
        raise FormatError(message, path=str(path), line=1)
    number = 1
    for number, line in enumerate(lines if has_header else chain([first], lines), start=1 + has_header):
        word, _, numbers = line.partition(b" ")
        if numbers.count(b" ") != width - 1 or b"  " in line:
            word, numbers = _split_unusual(line, width, path, number)
        yield number, word, numbers
    if has_header and number - 1 != int(fields[0]):
        message = f"the header promises {counted(int(fields[0]), 'word')}, the file has {number - 1}"
        raise FormatError(message, path=str(path), line=1)
    if has_header and number == 1:
        raise FormatError("no vector follows the header", path=str(path), line=1)


def _split_unusual(line: bytes, width: int, path: Path, number: int) -> tuple[bytes, bytes]:
    """Word and numbers of a line that is not 'word number number …' with single blanks.

    GloVe's largest files have words with blanks inside (``. . .``). What sets them apart from rows with too
    many numbers is that no field between the word's first and the vector is a number.
    """
    fields = line.split()
    inside = fields[1:-width]
    if len(fields) <= width or any(_is_number(field) for field in inside):
        message = f"expected a word and {width} numbers, found {max(len(fields) - 1, 0)} numbers"
        raise FormatError(message, path=str(path), line=number)
    return b" ".join(fields[:-width]), b" ".join(fields[-width:])


def _senna_rows(path: Path, words_path: Path) -> Iterator[_Row]:
    """Rows of a file of numbers, named by a file of words line by line."""
    width = number = 0
    for number, (word, numbers) in enumerate(zip_longest(_lines(words_path), _lines(path)), start=1):
        if word is None or numbers is None:
            longer, shorter = (words_path, path) if numbers is None else (path, words_path)
            message = f"{shorter} ends before this line; the two do not belong together"
            raise FormatError(message, path=str(longer), line=number)
        found = len(numbers.split())
        width = width or found
        if found != width or width == 0:
            message = f"expected {width or 'some'} numbers, found {found}"
            raise FormatError(message, path=str(path), line=number)
        yield number, word, numbers
    if number == 0:
        raise FormatError("the file is empty; expected one word per line", path=str(words_path))


def _decoded(raw: bytes, path: Path, line: int) -> str:
    try:
        word = raw.decode("utf-8")
    except UnicodeDecodeError:
        message = f"the word {raw!r} is not UTF-8; convert the file"
        raise FormatError(message, path=str(path), line=line) from None
    if not word:
        raise FormatError("the word is missing", path=str(path), line=line)
    return word


def _parsed(numbers: bytes, word: str, path: Path, line: int) -> NDArray[np.float32]:
    fields = numbers.split()
    try:
        row = np.fromstring(numbers, np.float32, sep=" ")  # older NumPy stops at what is not a number
    except ValueError:
        row = np.zeros(0, np.float32)
    if len(row) != len(fields) or not np.isfinite(row).all():
        wrong = next((field for field in fields if not _is_number(field)), numbers)
        message = f"'{wrong.decode(errors='replace')}' in the vector of '{word}' is not a finite number"
        raise FormatError(message, path=str(path), line=line)
    return row


def _is_number(field: bytes) -> bool:
    return _NUMBER.fullmatch(field) is not None and abs(float(field)) <= float(np.finfo(np.float32).max)
