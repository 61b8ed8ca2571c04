"""Documents in files of every kind, and what is wrong with bad ones."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spansrl.errors import DataError, SpansrlWarning
from spansrl.jobs import InputOptions
from spansrl.jobs import documents as documents_module
from spansrl.jobs.documents import InputReader, find_files

LATIN = (
    "not UTF-8: byte {} at byte {}; the encoding is probably latin-1: "
    "use --encoding latin-1, or convert it with iconv"
)


def read(path, **options):
    return list(InputReader(InputOptions(**options)).read(str(path)))


def documents(path, **options):
    return [(d.id, d.text, d.reason) for d in read(path, **options)]


def shards(paths, chars, **options):
    return list(InputReader(InputOptions(**options)).shards([str(path) for path in paths], chars))


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
    found = documents("a.txt", lines=True)
    assert found[:2] == [("a.txt:1", "one", None), ("a.txt:4", "two", None)]
    assert found[2] == ("a.txt:5", "", LATIN.format("0xff", 1))
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
    found = documents("a.jsonl", text="body", id="number")
    assert found == [("7", "Ann sold it.", None), ("x", "", None)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{broken", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"1" * 5000, "not JSON"),
        (b'["text"]', "expected a JSON object"),
        (b'{"id": 1, "body": "x"}', "no column 'text'; found id, body. Name it, for example --text body"),
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
    first, bad, last = read("a.jsonl", id="id", max_chars=10)
    assert (first.text, last.text) == ("one", "three")
    assert bad.where == "a.jsonl:2"
    assert reason in bad.reason
    assert bad.text == ""


def test_lines_without_end_do_not_fill_the_memory(folder, monkeypatch):
    monkeypatch.setattr(documents_module, "LINE_BYTES", 100)
    write_lines(folder / "a.jsonl", {"text": "one"}, b'{"text": "' + b"x" * 1000 + b'"}', {"text": "three"})
    assert [reason is None for _, _, reason in documents("a.jsonl", max_chars=10)] == [True, False, True]


def test_a_text_file_that_is_too_long_is_an_error(folder):
    (folder / "a.txt").write_text("x" * 11)
    (folder / "b.txt").write_text("x" * 100)
    assert documents("a.txt", max_chars=10)[0][2] == "too long: 11 characters, the limit is 10"
    assert "too long" in documents("b.txt", max_chars=10)[0][2]


def test_csv_with_quotes_and_line_breaks(folder):
    (folder / "a.csv").write_bytes(
        b'n,text\r\n1,"He said ""no"".\nThen left."\r\n\r\n2,caf\xe9\r\n3,a,b\r\n4,end\r\n'
    )
    found = read("a.csv", id="n")
    assert (found[0].id, found[0].text) == ("1", 'He said "no".\nThen left.')
    assert found[1].reason == LATIN.format("0xe9", 4)
    assert (found[2].reason, found[2].where) == ("expected 2 columns, found 3", "a.csv:6")
    assert (found[3].id, found[3].text) == ("4", "end")


def test_a_csv_file_without_the_column_is_one_error(folder):
    (folder / "a.csv").write_text("id,body\n1,x\n2,y\n")
    assert documents("a.csv") == [
        ("a.csv", "", "no column 'text'; found id, body. Name it, for example --text body")
    ]


def test_parquet(folder):
    pa = pytest.importorskip("pyarrow", reason="needs the extra corpus")
    import pyarrow.parquet as pq

    table = pa.table({"n": [1, 2, 3, 4], "text": ["one", None, "three", "four"]})
    pq.write_table(table, "a.parquet", row_group_size=2)
    found = documents("a.parquet", id="n")
    assert found[0] == ("1", "one", None)
    assert found[1][2] == "the text must be a string, found nothing"
    assert "no column 'x'" in documents("a.parquet", text="x")[0][2]
    (folder / "b.parquet").write_bytes(b"PAR1 this is not Parquet PAR1")
    assert "cannot be read" in documents("b.parquet")[0][2]


def test_parquet_strings_that_are_not_utf8(folder):
    pa = pytest.importorskip("pyarrow", reason="needs the extra corpus")
    import pyarrow.parquet as pq

    text = pa.array([b"one", b"caf\xe9"]).view(pa.string())
    pq.write_table(pa.table({"text": text}), "a.parquet")
    assert [reason for _, _, reason in documents("a.parquet")] == [None, LATIN.format("0xe9", 4)]


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


TABLE = "id,text\n1,\u00dcber uns.\n2,Bob left.\n"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_byte_order_mark_names_the_encoding(folder, encoding, suffix):
    content = TABLE.encode(encoding)
    (folder / f"a.csv{suffix}").write_bytes(gzip.compress(content) if suffix else content)
    found = documents(f"a.csv{suffix}", id="id", encoding="latin-1")
    assert found == [("1", "\u00dcber uns.", None), ("2", "Bob left.", None)]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16-le", "utf-16-be"])
def test_other_encodings_are_recognized_and_read_when_named(folder, encoding):
    (folder / "a.csv").write_bytes(TABLE.replace("id", "\u00fcber").encode(encoding))
    likely = encoding.replace("cp1252", "latin-1")
    for name in ("a.csv", "a.txt", "a.jsonl"):
        (folder / name).write_bytes((folder / "a.csv").read_bytes())
        reasons = [reason for _, _, reason in documents(name) if reason]
        assert name == "a.txt" or f"use --encoding {likely}" in reasons[0] or "not JSON" in reasons[0]
    assert documents("a.csv", encoding=encoding)[0][1:] == ("\u00dcber uns.", None)
    (folder / "b.txt").write_text("\u201cYes\u201d", encoding="cp1252")
    assert "--encoding cp1252" in documents("b.txt")[0][2]


def test_a_wrong_encoding_is_one_error(folder):
    (folder / "a.txt").write_bytes(b"abc")
    (found,) = documents("a.txt", encoding="utf-16-le")
    assert found == ("a.txt", "", "cannot be read: not utf-16-le (truncated data); name another --encoding")


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.txt"])
def test_what_never_ends_is_skipped_in_bounded_memory(folder, name, monkeypatch):
    monkeypatch.setattr(documents_module, "LINE_BYTES", 1000)
    good = {"a.csv": b"text\none\n%stwo\n", "a.jsonl": b'{"text": "one"}\n%s{"text": "two"}\n'}
    endless = b"x" * 100_000 + b"\n"
    (folder / name).write_bytes(good.get(name, b"one\n%stwo\n") % endless)
    first, long, last = read(name, lines=True, max_chars=100)
    assert (first.text, long.text, last.text) == ("one", "", "two")
    assert "too long" in long.reason
    (folder / name).write_bytes(endless)  # in the place of a header too
    assert "too long" in read(name, lines=True, max_chars=100)[0].reason


@pytest.mark.parametrize("row", [b'"', b'"x\n",', b"x,"], ids=["field", "fields", "line"])
def test_a_row_of_csv_that_never_ends_is_skipped_in_bounded_memory(folder, row, monkeypatch):
    monkeypatch.setattr(documents_module, "LINE_BYTES", 1000)
    (folder / "a.csv").write_bytes(b"text\none\n" + row * 5000 + b"\n")
    found = read("a.csv", max_chars=100)
    assert found[0].text == "one"
    assert any(
        "too long" in str(document.reason) or "larger than" in str(document.reason) for document in found
    )
    assert all(len(document.text) <= 1000 for document in found)


def test_only_regular_files_are_input(folder):
    (folder / "news").mkdir()
    (folder / "news" / "a.txt").write_text("Ann left.")
    os.mkfifo(folder / "news" / "b.txt")
    (folder / "news" / "c.jsonl").symlink_to("/dev/zero")
    with pytest.warns(SpansrlWarning, match="skipped: a ") as warned:
        assert find_files(["news", "news/*"], leave_out=folder / "out") == (["news/a.txt"], 0)
    assert {str(one.message) for one in warned} == {
        "news/b.txt: skipped: a FIFO",
        "news/c.jsonl: skipped: a device",
    }
    for name in ("news/b.txt", "/dev/zero"):
        with pytest.raises(DataError, match=f"{name}: a .*, not a regular file"):
            find_files([name], leave_out=folder / "out")


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.text("ab \n", max_size=30), max_size=8), min_size=1, max_size=4), st.integers(1, 60)
)
def test_shards_are_the_documents_in_their_order(tmp_path_factory, files, chars):
    folder = tmp_path_factory.mktemp("shards")
    paths = []
    for k, texts in enumerate(files):
        content = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()
        paths.append(folder / f"{k}.jsonl{'.gz' * (k % 2)}")
        paths[-1].write_bytes(gzip.compress(content) if k % 2 else content)
    found = shards(paths, chars)
    assert [shard.number for shard in found] == list(range(len(found)))
    assert [d.text for shard in found for d in shard.documents] == [t for texts in files for t in texts]
    assert all(sum(len(d.text) + 1 for d in shard.documents) >= chars for shard in found[:-1])
    assert sum(shard.bytes for shard in found) == sum(path.stat().st_size for path in paths)


def test_a_corpus_without_documents_is_one_empty_shard(folder):
    (folder / "a.jsonl").touch()
    assert [shard.documents for shard in shards(["a.jsonl"], 10)] == [()]


def test_ids_that_were_used_before_are_errors(folder):
    write_lines(folder / "a.jsonl", *({"id": id, "text": "x" * 9} for id in "abacba"), b"{")
    reasons = [d.reason for shard in shards(["a.jsonl"], 20, id="id") for d in shard.documents]
    places = [reason and reason.rpartition(" ")[2] for reason in reasons[:6]]
    assert places == [None, None, "a.jsonl:1", None, "a.jsonl:2", "a.jsonl:1"]


def test_a_column_that_does_not_identify_documents_is_refused(folder, monkeypatch):
    monkeypatch.setattr(documents_module, "MAX_DUPLICATES", 2)
    write_lines(folder / "a.jsonl", *[{"lang": "en", "text": "x"}] * 4)
    with pytest.raises(DataError, match="'lang'"):
        shards(["a.jsonl"], 20, id="lang")


def test_the_digest_of_a_shard_depends_on_everything_in_it(folder):
    (folder / "a.txt").write_text("one")
    (folder / "b.txt").write_text("one")
    found = {shards(paths, 10)[0].digest for paths in (["a.txt"], ["b.txt"], ["a.txt", "b.txt"])}
    (folder / "a.txt").write_text("two")
    assert len(found | {shards(["a.txt"], 10)[0].digest}) == 4


def test_a_file_that_cannot_be_read_is_one_bad_document(folder):
    (folder / "gone.txt").symlink_to(folder / "nowhere")
    assert documents("gone.txt") == [("gone.txt", "", "cannot be read: No such file or directory")]
