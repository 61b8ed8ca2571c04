import gzip
import json
import shutil
from pathlib import Path

import pytest

from spansrl.corpora.conll12 import build_conll12
from spansrl.corpora.corpus import write_corpus
from spansrl.errors import DataError

DATA = Path(__file__).resolve().parents[1] / "data" / "conll12"
ENGLISH = "data/english/annotations/bc/home/00"


@pytest.fixture
def source(tmp_path):
    return Path(shutil.copytree(DATA, tmp_path / "conll12"))


def built(source, lists=None, *, out):
    corpus = build_conll12(source, lists)
    write_corpus(corpus, out)
    found = {
        split: [json.loads(line) for line in (out / f"{split}.jsonl").read_text().splitlines()]
        for split in corpus.audit.splits
    }
    return found, corpus.audit


def ids(found):
    return {split: [sent["id"] for sent in sents] for split, sents in found.items()}


BY_DIRECTORY = {
    "train": ["bc/home/00/home_0001:0:0", "bc/home/00/home_0001:0:1", "bc/p2.5_a2e/00/p2.5_a2e_0001:0:0"],
    "dev": ["bc/home/00/home_0000:0:0"],
    "test": ["bc/home/00/home_0009:0:0"],
}


def test_directories_determine_the_split(source, tmp_path):
    found, audit = built(source, out=tmp_path / "out")
    assert ids(found) == BY_DIRECTORY
    sent = found["train"][0]
    assert sent["tokens"] == ["Rain", "fell", "."]
    assert sent["props"] == [
        {"pred": 1, "lemma": "fall", "sense": "fall.01", "args": [{"role": "ARG1", "start": 0, "end": 1}]}
    ]
    assert sent["document"] == "bc/home/00/home_0001"
    assert [(note.reason, note.where) for note in audit.dropped] == [
        ("not English", "data/test/data/chinese/annotations/bc/home/00/home_0009.v4_gold_conll")
    ]


def test_compressed_files_and_archives_give_the_same(source, tmp_path, pack):
    expected, audit = built(source, out=tmp_path / "a")
    assert built(pack(source, tmp_path / "all.tar.xz"), out=tmp_path / "b")[0] == expected
    for path in list(source.rglob("*_gold_conll")):
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    found, audit_of_compressed = built(source, out=tmp_path / "c")
    assert found == expected
    assert audit_of_compressed.sources == audit.sources


def test_the_official_test_set_wins_over_the_larger_one(source, tmp_path):
    official = source / "data/conll-2012-test" / ENGLISH / "home_0008.gold_conll"
    official.parent.mkdir(parents=True)
    shutil.copy(source / "data/test" / ENGLISH / "home_0009.v4_gold_conll", official)
    found, audit = built(source, out=tmp_path / "out")
    assert len(found["test"]) == 1
    assert (
        "document",
        f"data/test/{ENGLISH}/home_0009.v4_gold_conll",
        "in test, but conll-2012-test is the official test set",
    ) in audit.dropped


def test_lists_determine_the_split_wherever_the_files_are(source, tmp_path):
    lists = {split: tmp_path / f"{split}.txt" for split in ("train", "dev")}
    lists["train"].write_text("ontonotes/bc/home/00/home_0009\nbc/p2.5_a2e/00/p2.5_a2e_0001\n\n")
    lists["dev"].write_text("bc/home/00/home_0001\nbc/home/00/home_0777\n")
    found, audit = built(source, lists, out=tmp_path / "out")
    assert ids(found) == {
        "train": ["bc/home/00/home_0009:0:0", "bc/p2.5_a2e/00/p2.5_a2e_0001:0:0"],
        "dev": ["bc/home/00/home_0001:0:0", "bc/home/00/home_0001:0:1"],
    }
    assert [tuple(note) for note in audit.dropped] == [
        ("document", "data/test/data/chinese/annotations/bc/home/00/home_0009.v4_gold_conll", "not English"),
        ("document", "bc/home/00/home_0000", "in none of the lists"),
        ("document", "bc/home/00/home_0777", "in a list, but not in the source"),
        ("split", "test", "not in the source"),
    ]


def test_the_same_source_gives_the_same_bytes(source, tmp_path):
    for name in ("a", "b"):
        built(source, out=tmp_path / name)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def complaint(source, lists, out):
    with pytest.raises(DataError) as caught:
        built(source, lists, out=out)
    assert not out.exists()
    return str(caught.value)


def test_a_directory_without_such_files_is_an_error_that_names_the_expected_files(tmp_path):
    (tmp_path / "empty").mkdir()
    assert complaint(tmp_path / "empty", None, tmp_path / "out") == (
        f"{tmp_path}/empty: no *_gold_conll files; expected CoNLL-2012 as made by its scripts, "
        "like data/train/data/english/annotations/bc/cctv/00/cctv_0001.v4_gold_conll"
    )


def test_files_below_no_split_are_an_error(source, tmp_path):
    inner = source / "data" / "train" / "data"
    assert complaint(inner, None, tmp_path / "out") == (
        f"{inner}: none of the 2 files is below a directory train, development or test"
    )


def test_lists_that_name_none_of_the_files_are_an_error(source, tmp_path):
    (tmp_path / "list").write_text("bc/other/00/other_0000\n")
    assert complaint(source, {"train": tmp_path / "list"}, tmp_path / "out") == (
        f"{source}: none of the 4 files is in the lists"
    )


def test_a_broken_file_is_named_with_its_line(source, tmp_path):
    path = source / "data/development" / ENGLISH / "home_0000.v4_gold_conll"
    path.write_text(path.read_text().replace("   0   1   !", "   0   7   !"))
    assert complaint(source, None, tmp_path / "out") == (f"{path}:3: expected INDEX 1, found '7'")
