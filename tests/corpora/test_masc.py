import shutil
from collections import Counter
from pathlib import Path

import pytest
from built import groups, read_corpus

from spansrl.corpora.corpus import write_corpus
from spansrl.corpora.masc import SPLIT_TABLE, build_masc, fits_lemma, read_split, read_tagged_line
from spansrl.corpora.tag_joining import Joined, Rejected, join_by_tags
from spansrl.errors import DataError
from spansrl.structures import Proposition, Sentence

DATA = Path(__file__).resolve().parents[1] / "data"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
FILES = ("train.jsonl", "dev.jsonl", "test.jsonl", "audit.json")
SKELETONS = "propbank-release/data/oanc/masc"


@pytest.fixture
def masc(tmp_path):
    return Path(shutil.copytree(DATA / "masc", tmp_path / "masc"))


def build(folder, out, unlike=()):
    corpus = build_masc(
        str(folder / "propbank-release"), str(folder / "masc_tagged"), folder / "split.tsv", unlike
    )
    write_corpus(corpus, out)
    return read_corpus(out)


def shown(sent):
    """Every proposition as 'sense: ROLE=words …'."""
    return [
        " ".join(
            [
                f"{prop.sense}:",
                *(f"{arg.role}={'_'.join(sent.tokens[slice(*arg.span)])}" for arg in prop.args),
            ]
        )
        for prop in sent.props
    ]


def joined(skeletons, text):
    """The words of each sentence, or the reason why it has none."""
    tags = [skeleton.split() for skeleton in skeletons]
    results = join_by_tags(tags, [read_tagged_line(line) for line in text.splitlines()])
    return [result.reason if isinstance(result, Rejected) else " ".join(result.words) for result in results]


def test_sentences_have_words_tags_and_genre(masc, tmp_path):
    found, _ = build(masc, tmp_path / "out")
    sent = found["face-to-face/TalkAda#2"]
    assert sent.tokens == ("Yeah", ",", "I", "can", "not", "swim", ".")
    assert sent.pos == ("UH", ",", "PRP", "MD", "RB", "VB", ".")
    assert shown(sent) == ["swim.01: ARGM-DIS=Yeah ARG0=I ARGM-MOD=can ARGM-NEG=not"]
    assert sent.props[0].lemma == "swim"
    assert sent.extra == {"document": "face-to-face/TalkAda", "genre": "face-to-face"}


def test_rows_that_carry_no_word_are_left_out(masc, tmp_path):
    found, _ = build(masc, tmp_path / "out")
    assert "face-to-face/TalkAda#0" not in found
    sent = found["face-to-face/TalkAda#1"]
    assert " ".join(sent.tokens) == "I bought a second - hand boat ."
    assert shown(sent) == ["buy.01: ARG0=I ARG1=a_second_-_hand_boat"]


@pytest.mark.parametrize(
    ("skeletons", "text", "expected"),
    [
        (["DT AFX HYPH JJ NN"], "a_DT non-executive_JJ role_NN", ["a non - executive role"]),
        (["DT JJ NN"], "a_DT non-executive_JJ role_NN", ["a non-executive role"]),
        (["PRP VBD $ CD ."], "She_PRP paid_VBD $1,200_NN ._.", ["She paid $ 1,200 ."]),
        (["PRP MD RB VB"], "We_PRP cannot_NN stay_VB", ["We can not stay"]),
        (["PRP VBP VBG TO VB"], "I_PRP 'm_VBP gonna_NN run_VB", ["I 'm gon na run"]),
        (["NN : NN"], "rain_NN -_: -_: snow_NN", ["rain -- snow"]),
        (["DT JJ NN"], "the_DT 19_CD th_NN hole_NN", ["the 19th hole"]),
        (["IN CD ."], "in_IN '_'' 04_CD ._.", ["in '04 ."]),
        (["DT JJ NNS"], "the_DT Indo-_NNP European_NNP maps_NNS", ["the Indo-European maps"]),
        (["PRP$ NN VBZ"], "it_PRP 's_VBZ roof_NN leaks_VBZ", ["it's roof leaks"]),
        (["-LRB- NN -RRB-"], "(_( noon_NN )_)", ["( noon )"]),
        (["NNP NNP VBD ."], "P_NN ._NN Brown_NNP left_VBD ._.", ["P. Brown left ."]),
    ],
)
def test_tokens_are_split_and_joined_as_the_skeleton_has_them(skeletons, text, expected):
    assert joined(skeletons, text) == expected


def test_one_turn_may_have_several_sentences_and_one_sentence_several_turns():
    text = "Yes_UH ._. We_PRP won_VBD ._.\nThey_PRP lost_VBD\nbadly_RB ._."
    assert joined(["UH .", "PRP VBD .", "PRP VBD RB ."], text) == ["Yes .", "We won .", "They lost badly ."]


def test_lines_without_a_skeleton_are_skipped_as_a_whole():
    text = "He_PRP sang_VBD ._.\nShe_PRP sang_VBD too_RB ._.\nWe_PRP clapped_VBD ._."
    assert joined(["PRP VBD .", "PRP VBD ."], text) == ["He sang .", "We clapped ."]


def test_quotes_and_periods_that_the_words_lack_are_restored():
    assert joined(["`` VB '' PRP VBD ."], "Stop_VB she_PRP said_VBD") == ['" Stop " she said .']
    [result] = join_by_tags([["``", "VB", "''"]], [read_tagged_line("Stop_VB")])
    assert result == Joined(['"', "Stop", '"'], restored=2, ignored=0)


@pytest.mark.parametrize(
    ("skeleton", "text", "reason"),
    [
        ("PRP VBD DT NN .", "We_PRP saw_VBD mice_NNS ._.", "a row has no word"),
        ("PRP VBD NNS .", "We_PRP saw_VBD three_CD big_JJ mice_NNS ._.", "a word has no row"),
        ("DT NN VBD .", "Dogs_UH ran_DT on_PRP ._.", "too few tags agree"),
        ("UH", "", "no words found"),
    ],
)
def test_a_sentence_that_does_not_fit_is_rejected(skeleton, text, reason):
    assert joined([skeleton], text) == [reason]


def test_tags_that_taggers_confuse_agree():
    assert joined(["PRP VBD RP JJ"], "He_PRP came_VBN in_IN tired_VBN") == ["He came in tired"]


def test_what_is_dropped_and_repaired_is_in_the_audit(masc, tmp_path):
    _, audit = build(masc, tmp_path / "out")
    assert groups(audit["dropped"]) == [
        ("document", "not in the split table", ["written/spare"]),
        ("sentence", "a row has no word", ["journal/diary#1"]),
        (
            "proposition",
            "its sentence was dropped",
            ["journal/diary#1:1", "journal/diary#2:2", "letters/lake-7#2:2"],
        ),
        ("sentence", "too few tags agree", ["journal/diary#2"]),
        ("sentence", "a word has no row", ["letters/lake-7#2"]),
        ("sentence", "damaged in PropBank's release", ["email/memo#1"]),
    ]
    assert groups(audit["repaired"]) == [
        ("sentence", "punctuation missing from the words was restored", ["letters/lake-7#0"]),
        ("sentence", "punctuation missing from the skeleton was left out", ["letters/lake-7#3"]),
    ]
    assert audit["checks"] == {"the predicate's word fits its lemma": {"passed": 11, "total": 11}}


def test_a_damaged_sentence_keeps_its_words_from_its_neighbors(masc, tmp_path):
    found, _ = build(masc, tmp_path / "out")
    assert {name: " ".join(sent.tokens) for name, sent in found.items() if name.startswith("email")} == {
        "email/memo#0": "We thank you .",
        "email/memo#2": "Call us soon .",
    }


def test_train_leaves_out_what_is_like_a_held_out_sentence(masc, tmp_path):
    held_out = [Sentence(("they", "painted", "their", "barn", ".")), Sentence(("Call", "us", "soon", "."))]
    found, audit = build(masc, tmp_path / "out", held_out)
    assert "letters/lake-7#3" not in found
    assert "email/memo#2" in found  # in dev
    assert ("sentence", "like a sentence in an --unlike file", ["letters/lake-7#3"]) in groups(
        audit["dropped"]
    )


@pytest.mark.parametrize(
    ("word", "tag", "lemma", "sense", "fits"),
    [
        ("went", "VBD", "go", "go.02", True),
        ("'m", "VBP", "be", "be.03", True),
        ("arise", "VB", "rise", "arise.02", True),
        ("e-mailed", "VBN", "email", "email.01", True),
        ("stymied", "VBN", "stymie", "stymie.01", True),
        ("saw", "VBD", "go", "go.02", False),
        ("the", "DT", "be", "be.01", False),
    ],
)
def test_a_word_is_checked_against_the_lemma_of_its_frame(word, tag, lemma, sense, fits):
    sent = Sentence((word,), (Proposition(0, lemma=lemma, sense=sense),), pos=(tag,))
    assert fits_lemma(sent, sent.props[0]) is fits


def test_directories_and_archives_give_the_same_bytes(masc, tmp_path, pack):
    build(masc, tmp_path / "a")
    propbank = pack(masc / "propbank-release", tmp_path / "propbank.tar.xz")
    tagged = pack(masc / "masc_tagged", tmp_path / "tagged.zip")
    write_corpus(build_masc(str(propbank), str(tagged), masc / "split.tsv"), tmp_path / "b")
    for name in FILES:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("", ":1: expected a header with the columns document, mode, genre, split, separated by tabs"),
        ("document\tsplit\n", ":1: expected a header with the columns document, mode, genre, split"),
        ("document\tmode\tgenre\tsplit\nmemo\twritten\tdev\n", ":2: expected 4 columns, found 3"),
        (
            "document\tmode\tgenre\tsplit\nmemo\twritten\temail\ttrial\n",
            ":2: unknown split 'trial'. Choose from: train, dev, test",
        ),
    ],
)
def test_a_split_table_that_cannot_be_used_is_an_error(masc, tmp_path, table, message):
    (masc / "split.tsv").write_text(table)
    with pytest.raises(DataError) as caught:
        build(masc, tmp_path / "out")
    assert str(caught.value).startswith(f"{masc / 'split.tsv'}{message}")


def test_missing_files_are_an_error(masc, tmp_path):
    (masc / "masc_tagged/written/memo.txt").unlink()
    with pytest.raises(DataError) as caught:
        build(masc, tmp_path / "out")
    assert str(caught.value) == (
        f"{masc}/masc_tagged: 1 of 4 documents in {masc}/split.tsv not found, the first of them written/memo"
    )
    (masc / "split.tsv").unlink()
    with pytest.raises(DataError, match=r"split\.tsv: cannot be read: No such file"):
        build(masc, tmp_path / "out")


def test_a_source_without_documents_is_an_error(masc, tmp_path):
    shutil.rmtree(masc / SKELETONS)
    with pytest.raises(DataError) as caught:
        build(masc, tmp_path / "out")
    assert str(caught.value) == (
        f"{masc}/propbank-release: no documents of MASC found; "
        "expected files like data/oanc/masc/MODE/NN/NAME.gold_skel"
    )


def test_the_default_split_has_every_document_once():
    documents = read_split(SPLIT_TABLE)
    assert len({document.key for document in documents}) == len(documents) == 62
    assert Counter(document.split for document in documents) == {"train": 14, "dev": 10, "test": 38}


SOURCES = ("propbank-release-masc.tar.xz", "masc-tagged.tar.xz")


@pytest.mark.slow
@pytest.mark.skipif(
    not all((SHARED / name).exists() for name in SOURCES), reason="MASC's files are not beside the repository"
)
def test_the_real_corpus_is_joined_almost_completely(tmp_path):
    corpus = build_masc(*(str(SHARED / name) for name in SOURCES))
    write_corpus(corpus, tmp_path)
    found = {
        split: (len(counts.documents), counts.sentences, counts.tokens, counts.propositions, counts.arguments)
        for split, counts in corpus.audit.splits.items()
    }
    assert found == {
        "train": (14, 2_855, 49_841, 7_888, 16_751),
        "dev": (10, 366, 6_594, 891, 1_976),
        "test": (38, 1_657, 29_330, 4_380, 9_724),
    }
    [check] = corpus.audit.checks.values()
    assert check[True] / check.total() > 0.998
    for sent in read_corpus(tmp_path)[0].values():
        assert sent.extra["document"].startswith(f"{sent.extra['genre']}/")
