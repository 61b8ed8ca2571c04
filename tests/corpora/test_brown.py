import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spansrl.corpora.brown import build_brown, split_as_penn
from spansrl.corpora.corpus import write_corpus
from spansrl.errors import DataError, FormatError
from spansrl.formats import read_sentences

SOURCE = Path(__file__).resolve().parents[3] / "shared" / "data" / "conll05-brown.tar.xz"

WORDS = {
    "ck01": "Ann/np didn't/dod* see/vb the/at boys'/nns$ dog/nn ./.\n",
    "ck02": "He/pps called/vbd ``/`` ./. Come/vb in/rp ''/'' !/.\n",
    "ck03": "They/ppss cannot/md* leave/vb ./.\n",
}
PROPS = """\
-     (A0*)
-     *
-     (AM-NEG*)
see   (V*)
-     (A1*
-     *
-     *
-     *)
-     *

-     (A0*)
call  (V*)
-     *

-     *
come  (V*)
-     (AM-DIR*)
-     *
-     *

-     (A0*)
-     (AM-MOD*)
-     (AM-NEG*)
leave (V*)
-     *
"""


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "brown"
    folder.mkdir()
    (folder / "test.brown.props.gz").write_bytes(gzip.compress(PROPS.encode()))
    for name, text in WORDS.items():
        (folder / name).write_text(text)
    return folder


def built(source, out):
    corpus = build_brown(str(source))
    write_corpus(corpus, out)
    return list(read_sentences(out / "test.brown.jsonl")), corpus.audit


def test_words_are_joined_to_propositions_token_by_token(source, tmp_path):
    sents, audit = built(source, tmp_path / "out")
    assert [" ".join(sent.tokens) for sent in sents] == [
        "Ann did n't see the boys ' dog .",
        "He called .",
        "`` Come in '' !",
        "They can not leave .",
    ]
    see = sents[0].props[0]
    assert (see.lemma, [(arg.role, *arg.span) for arg in see.args]) == (
        "see",
        [("A0", 0, 1), ("AM-NEG", 2, 3), ("A1", 4, 8)],
    )
    assert audit.checks["the predicate's word fits its lemma"] == {True: 4}


def test_a_period_after_the_next_sentences_quote_is_moved_and_reported(source, tmp_path):
    _, audit = built(source, tmp_path / "out")
    assert [note.where for note in audit.repaired] == ["test.brown#1"]


@pytest.mark.parametrize(
    ("word", "tokens"),
    [
        ("can't", ("ca", "n't")),
        ("Cannot", ("Can", "not")),
        ("we'll", ("we", "'ll")),
        ("men's", ("men", "'s")),
        ("boys'", ("boys", "'")),
        ("'low", ("'low",)),
        ("n't", ("n't",)),
        ("canton", ("canton",)),
    ],
)
def test_words_are_split_as_in_the_penn_treebank(word, tokens):
    assert split_as_penn(word) == tokens


@given(st.text(min_size=1))
def test_splitting_keeps_every_character(word):
    assert "".join(split_as_penn(word)) == word


def test_a_missing_file_is_named(source):
    (source / "ck02").unlink()
    with pytest.raises(DataError, match="ck02 not found"):
        build_brown(str(source))


def test_words_that_do_not_cover_the_rows_are_an_error(source, tmp_path):
    (source / "ck03").write_text("They/ppss left/vbd ./.\n")
    with pytest.raises(FormatError, match="22 rows, but 20 words"):
        built(source, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_word_without_a_tag_is_an_error_with_its_line(source, tmp_path):
    (source / "ck01").write_text("Ann/np\nleft\n")
    with pytest.raises(FormatError, match=r"ck01:2: expected word/tag, found 'left'"):
        built(source, tmp_path / "out")


@pytest.mark.skipif(not SOURCE.exists(), reason="the Brown test set is not in ../shared/data")
def test_the_real_set_is_joined_completely(tmp_path):
    sents, audit = built(SOURCE, tmp_path / "out")
    assert (len(sents), sum(map(len, sents)), sum(len(sent.props) for sent in sents)) == (426, 7159, 804)
    assert [note.where for note in audit.repaired] == ["test.brown#244"]
    assert not audit.dropped
    assert audit.checks["the predicate's word fits its lemma"][True] >= 801
