import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from strategies import column_sentences, phrases

from spansrl.errors import FormatError
from spansrl.formats import READABLE, WRITABLE, Losses, read_sentences, write_sentences
from spansrl.formats.conll import read_conll
from spansrl.formats.conll_writing import conll_lines
from spansrl.formats.layouts import LAYOUTS
from spansrl.formats.text_files import Line
from spansrl.structures import Argument, Proposition, Sentence, Span
from spansrl.tags import Phrase, column_from_phrases, keep_nested

DATA = Path(__file__).resolve().parents[1] / "data"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
NORMAL_FILES = (
    "sample.train.conll05",
    "sample.test.conll05",
    "sample.words.conll05",
    "sample.props",
    "sample.v4_gold_conll",
    "sample.bio",
)


def read(text: str, layout: str = "conll05-props") -> list[Sentence]:
    lines = [Line(number, line) for number, line in enumerate(text.split("\n"), start=1)]
    return list(read_conll(lines, LAYOUTS[layout], "some.file"))


def write(sentences: list[Sentence], layout: str = "conll05-props") -> tuple[str, Losses]:
    losses = Losses(layout)
    return "".join(f"{line}\n" for line in conll_lines(sentences, LAYOUTS[layout], losses)), losses


def there_and_back(sent: Sentence, layout: str) -> tuple[Sentence, Losses]:
    text, losses = write([sent], layout)
    (found,) = read(text, layout)
    return found, losses


def error_of(text: str, layout: str = "conll05-props") -> str:
    with pytest.raises(FormatError) as caught:
        read(text, layout)
    return str(caught.value)


# ---- reading


def test_the_train_form_gives_words_tags_parse_senses_and_arguments():
    first, second = read_sentences(DATA / "sample.train.conll05")
    assert first.tokens[:3] == ("She", "gave", "the")
    assert first.pos is not None
    assert first.pos[1] == "VBD"
    assert first.extra["ner"][7:9] == ["(PER*", "*)"]
    assert first.props == (
        Proposition(
            1,
            (Argument("A0", Span(0, 1)), Argument("A1", Span(2, 4)), Argument("AM-PRP", Span(5, 9))),
            lemma="give",
            sense="give.01",
            v=(Span(1, 2), Span(4, 5)),
        ),
        Proposition(
            6, (Argument("A0", Span(0, 1)), Argument("A1", Span(7, 9))), lemma="keep", sense="keep.02"
        ),
    )
    assert second == Sentence(("Quiet", "!"), id="2", pos=("JJ", "."), extra={"parse": ["(FRAG*", "*)"]})


def test_aligned_columns_read_like_tabs():
    assert list(read_sentences(DATA / "aligned.train.conll05")) == list(
        read_sentences(DATA / "sample.train.conll05")
    )


@pytest.mark.parametrize(
    "name", ["sample.test.conll05", "sample.words.conll05", "sample.props", "sample.bio"]
)
def test_every_form_of_one_text_has_the_same_spans(name):
    expected = [
        [(p.pred, p.lemma, p.v, p.args) for p in s.props]
        for s in read_sentences(DATA / "sample.train.conll05")
    ]
    assert [
        [(p.pred, p.lemma, p.v, p.args) for p in s.props] for s in read_sentences(DATA / name)
    ] == expected


def test_conll12_keeps_documents_parts_lemmas_speakers_and_coreference():
    first, second, third = read_sentences(DATA / "sample.v4_gold_conll")
    assert [sent.id for sent in (first, second, third)] == [
        "nw/zoo/00/zoo_0001:0:0",
        "nw/zoo/00/zoo_0001:0:1",
        "nw/zoo/00/zoo_0001:1:0",
    ]
    assert first.lemmas == ("-", "keeper", "feed", "lion", "-", "roar", "-")
    assert [(prop.pred, prop.sense) for prop in first.props] == [(2, "feed.01"), (5, "roar.01")]
    assert first.extra["coref"] == ["(3", "3)", "-", "(4)", "-", "-", "-"]
    assert first.extra["word_senses"] == ["-", "1", "2", "1", "-", "-", "-"]
    assert second.extra == {
        "document": "nw/zoo/00/zoo_0001",
        "part": "0",
        "parse": ["(TOP(INTJ*)", "*)"],
        "speakers": ["Bob", "Bob"],
    }
    assert third.lemmas is None
    assert third.extra["ner"] == ["*", "*", "(GPE)", "*"]


def test_a_skeleton_has_no_words_and_its_predicate_is_the_row_with_the_roleset():
    first, second, third = read_sentences(DATA / "sample.gold_skel")
    assert first.tokens == ("_",) * 4
    assert first.id == "zoo/00/a.xml:0"
    assert first.props[0].sense == "make.LV"
    assert second.props == ()
    assert third.props == (
        Proposition(
            2, (Argument("ARG1", Span(1, 2)),), lemma="up", sense="pick.04", v=(Span(0, 1), Span(2, 3))
        ),
    )


def test_a_verb_may_be_missing_long_in_pieces_or_after_its_piece():
    missing, long, pieces, after = read(
        "-\t(A0*)\nkeep\t*\n\nmove\t(V*\n-\t*)\n\nput\t(V*)\n-\t(C-V*)\n-\t(C-V*)\n\n-\t(C-V*)\nput\t(V*)\n"
    )
    assert missing.props[0].v == ()
    assert long.props[0].v == (Span(0, 2),)
    assert pieces.props[0].v == (Span(0, 1), Span(1, 2), Span(2, 3))
    assert after.props[0].v == (Span(1, 2), Span(0, 1))


def test_blank_lines_do_not_make_sentences_and_the_last_line_needs_no_end():
    assert [len(sent) for sent in read("\n\n-\n-\n\n\n \n-")] == [2, 1]


def test_white_space_other_than_spaces_and_tabs_belongs_to_the_word():
    (sent,) = read("a\u00a0b\u2028c\t-\n", "conll05-words")
    assert sent.tokens == ("a\u00a0b\u2028c",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "-\t(A0*\nkeep\t(V*)\n",
            "some.file:1: '(A0*' is still open when the sentence ends; add the closing ')'"
            " (in the column of 'keep')",
        ),
        (
            "-\n\n-\t*)\nkeep\t(V*)\n",
            "some.file:3: '*)' closes a phrase that was never opened; remove a ')' (in the column of 'keep')",
        ),
        (
            "-\t(*)\nkeep\t(V*)\n",
            "some.file:1: '(*)' is not a bracket cell such as '(A0*', '*', '*)' or '(A0*)'"
            " (in the column of 'keep')",
        ),
        (
            "-\t*\nkeep\t(V*)\t*\n-\t*\n",
            "some.file:2: 3 columns where the sentence's other lines have 2",
        ),
        (
            "-\t*\nkeep\n-\t*\n",
            "some.file:2: 1 column where the sentence's other lines have 2",
        ),
        (
            "keep\t(V*)\nhold\t*\n",
            "some.file:2: the predicate 'hold' has no column of arguments: 1 column for 2 rows with a LEMMA; "
            "add it, or write '-' for the predicate",
        ),
        (
            "keep\t(V*)\t*\n-\t*\t*\n",
            "some.file:1: 2 columns of arguments for 1 row with a LEMMA;"
            " is this conll05-props (LEMMA ARGS…)?",
        ),
        (
            "keep\t(V*)\n-\t(V*)\n",
            "some.file:2: a second 'V' for one predicate; further pieces of the verb are 'C-V'"
            " (in the column of 'keep')",
        ),
        (
            "keep\t*\t(V*)\nhold\t(V*)\t*\n",
            "some.file:1: the column of 'keep' has its V at another predicate;"
            " the columns must be in the order of the predicates",
        ),
    ],
)
def test_wrong_columns_are_refused_with_file_and_line(text, message):
    assert error_of(text) == message


@pytest.mark.parametrize(
    ("layout", "text", "message"),
    [
        (
            "conll05-test",
            "a\tDT\t*\n",
            "some.file:1: 3 columns, but conll05-test has at least 5: WORD POS PARSE NE LEMMA ARGS…",
        ),
        (
            "conll05-train",
            "a\tDT\t*\t*\t01\t-\n",
            "some.file:1: sense '01' in a row without a predicate: the LEMMA is '-'",
        ),
        (
            "conll12",
            "d 0 0 a DT * - - - - * -\nd 0 2 b DT * - - - - * -\n",
            "some.file:2: expected INDEX 1, found '2'",
        ),
        (
            "conll12",
            "d 0 0 a DT * - - - - * -\ne 0 1 b DT * - - - - * -\n",
            "some.file:2: DOC is 'e', but 'd' in the first row",
        ),
        (
            "bio",
            "a\t-\t-\tI-A0\nkeep\tkeep\t-\tB-V\n",
            "some.file:1: 'I-A0' does not continue a phrase; the first tag of a phrase is 'B-A0'"
            " (in the column of 'keep')",
        ),
    ],
)
def test_each_layout_reports_what_it_expected(layout, text, message):
    assert error_of(text, layout) == message


# ---- writing, and back again


@pytest.mark.parametrize("name", NORMAL_FILES)
def test_a_file_in_normal_form_comes_back_from_json_lines_to_the_byte(name, tmp_path):
    back = tmp_path / name
    write_sentences(tmp_path / "between.jsonl", read_sentences(DATA / name))
    losses = write_sentences(back, read_sentences(tmp_path / "between.jsonl"))
    assert back.read_bytes() == (DATA / name).read_bytes()
    assert not losses


@pytest.mark.parametrize("format", [name for name in WRITABLE if name in READABLE[2:]])
@pytest.mark.parametrize("name", [*NORMAL_FILES, "sample.gold_skel"])
def test_any_file_in_any_format_is_stable_once_it_was_converted(name, format, tmp_path):
    first, between, second = tmp_path / "first", tmp_path / "between.jsonl", tmp_path / "second"
    write_sentences(first, read_sentences(DATA / name), format)
    write_sentences(between, read_sentences(first))
    assert not write_sentences(second, read_sentences(between), format)
    assert second.read_bytes() == first.read_bytes()


@given(column_sentences())
def test_a_sentence_comes_back_from_the_train_form(sent):
    found, losses = there_and_back(sent, "conll05-train")
    assert found == sent
    assert not losses


@given(column_sentences(bio=True))
def test_a_sentence_comes_back_from_bio_except_for_tags_and_parse(sent):
    found, losses = there_and_back(sent, "bio")
    assert (found.tokens, found.props, found.id) == (sent.tokens, sent.props, sent.id)
    assert losses.fields == {
        key: 1 for key, value in (("pos", sent.pos), ("parse", sent.extra.get("parse"))) if value
    }


@given(column_sentences())
def test_a_sentence_comes_back_from_conll12_with_an_id_of_its_own(sent):
    found, losses = there_and_back(sent, "conll12")
    assert (found.tokens, found.props, found.pos) == (sent.tokens, sent.props, sent.pos)
    assert found.extra == {**sent.extra, "part": "0"}
    assert losses.fields == {"id": 1}


@given(column_sentences())
def test_propositions_come_back_from_props(sent):
    found, _ = there_and_back(sent, "conll05-props")
    assert [(p.pred, p.lemma, p.v, p.args) for p in found.props] == [
        (p.pred, p.lemma, p.v, p.args) for p in sent.props
    ]


@given(phrases(5, roles=("A0", "C-A0", "C-V", "R-A1")))
def test_any_bracket_column_comes_back_from_json_to_the_character(found):
    verb = Phrase("V", 2, 3)
    for kept in (keep_nested([verb, *found])[0], keep_nested(found)[0]):
        # The verb goes last, so that it is inside whatever shares its span: the order that `v` cannot tell.
        cells = column_from_phrases(sorted(kept, key=lambda phrase: phrase.role == "V"), 5)
        text = "".join(f"{'keep' if k == 2 else '-'}\t{cell}\n" for k, cell in enumerate(cells)) + "\n"
        (sent,) = read(text)
        again = Sentence.from_dict(sent.to_dict())
        assert write([again])[0] == text


def test_brackets_are_ignored_once_the_arguments_have_changed():
    (sent,) = read("keep\t(A0(V*))\n")
    (prop,) = sent.props
    assert prop.extra == {"brackets": ["(A0(V*))"]}
    changed = Sentence(sent.tokens, (Proposition(0, (), lemma="keep", extra=prop.extra),))
    assert write([changed])[0] == "keep\t(V*)\n\n"


def test_predicates_are_written_in_order_and_one_per_token():
    sent = Sentence(
        ("a", "b"), (Proposition(1, lemma="b"), Proposition(0, lemma="a"), Proposition(1, lemma="c"))
    )
    text, losses = write([sent], "conll05-words")
    assert text == "a\ta\t(V*)\t*\nb\tb\t*\t(V*)\n\n"
    assert str(losses) == "conll05-words cannot hold: second propositions of one token, left out (1)"


def test_what_brackets_or_bio_cannot_hold_is_left_out_and_counted():
    args = tuple(
        Argument(role, Span(*span)) for role, span in [("A1", (1, 4)), ("A0", (0, 2)), ("A2", (1, 2))]
    )
    sent = Sentence(("a", "b", "c", "d", "e"), (Proposition(4, args, lemma="e"),))
    text, losses = write([sent])
    assert text == "-\t(A0*\n-\t(A2*))\n-\t*\n-\t*\ne\t(V*)\n\n"
    assert losses.items == {"crossing spans, left out": 1}
    text, losses = write([sent], "bio")
    assert text == "a\t-\t-\tB-A0\nb\t-\t-\tI-A0\nc\t-\t-\tO\nd\t-\t-\tO\ne\te\t-\tB-V\n\n"
    assert losses.items == {"overlapping spans, left out": 2}


def test_cells_that_would_break_the_columns_are_written_with_an_underscore():
    sent = Sentence(("1 1/2", "", "a\nb", "\ud800", "-"), (Proposition(4, lemma="-"),))
    text, losses = write([sent], "conll05-words")
    assert text == "1_1/2\t-\t*\n_\t-\t*\na_b\t-\t*\n_\t-\t*\n-\t_\t(V*)\n\n"
    assert losses.items == {
        "cells with white space or no text, written with '_'": 4,
        "names of predicates that are '-'": 1,
    }


def test_sentences_without_tokens_are_left_out_and_counted():
    text, losses = write([Sentence(()), Sentence(("_",))])
    assert text == "-\n\n"
    assert str(losses) == "conll05-props cannot hold: sentences without tokens, left out (1)"


def test_fields_without_a_column_are_named_with_the_sentences_that_had_them():
    args = (Argument("A0", Span(0, 1), 0.5, "keeper", {"note": 1}),)
    prop = Proposition(1, args, "b", "b.01", None, "verb", 0.9, 0.8, {"mood": "x"})
    sent = Sentence(
        ("a", "b"), (prop,), "s", ("X", "Y"), ("a", "b"), "a b", ((0, 1), (2, 3)), 7, {"url": "u"}
    )
    _, losses = write([sent, Sentence(("a",))])
    names = [
        "tokens",
        "pos",
        "lemmas",
        "text",
        "offsets",
        "char_start",
        "sense",
        "type",
        "sense_prob",
        "prob",
    ]
    names += ["meaning", "mood", "note", "url", "id"]
    assert losses.fields == dict.fromkeys(names, 1) | {"tokens": 2}


def test_extra_keys_without_one_cell_per_token_are_not_a_column():
    text, losses = write([Sentence(("a",), extra={"parse": "(S a)", "ner": ["*", "*"]})], "conll05-test")
    assert text == "a\t-\t*\t*\t-\n\n"
    assert losses.fields == {"parse": 1, "ner": 1}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"pos": ("-", "-")}, "pos"),
        ({"lemmas": ("-", "-")}, "lemmas"),
        ({"extra": {"document": "-"}}, "document"),
        ({"extra": {"ner": ["*", "*"]}}, "ner"),
        ({"extra": {"form": "poem"}}, "form"),
        ({"extra": {"form": ["test"]}}, "form"),
        ({"extra": {"brackets": ["*", "*"]}}, "brackets"),
    ],
)
def test_values_that_a_file_has_for_nothing_do_not_come_back_and_are_named(change, field):
    text, losses = write([Sentence(("a", "b"), **change)], "conll12")
    assert losses.fields == {field: 1}
    (found,) = read(text, "conll12")
    assert (found.pos, found.lemmas, found.extra) == (None, None, {"part": "0"})


@pytest.mark.parametrize("form", ["test", "words"])
def test_the_form_of_a_file_does_not_count_as_lost(form):
    _, losses = write([Sentence(("_",), extra={"form": form})])
    assert not losses


@pytest.mark.parametrize("sense", ["01", "_"])
def test_a_sense_that_comes_back_with_the_lemma_is_counted(sense):
    text, losses = write([Sentence(("x",), (Proposition(0, lemma="keep", sense=sense),))], "conll05-train")
    assert losses.items == {"senses without a lemma, which get the predicate's when they are read": 1}
    assert read(text, "conll05-train")[0].props[0].sense == f"keep.{sense}"


def test_a_sense_that_is_a_dash_is_written_as_none_and_counted():
    text, losses = write([Sentence(("x",), (Proposition(0, lemma="keep", sense="-"),))], "conll05-train")
    assert losses.items == {"names of predicates that are '-'": 1}
    assert read(text, "conll05-train")[0].props[0].sense is None


@pytest.mark.parametrize(
    ("prop", "row"),
    [
        (Proposition(0, lemma="keep", sense="keep.01"), "01\tkeep"),
        (Proposition(0, lemma="kept", sense="keep.01"), "keep.01\tkept"),
        (Proposition(0, sense="keep.01"), "01\tkeep"),
        (Proposition(0, lemma="keep"), "-\tkeep"),
        (Proposition(0, lemma="a.m", sense="a.m.01"), "01\ta.m"),
        (Proposition(0), "-\t_"),
    ],
)
def test_a_sense_is_written_as_a_number_beside_its_lemma(prop, row):
    text, _ = write([Sentence(("x",), (prop,))], "conll05-train")
    assert text == f"x\t-\t*\t*\t{row}\t(V*)\n\n"
    (found,) = read(text, "conll05-train")
    assert found.props[0].sense == prop.sense


def test_a_predicate_without_a_lemma_gets_that_of_its_token():
    text, _ = write([Sentence(("kept",), (Proposition(0),), lemmas=("keep",))])
    assert text == "keep\t(V*)\n\n"


@pytest.mark.parametrize(
    ("prop", "message"),
    [
        (
            Proposition(0, (Argument("A 0", Span(1, 2)),)),
            "the role 'A 0' cannot be written as a tag: no spaces, '(', ')' or '*'",
        ),
        (
            Proposition(0, (Argument("V", Span(0, 1)),)),
            "predicate 0 has an argument with the role 'V'; the verb belongs in 'v'",
        ),
        (
            Proposition(3),
            "the predicate 3 is outside the sentence of 2 tokens",
        ),
        (
            Proposition(0, v=(Span(1, 5),)),
            "'V' over tokens 1 to 5 is outside the sentence, which has 2 tokens",
        ),
    ],
)
def test_values_that_no_file_should_have_are_refused(prop, message):
    with pytest.raises(FormatError) as caught:
        write([Sentence(("a", "b"), (prop,))], "bio")
    assert str(caught.value) == f"<output>: sentence 1 cannot be written as bio: {message}"


@pytest.mark.skipif(not SHARED.exists(), reason="the shared data is not here")
def test_the_official_scorers_cases_come_back_to_the_byte(tmp_path):
    for path in sorted((SHARED / "scorer").glob("*.props")):
        write_sentences(tmp_path / "x.jsonl", read_sentences(path))
        assert not write_sentences(tmp_path / "x.props", read_sentences(tmp_path / "x.jsonl"))
        assert (tmp_path / "x.props").read_bytes() == path.read_bytes(), path.name


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.exists(), reason="the shared data is not here")
def test_every_skeleton_of_ewt_comes_back_from_conll12():
    propositions = 0
    with tarfile.open(SHARED / "propbank-release-ewt.tar.xz") as archive:
        for member in archive:
            if member.name.endswith(".gold_skel"):
                found = read(archive.extractfile(member).read().decode(), "skel")
                propositions += sum(len(sent.props) for sent in found)
                text, _ = write(found, "conll12")
                assert [sent.props for sent in read(text, "conll12")] == [sent.props for sent in found]
    assert propositions == 50_262
