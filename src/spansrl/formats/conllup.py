"""CoNLL-U Plus with the columns of Universal Propositions: UP:PRED, UP:ARGHEADS and UP:ARGSPANS.

A predicate's row has its sense and its arguments, as ``ARG0:1-2|ARG1:4-4`` in word numbers. Plain CoNLL-U is
read too, as sentences without propositions. https://universaldependencies.org/ext-format.html
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any, NoReturn

from spansrl.errors import DataError, FormatError, shortened
from spansrl.formats.conll_writing import Losses, one_per_token
from spansrl.formats.text_files import Line
from spansrl.structures import Proposition, Sentence, Span
from spansrl.tags import VERB, VERB_PIECE, Phrase, TagError, proposition_parts

COLUMNS_COMMENT = "# global.columns = "
EMPTY = "_"
_NO_SENSE = ".XX"  # after the lemma of a predicate whose sense is unknown
_PLAIN = ["ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC"]
_COLUMNS = [*_PLAIN, "UP:PRED", "UP:ARGHEADS", "UP:ARGSPANS"]
# Columns that are kept as lists of cells, and their keys in Sentence.extra.
_CELLS = {"UPOS": "upos", "FEATS": "feats", "DEPREL": "deprels", "DEPS": "deps", "MISC": "misc"}
_SPAN = re.compile(r"(.+):(\d+)-(\d+)")
_BREAKS = re.compile(r"[\t\r\n\ufeff\ud800-\udfff]")
_NOT_IN_ROLES = re.compile(r"[\s|\ud800-\udfff]")


def read_conllup(lines: Iterable[Line], path: str = "<input>") -> Iterator[Sentence]:
    """Yield the sentences; multiword tokens and empty nodes are left out."""
    columns, number = _PLAIN, 0
    comments: dict[str, str] = {}
    rows: list[tuple[int, list[str]]] = []
    for line in chain(lines, [Line(0, "")]):
        if line.text.startswith("#") and not rows:
            if line.text.startswith(COLUMNS_COMMENT):
                columns = line.text.removeprefix(COLUMNS_COMMENT).replace("UP:PREDS", "UP:PRED").split()
            key, _, value = line.text[1:].partition("=")
            comments[key.strip()] = value.strip()
        elif line.text:
            cells = line.text.split("\t")
            if len(cells) != len(columns):
                message = f"expected {len(columns)} tab-separated columns, found {len(cells)}"
                raise FormatError(message, path=path, line=line.number)
            rows.append((line.number, cells))
        elif rows:
            number += 1
            yield _PlusReader(columns, rows, path).sentence(comments, number)
            comments, rows = {}, []


class _PlusReader:
    """The rows of one sentence."""

    def __init__(self, columns: Sequence[str], rows: Sequence[tuple[int, list[str]]], path: str) -> None:
        words = [(number, cells) for number, cells in rows if not re.search(r"[-.]", cells[0])]
        self._path = path
        self._numbers = [number for number, _ in words]
        table = list(zip(*(cells for _, cells in words), strict=True)) or [()] * len(columns)
        self._table = dict(zip(columns, table, strict=True))
        for index, cell in enumerate(self._table.get("ID", ())):
            if cell != str(index + 1):
                self._fail(f"expected ID {index + 1}, found '{shortened(cell)}'", index)

    def sentence(self, comments: dict[str, str], number: int) -> Sentence:
        tokens = self._table.get("FORM", (EMPTY,) * len(self._numbers))
        lemmas = self._table.get("LEMMA", (EMPTY,) * len(tokens))
        props = tuple(
            self._proposition(index, cell, lemmas[index])
            for index, cell in enumerate(self._table.get("UP:PRED", ()))
            if cell != EMPTY
        )
        preds = {prop.pred for prop in props}
        text = comments.get("text")
        offsets = None if text is None else _aligned(tokens, text)
        misc = _spaces(len(tokens), offsets)
        extra: dict[str, Any] = {
            key: list(cells)
            for column, key in _CELLS.items()
            if (cells := self._table.get(column)) and any(cell != EMPTY for cell in cells)
        }
        if extra.get("misc") == misc:
            del extra["misc"]
        if any(cell != EMPTY for cell in self._table.get("HEAD", ())):
            extra["heads"] = [self._head(index, cell) for index, cell in enumerate(self._table["HEAD"])]
        pos = self._table.get("XPOS", ())
        return Sentence(
            tokens=tokens,
            props=props,
            id=comments.get("sent_id", str(number)),
            pos=pos if any(cell != EMPTY for cell in pos) else None,
            lemmas=lemmas if any(c != EMPTY for k, c in enumerate(lemmas) if k not in preds) else None,
            text=None if offsets is None else text,
            offsets=offsets,
            extra=extra,
        )

    def _proposition(self, index: int, name: str, lemma: str) -> Proposition:
        sense = None if name.endswith(_NO_SENSE) else name
        stem = name.removesuffix(_NO_SENSE) if sense is None else name.rpartition(".")[0]
        phrases = [self._phrase(index, item) for item in self._items(index)]
        try:
            verb, args = proposition_parts(phrases)
        except TagError as error:
            self._fail(str(error), index)
        own = (Span(index, index + 1),)
        named = next((value for value in (lemma, stem) if value not in (EMPTY, "")), None)
        has_verb = any(phrase.role == VERB for phrase in phrases)
        v = verb if has_verb and verb != own else None
        return Proposition(index, args, lemma=named, sense=sense, v=v)

    def _items(self, index: int) -> list[str]:
        if "UP:ARGSPANS" not in self._table:
            if "UP:ARGHEADS" in self._table:
                self._fail("no column UP:ARGSPANS; arguments by their heads alone are not read", index)
            return []
        cell = self._table["UP:ARGSPANS"][index]
        return [] if cell == EMPTY else cell.split("|")

    def _phrase(self, index: int, item: str) -> Phrase:
        match = _SPAN.fullmatch(item)
        if match is None:
            self._fail(f"'{shortened(item)}' is not ROLE:FIRST-LAST", index)
        start, end = int(match[2]) - 1, int(match[3])
        if not 0 <= start < end <= len(self._numbers):
            self._fail(f"'{shortened(item)}' is not a span of the sentence", index)
        return Phrase(match[1], start, end)

    def _head(self, index: int, cell: str) -> int:
        if cell != EMPTY and not (cell.isdecimal() and int(cell) <= len(self._numbers)):
            self._fail(f"HEAD '{shortened(cell)}' is not a word of the sentence", index)
        return -1 if cell == EMPTY else int(cell) - 1

    def _fail(self, message: str, index: int) -> NoReturn:
        raise FormatError(message, path=self._path, line=self._numbers[index])


def conllup_lines(sentences: Iterable[Sentence], losses: Losses, path: str = "<output>") -> Iterator[str]:
    """Yield the sentences as lines with the columns of Universal Propositions; `losses` counts the rest."""
    yield COLUMNS_COMMENT + " ".join(_COLUMNS)
    for number, sent in enumerate(sentences, start=1):
        if not sent.tokens:
            losses.items["sentences without tokens, left out"] += 1
            continue
        try:
            yield from _sentence_lines(sent, losses)
        except DataError as error:
            message = f"sentence {number} cannot be written as conllup: {error}"
            raise FormatError(message, path=path) from error


def _sentence_lines(sent: Sentence, losses: Losses) -> Iterator[str]:
    props = one_per_token(sent, losses)
    by_pred, size = {prop.pred: prop for prop in props}, len(sent)
    held = {"tokens", "pos", "lemma", "sense"}
    heads: list[int] | None = sent.extra.get("heads")
    if not _is_list(heads, size, int) or not all(-1 <= head < size for head in heads or ()):
        heads = None
    cells = {key: sent.extra[key] for key in _CELLS.values() if _is_list(sent.extra.get(key), size, str)} | (
        {} if heads is None else {"heads": heads}
    )
    tokens = [_cell(token, losses) for token in sent.tokens]
    offsets = None if sent.text is None or _BREAKS.search(sent.text) else _aligned(tokens, sent.text)
    if offsets is not None and offsets == sent.offsets:
        held |= {"text", "offsets"}
    else:
        offsets = None
    lemmas = list(sent.lemmas or [EMPTY] * size)
    others = any(lemma != EMPTY and index not in by_pred for index, lemma in enumerate(lemmas))
    if others and all(prop.lemma in (None, lemmas[prop.pred]) for prop in props):
        held.add("lemmas")
    for prop in props:
        lemmas[prop.pred] = prop.lemma or lemmas[prop.pred]
    losses.count_fields(sent, props, held | cells.keys())
    if sent.id is not None:
        yield f"# sent_id = {_BREAKS.sub(EMPTY, sent.id)}"
    if offsets is not None:
        yield f"# text = {sent.text}"
    misc = cells.get("misc", _spaces(size, offsets))
    rows = zip(
        *(
            map(str, range(1, size + 1)),
            tokens,
            (_cell(lemma, losses) for lemma in lemmas),
            cells.get("upos", [EMPTY] * size),
            [EMPTY] * size if sent.pos is None else (_cell(tag, losses) for tag in sent.pos),
            cells.get("feats", [EMPTY] * size),
            [EMPTY] * size if heads is None else (str(head + 1) for head in heads),
            cells.get("deprels", [EMPTY] * size),
            cells.get("deps", [EMPTY] * size),
            misc,
        ),
        strict=True,
    )
    for index, row in enumerate(rows):
        found = by_pred.get(index)
        own = (EMPTY,) * 3 if found is None else _proposition_cells(found, lemmas[index], heads, size, losses)
        yield "\t".join([*(_cell(cell, losses) for cell in row), *own])
    yield ""


def _proposition_cells(
    prop: Proposition, lemma: str, heads: Sequence[int] | None, size: int, losses: Losses
) -> tuple[str, str, str]:
    phrases = [Phrase(VERB_PIECE if k else VERB, *span) for k, span in enumerate(prop.v or ())]
    phrases += [Phrase(arg.role, *arg.span) for arg in prop.args]
    if any(arg.role == VERB for arg in prop.args):
        raise DataError(f"predicate {prop.pred} has an argument with the role 'V'; the verb belongs in 'v'")
    if prop.v == ():
        losses.items["predicates without a verb"] += 1
    for phrase in phrases:
        if _NOT_IN_ROLES.search(phrase.role) or not phrase.role:
            raise DataError(f"the role '{shortened(phrase.role)}' has white space or '|'")
        if not 0 <= phrase.start < phrase.end <= size:
            raise DataError(f"{phrase.role} is outside the sentence")
    spans = [f"{phrase.role}:{phrase.start + 1}-{phrase.end}" for phrase in phrases]
    tops = [] if heads is None else [f"{arg.role}:{_top(arg.span, heads) + 1}" for arg in prop.args]
    sense = prop.sense if prop.sense is not None else f"{lemma}{_NO_SENSE}"
    return _cell(sense, losses), "|".join(tops) or EMPTY, "|".join(spans) or EMPTY


def _top(span: Span, heads: Sequence[int]) -> int:
    """Return the first token of a span whose head is outside."""
    inside = range(span.start, span.end)
    return next((index for index in inside if heads[index] not in inside), span.start)


def _aligned(tokens: Sequence[str], text: str) -> tuple[tuple[int, int], ...] | None:
    """Return the offsets of tokens that are the text, but for white space between them; otherwise None."""
    offsets, end = [], 0
    for token in tokens:
        start = end + len(text[end:]) - len(text[end:].lstrip())
        end = start + len(token)
        if text[start:end] != token:
            return None
        offsets.append((start, end))
    return tuple(offsets) if not text[end:].strip() else None


def _spaces(size: int, offsets: Sequence[tuple[int, int]] | None) -> list[str]:
    """Return a MISC cell per token, for spaces after it."""
    if offsets is None:
        return [EMPTY] * size
    glued = [end == start for (_, end), (start, _) in pairwise(offsets)]
    return ["SpaceAfter=No" if is_glued else EMPTY for is_glued in (*glued, False)][:size]


def _cell(cell: str, losses: Losses) -> str:
    if cell and not _BREAKS.search(cell) and cell == cell.strip(" "):
        return cell
    losses.items["cells with tabs, line breaks or no text, written with '_'"] += 1
    return _BREAKS.sub(EMPTY, cell).strip(" ") or EMPTY


def _is_list(value: object, size: int, kind: type) -> bool:
    return isinstance(value, list) and len(value) == size and all(type(item) is kind for item in value)
