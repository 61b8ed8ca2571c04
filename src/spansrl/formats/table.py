"""The table of formats: how files of each are named, recognized, read and written.

A format is a row of FORMATS. `convert`, `label` and `evaluate`, their options and their help follow from it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, islice
from pathlib import Path

from spansrl.formats.brat import brat_lines
from spansrl.formats.conll import ColumnBlock, read_conll, split_blocks
from spansrl.formats.conll_writing import Losses, conll_lines
from spansrl.formats.conllup import COLUMNS_COMMENT, conllup_lines, read_conllup
from spansrl.formats.jsonl import jsonl_lines, read_jsonl
from spansrl.formats.layouts import CONLL05_FORMS, FORM_KEY, LAYOUTS
from spansrl.formats.text_files import Line, plain_name
from spansrl.formats.verb_tags import allennlp_lines
from spansrl.structures import Sentence
from spansrl.tags import is_bracket_cell

_JSON_OBJECT = re.compile(r"\s*\{\s*(\"|\}|$)")
_BIO_CELL = re.compile(r"O|[BI]-.+")
_SKEL_COLUMNS = 8


class Head:
    """The first lines of a file, up to the end of the first sentence."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = lines

    @cached_property
    def first(self) -> str:
        """The first line that is not blank."""
        return next((line.text for line in self.lines if line.text.strip()), "")

    @cached_property
    def block(self) -> ColumnBlock:
        """The cells of the first sentence; none if there is no sentence."""
        return next(split_blocks(self.lines, marker_lines=True), ColumnBlock([], []))

    @cached_property
    def width(self) -> int:
        """The number of columns."""
        return min(map(len, self.block.rows), default=0)

    @cached_property
    def fixed(self) -> int:
        """The number of columns before those that hold brackets to the end of the row.

        The majority of the cells decides, so that one wrong cell is reported as such.
        """
        rows = self.block.rows
        for index in reversed(range(self.width)):
            if 2 * sum(is_bracket_cell(row[index]) for row in rows) <= len(rows):
                return index + 1
        return 0

    @property
    def counts_tokens(self) -> bool:
        """Whether the third column has the indices of the tokens."""
        rows = enumerate(self.block.rows)
        return self.width >= _SKEL_COLUMNS and all(row[2] == str(index) for index, row in rows)


Read = Callable[[Iterator[Line], str], Iterator[Sentence]]
Write = Callable[[Iterable[Sentence], Losses, str], Iterator[str]]


@dataclass(frozen=True, slots=True)
class Format:
    """One format of files; `write` yields lines, and for a `companion` lines and the companion's in turn."""

    name: str
    suffixes: tuple[str, ...] = ()
    read: Read | None = None
    write: Write | None = None
    sniff: Callable[[Head], bool] = lambda head: False
    shared_suffixes: tuple[str, ...] = ()  # of files in other formats too: reading looks at the content first
    form: Callable[[Head], str] | None = None  # which of several formats a file has
    companion: str = ""  # suffix of a second file that belongs to the first

    def is_named(self, name: str, *, loosely: bool) -> bool:
        return name.endswith(self.suffixes + self.shared_suffixes * loosely)


def _sniff_json(head: Head) -> bool:
    """Whether it is JSON; a list or a string is rejected by the reader, with a good message."""
    if not head.first.lstrip().startswith(("[", '"')):
        return bool(_JSON_OBJECT.match(head.first))
    try:
        json.loads(head.first)
    except (ValueError, RecursionError):
        return False
    return True


def _sniff_conll12(head: Head) -> bool:
    is_marked = head.first.startswith("#begin document")
    return is_marked or (head.counts_tokens and head.fixed != _SKEL_COLUMNS)


def _sniff_bio(head: Head) -> bool:
    cells = [cell for row in head.block.rows for cell in row[3:]]
    return head.fixed == 3 or (head.width > 3 and all(map(_BIO_CELL.fullmatch, cells)))


def conll05_form(head: Head) -> str:
    """Return the form of CoNLL-2005 of the first sentence; the train form where it is ambiguous."""
    forms = {1: "conll05-props", 2: "conll05-words", 5: "conll05-test"}
    return forms.get(head.fixed, "conll05-train")


def _conll05_lines(sentences: Iterable[Sentence], losses: Losses, path: str) -> Iterator[str]:
    """Write the form that the sentences were read from; by default the train form, which holds most."""
    sentences = iter(sentences)
    first = list(islice(sentences, 1))
    form = first[0].extra.get(FORM_KEY) if first else None
    layout = CONLL05_FORMS.get(str(form), LAYOUTS["conll05-train"])
    return conll_lines(chain(first, sentences), layout, losses, path)


def _columns(
    name: str,
    suffixes: tuple[str, ...] = (),
    *,
    sniff: Callable[[Head], bool],
    shared_suffixes: tuple[str, ...] = (),
    writes: bool = True,
) -> Format:
    """A format with the columns of a layout."""
    layout = LAYOUTS[name]

    def read(lines: Iterator[Line], path: str) -> Iterator[Sentence]:
        return read_conll(lines, layout, path)

    def write(sentences: Iterable[Sentence], losses: Losses, path: str) -> Iterator[str]:
        return conll_lines(sentences, layout, losses, path)

    return Format(name, suffixes, read, write if writes else None, sniff, shared_suffixes)


def _fixed(number: int) -> Callable[[Head], bool]:
    return partial(lambda number, head: head.fixed == number, number)


# In the order in which content is recognized.
_TABLE = (
    Format(
        "jsonl",
        (".jsonl", ".ndjson"),
        read_jsonl,
        lambda sentences, losses, path: jsonl_lines(sentences, path),
        _sniff_json,
    ),
    Format("conll05", (".conll05", ".conll2005"), None, _conll05_lines, form=conll05_form),
    Format(
        "conllup",
        (".conllup", ".conllu"),
        read_conllup,
        conllup_lines,
        lambda head: head.first.startswith(COLUMNS_COMMENT),
    ),
    _columns(
        "conll12",
        (".conll12", ".conll2012"),
        sniff=_sniff_conll12,
        shared_suffixes=(".gold_conll", "_gold_conll", ".auto_conll", "_auto_conll"),
    ),
    _columns("skel", ("_skel", ".skel"), sniff=lambda head: head.counts_tokens, writes=False),
    _columns("bio", (".bio",), sniff=_sniff_bio),
    _columns("conll05-train", sniff=_fixed(6)),
    _columns("conll05-test", sniff=_fixed(5)),
    _columns("conll05-words", sniff=_fixed(2)),
    _columns("conll05-props", (".props",), sniff=_fixed(1)),
    Format("allennlp", (), None, allennlp_lines),
    Format("brat", (".ann",), None, brat_lines, companion=".txt"),
)
FORMATS = {format.name: format for format in _TABLE}
READABLE = tuple(format.name for format in _TABLE if format.read or format.form)
WRITABLE = tuple(format.name for format in _TABLE if format.write)


def format_of_name(path: str | Path, *, loosely: bool = False) -> str | None:
    """Return the format of the name; `loosely` also for names used for more than one."""
    name = plain_name(path)
    return next((format.name for format in _TABLE if format.is_named(name, loosely=loosely)), None)


def format_of_content(head: Head) -> str | None:
    """Return the format of the first lines of a file."""
    return next((format.name for format in _TABLE if format.sniff(head)), None)
