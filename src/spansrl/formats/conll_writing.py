"""One writer for every CoNLL format; `layouts` holds what differs between them.

It writes the normal form: one tab between cells, one blank line after each sentence. A file in normal form
survives the conversion to JSON Lines and back to the byte.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from spansrl.errors import DataError, FormatError, counted, shortened
from spansrl.formats.conll import Ids, has_content, unless_empty
from spansrl.formats.layouts import CONLL05_FORMS, FORM_KEY, NOTHING, UNNAMED, Column, Kind, Layout
from spansrl.structures import Proposition, Sentence
from spansrl.tags import (
    BRACKETS_KEY,
    VERB,
    bio_from_phrases,
    column_from_phrases,
    keep_apart,
    keep_nested,
    phrases_of,
)

_UNWRITABLE = re.compile(r"[ \t\r\n\ufeff\ud800-\udfff]")
_FORMS = [layout.form for layout in CONLL05_FORMS.values()]


@dataclass(slots=True)
class Losses:
    """Counts of what a format could not hold, so that it was dropped or changed; falsy if nothing was."""

    format: str
    fields: Counter[str] = field(default_factory=Counter)  # field of the wire format -> sentences that had it
    items: Counter[str] = field(default_factory=Counter)  # things in the plural -> how many

    def __bool__(self) -> bool:
        return bool(self.fields or self.items)

    def count_fields(self, sent: Sentence, props: Sequence[Proposition], held: Container[str]) -> None:
        """Count the fields of a sentence and its propositions that the format does not hold."""
        probs = (prob for prop in props for prob in (prop.prob, *(arg.prob for arg in prop.args)))
        used = {
            "tokens": True,
            "pos": sent.pos is not None,
            "lemmas": sent.lemmas is not None,
            "text": sent.text is not None,
            "offsets": sent.offsets is not None,
            "char_start": sent.char_start is not None,
            "lemma": any(prop.lemma is not None for prop in props),
            "sense": any(prop.sense is not None for prop in props),
            "type": any(prop.type is not None for prop in props),
            "prob": any(prob is not None for prob in probs),
            "sense_prob": any(prop.sense_prob is not None for prop in props),
            "meaning": any(arg.meaning is not None for prop in props for arg in prop.args),
            "thematic": any(arg.thematic is not None for prop in props for arg in prop.args),
            "function": any(arg.function is not None for prop in props for arg in prop.args),
            "verbnet": any(prop.verbnet for prop in props),
            "framenet": any(prop.framenet is not None for prop in props),
            "refers_to": any(arg.refers_to is not None for prop in props for arg in prop.args),
        }
        names = [name for name, is_used in used.items() if is_used] + sorted(_keys(sent, props))
        self.fields.update(name for name in names if name not in held)

    def __str__(self) -> str:
        """One line: ``conll05-props cannot hold: 'text' (12 sentences), overlapping arguments (3)``."""
        names = {name.encode("utf-8", "backslashreplace").decode(): n for name, n in self.fields.items()}
        fields = [f"'{shortened(name)}' ({counted(count, 'sentence')})" for name, count in names.items()]
        items = [f"{name} ({count})" for name, count in self.items.items()]
        return f"{self.format} cannot hold: {', '.join(fields + items)}"


def conll_lines(
    sentences: Iterable[Sentence], layout: Layout, losses: Losses, path: str = "<output>"
) -> Iterator[str]:
    """Yield the sentences as lines of this layout, without line ends; `losses` counts what it cannot hold."""
    ids = Ids()
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
        constants = tuple(rows[0][index] for index in layout.constant_indices)
        if ids.next(layout, constants) != sent.id and sent.id is not None:
            losses.fields["id"] += 1
        if layout.has_documents and constants != document:
            yield from () if document is None else ("#end document",)
            document = constants
            yield f"#begin document ({document[0]}); part {document[1].zfill(3)}"
        yield from map("\t".join, rows)
        yield ""
    if document is not None:
        yield "#end document"


@dataclass(slots=True)
class _SentenceWriter:
    sent: Sentence
    layout: Layout
    losses: Losses
    held: set[str] = field(default_factory=set)  # keys of Sentence.extra that found a column

    def rows(self) -> list[tuple[str, ...]]:
        props = one_per_token(self.sent, self.losses)
        before = [self._cells(column, props) for column in self.layout.before]
        after = [self._cells(column, props) for column in self.layout.after]
        arguments = [self._argument_column(prop) for prop in props]
        if self.layout.find(Kind.SENSE) is not None:
            self._join_senses(props, before)
        self._count_losses(props)
        return list(zip(*before, *arguments, *after, strict=True))

    def _cells(self, column: Column, props: list[Proposition]) -> list[str]:
        sent, size = self.sent, len(self.sent)
        match column.kind:
            case Kind.TOKENS:
                return [self._clean(token) for token in sent.tokens]
            case Kind.POS:
                return [column.empty] * size if sent.pos is None else [self._clean(tag) for tag in sent.pos]
            case Kind.INDEX:
                return [str(index) for index in range(size)]
            case Kind.CONSTANT:
                return [self._constant(column)] * size
            case Kind.LEMMA:
                return self._lemmas(props)
            case Kind.SENSE:
                return self._senses(props)
            case Kind.CELLS:
                cells = sent.extra.get(column.key)
                if not _is_strings(cells, size) or not has_content(cells, column):
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
        """Return the predicate's lemma, or else the token's, or else the stem of the sense."""
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
        """Write 'keep.01' as '01' where the lemma 'keep' is in the same row."""
        lemma_index, sense_index = self.layout.find(Kind.LEMMA), self.layout.find(Kind.SENSE)
        if self.layout.whole_sense or lemma_index is None or sense_index is None:
            return
        no_lemma = UNNAMED if self.layout.predicate is Kind.LEMMA else NOTHING
        for prop in props:
            lemma, sense = before[lemma_index][prop.pred], before[sense_index][prop.pred]
            stem, _, number = sense.rpartition(".")
            if stem == lemma != UNNAMED and number not in ("", NOTHING, UNNAMED):
                before[sense_index][prop.pred] = number
            elif prop.sense not in (None, NOTHING) and "." not in sense and lemma != no_lemma:
                self.losses.items["senses without a lemma, which get the predicate's when they are read"] += 1

    def _named(self, value: str | None, marks: bool) -> str:
        """Return a cell for a predicate's lemma or sense; where it marks the predicate it must not be '-'."""
        if value is None:
            return UNNAMED if marks else NOTHING
        if value == NOTHING:
            self.losses.items["names of predicates that are '-'"] += 1
            return UNNAMED if marks else NOTHING
        return self._clean(value)

    def _argument_column(self, prop: Proposition) -> list[str]:
        if any(arg.role == VERB for arg in prop.args):
            found = f"predicate {prop.pred} has an argument with the role 'V'"
            raise DataError(f"{found}; the verb belongs in 'v'")
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
        held = self.held | {"lemma"}  # every layout has lemmas of predicates
        if layout.holds(Kind.TOKENS) or all(token == UNNAMED for token in sent.tokens):
            held.add("tokens")
        if layout.holds(Kind.POS) and unless_empty(sent.pos):
            held.add("pos")
        if layout.holds(Kind.SENSE):
            held.add("sense")
        if self._holds_lemmas(props):
            held.add("lemmas")
        self.losses.count_fields(sent, props, held)

    def _holds_lemmas(self, props: list[Proposition]) -> bool:
        lemmas = self.sent.lemmas
        if lemmas is None:
            return False
        agree = all(prop.lemma in (None, lemmas[prop.pred]) for prop in props)
        return agree and self.layout.predicate is not Kind.LEMMA and unless_empty(lemmas) is not None


def one_per_token(sent: Sentence, losses: Losses) -> list[Proposition]:
    """Return the propositions in the order of their predicates, one per token."""
    found: dict[int, Proposition] = {}
    for prop in sent.props:
        if not 0 <= prop.pred < len(sent):
            size = counted(len(sent), "token")
            raise DataError(f"the predicate {prop.pred} is outside the sentence of {size}")
        if prop.pred in found:
            losses.items["second propositions of one token, left out"] += 1
        else:
            found[prop.pred] = prop
    return [found[pred] for pred in sorted(found)]


def _keys(sent: Sentence, props: Iterable[Proposition]) -> set[str]:
    """Return every key outside the wire format, except those that our readers add."""
    keys = {key for key, value in sent.extra.items() if key != FORM_KEY or value not in _FORMS}
    for prop in props:
        keys.update(key for key in prop.extra if key != BRACKETS_KEY)
        for arg in prop.args:
            keys.update(arg.extra)
    return keys


def _is_strings(value: object, size: int) -> TypeGuard[list[str]]:
    return isinstance(value, list) and len(value) == size and all(isinstance(item, str) for item in value)
