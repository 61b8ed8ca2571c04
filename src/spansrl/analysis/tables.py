"""The parts of a section: tables, figures and examples; tables as CSV, Markdown and LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from spansrl.analysis.charts import Chart
from spansrl.structures import Sentence
from spansrl.visualize.printable import visible

Cell = str | int | float | None
NOTHING = "–"  # how a page shows a missing value


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column's head and the format of its fractions; whole numbers and texts are written as they are.

    `best` marks a figure of which more is better, so that LaTeX prints the best one in bold: the best row of
    the column or, if several columns of the table are marked by `systems`, the best of these in each row.
    """

    name: str
    fractions: str = ".2f"
    best: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under named columns; `name` is its file's.

    `shown` limits the rows on a page, never those in the CSV file. The first `grouped` columns are shown once
    for successive rows that share them. `tags` has the tag of each row's examples, '' for a row without.
    """

    name: str
    title: str
    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    shown: int | None = None
    grouped: int = 0
    tags: tuple[str, ...] = ()
    systems: bool = False  # the columns marked as `best` are systems

    def texts(self) -> list[list[str]]:
        """Every cell as it is written, with control characters made visible; '' for a missing value."""
        return [
            [_text(cell, column) for cell, column in zip(row, self.columns, strict=True)] for row in self.rows
        ]


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure; `name` is that of its files."""

    name: str
    title: str
    chart: Chart
    note: str = ""


@dataclass(frozen=True, slots=True)
class TaggedExample:
    """One proposition in gold and in the systems' predictions, with the tags by which cells find it."""

    title: str
    tags: tuple[str, ...]
    sentence: Sentence


@dataclass(frozen=True, slots=True)
class ExampleList:
    """Drawn sentences that can be searched."""

    items: tuple[TaggedExample, ...]
    note: str = ""


Part = Table | Picture | ExampleList


@dataclass(frozen=True, slots=True)
class Section:
    """One question of the analysis with its answers; `skipped` is the reason if it has none."""

    name: str
    title: str
    intro: str = ""
    parts: tuple[Part, ...] = ()
    skipped: str = ""

    @property
    def tables(self) -> tuple[Table, ...]:
        return tuple(part for part in self.parts if isinstance(part, Table))

    @property
    def pictures(self) -> tuple[Picture, ...]:
        return tuple(part for part in self.parts if isinstance(part, Picture))


def columns(*names: str, fractions: str = ".2f", best: bool = False) -> tuple[TableColumn, ...]:
    """Columns with the same format."""
    return tuple(TableColumn(name, fractions, best) for name in names)


def comparison_table(
    name: str,
    title: str,
    heads: tuple[str, str],
    systems: Sequence[str],
    rows: Iterable[tuple[str, int, Sequence[float]]],
    *,
    note: str = "",
) -> Table:
    """One row per part of the corpus: its name, its size, the figure of each system, and differences.

    A difference is the first system's figure minus that of another.
    """
    first, *others = systems
    differences = columns(*(f"{first} − {other}" for other in others), fractions="+.2f")
    return Table(
        name,
        title,
        (*columns(*heads), *columns(*systems, best=True), *differences),
        tuple((part, n, *own, *(own[0] - other for other in own[1:])) for part, n, own in rows),
        note=note,
        systems=True,
    )


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
    escaped = (
        [" ".join(cell.replace("\\", "\\\\").replace("|", "\\|").split()) for cell in line] for line in lines
    )
    return "".join(f"| {' | '.join(cells)} |\n" for cells in escaped)


def table_latex(table: Table) -> str:
    """The rows that a page shows, for a paper; needs the package booktabs."""
    rows = table.rows[: table.shown or None]
    bold = _best_cells(table, rows)
    numeric = [all(not isinstance(row[k], str) for row in rows) for k in range(len(table.columns))]
    lines = [
        "% \\usepackage{booktabs}",
        f"\\begin{{tabular}}{{{''.join('r' if number else 'l' for number in numeric)}}}",
        "\\toprule",
        " & ".join(_latex(column.name) for column in table.columns) + " \\\\",
        "\\midrule",
    ]
    for y, row in enumerate(table.texts()[: len(rows)]):
        cells = [
            f"\\textbf{{{_latex(text)}}}" if (y, x) in bold else _latex(text) for x, text in enumerate(row)
        ]
        lines.append(" & ".join(cells) + " \\\\")
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", ""])


def _best_cells(table: Table, rows: Sequence[tuple[Cell, ...]]) -> set[tuple[int, int]]:
    """The best of each column, or of each row if the columns are systems."""
    marked = [x for x, column in enumerate(table.columns) if column.best]
    if table.systems:
        groups = [[(y, x) for x in marked] for y in range(len(rows))]
    else:
        groups = [[(y, x) for y in range(len(rows))] for x in marked]
    best = set()
    for group in groups:
        values = {(y, x): value for y, x in group if isinstance(value := rows[y][x], (int, float))}
        if len(values) > 1:
            best |= {cell for cell, value in values.items() if value == max(values.values())}
    return best


_LATEX = {
    **{char: f"\\{char}" for char in "&%$#_{}"},
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "\\": "\\textbackslash{}",
    "−": "$-$",
    "–": "--",
    "±": "$\\pm$",
    "…": "\\ldots{}",
    "<": "\\textless{}",
    ">": "\\textgreater{}",
    **{char: f"{{{char}}}" for char in "[*"},  # options of the \\ before them, at the start of a row
}


def _latex(text: str) -> str:
    return "".join(_LATEX.get(char, char) for char in text)


def hidden_rows(table: Table) -> str:
    """A line about rows that are only in the file, if there are any."""
    if table.shown is None or len(table.rows) <= table.shown:
        return ""
    shown = f"The first {table.shown} of {len(table.rows)} rows" if table.shown else f"{len(table.rows)} rows"
    return f"{shown}; tables/{table.name}.csv has all."


def _text(cell: Cell, column: TableColumn) -> str:
    if cell is None:
        return ""
    return format(cell, column.fractions) if isinstance(cell, float) else visible(str(cell))
