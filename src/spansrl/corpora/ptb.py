"""Words and tags of Penn Treebank trees: ``( (S (NP (DT The) (NN dog)) (VP (VBD barked))))``.

Traces (``-NONE-``) are left out. Words are kept as the treebank has them (``-LRB-``, ``1\\/2``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from spansrl.errors import FormatError, shortened
from spansrl.formats.files import Line

TRACE = "-NONE-"
_TOKEN = re.compile(r"[()]|[^\s()]+")


class Terminals(NamedTuple):
    words: tuple[str, ...]
    tags: tuple[str, ...]


def read_terminals(lines: Iterable[Line], path: str) -> Iterator[Terminals]:
    """Yield the terminals of each tree; raise FormatError for unbalanced brackets."""
    depth, opened_at = 0, 0
    before: list[str] = []  # the atoms since the last bracket: a tag, or a tag and its word
    leaves: list[tuple[str, str]] = []
    for number, text in lines:
        for token in _TOKEN.findall(text):
            if token == "(":
                opened_at = opened_at if depth else number
                depth += 1
                before = []
            elif token != ")":
                before.append(token)
                if depth == 0 or len(before) > 2:
                    raise FormatError(
                        f"'{shortened(token)}' is outside a leaf (TAG WORD)", path=path, line=number
                    )
            elif depth == 0:
                raise FormatError("')' closes nothing", path=path, line=number)
            else:
                depth -= 1
                if len(before) == 2 and before[0] != TRACE:
                    leaves.append((before[0], before[1]))
                before = []
                if depth == 0:
                    yield Terminals(tuple(word for _, word in leaves), tuple(tag for tag, _ in leaves))
                    leaves = []
    if depth:
        raise FormatError("this tree is still open when the file ends", path=path, line=opened_at)
