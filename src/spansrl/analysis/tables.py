"""What a section of the analysis is made of: tables, pictures and examples; tables as CSV and Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass

from spansrl.structures import Sentence
from spansrl.visualize.characters import visible

Cell = str | int | float | None
NOTHING = "–"  # how a page shows a cell that has no value


@dataclass(frozen=True, slots=True)
class Column:
    """A column's head, and how its fractions are written; whole numbers and texts are written as they are."""

    name: str
    fractions: str = ".2f"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under named columns; `name` is its file's.

    `shown` limits the rows on a page, never those in the CSV file. The first `grouped` columns are said once
    for rows in a row that share them. `finds` has for each row the tag of its examples, where it has some.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    shown: int | None = None
    grouped: int = 0
    finds: tuple[str, ...] = ()

    def texts(self) -> list[list[str]]:
        """Every cell as it is written, control characters by their pictures; '' where there is no value."""
        return [
            [_text(cell, column) for cell, column in zip(row, self.columns, strict=True)] for row in self.rows
        ]


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing as SVG; `name` is its file's."""

    name: str
    title: str
    svg: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Example:
    """One proposition as gold has it and as the systems see it, with the tags by which cells find it."""

    title: str
    tags: tuple[str, ...]
    sentence: Sentence


@dataclass(frozen=True, slots=True)
class Examples:
    """Drawn sentences that can be searched."""

    items: tuple[Example, ...]
    note: str = ""


Part = Table | Picture | Examples


@dataclass(frozen=True, slots=True)
class Section:
    """One question of the analysis with its answers, or, in `left_out`, what would be needed for them."""

    name: str
    title: str
    intro: str = ""
    parts: tuple[Part, ...] = ()
    left_out: str = ""

    @property
    def tables(self) -> tuple[Table, ...]:
        """The section's tables."""
        return tuple(part for part in self.parts if isinstance(part, Table))

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """The section's pictures."""
        return tuple(part for part in self.parts if isinstance(part, Picture))


def columns(*names: str, fractions: str = ".2f") -> tuple[Column, ...]:
    """Columns that write their fractions alike."""
    return tuple(Column(name, fractions) for name in names)


def table_csv(table: Table) -> str:
    """All rows, as a spreadsheet or a data frame reads them."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(column.name for column in table.columns)
    writer.writerows(table.texts())
    return out.getvalue()


def table_markdown(table: Table) -> str:
    """The rows that a page shows."""
    texts = table.texts()[: table.shown]
    lines = [[column.name for column in table.columns], ["---"] * len(table.columns)]
    lines += [[text or NOTHING for text in row] for row in texts]
    return "".join(_markdown_row(line) for line in lines)


def hidden_rows(table: Table) -> str:
    """A line that says how many rows stand only in the file, or nothing."""
    if table.shown is None or len(table.rows) <= table.shown:
        return ""
    shown = f"The first {table.shown} of {len(table.rows)} rows" if table.shown else f"{len(table.rows)} rows"
    return f"{shown}; tables/{table.name}.csv has them all."


def _markdown_row(cells: Iterable[str]) -> str:
    shown = (" ".join(cell.replace("\\", "\\\\").replace("|", "\\|").split()) for cell in cells)
    return f"| {' | '.join(shown)} |\n"


def _text(cell: Cell, column: Column) -> str:
    if cell is None:
        return ""
    return format(cell, column.fractions) if isinstance(cell, float) else visible(str(cell))
