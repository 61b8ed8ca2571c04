"""Examples of frames as sentences: what becomes of them, and which are no sentences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spansrl.corpora.corpus import write_corpus
from spansrl.corpora.examples import Example, ExampleReader, UnfitError, build_examples, to_sentence
from spansrl.errors import DataError
from spansrl.formats import read_sentences
from spansrl.inventory.frame_files import Roleset
from spansrl.structures import Argument, Sentence, Span

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "propbank-frames.tar.xz"
KEEP = Roleset("keep.01", "hold", aliases=[("v", "keep"), ("n", "keeping"), ("v", "keep_on")])


def example(text: str, predicate: str, *args: tuple[str, str, str], roleset: Roleset = KEEP) -> Example:
    return Example(roleset, text, predicate, list(args))


def test_examples_are_read_with_their_rolesets(guard):
    reader = ExampleReader()
    assert reader.read(guard) is None
    (found,) = reader.examples
    assert found.roleset.id == "guard.01"
    assert (found.text, found.predicate) == ("Two dogs guard the <house> .", "2")
    assert found.args == [("ARG0", "0", "1")]
    assert len(reader.rolesets) == 3


def test_a_truncated_example_is_dropped(guard):
    reader = ExampleReader()
    assert reader.read(guard[: guard.index(b"</propbank>")]) is not None
    assert reader.examples == []


def test_an_example_is_a_sentence_with_one_proposition():
    sent = to_sentence(
        example("She kept -LRB- it -RRB- ``", "1", ("ARG1", "2", "4"), ("ARG0", "0", "0")), "keep.xml#0"
    )
    assert sent.tokens == ("She", "kept", "(", "it", ")", '"')
    assert sent.id == "keep.xml#0"
    (prop,) = sent.props
    assert (prop.pred, prop.sense, prop.type, prop.v) == (1, "keep.01", "verb", None)
    assert prop.args == (Argument("ARG0", Span(0, 1)), Argument("ARG1", Span(2, 5)))


def test_a_predicate_of_several_words_has_pieces():
    (prop,) = to_sentence(example("They keep right on going", "3 1"), "x").props
    assert prop.pred == 1
    assert prop.v == (Span(1, 2), Span(3, 4))
    (prop,) = to_sentence(example("They keep on going", "1 2 1"), "x").props
    assert prop.v == (Span(1, 3),)


def test_arguments_may_touch():
    (prop,) = to_sentence(example("a b kept c", "2", ("ARG1", "1", "1"), ("ARG0", "0", "0")), "x").props
    assert [arg.span for arg in prop.args] == [Span(0, 1), Span(1, 2)]


@pytest.mark.parametrize(
    ("word", "type"),
    [("kept", "verb"), ("keeps", "verb"), ("keepings", "noun"), ("keeping", None), ("custody", None)],
)
def test_the_words_of_a_roleset_tell_the_type_of_a_predicate_unless_several_fit(word, type):
    assert to_sentence(example(f"x {word}", "1"), "x").props[0].type == type


def test_auxiliaries_are_recognized_by_their_sense():
    be = Roleset("be.03", "auxiliary", aliases=[("v", "be")])
    assert to_sentence(example("He is running", "1", roleset=be), "x").props[0].type == "auxiliary"


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (example("She *trace*-1 kept", "2"), "traces among its words"),
        (example("[Police]-1 kept [*-1] order", "1"), "traces among its words"),
        (example("She kept it", ""), "no predicate is marked"),
        (example("She kept it", "3"), "outside the sentence"),
        (example("She kept it", "?"), "outside the sentence"),
        (example("She kept it", "1", ("ARG0", "0", "9")), "outside the sentence"),
        (example("She kept it", "1", ("ARG0", "-1", "0")), "outside the sentence"),
        (example("She kept it", "1", ("ARG0", "2", "0")), "ends before it begins"),
        (example("She kept it", "1", ("ARG0", "0", "1")), "covers the predicate"),
        (example("a b c kept", "3", ("ARG0", "0", "1"), ("ARG1", "1", "2")), "arguments overlap"),
        (example("", ""), "no predicate is marked"),
        (example("She kept it", "1", ("", "0", "0")), "an argument has no role"),
        (example("She kept it", "1", ("V", "0", "0")), "an argument has no role"),
        (example("She kept it", "9" * 5000), "outside the sentence"),
        (example("She kept it", "\u00b9"), "outside the sentence"),
    ],
)
def test_examples_that_are_not_sentences_are_dropped_with_the_reason(found, reason):
    with pytest.raises(UnfitError, match=reason):
        to_sentence(found, "x")


def test_a_corpus_is_written_with_an_account(folder, tmp_path):
    text = (folder / "frames" / "guard.xml").read_text(encoding="utf-8")
    more = """<example><text>No verb</text><propbank/></example>
        <example><text>Two dogs guard the &lt;house&gt; .</text>
        <propbank><rel relloc="2"/></propbank></example>
        </roleset>
        <roleset id="guard.02\""""
    (folder / "frames" / "guard.xml").write_text(
        text.replace('</roleset>\n    <roleset id="guard.02"', more), encoding="utf-8"
    )
    (folder / "frames" / "lost.xml").write_text("<frameset><roleset")
    write_corpus(build_examples(str(folder)), tmp_path / "out")
    (sent,) = read_sentences(tmp_path / "out" / "train.jsonl")
    assert sent.id == "frames/guard.xml#0"
    account = json.loads((tmp_path / "out" / "audit.json").read_text())
    assert account["sources"]["frames"]["commit"] is None
    assert account["splits"]["train"]["propositions_by_kind"]["verb"] == 1
    assert [(group["what"], group["where"], group["reason"]) for group in account["dropped"]["groups"]] == [
        ("example", ["frames/guard.xml#1"], "no predicate is marked"),
        ("example", ["frames/guard.xml#2"], "duplicate"),
        ("rest of a file", ["frames/lost.xml:1"], "invalid XML"),
    ]


LONG = list("abcdefghij")


@pytest.mark.parametrize(
    ("tokens", "left_out"),
    [
        (["TWO", "dogs", "guard", "the", "<house>", "."], True),
        (["Two", "dogs", "guard", "the", "<house>"], False),
        (LONG, False),
    ],
)
def test_sentences_like_held_out_ones_are_left_out(folder, tokens, left_out):
    corpus = build_examples(str(folder), [Sentence(tuple(tokens))])
    assert (list(corpus.sentences) == []) == left_out


@pytest.mark.parametrize(
    ("tokens", "left_out"), [(LONG[1:9], True), (LONG[1:8], False), (LONG[:1:-1], False)]
)
def test_sentences_that_share_eight_words_in_a_row_are_similar(folder, tokens, left_out):
    path = folder / "frames" / "guard.xml"
    path.write_text(path.read_text().replace("Two dogs guard the &lt;house&gt; .", " ".join(LONG)))
    corpus = build_examples(str(folder), [Sentence((*tokens, "and", "so", "on"))])
    assert (list(corpus.sentences) == []) == left_out


def test_a_directory_without_frames_is_an_error(tmp_path):
    with pytest.raises(DataError, match="no frame files; expected PropBank's frames"):
        build_examples(str(tmp_path))


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.exists(), reason="needs propbank-frames.tar.xz in ../shared/data")
def test_propbanks_examples_are_read(tmp_path):
    corpus = build_examples(str(SHARED))
    write_corpus(corpus, tmp_path)
    assert corpus.audit.sources["frames"]["commit"] == "c66e0cc"
    counts = corpus.audit.splits["train"]
    assert (counts.sentences, counts.arguments) == (22981, 56117)
    assert sum(len(sent) for sent in read_sentences(tmp_path / "train.jsonl")) == counts.tokens
