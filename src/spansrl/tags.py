"""Labeled spans as bracket columns and as BIO tags, in both directions.

A bracket column has one cell per token: ``(A0*`` opens a phrase, ``*)`` closes one, ``(A0(A1*))`` nests two
over one token, ``*`` does neither; ``*A0)``, as in CoNLL-2004, is read but not written. BIO has
``B-A0``, ``I-A0`` and ``O``; its phrases cannot overlap. Phrases are half-open and come in the official
scorer's order: start ascending, end descending, outer first.

    >>> phrases_from_column(["(A0*", "*)", "(V*)"])
    [Phrase(role='A0', start=0, end=2), Phrase(role='V', start=2, end=3)]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from spansrl.errors import DataError, counted, shortened
from spansrl.structures import Argument, Proposition, Span

VERB = "V"
VERB_PIECE = "C-V"
BRACKETS_KEY = "brackets"  # of Proposition.extra: its column, where V shares its span with another phrase

_CELL = re.compile(r"((?:\([^\s()*]+)*)\*((?:[^\s()*]*\))*)")
_ROLE = re.compile(r"[^\ud800-\udfff\s()*]+")


class Phrase(NamedTuple):
    """Tokens start .. end-1 with a role, V and C-V included."""

    role: str
    start: int
    end: int


class TagError(DataError):
    """Invalid tags, or phrases that tags cannot express; `row` is the index of the token."""

    def __init__(self, message: str, row: int | None = None) -> None:
        super().__init__(message)
        self.row = row


def phrases_from_column(cells: Sequence[str]) -> list[Phrase]:
    """Return the phrases of one bracket column, outer before inner."""
    roles: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    still_open: list[int] = []  # indices into these lists; their ends are not known yet
    for row, cell in enumerate(cells):
        if cell == "*":
            continue
        parts = _cell_parts(cell)
        if parts is None:
            raise TagError(
                f"{shortened(cell)!r} is not a bracket cell such as '(A0*', '*', '*)' or '(A0*)'", row
            )
        opened, closed = parts
        for role in opened:
            still_open.append(len(roles))
            roles.append(role)
            starts.append(row)
            ends.append(row)
        if len(closed) > len(still_open):
            raise TagError(f"{shortened(cell)!r} closes a phrase that was never opened; remove a ')'", row)
        for role in closed:
            index = still_open.pop()
            if role and role != roles[index]:
                raise TagError(
                    f"{shortened(cell)!r} closes '{role}' where '{roles[index]}' is open; write ')'", row
                )
            ends[index] = row + 1
    if still_open:
        index = still_open[-1]
        message = f"'({roles[index]}*' is still open when the sentence ends; add the closing ')'"
        raise TagError(message, starts[index])
    return list(map(Phrase, roles, starts, ends))


def column_from_phrases(phrases: Iterable[Phrase], size: int) -> list[str]:
    """Return the bracket column of `size` cells for the phrases; of equal spans the first is the outer."""
    opening, closing = [""] * size, [""] * size
    around: list[Phrase] = []
    for phrase in in_column_order(phrases):
        _check_writable(phrase, size)
        while around and around[-1].end <= phrase.start:
            around.pop()
        if around and around[-1].end < phrase.end:
            raise TagError(
                f"{shown(around[-1])} and {shown(phrase)} cross; brackets can only nest", phrase.start
            )
        around.append(phrase)
        opening[phrase.start] += f"({phrase.role}"
        closing[phrase.end - 1] += ")"
    return [f"{left}*{right}" for left, right in zip(opening, closing, strict=True)]


def phrases_from_bio(tags: Sequence[str], *, strict: bool = False) -> list[Phrase]:
    """Return the phrases of BIO tags.

    An ``I-X`` that does not continue an X begins one, since taggers produce such tags; with `strict` it is an
    error.
    """
    found: list[Phrase] = []
    inside = None  # the role that an I- tag may continue
    for row, tag in enumerate(tags):
        prefix, _, role = tag.partition("-")
        if tag != "O" and (prefix not in ("B", "I") or not role):
            raise TagError(f"'{shortened(tag)}' is not a BIO tag such as 'B-A0', 'I-A0' or 'O'", row)
        if tag == "O":
            inside = None
        elif prefix == "I" and role == inside:
            found[-1] = found[-1]._replace(end=row + 1)
        elif prefix == "I" and strict:
            raise TagError(
                f"'{tag}' does not continue a phrase; the first tag of a phrase is 'B-{role}'", row
            )
        else:
            found.append(Phrase(role, row, row + 1))
            inside = role
    return found


def bio_from_phrases(phrases: Iterable[Phrase], size: int) -> list[str]:
    """Return the BIO tags of `size` tokens for the phrases, which must not overlap."""
    tags = ["O"] * size
    last: Phrase | None = None
    for phrase in in_column_order(phrases):
        _check_writable(phrase, size)
        if last is not None and phrase.start < last.end:
            raise TagError(f"{shown(last)} and {shown(phrase)} overlap, which BIO cannot hold", phrase.start)
        last = phrase
        tags[phrase.start] = f"B-{phrase.role}"
        tags[phrase.start + 1 : phrase.end] = [f"I-{phrase.role}"] * (phrase.end - phrase.start - 1)
    return tags


def keep_nested(phrases: Iterable[Phrase]) -> tuple[list[Phrase], list[Phrase]]:
    """Return the phrases that a bracket column can hold, and those that cross an earlier one."""
    return _keep(phrases, lambda a, b: a.start < b.start < a.end < b.end or b.start < a.start < b.end < a.end)


def keep_apart(phrases: Iterable[Phrase]) -> tuple[list[Phrase], list[Phrase]]:
    """Return the phrases that BIO can hold, and those that overlap an earlier one."""
    return _keep(phrases, lambda a, b: a.start < b.end and b.start < a.end)


def in_column_order(phrases: Iterable[Phrase]) -> list[Phrase]:
    """Sort phrases by start ascending, end descending; equal spans keep their order."""
    return sorted(phrases, key=lambda phrase: (phrase.start, -phrase.end))


def proposition_parts(phrases: Iterable[Phrase]) -> tuple[tuple[Span, ...], tuple[Argument, ...]]:
    """Split one predicate's phrases into the pieces of its verb (V, then its C-V) and its arguments.

    Without a V, a C-V has nothing to continue and remains an argument.
    """
    verb: list[Span] = []
    pieces: list[Span] = []
    args: list[Argument] = []
    phrases = list(phrases)
    has_verb = any(phrase.role == VERB for phrase in phrases)
    for phrase in phrases:
        span = Span(phrase.start, phrase.end)
        if phrase.role == VERB:
            if verb:
                raise TagError(
                    "a second 'V' for one predicate; further pieces of the verb are 'C-V'", phrase.start
                )
            verb.append(span)
        elif phrase.role == VERB_PIECE and has_verb:
            pieces.append(span)
        else:
            args.append(Argument(phrase.role, span))
    return (*verb, *pieces), tuple(args)


def phrases_of(prop: Proposition) -> list[Phrase]:
    """Return one predicate's phrases in column order, the inverse of `proposition_parts`.

    Of equal spans V is the outer one, unless the proposition came with a column (`BRACKETS_KEY`) that nests
    them otherwise; a column that no longer holds the same phrases is ignored.
    """
    verb = [Phrase(VERB_PIECE if k else VERB, *span) for k, span in enumerate(prop.verb_spans)]
    phrases = in_column_order(verb + [Phrase(arg.role, *arg.span) for arg in prop.args])
    nested = _phrases_of_brackets(prop.extra.get(BRACKETS_KEY))
    return nested if nested and sorted(nested) == sorted(phrases) else phrases


def is_bracket_cell(cell: str) -> bool:
    """Whether this could be a cell of a bracket column."""
    return _cell_parts(cell) is not None


def shown(phrase: Phrase) -> str:
    """Describe a phrase for a message."""
    return f"'{phrase.role}' over tokens {phrase.start} to {phrase.end}"


@lru_cache(maxsize=4096)  # a corpus has few different cells
def _cell_parts(cell: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the roles that a cell opens and those that it closes ('' for ')'); None for other cells."""
    match = _CELL.fullmatch(cell)
    return None if match is None else (tuple(match[1].split("(")[1:]), tuple(match[2].split(")")[:-1]))


def _phrases_of_brackets(cells: object) -> list[Phrase]:
    """Return the phrases of a column from JSON, which may hold anything."""
    if not isinstance(cells, list) or not all(isinstance(cell, str) for cell in cells):
        return []
    try:
        return phrases_from_column(cells)
    except TagError:
        return []


def _keep(
    phrases: Iterable[Phrase], clash: Callable[[Phrase, Phrase], bool]
) -> tuple[list[Phrase], list[Phrase]]:
    """Keep V first, since it marks the predicate; then left before right, outer before inner.

    Both lists are in column order.
    """
    ordered = in_column_order(phrases)
    kept: set[int] = set()
    for index in sorted(range(len(ordered)), key=lambda index: ordered[index].role not in (VERB, VERB_PIECE)):
        if not any(clash(ordered[other], ordered[index]) for other in kept):
            kept.add(index)
    return (
        [phrase for index, phrase in enumerate(ordered) if index in kept],
        [phrase for index, phrase in enumerate(ordered) if index not in kept],
    )


def _check_writable(phrase: Phrase, size: int) -> None:
    if not 0 <= phrase.start < phrase.end <= size:
        raise TagError(f"{shown(phrase)} is outside the sentence, which has {counted(size, 'token')}")
    if not _ROLE.fullmatch(phrase.role):
        raise TagError(
            f"the role '{phrase.role}' cannot be written as a tag: no spaces, '(', ')' or '*'",
            phrase.start,
        )
