"""One reader for every CoNLL format; `layouts` holds what differs between them.

Cells are separated by spaces or tabs, sentences by blank lines.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, NoReturn

from spansrl.errors import FormatError, counted, shortened
from spansrl.formats.layouts import FORM_KEY, NOTHING, UNNAMED, Column, Kind, Layout
from spansrl.formats.text_files import Line
from spansrl.structures import Proposition, Sentence, Span
from spansrl.tags import (
    BRACKETS_KEY,
    Phrase,
    TagError,
    column_from_phrases,
    phrases_from_bio,
    phrases_from_column,
    phrases_of,
    proposition_parts,
)

_CELLS = re.compile(r"[^ \t]+")
_MARKER_LINES = ("#begin document", "#end document")


class ColumnBlock(NamedTuple):
    """The lines of one sentence, split into cells."""

    rows: list[list[str]]
    numbers: list[int]


def split_blocks(lines: Iterable[Line], *, marker_lines: bool = False) -> Iterator[ColumnBlock]:
    """Yield the sentences of a column file; `marker_lines` skips the lines that begin and end a document."""
    block = ColumnBlock([], [])
    for number, text in lines:
        cells = [] if marker_lines and text.startswith(_MARKER_LINES) else _CELLS.findall(text)
        if cells:
            block.rows.append(cells)
            block.numbers.append(number)
        elif block.rows:
            yield block
            block = ColumnBlock([], [])
    if block.rows:
        yield block


def read_conll(lines: Iterable[Line], layout: Layout, path: str = "<input>") -> Iterator[Sentence]:
    ids = Ids()
    for block in split_blocks(lines, marker_lines=layout.has_documents):
        yield read_block(block, layout, path, ids)


def read_block(block: ColumnBlock, layout: Layout, path: str, ids: Ids) -> Sentence:
    return _BlockReader(block, layout, path).sentence(ids)


@dataclass(slots=True)
class Ids:
    """The ids that the reader gives to sentences; the writer need not keep these."""

    number: int = 0
    within: int = 0
    document: tuple[str, ...] = ()

    def next(self, layout: Layout, constants: Sequence[str]) -> str:
        """Return the id of the next sentence, given the cells that are the same in all its rows."""
        self.number += 1
        if not constants:
            return str(self.number)
        if not layout.has_documents:
            return ":".join(constants)
        self.within = self.within + 1 if self.document == tuple(constants) else 0
        self.document = tuple(constants)
        return ":".join((*constants, str(self.within)))


@dataclass(slots=True)
class _BlockReader:
    block: ColumnBlock
    layout: Layout
    path: str
    preds: list[int] = field(default_factory=list)

    def sentence(self, ids: Ids) -> Sentence:
        self._find_predicates()
        columns = list(zip(*self.block.rows, strict=True))
        first, count = len(self.layout.before), len(self.preds)
        fixed = columns[:first] + columns[first + count :]
        by_kind: dict[Kind, tuple[str, ...]] = {}
        constants: list[str] = []
        extra: dict[str, Any] = {}
        for column, cells in zip(self.layout.columns, fixed, strict=True):
            if column.kind is Kind.CELLS:
                if has_content(cells, column):
                    extra[column.key] = list(cells)
            elif column.kind is Kind.CONSTANT:
                constants.append(self._constant(column, cells))
                if column.key and cells[0] != NOTHING:
                    extra[column.key] = cells[0]
            elif column.kind is Kind.TOKENS:
                by_kind[column.kind] = tuple(UNNAMED if cell == column.empty else cell for cell in cells)
            else:
                by_kind[column.kind] = cells
        if self.layout.form:
            extra[FORM_KEY] = self.layout.form
        self._check_index(by_kind.get(Kind.INDEX, ()))
        return Sentence(
            tokens=by_kind.get(Kind.TOKENS, (UNNAMED,) * len(self.block.rows)),
            props=self._propositions(by_kind, columns[first : first + count]),
            id=ids.next(self.layout, constants),
            pos=unless_empty(by_kind.get(Kind.POS)),
            lemmas=self._lemmas(by_kind[Kind.LEMMA]),
            extra=extra,
        )

    def _find_predicates(self) -> None:
        """Fill `preds`, and check that every row has the columns that they require."""
        layout = self.layout
        for index, row in enumerate(self.block.rows):
            if len(row) < len(layout.columns):
                found, wanted = counted(len(row), "column"), len(layout.columns)
                self._fail(f"{found}, but {layout.name} has at least {wanted}: {layout}", index)
            if row[layout.predicate_index] != NOTHING:
                self.preds.append(index)
        self._check_widths()
        self._check_column_counts()

    def _check_widths(self) -> None:
        rows = self.block.rows
        widths = Counter(map(len, rows))
        if len(widths) == 1:
            return
        wanted = len(self.layout.columns) + len(self.preds)
        usual = wanted if wanted in widths else widths.most_common(1)[0][0]
        index = next(index for index, row in enumerate(rows) if len(row) != usual)
        found = counted(len(rows[index]), "column")
        self._fail(f"{found} where the sentence's other lines have {usual}", index)

    def _check_column_counts(self) -> None:
        layout, wanted = self.layout, len(self.preds)
        given = len(self.block.rows[0]) - len(layout.columns)
        if given == wanted:
            return
        predicates = f"{counted(wanted, 'row')} with a {layout.before[layout.predicate_index].name}"
        columns = counted(given, "column")
        if given > wanted:
            self._fail(f"{columns} of arguments for {predicates}; is this {layout.name} ({layout})?", 0)
        index = self.preds[given]
        found = f"the predicate '{self._predicate_name(index)}' has no column of arguments"
        self._fail(f"{found}: {columns} for {predicates}; add it, or write '-' for the predicate", index)

    def _predicate_name(self, index: int) -> str:
        return shortened(self.block.rows[index][self.layout.predicate_index])

    def _propositions(
        self, by_kind: dict[Kind, tuple[str, ...]], columns: Sequence[tuple[str, ...]]
    ) -> tuple[Proposition, ...]:
        lemmas, senses = by_kind[Kind.LEMMA], by_kind.get(Kind.SENSE)
        if senses is not None and self.layout.predicate is Kind.LEMMA:
            self._check_senses(senses)
        props = []
        for pred, cells in zip(self.preds, columns, strict=True):
            lemma = self._value(lemmas[pred], Kind.LEMMA)
            sense = None if senses is None else self._value(senses[pred], Kind.SENSE)
            if sense is not None and lemma is not None and not self.layout.whole_sense and "." not in sense:
                sense = f"{lemma}.{sense}"
            props.append(self._proposition(pred, lemma, sense, cells))
        return tuple(props)

    def _proposition(
        self, pred: int, lemma: str | None, sense: str | None, cells: tuple[str, ...]
    ) -> Proposition:
        try:
            phrases = phrases_from_bio(cells, strict=True) if self.layout.bio else phrases_from_column(cells)
            v, args = proposition_parts(phrases)
        except TagError as error:
            self._fail(f"{error} (in the column of '{self._predicate_name(pred)}')", error.row or 0)
        self._check_order(pred, v)
        pieces = None if v == (Span(pred, pred + 1),) else v
        prop = Proposition(pred, args, lemma=lemma, sense=sense, v=pieces)
        return _with_brackets(prop, phrases, len(cells))

    def _check_order(self, pred: int, v: tuple[Span, ...]) -> None:
        """Reject columns in the wrong order: a V in another predicate's row."""
        if not v or any(start <= pred < end for start, end in v):
            return
        if any(start <= other < end for other in self.preds for start, end in v):
            found = f"the column of '{self._predicate_name(pred)}' has its V at another predicate"
            self._fail(f"{found}; the columns must be in the order of the predicates", pred)

    def _check_senses(self, senses: tuple[str, ...]) -> None:
        preds = set(self.preds)
        for index, sense in enumerate(senses):
            if sense != NOTHING and index not in preds:
                found = f"sense '{shortened(sense)}' in a row without a predicate"
                self._fail(f"{found}: the LEMMA is '-'", index)

    def _value(self, cell: str, kind: Kind) -> str | None:
        return None if cell == (UNNAMED if kind is self.layout.predicate else NOTHING) else cell

    def _lemmas(self, cells: tuple[str, ...]) -> tuple[str, ...] | None:
        preds = set(self.preds)
        named = any(cell != NOTHING and index not in preds for index, cell in enumerate(cells))
        return cells if named else None

    def _constant(self, column: Column, cells: tuple[str, ...]) -> str:
        for index, cell in enumerate(cells):
            if cell != cells[0]:
                found = f"{column.name} is '{shortened(cell)}'"
                self._fail(f"{found}, but '{shortened(cells[0])}' in the first row", index)
        return cells[0]

    def _check_index(self, cells: tuple[str, ...]) -> None:
        for index, cell in enumerate(cells):
            if cell != str(index):
                self._fail(f"expected INDEX {index}, found '{shortened(cell)}'", index)

    def _fail(self, message: str, index: int) -> NoReturn:
        raise FormatError(message, path=self.path, line=self.block.numbers[index]) from None


def _with_brackets(prop: Proposition, phrases: list[Phrase], size: int) -> Proposition:
    """Add the column to the proposition where it cannot be rebuilt from `v` and `args`.

    That happens only where V or C-V shares its whole span with another phrase. Which of them is inside
    matters: the official scorer takes the inner one.
    """
    if len({phrase[1:] for phrase in phrases}) == len(phrases) or phrases_of(prop) == phrases:
        return prop
    column = column_from_phrases(phrases, size)
    return replace(prop, extra={**prop.extra, BRACKETS_KEY: column})


def has_content(cells: Sequence[str], column: Column) -> bool:
    """Whether a column has any content; the reader does not keep empty columns."""
    return any(cell != column.empty for cell in cells)


def unless_empty(cells: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return None if cells is None or all(cell == NOTHING for cell in cells) else cells
