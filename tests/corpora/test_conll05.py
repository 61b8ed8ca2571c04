import gzip
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from spansrl.corpora.conll05 import SPLITS, build_conll05
from spansrl.corpora.corpus import write_corpus
from spansrl.errors import DataError
from spansrl.structures import Sentence

DATA = Path(__file__).resolve().parents[1] / "data" / "conll05"


@pytest.fixture
def layers(tmp_path):
    return Path(shutil.copytree(DATA / "layers", tmp_path / "layers"))


def compress_all(folder):
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()


def built(source, trees=(), *, out):
    corpus = build_conll05(source, trees)
    write_corpus(corpus, out)
    found = {}
    for split in corpus.audit.splits:
        lines = (out / f"{split}.jsonl").read_text().splitlines()
        found[split] = [Sentence.from_dict(json.loads(line)) for line in lines]
    return found, corpus.audit


def plain(found):
    """The sentences without what their source alone decides."""
    return {
        split: [
            replace(
                sent, id=None, extra={key: sent.extra[key] for key in ("parse", "ner") if key in sent.extra}
            )
            for sent in sents
        ]
        for split, sents in found.items()
    }


def test_layers_are_pasted_together(layers, tmp_path):
    found, audit = built(layers, out=tmp_path / "out")
    assert tuple(found) == SPLITS
    first, second, third = found["train"]
    assert [sent.id for sent in found["train"]] == ["train.02#0", "train.02#1", "train.03#0"]
    assert first.tokens == ("The", "dog", "chased", "Mary", ".")
    assert first.pos == ("DT", "NN", "VBD", "NNP", ".")
    assert first.extra["ner"] == ["*", "*", "*", "(PER*)", "*"]
    assert [(prop.pred, prop.sense, prop.v) for prop in second.props] == [
        (1, "run.02", None),
        (4, "call.01", ((4, 6),)),
    ]
    assert third.tokens == ("Rain", "fell", ".")
    assert found["test.brown"][0].props[0].sense is None
    assert found["test.wsj"][0].props == ()
    assert [note.where for note in audit.dropped] == [f"train.{section:02}" for section in range(4, 22)]
    assert audit.duplicate_groups() == [["train:train.03#0", "test.brown:test.brown#0"]]


def test_compressed_layers_give_the_same(layers, tmp_path):
    expected, audit = built(layers, out=tmp_path / "a")
    compress_all(layers)
    found, audit_of_compressed = built(layers, out=tmp_path / "b")
    assert found == expected
    assert audit_of_compressed.to_dict() == audit.to_dict()


def test_an_archive_of_the_release_gives_the_same(layers, tmp_path, pack):
    expected, _ = built(layers, out=tmp_path / "a")
    assert built(pack(layers, tmp_path / "release.tar.gz"), out=tmp_path / "b")[0] == expected


def test_merged_files_give_the_same_as_layers(layers, tmp_path):
    expected, _ = built(layers, out=tmp_path / "a")
    found, audit = built(DATA / "merged", out=tmp_path / "b")
    assert plain(found) == plain(expected)
    assert audit.dropped == []
    merged = Path(shutil.copytree(DATA / "merged", tmp_path / "merged"))
    compress_all(merged)
    assert built(merged, out=tmp_path / "c")[0] == found


def test_one_merged_file_is_a_source(tmp_path):
    found, audit = built(DATA / "merged" / "devel-set", out=tmp_path / "out")
    assert [sent.tokens for sent in found["dev"]] == [("Snow", "fell", ".")]
    assert [(note.what, note.where) for note in audit.dropped] == [
        ("split", "train"),
        ("split", "test.wsj"),
        ("split", "test.brown"),
    ]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["audit.json", "dev.jsonl"]


def test_trees_give_the_words_and_tags_that_the_release_lacks(layers, tmp_path):
    expected, _ = built(layers, out=tmp_path / "a")
    for path in [*layers.rglob("*.words"), *layers.rglob("*.synt.cha")]:
        path.unlink()
    found, audit = built(layers, [DATA / "trees"], out=tmp_path / "b")
    for split, sents in expected.items():
        assert [(s.tokens, s.pos, s.props) for s in found[split]] == [
            (s.tokens, s.pos, s.props) for s in sents
        ]
    assert [sent.extra["document"] for sent in found["train"]] == ["wsj_0201", "wsj_0202", "wsj_0300"]
    assert found["test.brown"][0].extra["document"] == "ck01"
    assert len(audit.splits["train"].documents) == 3


def test_empty_word_files_count_as_missing(layers, tmp_path):
    for path in layers.rglob("*.words"):
        path.write_text("")
    found, _ = built(layers, [DATA / "trees" / "wsj", DATA / "trees" / "brown"], out=tmp_path / "out")
    assert found["dev"][0].tokens == ("Snow", "fell", ".")


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def complaint(source, trees, out):
    with pytest.raises(DataError) as caught:
        built(source, trees, out=out)
    assert not out.exists()
    return str(caught.value)


def test_missing_words_are_an_error_that_names_the_option(layers, tmp_path):
    (layers / "train/words/train.03.words").unlink()
    assert complaint(layers, [], tmp_path / "out") == (
        f"{layers}/train/props/train.03.props: train.03 has no words; "
        "give the treebank with --trees (wsj/03/wsj_0300.mrg and so on)"
    )


def test_layers_of_different_length_are_refused(layers, tmp_path):
    edit(layers / "train/words/train.02.words", "dog\n", "")
    assert complaint(layers, [], tmp_path / "out") == (
        f"{layers}/train/props/train.02.props:1: sentence 1 has 5 rows, but 4 words; "
        "all layers must be from one release"
    )


def test_trees_of_another_text_are_refused(layers, tmp_path):
    trees = Path(shutil.copytree(DATA / "trees", tmp_path / "trees"))
    (layers / "train/words/train.02.words").unlink()
    edit(trees / "wsj/02/WSJ_0202.MRG", "(CC and)", "")
    assert complaint(layers, [trees], tmp_path / "out") == (
        f"{layers}/train/props/train.02.props:7: sentence 2 has 7 rows, but 6 words in wsj_0202; "
        "all layers must be from one release"
    )


def test_a_layer_that_ends_early_is_refused(layers, tmp_path):
    (layers / "devel/ne/devel.24.ne").write_text("")
    assert complaint(layers, [], tmp_path / "out") == (
        f"{layers}/devel/ne/devel.24.ne: sentence 1 is missing, "
        f"but 3 rows in {layers}/devel/props/devel.24.props; all layers must be from one release"
    )


def test_words_without_propositions_are_refused(layers, tmp_path):
    path = layers / "devel/words/devel.24.words"
    path.write_text(path.read_text() + "More\n\n")
    assert complaint(layers, [], tmp_path / "out") == (
        f"{layers}/devel/props/devel.24.props: 1 sentence, but words for 2; "
        "all layers must be from one release"
    )


def test_a_broken_bracket_is_named_with_the_line_of_the_props(layers, tmp_path):
    edit(layers / "train/props/train.02.props", "(A0*\n", "(A0*)\n")
    assert complaint(layers, [], tmp_path / "out") == (
        f"{layers}/train/props/train.02.props:2: '*)' closes a phrase that was never opened; "
        "remove a ')' (in the column of 'chase')"
    )


def test_a_directory_without_column_files_is_an_error_that_names_the_expected_files(tmp_path):
    assert complaint(DATA / "trees", [], tmp_path / "out") == (
        f"{DATA}/trees: no CoNLL-2005 files; expected names like train.02.props.gz with train.02.words.gz, "
        "or merged train-set.gz, devel-set.gz, test.wsj.gz, test.brown.gz"
    )


def test_a_directory_without_trees_is_an_error_that_names_the_expected_files(layers, tmp_path):
    assert complaint(layers, [layers], tmp_path / "out") == (
        f"{layers}: no trees; expected names like wsj/02/wsj_0200.mrg or brown/ck/ck01.mrg"
    )


def test_props_alone_are_refused_as_a_merged_file(tmp_path):
    source = tmp_path / "test.wsj"
    source.write_text("-\t(A0*)\nkeep\t(V*)\n\n")
    assert complaint(source, [], tmp_path / "out") == (
        f"{source}:1: propositions without words; name it like test.wsj.props"
    )
