"""Detect the format of a file from its name, or from its first sentence."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

from spansrl.formats.conll import ColumnBlock, split_blocks
from spansrl.formats.files import Line, plain_name
from spansrl.tags import is_bracket_cell

_NAMES = (
    (re.compile(r"\.(jsonl|ndjson)$"), "jsonl"),
    (re.compile(r"\.props$"), "conll05-props"),
    (re.compile(r"[._](gold_)?skel$"), "skel"),
    (re.compile(r"\.bio$"), "bio"),
    (re.compile(r"\.conll(20)?05$"), "conll05"),
    (re.compile(r"\.conll(20)?12$"), "conll12"),
)
# Names that are used for several formats: reading looks at the content, writing uses this format.
_LOOSE_NAMES = ((re.compile(r"[._](gold|auto)_conll$"), "conll12"),)

_BIO_CELL = re.compile(r"O|[BI]-.+")
_JSON_OBJECT = re.compile(r"\s*\{\s*(\"|\}|$)")
# Columns before those of the arguments -> format.
_BY_FIXED_COLUMNS = {1: "conll05-props", 2: "conll05-words", 3: "bio", 5: "conll05-test", 6: "conll05-train"}
_SKEL_COLUMNS = 8


def format_of_name(path: str | Path, *, loosely: bool = False) -> str | None:
    """Return the format of the name; `loosely` also for names used for more than one."""
    name = plain_name(path)
    table = _NAMES + _LOOSE_NAMES if loosely else _NAMES
    return next((format for pattern, format in table if pattern.search(name)), None)


def format_of_content(lines: Iterable[Line]) -> str | None:
    lines = list(lines)
    first = next((line.text for line in lines if line.text.strip()), "")
    if _JSON_OBJECT.match(first) or _is_other_json(first):
        return "jsonl"
    if first.startswith("#begin document"):
        return "conll12"
    block = next(split_blocks(lines, marker_lines=True), None)
    return None if block is None else _format_of_block(block)


def conll05_form(lines: Iterable[Line]) -> str:
    """Return the form of CoNLL-2005 of the first sentence; the train form where it is ambiguous."""
    block = next(split_blocks(lines), None)
    form = None if block is None else _BY_FIXED_COLUMNS.get(_fixed_columns(block))
    return form if form is not None and form != "bio" else "conll05-train"


def _is_other_json(text: str) -> bool:
    """Whether this is a JSON list or string, which the JSON Lines reader rejects with a good message."""
    if not text.lstrip().startswith(("[", '"')):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _format_of_block(block: ColumnBlock) -> str | None:
    width = min(map(len, block.rows))
    fixed = _fixed_columns(block)
    counts_tokens = width > 2 and all(row[2] == str(index) for index, row in enumerate(block.rows))
    if counts_tokens and width >= _SKEL_COLUMNS:
        return "skel" if fixed == _SKEL_COLUMNS else "conll12"
    if width > 3 and all(_BIO_CELL.fullmatch(cell) for row in block.rows for cell in row[3:]):
        return "bio"
    return _BY_FIXED_COLUMNS.get(fixed)


def _fixed_columns(block: ColumnBlock) -> int:
    """Return the number of columns before those that hold brackets to the end of the row.

    The majority of the cells decides, so that one wrong cell is reported as such.
    """
    width = min(map(len, block.rows))
    for index in reversed(range(width)):
        brackets = sum(is_bracket_cell(row[index]) for row in block.rows)
        if 2 * brackets <= len(block.rows):
            return index + 1
    return 0
