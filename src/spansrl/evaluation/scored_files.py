"""Open files for scoring: props columns as the official scorer reads them, everything else as sentences.

Props columns are read here, since the official scorer accepts more than a `Proposition` can hold: two V.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from spansrl.errors import DataError, FormatError
from spansrl.evaluation.counts import Match, Score, score
from spansrl.evaluation.scorable import ScoredProposition, ScoredSentence, frames_of, join_pieces
from spansrl.formats import open_lines, read_sentences
from spansrl.formats.conll import ColumnBlock, Ids, read_block, split_blocks
from spansrl.formats.layouts import LAYOUTS, NOTHING
from spansrl.formats.text_files import Line, shown_path
from spansrl.progress import Progress, no_progress
from spansrl.structures import Sentence
from spansrl.tags import TagError, phrases_from_column

PROPS = "conll05-props"


class ForScoring(NamedTuple):
    """Open files, and how to match their predicates."""

    files: list[Iterator[ScoredSentence]]
    match: Match


def open_for_scoring(
    paths: Sequence[str | Path], format: str | None = None, *, progress: Progress = no_progress
) -> ForScoring:
    """Open files to be scored together; without `format` the format of each is detected.

    If all are props files, predicates match by index and lemma, as in the official scorer; else by index.
    """
    opened = [_open(path, format, progress if path == paths[0] else no_progress) for path in paths]
    lemmas_count = all(found == PROPS for found, _ in opened)
    return ForScoring([frames for _, frames in opened], "lemma" if lemmas_count else "index")


def evaluate(
    gold: str | Path | Iterable[Sentence],
    pred: str | Path | Iterable[Sentence],
    *,
    format: str | None = None,
    progress: Progress = no_progress,
) -> Score:
    """Score predictions as the official CoNLL-2005 scorer does.

    Args:
        gold: A file, or sentences with gold propositions.
        pred: A file, or sentences with predicted propositions: the same sentences in the same order.
        format: The format of the files, such as "jsonl" or "conll05-props"; by default it is detected.
        progress: Called with a description, the number of bytes of `gold` that are read, and their total.

    Returns:
        Counts, precision, recall and F1: `overall`, by role (`roles`), and perfect propositions.

    Raises:
        SpansrlError: A file cannot be read, or the sentences of the two differ.
    """
    if isinstance(gold, str | Path) and isinstance(pred, str | Path):
        files, match = open_for_scoring([gold, pred], format, progress=progress)
        return score(*files, match=match)
    sides = [read_sentences(side, format) if isinstance(side, str | Path) else side for side in (gold, pred)]
    return score(*sides)


def _open(
    path: str | Path, format: str | None, progress: Progress
) -> tuple[str | None, Iterator[ScoredSentence]]:
    where = shown_path(path)
    found, lines = open_lines(path, format, progress=progress)
    if found is None or found.read is None:
        return None, iter(())
    if found.name == PROPS:
        return PROPS, (_props_frames(block, where) for block in split_blocks(lines))
    located = _Located(lines)
    sentences = found.read(located, where)
    return found.name, (_frames_of(sent, where, located.first_line()) for sent in sentences)


class _Located(Iterator[Line]):
    """Lines of a file, and where the sentence begins that is made of the last ones."""

    def __init__(self, lines: Iterator[Line]) -> None:
        self._lines = lines
        self._first: int | None = None
        self._last = 0

    def __next__(self) -> Line:
        line = next(self._lines)
        self._last = line.number
        if self._first is None and line.text.strip() and not line.text.startswith(("#begin ", "#end ", "# ")):
            self._first = line.number
        return line

    def first_line(self) -> int:
        """Return the line where the sentence begins, and look for the next one."""
        found, self._first = self._first or self._last, None
        return found


def _props_frames(block: ColumnBlock, where: str) -> ScoredSentence:
    preds = [index for index, row in enumerate(block.rows) if row[0] != NOTHING]
    if set(map(len, block.rows)) != {1 + len(preds)}:
        read_block(block, LAYOUTS[PROPS], where, Ids())  # raises the error with its reason
    lemmas, *columns = zip(*block.rows, strict=True)
    by_pred = {}
    for pred, column in zip(preds, columns, strict=True):
        try:
            phrases = phrases_from_column(column)
        except TagError as error:
            raise FormatError(str(error), path=where, line=block.numbers[error.row or 0]) from None
        by_pred[pred] = ScoredProposition(join_pieces(phrases), lemmas[pred])
    return ScoredSentence(len(block.rows), by_pred, f"{where}:{block.numbers[0]}")


def _frames_of(sent: Sentence, where: str, number: int) -> ScoredSentence:
    try:
        "".join(arg.role for prop in sent.props for arg in prop.args).encode()  # roles are printed
        return frames_of(sent)._replace(where=f"{where}:{number}")
    except UnicodeEncodeError:
        raise FormatError("a role has a lone surrogate", path=where, line=number) from None
    except DataError as error:
        raise FormatError(str(error), path=where, line=number) from None
