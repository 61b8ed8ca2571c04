"""Plans: deterministic shards, fingerprints, duplicates, and reading a shard again."""

from __future__ import annotations

import gzip
import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spansrl.errors import DataError
from spansrl.jobs import plan as plan_module
from spansrl.jobs.plan import Reader, make_plan
from spansrl.jobs.sources import Reading, read_records


def json_lines(path, rows):
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return str(path)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.text("ab \n", max_size=30), max_size=8), min_size=1, max_size=4),
    st.integers(1, 60),
    st.randoms(),
)
def test_the_shards_are_the_documents_in_any_order_of_reading(tmp_path_factory, files, shard_chars, order):
    folder = tmp_path_factory.mktemp("plan")
    paths = [
        json_lines(folder / f"{k}.jsonl{'.gz' * (k % 2)}", [{"text": text} for text in texts])
        for k, texts in enumerate(files)
    ]
    reading = Reading()
    plan = make_plan(paths, reading, shard_chars=shard_chars)
    assert [shard.number for shard in plan.shards] == list(range(len(plan.shards)))
    shuffled = order.sample(plan.shards, len(plan.shards))
    reader = Reader(plan.files, reading)
    read = {shard.number: [record.text for record in reader.read(shard)] for shard in shuffled}
    assert [text for number in sorted(read) for text in read[number]] == [t for texts in files for t in texts]
    assert plan.documents == sum(map(len, files))


def test_compressed_files_are_not_read_from_the_start_for_every_shard(tmp_path, monkeypatch):
    path = json_lines(tmp_path / "a.jsonl.gz", [{"text": "x" * 10} for _ in range(100)])
    plan = make_plan([path], Reading(), shard_chars=100)
    opened = []

    def counted(*args, **options):
        opened.append(args)
        return read_records(*args, **options)

    monkeypatch.setattr(plan_module, "read_records", counted)
    reader = Reader(plan.files, Reading())
    for shard in plan.shards[::2]:
        assert len(reader.read(shard)) == shard.documents
    assert len(opened) == 1


def test_bad_documents_are_counted(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "one"}\n{broken\n{"text": 3}\n')
    plan = make_plan([str(path)], Reading(), shard_chars=1000)
    assert [(shard.documents, shard.unreadable) for shard in plan.shards] == [(3, 2)]
    assert plan.first_problem.startswith(f"{path}:2: not JSON")


def test_a_corpus_without_documents_is_one_empty_shard(tmp_path):
    (tmp_path / "a.jsonl").touch()
    plan = make_plan([str(tmp_path / "a.jsonl")], Reading(), shard_chars=10)
    assert [shard.documents for shard in plan.shards] == [0]
    assert Reader(plan.files, Reading()).read(plan.shards[0]) == []


def test_ids_that_were_used_before_are_noted_where_they_are(tmp_path):
    ids = ["a", "b", "a", "c", "b", "a"]
    path = json_lines(tmp_path / "a.jsonl", [{"id": id, "text": "x" * 9} for id in ids])
    plan = make_plan([path], Reading(id="id"), shard_chars=20)
    assert [shard.documents for shard in plan.shards] == [2, 2, 2]
    assert [shard.duplicates for shard in plan.shards] == [
        {},
        {"0": f"{path}:1"},
        {"0": f"{path}:2", "1": f"{path}:1"},
    ]


def test_ids_with_equal_hashes_are_not_duplicates(tmp_path, monkeypatch):
    path = json_lines(tmp_path / "a.jsonl", [{"id": id, "text": "x"} for id in "abcb"])
    monkeypatch.setattr(plan_module, "_hash", lambda record: 7)
    plan = make_plan([path], Reading(id="id"), shard_chars=20)
    assert plan.shards[0].duplicates == {"3": f"{path}:2"}


def test_a_column_that_does_not_identify_documents_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(plan_module, "MAX_DUPLICATES", 2)
    path = json_lines(tmp_path / "a.jsonl", [{"lang": "en", "text": "x"}] * 4)
    with pytest.raises(DataError, match="'lang'"):
        make_plan([path], Reading(id="lang"), shard_chars=20)


def test_a_file_is_unchanged_if_its_content_is(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("one")
    (file,) = make_plan([str(path)], Reading(), shard_chars=10).files
    os.utime(path, ns=(1, 1))
    assert file.is_unchanged()
    path.write_text("two")
    assert not file.is_unchanged()
    path.unlink()
    assert not file.is_unchanged()


def test_a_shard_of_a_changed_file_is_refused(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\n")
    reading = Reading(lines=True)
    plan = make_plan([str(path)], reading, shard_chars=100)
    path.write_text("one\nTWO\n")
    os.utime(path, ns=(1, 1))
    with pytest.raises(DataError, match=r"a\.txt: changed"):
        Reader(plan.files, reading).read(plan.shards[0])


def test_the_fingerprint_depends_on_content_and_names(tmp_path):
    def fingerprint(name, text):
        (tmp_path / name).write_text(text)
        return make_plan([str(tmp_path / name)], Reading(), shard_chars=10).fingerprint

    assert fingerprint("a.txt", "one") == fingerprint("a.txt", "one")
    assert len({fingerprint("a.txt", "one"), fingerprint("a.txt", "two"), fingerprint("b.txt", "one")}) == 3


def test_a_file_that_cannot_be_read_is_one_bad_document(tmp_path):
    (tmp_path / "gone.txt").symlink_to(tmp_path / "nowhere")
    plan = make_plan([str(tmp_path / "gone.txt")], Reading(), shard_chars=10)
    (record,) = Reader(plan.files, Reading()).read(plan.shards[0])
    assert "No such file" in record.reason
    (tmp_path / "nowhere").write_text("here now")
    with pytest.raises(DataError, match="changed"):
        Reader(plan.files, Reading()).read(plan.shards[0])
