from dataclasses import replace
from pathlib import Path

import pytest
from built import groups, read_corpus

from spansrl.corpora import ewt as module
from spansrl.corpora.corpus import write_corpus
from spansrl.corpora.ewt import build_ewt
from spansrl.errors import DataError

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
FILES = ("train.jsonl", "dev.jsonl", "test.jsonl", "audit.json")
SKELETONS = "propbank-release/data/google/ewt"


def build(folder, out):
    write_corpus(build_ewt(str(folder / "propbank-release"), str(folder / "UD_English-EWT")), out)
    return read_corpus(out)


def shown(sent):
    """Every proposition as 'sense: V=words ROLE=words …'."""
    return [
        f"{prop.sense}: "
        + " ".join(
            f"{role}={'_'.join(sent.tokens[slice(*span)])}"
            for role, span in [("V", span) for span in prop.verb_spans]
            + [(arg.role, arg.span) for arg in prop.args]
        )
        for prop in sent.props
    ]


def test_words_and_propositions_come_together(ewt, tmp_path):
    found, _ = build(ewt, tmp_path / "out")
    sent = found["answers/cats_ans.xml#0"]
    assert sent.tokens == ("I", "do", "n't", "keep", "cats", ".")
    assert sent.pos == ("PRP", "VBP", "RB", "VB", "NNS", ".")
    assert sent.lemmas == ("I", "do", "not", "keep", "cat", ".")
    assert sent.text == "I don't keep cats."
    assert shown(sent) == ["do.01: V=do", "keep.01: V=keep ARG0=I ARGM-NEG=n't ARG1=cats"]
    assert sent.extra == {"document": "answers/cats_ans.xml", "ud": ["answers-cats_ans-0001"], "newpar": True}
    assert shown(found["answers/cats_ans.xml#1"]) == ["move_on.02: V=moved_on ARG0=She ARGM-MNR=quickly"]


def test_propositions_follow_tokens_that_were_cut_differently(ewt, tmp_path):
    found, audit = build(ewt, tmp_path / "out")
    assert shown(found["reviews/101.xml#0"]) == [
        "go.01: V=Go ARG4=where-ever_you_like",
        "like.02: V=like ARG1=where-ever ARG0=you",
    ]
    assert shown(found["reviews/101.xml#1"]) == ["dream.01: V=dream ARG0=It's ARGM-ADJ=good"]
    assert groups(audit["repaired"])[:2] == [
        (
            "sentence",
            "tokens were split differently, aligned by tags",
            ["reviews/101.xml#0", "reviews/101.xml#1"],
        ),
        ("proposition", "a span was widened to a whole word", ["reviews/101.xml#1:3"]),
    ]


def test_a_sentence_that_the_other_side_cut_in_two_is_one_again(ewt, tmp_path):
    found, audit = build(ewt, tmp_path / "out")
    sent = found["weblog/blog.example_1.xml#0"]
    assert sent.text == "He came. And she left."
    assert shown(sent) == ["come.01: V=came ARG1=He", "leave.01: V=left ARGM-DIS=And ARG0=she"]
    assert sent.extra["ud"] == ["weblog-blog.example_1-0001", "weblog-blog.example_1-0002"]
    assert groups(audit["repaired"])[2] == (
        "sentence",
        "sentences were split differently, aligned by tags",
        ["weblog/blog.example_1.xml#0"],
    )


def test_everything_that_is_dropped_is_named_with_its_reason(ewt, tmp_path):
    _, audit = build(ewt, tmp_path / "out")
    assert groups(audit["dropped"]) == [
        ("document", "not in any split list", ["weblog/unlisted.xml"]),
        ("proposition", "two of its spans share a word", ["reviews/101.xml#1:1"]),
        ("sentence", "no words in Universal Dependencies", ["weblog/blog.example_1.xml#2"]),
        ("proposition", "its sentence has no words", ["weblog/blog.example_1.xml#2:0"]),
        ("document", "in a split list, but not annotated in PropBank", ["reviews/102.xml"]),
    ]


def test_identical_sentences_across_splits_are_found(ewt, tmp_path):
    _, audit = build(ewt, tmp_path / "out")
    assert audit["duplicates_across_splits"] == {
        "groups": 2,
        "sentences": {"train": 1, "dev": 1, "test": 2},
        "ids": [
            ["train:answers/cats_ans.xml#1", "test:email/mail01.xml#0"],
            ["dev:weblog/blog.example_1.xml#1", "test:email/mail01.xml#1"],
        ],
    }


def test_offsets_find_every_token_in_the_text(ewt, tmp_path):
    found, _ = build(ewt, tmp_path / "out")
    for sent in found.values():
        assert tuple(sent.text[start:end] for start, end in sent.offsets) == sent.tokens


@pytest.mark.parametrize("suffix", ["tar.xz", "tar.gz", "zip"])
def test_directories_and_archives_give_the_same_bytes(ewt, tmp_path, pack, suffix):
    build(ewt, tmp_path / "a")
    archives = [
        pack(ewt / name, tmp_path / f"{name}.{suffix}") for name in ("propbank-release", "UD_English-EWT")
    ]
    write_corpus(build_ewt(*map(str, archives)), tmp_path / "b")
    for name in FILES:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def serve(ewt, server, pack, monkeypatch):
    """Put our sources where the pinned commits are, with the digests that they have."""
    url, served = server
    corpus = build_ewt(str(ewt / "propbank-release"), str(ewt / "UD_English-EWT"))
    for pin, key, name in (("PROPBANK", "propbank", "propbank-release"), ("UD", "ud", "UD_English-EWT")):
        pack(ewt / name, served / f"{name}.tar.gz")
        sha256 = corpus.audit.sources[key]["sha256"]
        changed = replace(getattr(module, pin), url=f"{url}/{name}.tar.gz", sha256=sha256)
        monkeypatch.setattr(module, pin, changed)


def test_without_sources_the_pinned_commits_are_downloaded(ewt, tmp_path, server, pack, monkeypatch):
    serve(ewt, server, pack, monkeypatch)
    corpus = build_ewt()
    write_corpus(corpus, tmp_path / "out")
    assert {key: source["commit"] for key, source in corpus.audit.sources.items()} == {
        "propbank": "4abade0",
        "ud": "15d613d",
    }
    build(ewt, tmp_path / "local")
    for name in FILES:
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "local" / name).read_bytes()


def test_a_download_with_other_content_than_the_commit_is_refused(ewt, server, pack, monkeypatch):
    serve(ewt, server, pack, monkeypatch)
    monkeypatch.setattr(module, "UD", replace(module.UD, sha256="0" * 64))
    with pytest.raises(
        DataError, match=r"UD_English-EWT\.tar\.gz: the files are not those of commit 15d613d: their digest"
    ):
        build_ewt()


def test_a_damaged_download_is_named_by_its_address(ewt, server, pack, monkeypatch):
    serve(ewt, server, pack, monkeypatch)
    url, served = server
    (served / "propbank-release.tar.gz").write_bytes(b"\x1f\x8bnonsense")
    with pytest.raises(DataError) as caught:
        build_ewt()
    assert str(caught.value).startswith(
        f"{url}/propbank-release.tar.gz: not an archive, or damaged or truncated ("
    )


def test_documents_without_words_are_an_error(ewt, tmp_path):
    (ewt / "UD_English-EWT/not-to-release/sources/email/mail01.xml.conllu").unlink()
    with pytest.raises(DataError) as caught:
        build(ewt, tmp_path / "out")
    assert str(caught.value) == (
        f"{ewt}/UD_English-EWT: no words for 1 of 5 documents, the first of them "
        "not-to-release/sources/email/mail01.xml.conllu; get UD_English-EWT at commit 15d613d"
    )


@pytest.mark.parametrize(
    ("place", "content", "message"),
    [
        (
            f"{SKELETONS}/email/00/mail01.xml.gold_skel",
            b"a 0 0 [WORD] UH\n",
            ":1: 5 columns, but skel has at least 8",
        ),
        (
            "UD_English-EWT/not-to-release/sources/email/mail01.xml.conllu",
            b"1\tna\xefve\n",
            ":1: not UTF-8: byte 0xef at byte 5",
        ),
    ],
)
def test_after_an_error_no_file_is_left(ewt, tmp_path, place, content, message):
    (ewt / place).write_bytes(content)
    with pytest.raises(DataError) as caught:
        build(ewt, tmp_path / "new" / "out")
    assert str(caught.value).startswith(f"{ewt / place}{message}")
    assert not (tmp_path / "new").exists()


def test_after_an_error_an_older_corpus_is_untouched(ewt, tmp_path):
    build(ewt, tmp_path / "out")
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    (ewt / SKELETONS / "email/00/mail01.xml.gold_skel").write_text("damaged")
    with pytest.raises(DataError):
        build(ewt, tmp_path / "out")
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


needs_shared_data = pytest.mark.skipif(
    not (SHARED / "propbank-release-ewt.tar.xz").exists(),
    reason="the EWT archives are not beside the repository",
)


SOURCES = [str(SHARED / name) for name in ("propbank-release-ewt.tar.xz", "ud-english-ewt.tar.xz")]


@pytest.mark.long
@needs_shared_data
def test_the_real_corpus_is_the_same_every_time(tmp_path):
    for name in ("a", "b"):
        write_corpus(build_ewt(*SOURCES), tmp_path / name)
    for name in FILES:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.slow
@needs_shared_data
def test_the_real_corpus_is_complete(tmp_path):
    corpus = build_ewt(*SOURCES)
    write_corpus(corpus, tmp_path / "a")
    audit = corpus.audit
    at_least = {
        "train": (12_515, 204_096, 40_391, 81_206),
        "dev": (1_940, 24_646, 4_913, 9_486),
        "test": (2_058, 24_944, 4_795, 9_321),
    }
    for split, expected in at_least.items():
        counts = audit.splits[split]
        found = (counts.sentences, counts.tokens, counts.propositions, counts.arguments)
        assert all(have >= want for have, want in zip(found, expected, strict=True)), (split, found)
    assert sum(len(counts.documents) for counts in audit.splits.values()) == 1_145
    assert sum(counts.propositions for counts in audit.splits.values()) == 50_262
    assert sum(counts.kinds["auxiliary"] for counts in audit.splits.values()) == 5_708
    assert len(set().union(*(counts.roles for counts in audit.splits.values()))) == 58
    assert len(audit.duplicate_groups()) == 82
    assert [source["commit"] for source in audit.sources.values()] == ["4abade0", "15d613d"]
    assert not [note for note in audit.dropped if note.what == "proposition"]
    for sent in read_corpus(tmp_path / "a")[0].values():
        assert tuple(sent.text[start:end] for start, end in sent.offsets) == sent.tokens
