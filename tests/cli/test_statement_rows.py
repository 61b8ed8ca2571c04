"""Statements as tables: `spansrl label` and `spansrl corpus` with the model in the package."""

from __future__ import annotations

import csv
import json
import re
import zipfile
from pathlib import Path

import pytest

import spansrl as package
from spansrl.formats import spreadsheet
from spansrl.inference.loading import shipped_model
from spansrl.statements import STATEMENT_COLUMNS
from spansrl.structures import ROW_COLUMNS

pytestmark = pytest.mark.skipif(not shipped_model().is_dir(), reason="no model in the package")

TEXTS = {"x": "The senator did not accept the bribe. She is a doctor.", "y": "He gave up the plan."}


@pytest.fixture
def articles(tmp_path):
    with (tmp_path / "articles.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("doc", "body"), *TEXTS.items()])
    return "articles.csv"


def cells_of(path: str) -> list[list[str]]:
    """The texts of a workbook's cells."""
    sheet = zipfile.ZipFile(path).read("xl/worksheets/sheet1.xml").decode()
    rows = re.findall("<row.*?</row>", sheet)
    return [re.findall(r'<t xml:space="preserve">(.*?)</t>', row) for row in rows]


def test_every_interface_gives_the_same_statements(spansrl, articles):
    for name in ("out.csv", "out.jsonl", "out.json", "out.tsv"):
        args = ("label", articles, "--text", "body", "--id", "doc", "--rows", "statements", "-o", name)
        assert spansrl(*args)[0] == 0
    rows = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert json.loads(Path("out.json").read_text()) == rows
    assert [(row["id"], row["sentence"], row["subject"], row["relation"]) for row in rows] == [
        ("x", 0, "The senator", "accept"),
        ("x", 1, "She", "be"),
        ("y", 0, "He", "give up"),
    ]
    for row in rows:
        assert TEXTS[row["id"]][row["object_start"] : row["object_end"]] == row["object"]
    table = list(csv.DictReader(Path("out.csv").read_text().splitlines()))
    assert [row["negated"] for row in table] == ["True", "False", "False"]
    assert list(csv.DictReader(Path("out.tsv").read_text().splitlines(), delimiter="\t")) == table
    assert list(table[0]) == list(STATEMENT_COLUMNS)
    corpus = ("corpus", articles, "--text", "body", "--id", "doc", "--rows", "statements", "--workers", 1)
    assert spansrl(*corpus, "--out", "job")[0] == 0
    assert [json.loads(line) for line in Path("job/rows/part-00000.jsonl").read_text().splitlines()] == rows
    assert spansrl(*corpus, "--to", "csv", "--out", "job2")[0] == 0
    assert list(csv.DictReader(Path("job2/rows/part-00000.csv").read_text().splitlines())) == table
    srl = package.load(threads=1)
    own = [row | {"id": id} for id, text in TEXTS.items() for row in srl(text).statements().rows()]
    assert own == rows


def test_parquet_has_the_types_of_the_columns(spansrl, articles):
    parquet = pytest.importorskip("pyarrow.parquet")
    assert spansrl("label", articles, "--text", "body", "-o", "out.parquet")[0] == 0
    schema = parquet.read_schema("out.parquet")
    assert schema.names == list(STATEMENT_COLUMNS)
    assert str(schema.field("negated").type) == "bool"
    assert str(schema.field("time_start").type) == "int64"


def test_an_excel_workbook_has_statements_by_default(spansrl, articles):
    assert spansrl("label", articles, "--text", "body", "-o", "out.xlsx")[0] == 0
    header, first, *_ = cells_of("out.xlsx")
    assert header == list(STATEMENT_COLUMNS)
    assert first[:4] == ["articles.csv:2", "The senator", "accept", "the bribe"]
    assert spansrl("label", "Ann sold it.", "--rows", "argument", "-o", "args.xlsx")[0] == 0
    assert cells_of("args.xlsx")[0] == list(ROW_COLUMNS)


def test_a_sheet_is_never_cut_off_without_a_word(spansrl, articles, monkeypatch):
    monkeypatch.setattr(spreadsheet, "MOST_ROWS", 3)
    code, _, err = spansrl("label", articles, "--text", "body", "-o", "out.xlsx")
    assert code == 1
    assert "holds 3 rows" in err
    assert not Path("out.xlsx").exists()


def test_statements_are_read_on_a_terminal_as_lines(spansrl):
    code, out, _ = spansrl("label", "Ann sold it.", "--rows", "statements", "--to", "pretty")
    assert (code, out) == (0, "Ann | sell | it\n")


def test_a_column_that_is_missing_is_one_clear_line(spansrl, articles):
    code, _, err = spansrl("label", articles, "--text", "text", "-o", "out.csv")
    assert code == 1
    assert "no column 'text'; found doc, body" in err
    assert err.count("\n") == 1


def test_rows_that_a_format_cannot_hold_are_refused(spansrl, articles):
    assert spansrl("label", articles, "--text", "body", "--rows", "statements", "-o", "x.svg")[0] == 2
    assert spansrl("label", articles, "--id", "doc")[0] == 2
    assert spansrl("label", "Ann sold it.", "--to", "xlsx")[0] == 2


def test_a_row_without_text_is_skipped_with_a_warning(spansrl, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": null}\n{"text": "Ann sold it."}\n')
    code, out, err = spansrl("label", "a.jsonl", "--text", "text", "--to", "csv")
    assert (code, len(out.splitlines())) == (0, 2)
    assert "a.jsonl:1: skipped: the text must be a string" in err
