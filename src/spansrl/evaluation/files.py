"""From files to what is scored: props columns just as the official scorer reads them, all else as sentences.

A column may hold what no `Proposition` can, such as two V; the official scorer takes it, so it is read here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from spansrl.errors import DataError, FormatError
from spansrl.evaluation.counts import Match
from spansrl.evaluation.frames import Frame, Frames, frames_of, join_pieces
from spansrl.formats import open_lines
from spansrl.formats.conll import Block, read_conll, split_blocks
from spansrl.formats.files import Line, shown_path
from spansrl.formats.jsonl import read_jsonl
from spansrl.formats.layouts import LAYOUTS, NOTHING, Layout
from spansrl.structures import Sentence
from spansrl.tags import TagError, phrases_from_column

PROPS = "conll05-props"


class ForScoring(NamedTuple):
    """Open files, and how their predicates are to be matched."""

    files: list[Iterator[Frames]]
    match: Match


def open_for_scoring(paths: Sequence[str | Path], format: str | None = None) -> ForScoring:
    """Open files that are to be scored together; without `format` each is in the one that it looks like.

    Lemmas count if all of them are props files, as for the official scorer; else predicates match by index.
    """
    opened = [_open(path, format) for path in paths]
    lemmas_count = all(found == PROPS for found, _ in opened)
    return ForScoring([frames for _, frames in opened], "lemma" if lemmas_count else "index")


def _open(path: str | Path, format: str | None) -> tuple[str | None, Iterator[Frames]]:
    """The format of a file, None if there is nothing in it, and its sentences."""
    where = shown_path(path)
    found, lines = open_lines(path, format)
    if found is None:
        return None, iter(())
    if found == "jsonl":
        return found, _jsonl_frames(lines, where)
    return found, _conll_frames(lines, LAYOUTS[found], where)


def _jsonl_frames(lines: Iterator[Line], where: str) -> Iterator[Frames]:
    for line in lines:
        for sent in read_jsonl([line], where):
            yield _placed(sent, where, line.number)


def _conll_frames(lines: Iterator[Line], layout: Layout, where: str) -> Iterator[Frames]:
    for block in split_blocks(lines, marker_lines=layout.has_documents):
        if layout.name == PROPS:
            yield _props_frames(block, where)
        else:
            yield _placed(_sentence(block, layout, where), where, block.numbers[0])


def _props_frames(block: Block, where: str) -> Frames:
    preds = [place for place, row in enumerate(block.rows) if row[0] != NOTHING]
    if set(map(len, block.rows)) != {1 + len(preds)}:
        _sentence(block, LAYOUTS[PROPS], where)  # the format's own reader says what is wrong
    lemmas, *columns = zip(*block.rows, strict=True)
    by_pred = {}
    for pred, column in zip(preds, columns, strict=True):
        try:
            phrases = phrases_from_column(column)
        except TagError as error:
            raise FormatError(str(error), path=where, line=block.numbers[error.row or 0]) from None
        by_pred[pred] = Frame(join_pieces(phrases), lemmas[pred])
    return Frames(len(block.rows), by_pred, f"{where}:{block.numbers[0]}")


def _sentence(block: Block, layout: Layout, where: str) -> Sentence:
    lines = (Line(number, "\t".join(row)) for number, row in zip(block.numbers, block.rows, strict=True))
    return next(read_conll(lines, layout, where))


def _placed(sent: Sentence, where: str, number: int) -> Frames:
    try:
        return frames_of(sent)._replace(where=f"{where}:{number}")
    except DataError as error:
        raise FormatError(str(error), path=where, line=number) from None
