from __future__ import annotations

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spansrl.analysis.tables import (
    Table,
    TableColumn,
    columns,
    hidden_rows,
    table_csv,
    table_latex,
    table_markdown,
)
from spansrl.visualize.printable import visible

TABLE = Table(
    "t",
    "Title",
    (TableColumn("name"), TableColumn("count"), TableColumn("share"), TableColumn("gain", "+.1f")),
    (("a|b", 3, 0.5, 1.25), ("c", 0, None, -2.0)),
)


def test_csv_has_every_row_and_leaves_missing_cells_empty():
    assert table_csv(TABLE) == "name,count,share,gain\na|b,3,0.50,+1.2\nc,0,,-2.0\n"


def test_markdown_escapes_bars_and_marks_missing_cells():
    assert table_markdown(TABLE).splitlines() == [
        "| name | count | share | gain |",
        "| --- | --- | --- | --- |",
        "| a\\|b | 3 | 0.50 | +1.2 |",
        "| c | 0 | – | -2.0 |",
    ]


@pytest.mark.parametrize(
    ("shown", "line"),
    [
        (None, ""),
        (2, ""),
        (1, "The first 1 of 2 rows; tables/t.csv has all."),
        (0, "2 rows; tables/t.csv has all."),
    ],
)
def test_the_number_of_hidden_rows_is_shown(shown, line):
    limited = Table("t", "Title", TABLE.columns, TABLE.rows, shown=shown)
    assert hidden_rows(limited) == line
    assert table_csv(limited) == table_csv(TABLE)


@given(st.lists(st.lists(st.text(), min_size=2, max_size=2)))
def test_any_text_comes_back_from_csv_with_pictures_of_control_characters(rows):
    text = table_csv(Table("t", "Title", columns("a", "b"), tuple(map(tuple, rows))))
    read = list(csv.reader(io.StringIO(text, newline="")))
    assert read == [["a", "b"], *([visible(cell) for cell in row] for row in rows)]


@given(st.text())
def test_any_text_stays_within_its_cell_of_markdown(text):
    last = table_markdown(Table("t", "Title", columns("a"), ((text,),))).splitlines()
    assert len(last) == 3


def test_latex_prints_the_best_system_in_bold():
    heads = (TableColumn("system"), *columns("F1", "recall", best=True), TableColumn("n_runs"))
    table = Table("t", "Title", heads, (("a_1", 80.0, 70.0, 3), ("b", 79.5, 70.0, 5)))
    assert table_latex(table).splitlines() == [
        "% \\usepackage{booktabs}",
        r"\begin{tabular}{lrrr}",
        r"\toprule",
        r"system & F1 & recall & n\_runs \\",
        r"\midrule",
        r"a\_1 & \textbf{80.00} & \textbf{70.00} & 3 \\",
        r"b & 79.50 & \textbf{70.00} & 5 \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_latex_prints_the_best_of_each_row_if_columns_are_systems():
    heads = (TableColumn("label"), *columns("a", "b", best=True), TableColumn("a − b", "+.2f"))
    text = table_latex(
        Table("t", "T", heads, (("A0", 1.0, 2.0, -1.0), ("A1", 3.0, None, None)), systems=True)
    )
    assert r"A0 & 1.00 & \textbf{2.00} & -1.00 \\" in text
    assert r"A1 & 3.00 &  &  \\" in text
    assert "a $-$ b" in text


@pytest.mark.parametrize("char", "[*")
def test_latex_keeps_the_start_of_a_row_from_being_an_option_of_the_row_before(char):
    text = table_latex(Table("t", "T", columns("a"), (("x",), (f"{char}y",))))
    assert f"x \\\\\n{{{char}}}y" in text


@given(st.text(alphabet="&%$#_{}~^\\<>", max_size=10))
def test_latex_escapes_what_has_a_meaning(text):
    row = table_latex(Table("t", "T", columns("a"), ((text,),))).splitlines()[5].removesuffix(r" \\")
    assert not re.search(r"(?<!\\)[&%$#_]", row)
