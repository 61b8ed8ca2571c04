"""Rows of documents: columns, offsets, and documents without arguments."""

from __future__ import annotations

import pytest
from job_fakes import FakeLabels

from spansrl.jobs.rows import argument_rows, sentence_rows
from spansrl.structures import ROW_COLUMNS, Document, Proposition, Sentence

TEXT = "Ann sold the letters. Bob left"


def labeled(text):
    (document,) = FakeLabels().pipe([text])
    return document


def test_one_row_per_argument_with_offsets_into_the_document():
    rows = argument_rows(labeled(TEXT), "d1")
    assert [(row["id"], row["sentence"], row["word"], row["role"], row["text"]) for row in rows] == [
        ("d1", 0, "sold", "ARG0", "Ann"),
        ("d1", 0, "sold", "ARG1", "the letters"),
        ("d1", 1, "left", "ARG0", "Bob"),
    ]
    for row in rows:
        assert TEXT[row["char_start"] : row["char_end"]] == row["text"]
        assert TEXT[row["word_start"] : row["word_end"]] == row["word"]
        assert TEXT[row["sentence_start"] : row["sentence_end"]].startswith(("Ann sold", "Bob left"))


def test_every_row_has_every_column_with_its_type():
    sent = Sentence(
        ("It", "rained"), (Proposition(1, sense="rain.01"),), text="It rained", offsets=((0, 2), (3, 9))
    )
    documents = [labeled(TEXT), labeled("NONE"), labeled("word"), Document("It rained", (sent,))]
    for row in (row for document in documents for row in argument_rows(document, "x")):
        assert list(row) == list(ROW_COLUMNS)
        assert all(value is None or type(value) is ROW_COLUMNS[name] for name, value in row.items())


@pytest.mark.parametrize("text", ["NONE", "", "word"])
def test_a_document_without_arguments_has_one_row(text):
    (row,) = argument_rows(labeled(text), "d1")
    assert {name for name, value in row.items() if value is not None} == {"id"}


def test_sentence_rows_are_the_wire_format():
    document = labeled(TEXT)
    rows = sentence_rows(document, "d1")
    assert [row["sentence"] for row in rows] == [0, 1]
    for row, sent in zip(rows, document.sentences, strict=True):
        again = Sentence.from_dict(
            {key: value for key, value in row.items() if key not in ("id", "sentence")}
        )
        assert again == sent


def test_a_document_without_sentences_has_one_sentence_row():
    (row,) = sentence_rows(labeled("NONE"), "d1")
    assert (row["id"], row["tokens"], row["props"]) == ("d1", [], [])
