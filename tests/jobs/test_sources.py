"""Documents in files of every kind, and what is wrong with bad ones."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma

import pytest

from spansrl.errors import DataError
from spansrl.jobs import sources
from spansrl.jobs.sources import Reading, find_files, read_records


def documents(path, reading=Reading(), **options):  # noqa: B008
    return [(r.id, r.text, r.reason) for r in read_records(str(path), reading, **options)]


def write_lines(path, *rows):
    lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_text_file_is_one_document(folder):
    (folder / "a.txt").write_bytes("\ufeffÄnn\r\nsold.".encode())
    assert documents("a.txt") == [("a.txt", "Änn\r\nsold.", None)]


def test_with_lines_every_line_of_a_text_file_is_a_document(folder):
    (folder / "a.txt").write_bytes(b"one\r\n\n \ntwo\n\xff\nlast")
    found = documents("a.txt", Reading(lines=True))
    assert found[:2] == [("a.txt:1", "one", None), ("a.txt:4", "two", None)]
    assert found[2] == ("a.txt:5", "", "not UTF-8: byte 0xff at byte 1")
    assert found[3] == ("a.txt:6", "last", None)


@pytest.mark.parametrize("pack", [gzip, lzma, bz2], ids=lambda module: module.__name__)
def test_compressed_files_are_read(folder, pack):
    suffix = {"gzip": ".gz", "lzma": ".xz", "bz2": ".bz2"}[pack.__name__]
    (folder / f"a.jsonl{suffix}").write_bytes(pack.compress(b'{"text": "one"}\n{"text": "two"}\n'))
    assert [text for _, text, _ in documents(f"a.jsonl{suffix}")] == ["one", "two"]


def test_a_truncated_file_gives_its_documents_and_one_error(folder):
    packed = gzip.compress(b"".join(b'{"text": "%d %d"}\n' % (n, n * 7919) for n in range(20_000)))
    (folder / "a.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    found = documents("a.jsonl.gz")
    assert 0 < len(found) - 1 < 20_000
    assert [reason is not None for _, _, reason in found] == [False] * (len(found) - 1) + [True]
    assert "truncated" in found[-1][2]


def test_json_lines_with_columns(folder):
    write_lines(folder / "a.jsonl", {"number": 7, "body": "Ann sold it."}, b"", {"number": "x", "body": ""})
    found = documents("a.jsonl", Reading(text="body", id="number"))
    assert found == [("7", "Ann sold it.", None), ("x", "", None)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{broken", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"1" * 5000, "not JSON"),
        (b'["text"]', "expected a JSON object"),
        (b'{"id": 1, "body": "x"}', "no column 'text'; found id, body"),
        (b'{"id": 1, "text": null}', "the text must be a string"),
        (b'{"id": 1, "text": ["x"]}', "the text must be a string, found a list"),
        (b'{"id": 1, "text": "caf\xe9"}', "not UTF-8: byte 0xe9"),
        (b'{"id": 1, "text": "\\ud800"}', "lone surrogate"),
        (b'{"id": "\\ud800", "text": "x"}', "lone surrogate"),
        (b'{"id": 1, "text": "123456789 1"}', "too long: 11 characters, the limit is 10"),
        (b'{"text": "x"}', "no column 'id'"),
        (b'{"id": "", "text": "x"}', "the id must be"),
        (b'{"id": true, "text": "x"}', "the id must be"),
        (b'{"id": 1.5, "text": "x"}', "the id must be"),
    ],
)
def test_a_bad_line_is_an_error_with_its_position_and_the_others_are_read(folder, line, reason):
    write_lines(folder / "a.jsonl", {"id": 1, "text": "one"}, line, {"id": 3, "text": "three"})
    first, bad, last = read_records("a.jsonl", Reading(id="id", max_chars=10))
    assert (first.text, last.text) == ("one", "three")
    assert bad.where == "a.jsonl:2"
    assert reason in bad.reason
    assert bad.text == ""


def test_lines_without_end_do_not_fill_the_memory(folder, monkeypatch):
    monkeypatch.setattr(sources, "_LINE_BYTES", 100)
    write_lines(folder / "a.jsonl", {"text": "one"}, b'{"text": "' + b"x" * 1000 + b'"}', {"text": "three"})
    assert [reason is None for _, _, reason in documents("a.jsonl")] == [True, False, True]


def test_a_text_file_that_is_too_long_is_an_error(folder):
    (folder / "a.txt").write_text("x" * 11)
    (folder / "b.txt").write_text("x" * 100)
    assert documents("a.txt", Reading(max_chars=10))[0][2] == "too long: 11 characters, the limit is 10"
    assert "too long" in documents("b.txt", Reading(max_chars=10))[0][2]


def test_csv_with_quotes_and_line_breaks(folder):
    (folder / "a.csv").write_bytes(
        b'n,text\r\n1,"He said ""no"".\nThen left."\r\n\r\n2,caf\xe9\r\n3,a,b\r\n4,end\r\n'
    )
    found = list(read_records("a.csv", Reading(id="n")))
    assert (found[0].id, found[0].text) == ("1", 'He said "no".\nThen left.')
    assert found[1].reason == "not UTF-8: byte 0xe9 at byte 4"
    assert (found[2].reason, found[2].where) == ("expected 2 columns, found 3", "a.csv:6")
    assert (found[3].id, found[3].text) == ("4", "end")


def test_a_csv_file_without_the_column_is_one_error(folder):
    (folder / "a.csv").write_text("id,body\n1,x\n2,y\n")
    assert documents("a.csv") == [("a.csv", "", "no column 'text'; found id, body")]


def test_parquet(folder):
    pa = pytest.importorskip("pyarrow", reason="needs the extra corpus")
    import pyarrow.parquet as pq

    table = pa.table({"n": [1, 2, 3, 4], "text": ["one", None, "three", "four"]})
    pq.write_table(table, "a.parquet", row_group_size=2)
    found = documents("a.parquet", Reading(id="n"))
    assert found[0] == ("1", "one", None)
    assert found[1][2] == "the text must be a string, found nothing"
    assert documents("a.parquet", start=2) == [("a.parquet:3", "three", None), ("a.parquet:4", "four", None)]
    assert "no column 'x'" in documents("a.parquet", Reading(text="x"))[0][2]
    (folder / "b.parquet").write_bytes(b"PAR1 this is not Parquet PAR1")
    assert "cannot be read" in documents("b.parquet")[0][2]


def test_parquet_strings_that_are_not_utf8(folder):
    pa = pytest.importorskip("pyarrow", reason="needs the extra corpus")
    import pyarrow.parquet as pq

    text = pa.array([b"one", b"caf\xe9"]).view(pa.string())
    pq.write_table(pa.table({"text": text}), "a.parquet")
    assert [reason for _, _, reason in documents("a.parquet")] == [None, "not UTF-8: byte 0xe9 at byte 4"]


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.csv", "a.txt"])
def test_reading_can_start_at_any_record(folder, name):
    text = "text\none\n\ntwo\nthree\n" if name == "a.csv" else "one\n\ntwo\nthree\n"
    if "jsonl" in name:
        text = '{"text": "one"}\n\n{"text": "two"}\n{"text": "three"}\n'
    content = text.encode()
    (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    reading = Reading(lines=True)
    records = list(read_records(name, reading))
    assert [record.text for record in records] == ["one", "two", "three"]
    for k, record in enumerate(records):
        assert list(read_records(name, reading, start=record.number, offset=record.offset)) == records[k:]


def test_files_are_found_in_the_order_of_names_and_once(folder):
    for name in (
        "b/2.txt",
        "b/1.txt.gz",
        "a.jsonl",
        "b/notes.md",
        ".hidden.txt",
        "b/.git/x.txt",
        "out/rows/x.jsonl",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    found, skipped = find_files(["a.jsonl", ".", "b/*.txt"], leave_out=folder / "out")
    assert found == ["a.jsonl", "b/1.txt.gz", "b/2.txt"]
    assert skipped == 1


@pytest.mark.parametrize("name", ["missing.txt", "*.txt", "notes.md"])
def test_an_input_that_is_nothing_is_an_error(folder, name):
    (folder / "notes.md").touch()
    with pytest.raises(DataError, match=name.replace("*", r"\*")):
        find_files([name], leave_out=folder / "out")


def test_names_that_are_not_unicode_are_shown_escaped(folder):
    path = b"caf\xe9.txt".decode("utf-8", "surrogateescape")
    (folder / path).write_text("x")
    assert documents(path) == [("caf\\udce9.txt", "x", None)]
