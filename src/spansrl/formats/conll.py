"""One reader and one writer for every CoNLL shape; `layouts.py` holds what differs between them.

Cells are separated by spaces or tabs, sentences by blank lines. We write the normal form: one tab between
cells, one blank line after each sentence. A file in normal form comes back from JSON lines to the byte.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, NoReturn, TypeGuard

from spansrl.errors import DataError, FormatError
from spansrl.formats.files import Line
from spansrl.formats.layouts import CONLL05_FORMS, FORM_KEY, NOTHING, UNNAMED, Column, Kind, Layout
from spansrl.formats.losses import Losses
from spansrl.structures import Proposition, Sentence, Span
from spansrl.tags import (
    BRACKETS_KEY,
    VERB,
    Phrase,
    TagError,
    bio_from_phrases,
    column_from_phrases,
    keep_apart,
    keep_nested,
    phrases_from_bio,
    phrases_from_column,
    phrases_of,
    proposition_parts,
)

_CELLS = re.compile(r"[^ \t]+")
_UNWRITABLE = re.compile(r"[ \t\r\n\ufeff\ud800-\udfff]")
_FORMS = [layout.form for layout in CONLL05_FORMS.values()]
_MARKER_LINES = ("#begin document", "#end document")


class Block(NamedTuple):
    """The lines of one sentence, split into cells."""

    rows: list[list[str]]
    numbers: list[int]


def split_blocks(lines: Iterable[Line], *, marker_lines: bool = False) -> Iterator[Block]:
    """The sentences of a column file; `marker_lines` skips those that begin and end a document."""
    block = Block([], [])
    for number, text in lines:
        cells = [] if marker_lines and text.startswith(_MARKER_LINES) else _CELLS.findall(text)
        if cells:
            block.rows.append(cells)
            block.numbers.append(number)
        elif block.rows:
            yield block
            block = Block([], [])
    if block.rows:
        yield block


def read_conll(lines: Iterable[Line], layout: Layout, path: str = "<input>") -> Iterator[Sentence]:
    """The sentences of a file in this layout."""
    ids = _Ids()
    for block in split_blocks(lines, marker_lines=layout.has_documents):
        yield _BlockReader(block, layout, path).sentence(ids)


@dataclass(slots=True)
class _Ids:
    """Ids for sentences that have none in the file: what the reader gives, and the writer need not keep."""

    number: int = 0
    within: int = 0
    document: tuple[str, ...] = ()

    def next(self, layout: Layout, constants: Sequence[str]) -> str:
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
    """One sentence on its way from cells to values."""

    block: Block
    layout: Layout
    path: str
    preds: list[int] = field(default_factory=list)

    def sentence(self, ids: _Ids) -> Sentence:
        self._find_predicates()
        columns = list(zip(*self.block.rows, strict=True))
        first, count = len(self.layout.before), len(self.preds)
        fixed = columns[:first] + columns[first + count :]
        by_kind: dict[Kind, tuple[str, ...]] = {}
        constants: list[str] = []
        extra: dict[str, Any] = {}
        for column, cells in zip(self.layout.columns, fixed, strict=True):
            if column.kind is Kind.CELLS:
                if _says_anything(cells, column):
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
            pos=_unless_empty(by_kind.get(Kind.POS)),
            lemmas=self._lemmas(by_kind[Kind.LEMMA]),
            extra=extra,
        )

    def _find_predicates(self) -> None:
        """Fill `preds`, having checked that every row has the columns that they ask for."""
        layout = self.layout
        for place, row in enumerate(self.block.rows):
            if len(row) < len(layout.columns):
                found, wanted = _count(len(row), "column"), len(layout.columns)
                self._fail(f"{found}, but {layout.name} has at least {wanted}: {layout}", place)
            if row[layout.predicate_place] != NOTHING:
                self.preds.append(place)
        self._check_widths()
        self._check_column_count()

    def _check_widths(self) -> None:
        rows = self.block.rows
        widths = Counter(map(len, rows))
        if len(widths) == 1:
            return
        wanted = len(self.layout.columns) + len(self.preds)
        usual = wanted if wanted in widths else widths.most_common(1)[0][0]
        place = next(place for place, row in enumerate(rows) if len(row) != usual)
        found = _count(len(rows[place]), "column")
        self._fail(f"{found} where the sentence's other lines have {usual}; give all the same", place)

    def _check_column_count(self) -> None:
        layout, wanted = self.layout, len(self.preds)
        given = len(self.block.rows[0]) - len(layout.columns)
        if given == wanted:
            return
        predicates = f"{_count(wanted, 'row')} with a {layout.before[layout.predicate_place].name}"
        columns = _count(given, "column")
        if given > wanted:
            self._fail(f"{columns} of arguments for {predicates}; is this {layout.name} ({layout})?", 0)
        place = self.preds[given]
        found = f"the predicate '{self._predicate_name(place)}' has no column of arguments"
        self._fail(f"{found}: {columns} for {predicates}; add it, or write '-' for the predicate", place)

    def _predicate_name(self, place: int) -> str:
        return self.block.rows[place][self.layout.predicate_place]

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
        """A verb that stands on another predicate's row is the sign of columns in the wrong order."""
        if not v or any(start <= pred < end for start, end in v):
            return
        if any(start <= other < end for other in self.preds for start, end in v):
            found = f"the column of '{self._predicate_name(pred)}' has its V at another predicate"
            self._fail(f"{found}; order the columns as the predicates", pred)

    def _check_senses(self, senses: tuple[str, ...]) -> None:
        preds = set(self.preds)
        for place, sense in enumerate(senses):
            if sense != NOTHING and place not in preds:
                self._fail(f"'{sense}' is the sense of no predicate: the LEMMA is '-'", place)

    def _value(self, cell: str, kind: Kind) -> str | None:
        return None if cell == (UNNAMED if kind is self.layout.predicate else NOTHING) else cell

    def _lemmas(self, cells: tuple[str, ...]) -> tuple[str, ...] | None:
        preds = set(self.preds)
        named = any(cell != NOTHING and place not in preds for place, cell in enumerate(cells))
        return cells if named else None

    def _constant(self, column: Column, cells: tuple[str, ...]) -> str:
        for place, cell in enumerate(cells):
            if cell != cells[0]:
                self._fail(f"{column.name} is '{cell}' but '{cells[0]}' where the sentence begins", place)
        return cells[0]

    def _check_index(self, cells: tuple[str, ...]) -> None:
        for place, cell in enumerate(cells):
            if cell != str(place):
                self._fail(
                    f"INDEX is '{cell}' where {place} was expected; count a sentence's tokens from 0", place
                )

    def _fail(self, message: str, place: int) -> NoReturn:
        raise FormatError(message, path=self.path, line=self.block.numbers[place]) from None


def conll_lines(
    sentences: Iterable[Sentence], layout: Layout, losses: Losses, path: str = "<output>"
) -> Iterator[str]:
    """The sentences as lines of this layout, without line ends; `losses` counts what it cannot hold."""
    ids = _Ids()
    document: tuple[str, ...] | None = None
    for number, sent in enumerate(sentences, start=1):
        if not sent.tokens:
            losses.items["sentences without tokens, left out"] += 1
            continue
        try:
            rows = _SentenceWriter(sent, layout, losses).rows()
        except DataError as error:
            message = f"sentence {number} cannot be written as {layout.name}: {error}"
            raise FormatError(message, path=path) from error
        constants = tuple(rows[0][place] for place in layout.constant_places)
        if ids.next(layout, constants) != sent.id and sent.id is not None:
            losses.fields["id"] += 1
        if layout.has_documents and constants != document:
            yield from () if document is None else ("#end document",)
            yield _begin_document(*constants)
            document = constants
        yield from map("\t".join, rows)
        yield ""
    if document is not None:
        yield "#end document"


@dataclass(slots=True)
class _SentenceWriter:
    """One sentence on its way from values to cells."""

    sent: Sentence
    layout: Layout
    losses: Losses
    held: set[str] = field(default_factory=set)  # keys of Sentence.extra that found a column

    def rows(self) -> list[tuple[str, ...]]:
        props = self._one_a_token()
        before = [self._cells(column, props) for column in self.layout.before]
        after = [self._cells(column, props) for column in self.layout.after]
        arguments = [self._argument_column(prop) for prop in props]
        if self.layout.find(Kind.SENSE) is not None:
            self._join_senses(props, before)
        self._count_losses(props)
        return list(zip(*before, *arguments, *after, strict=True))

    def _one_a_token(self) -> list[Proposition]:
        """The propositions in the order of their predicates; a row has place for one."""
        found: dict[int, Proposition] = {}
        for prop in self.sent.props:
            if not 0 <= prop.pred < len(self.sent):
                size = _count(len(self.sent), "token")
                raise DataError(f"the predicate {prop.pred} is outside the sentence of {size}")
            if prop.pred in found:
                self.losses.items["second propositions of one token, left out"] += 1
            else:
                found[prop.pred] = prop
        return [found[pred] for pred in sorted(found)]

    def _cells(self, column: Column, props: list[Proposition]) -> list[str]:
        sent, size = self.sent, len(self.sent)
        match column.kind:
            case Kind.TOKENS:
                return [self._clean(token) for token in sent.tokens]
            case Kind.POS:
                return [column.empty] * size if sent.pos is None else [self._clean(tag) for tag in sent.pos]
            case Kind.INDEX:
                return [str(place) for place in range(size)]
            case Kind.CONSTANT:
                return [self._constant(column)] * size
            case Kind.LEMMA:
                return self._lemmas(props)
            case Kind.SENSE:
                return self._senses(props)
            case Kind.CELLS:
                cells = sent.extra.get(column.key)
                if not _is_strings(cells, size) or not _says_anything(cells, column):
                    return [column.empty] * size
                self.held.add(column.key)
                return [self._clean(cell) for cell in cells]

    def _constant(self, column: Column) -> str:
        value = self.sent.extra.get(column.key)
        if not isinstance(value, str):
            return column.empty
        if value != NOTHING:
            self.held.add(column.key)
        return self._clean(value)

    def _lemmas(self, props: list[Proposition]) -> list[str]:
        marks = self.layout.predicate is Kind.LEMMA
        if marks or self.sent.lemmas is None:
            cells = [NOTHING] * len(self.sent)
        else:
            cells = [self._clean(lemma) for lemma in self.sent.lemmas]
        for prop in props:
            cells[prop.pred] = self._named(self._lemma(prop), marks)
        return cells

    def _lemma(self, prop: Proposition) -> str | None:
        """The predicate's lemma, or the next best: the token's, or the stem of the sense."""
        if prop.lemma is not None:
            return prop.lemma
        if self.sent.lemmas is not None and self.sent.lemmas[prop.pred] != NOTHING:
            return self.sent.lemmas[prop.pred]
        return (prop.sense or "").rpartition(".")[0] or None

    def _senses(self, props: list[Proposition]) -> list[str]:
        cells = [NOTHING] * len(self.sent)
        for prop in props:
            cells[prop.pred] = self._named(prop.sense, self.layout.predicate is Kind.SENSE)
        return cells

    def _join_senses(self, props: list[Proposition], before: list[list[str]]) -> None:
        """Write 'keep.01' as '01' where the lemma 'keep' stands in the same row."""
        lemma_place, sense_place = self.layout.find(Kind.LEMMA), self.layout.find(Kind.SENSE)
        if self.layout.whole_sense or lemma_place is None or sense_place is None:
            return
        no_lemma = UNNAMED if self.layout.predicate is Kind.LEMMA else NOTHING
        for prop in props:
            lemma, sense = before[lemma_place][prop.pred], before[sense_place][prop.pred]
            stem, _, number = sense.rpartition(".")
            if stem == lemma != UNNAMED and number not in ("", NOTHING, UNNAMED):
                before[sense_place][prop.pred] = number
            elif prop.sense not in (None, NOTHING) and "." not in sense and lemma != no_lemma:
                self.losses.items["senses without a lemma, which come back with that of the predicate"] += 1

    def _named(self, value: str | None, marks: bool) -> str:
        """A cell for a predicate's lemma or sense; where it marks the predicate it must not be '-'."""
        if value is None:
            return UNNAMED if marks else NOTHING
        if value == NOTHING:
            self.losses.items["names of predicates that are '-'"] += 1
            return UNNAMED if marks else NOTHING
        return self._clean(value)

    def _argument_column(self, prop: Proposition) -> list[str]:
        if any(arg.role == VERB for arg in prop.args):
            found = f"predicate {prop.pred} has an argument with the role 'V'"
            raise DataError(f"{found}; the verb belongs into 'v'")
        keep, write = (
            (keep_apart, bio_from_phrases) if self.layout.bio else (keep_nested, column_from_phrases)
        )
        kept, dropped = keep(phrases_of(prop))
        if dropped:
            kind = "overlapping" if self.layout.bio else "crossing"
            self.losses.items[f"{kind} spans, left out"] += len(dropped)
        return write(kept, len(self.sent))

    def _clean(self, cell: str) -> str:
        if cell and not _UNWRITABLE.search(cell):
            return cell
        self.losses.items["cells with white space or no text, written with '_'"] += 1
        return _UNWRITABLE.sub(UNNAMED, cell) or UNNAMED

    def _count_losses(self, props: list[Proposition]) -> None:
        sent, layout = self.sent, self.layout
        lost = {
            "tokens": not layout.holds(Kind.TOKENS) and any(token != UNNAMED for token in sent.tokens),
            "pos": sent.pos is not None and not (layout.holds(Kind.POS) and _unless_empty(sent.pos)),
            "lemmas": sent.lemmas is not None and not self._holds_lemmas(props),
            "text": sent.text is not None,
            "offsets": sent.offsets is not None,
            "char_start": sent.char_start is not None,
            "sense": not layout.holds(Kind.SENSE) and any(prop.sense is not None for prop in props),
            "type": any(prop.type is not None for prop in props),
            "prob": any(prob is not None for prop in props for prob in _probabilities(prop)),
            "sense_prob": any(prop.sense_prob is not None for prop in props),
            "meaning": any(arg.meaning is not None for prop in props for arg in prop.args),
        }
        other_keys = _keys(sent, props) - self.held
        self.losses.fields.update([name for name, is_lost in lost.items() if is_lost] + sorted(other_keys))

    def _holds_lemmas(self, props: list[Proposition]) -> bool:
        lemmas = self.sent.lemmas or ()
        agree = all(prop.lemma in (None, lemmas[prop.pred]) for prop in props)
        return agree and self.layout.predicate is not Kind.LEMMA and _unless_empty(lemmas) is not None


def _probabilities(prop: Proposition) -> list[float | None]:
    return [prop.prob, *(arg.prob for arg in prop.args)]


def _keys(sent: Sentence, props: Iterable[Proposition]) -> set[str]:
    """Every key that the wire format does not know itself, but for those that our readers add."""
    keys = {key for key, value in sent.extra.items() if key != FORM_KEY or value not in _FORMS}
    for prop in props:
        keys.update(key for key in prop.extra if key != BRACKETS_KEY)
        for arg in prop.args:
            keys.update(arg.extra)
    return keys


def _with_brackets(prop: Proposition, phrases: list[Phrase], size: int) -> Proposition:
    """The proposition, with its column where that cannot be made again from `v` and `args`.

    That is so only where V or C-V shares its whole span with another phrase, and which of them is inside
    matters: the official scorer takes the inner one.
    """
    if len({phrase[1:] for phrase in phrases}) == len(phrases):
        return prop
    if phrases_of(prop) == phrases:
        return prop
    column = column_from_phrases(phrases, size)
    return replace(prop, extra={**prop.extra, BRACKETS_KEY: column})


def _is_strings(value: object, size: int) -> TypeGuard[list[str]]:
    return isinstance(value, list) and len(value) == size and all(isinstance(item, str) for item in value)


def _says_anything(cells: Sequence[str], column: Column) -> bool:
    """Whether cells come back: the reader does not keep a column that is empty from top to bottom."""
    return any(cell != column.empty for cell in cells)


def _unless_empty(cells: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return None if cells is None or all(cell == NOTHING for cell in cells) else cells


def _begin_document(document: str, part: str) -> str:
    return f"#begin document ({document}); part {part.zfill(3)}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
