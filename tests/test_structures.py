import copy
import dataclasses
import json
import pickle
import sys

import pytest

import spansrl
from spansrl.errors import DataError, MissingExtraError
from spansrl.structures import ROW_COLUMNS, Argument, Document, Proposition, Sentence, Span
from spansrl.visualize import sentence_text

WIRE = {
    "id": "s1",
    "tokens": ["They", "picked", "it", "up"],
    "pos": ["PRP", "VBD", "PRP", "RP"],
    "lemmas": ["they", "pick", "it", "up"],
    "text": "They picked it up",
    "offsets": [[0, 4], [5, 11], [12, 14], [15, 17]],
    "props": [
        {
            "pred": 1,
            "lemma": "pick",
            "sense": "pick.04",
            "v": [[1, 2], [3, 4]],
            "args": [
                {"role": "ARG0", "start": 0, "end": 1, "prob": 0.98},
                {"role": "ARG1", "start": 2, "end": 3},
            ],
        }
    ],
}


def test_the_wire_form_comes_back_key_by_key_in_its_order():
    assert list(Sentence.from_dict(WIRE).to_dict().items()) == list(WIRE.items())


def test_only_tokens_are_required():
    sent = Sentence.from_dict({"tokens": ["a"]})
    assert sent == Sentence(("a",))
    assert sent.to_dict() == {"tokens": ["a"], "props": []}


def test_null_is_the_same_as_absent_for_what_may_be_absent():
    keys = ("id", "pos", "lemmas", "text", "offsets")
    assert Sentence.from_dict({"tokens": ["a"], **dict.fromkeys(keys)}) == Sentence(("a",))


def test_reading_leaves_the_dictionary_as_it_was():
    data = {"tokens": ["a"], "props": [{"pred": 0, "args": []}], "x": 1}
    Sentence.from_dict(data)
    assert data == {"tokens": ["a"], "props": [{"pred": 0, "args": []}], "x": 1}


def test_the_verb_is_the_predicates_token_unless_pieces_or_none_are_given():
    assert Proposition(3).verb_spans == (Span(3, 4),)
    assert Proposition(3, v=(Span(1, 2), Span(3, 4))).verb_spans == (Span(1, 2), Span(3, 4))
    assert Proposition(3, v=()).verb_spans == ()


def test_values_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Argument("A0", Span(0, 1)).role = "A1"  # type: ignore[misc]


def test_equal_values_are_one_member_of_a_set_whatever_else_they_carry():
    def values(**change):
        sent = Sentence.from_dict({**WIRE, "own": ["of", {"its": "source"}]} | change)
        prop = sent.props[0]
        return sent, prop, *prop.args, Document(sent.text, (sent,), extra={"seen": [1]})

    once, again = values(), values()
    assert [hash(value) for value in once] == [hash(value) for value in again]
    assert len({*once, *again}) == len(once)
    assert len({once[0], *values(own=[])[:1]}) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tokens": None}, "'tokens' must be a list of strings, found nothing"),
        ({"tokens": ["a", 1]}, "'tokens' must be a list of strings, found a list (['a', 1])"),
        ({"pos": ["X"]}, "'pos' must have one entry per token, found 1 for 4 tokens"),
        ({"id": 7}, "'id' must be a string, found a number (7)"),
        ({"text": True}, "'text' must be a string, found a boolean (True)"),
        (
            {"offsets": [[0, 1]]},
            "'offsets' must be a list of 4 pairs, one per token, found a list ([[0, 1]])",
        ),
        (
            {"offsets": [[0, 4], [5, 11], [12, 14], [15, 18]]},
            "'offsets[3]' is [15, 18], which is not a range of 'text'",
        ),
        (
            {"offsets": [[4, 0], [5, 11], [12, 14], [15, 17]]},
            "'offsets[0]' is [4, 0], which is not a range of 'text'",
        ),
        ({"props": {}}, "'props' must be a list, found an object ({})"),
        ({"props": [[]]}, "'props[0]' must be an object, found a list ([])"),
        ({"props": [{}]}, "'props[0].pred' must be an integer, found nothing"),
        ({"props": [{"pred": 4}]}, "'props[0].pred' is 4, outside the sentence of 4 tokens; count from 0"),
        ({"props": [{"pred": -1}]}, "'props[0].pred' is -1, outside the sentence of 4 tokens; count from 0"),
        (
            {"props": [{"pred": 0, "v": [[0]]}]},
            "'props[0].v[0]' must be a pair [start, end], found a list ([0])",
        ),
        (
            {"props": [{"pred": 0, "v": [[3, 5]]}]},
            "'props[0].v[0]' covers tokens 3 to 5, which is not a span of a sentence of 4 tokens; "
            "'end' is the token after the last, counted from 0",
        ),
        (
            {"props": [{"pred": 0, "args": [{"role": "A0", "start": 2, "end": 2}]}]},
            "'props[0].args[0]' covers tokens 2 to 2, which is not a span of a sentence of 4 tokens; "
            "'end' is the token after the last, counted from 0",
        ),
        (
            {"props": [{"pred": 0, "args": [{"role": "V", "start": 0, "end": 1}]}]},
            "'props[0].args[0].role' is 'V', which is not an argument role; give the verb's spans in 'v'",
        ),
        (
            {"props": [{"pred": 0, "args": [{"role": "", "start": 0, "end": 1}]}]},
            "'props[0].args[0].role' must be a non-empty string, found a string ('')",
        ),
        (
            {"props": [{"pred": 0, "args": [{"role": "A0", "start": 0, "end": 1, "prob": 1.5}]}]},
            "'props[0].args[0].prob' must be a number from 0 to 1, found 1.5",
        ),
    ],
)
def test_a_wrong_field_is_named_with_what_was_found(change, message):
    with pytest.raises(DataError) as caught:
        Sentence.from_dict(WIRE | change)
    assert str(caught.value) == message


KEPT = Sentence.from_dict(
    {
        "tokens": ["She", "has", "n't", "kept", "the", "old", "letters", "."],
        "text": "She hasn't  kept the old letters.",
        "offsets": [[0, 3], [4, 7], [7, 10], [12, 16], [17, 20], [21, 24], [25, 32], [32, 33]],
        "char_start": 100,
        "props": [
            {"pred": 1, "type": "auxiliary", "args": []},
            {
                "pred": 3,
                "lemma": "keep",
                "sense": "keep.01",
                "type": "verb",
                "args": [
                    {"role": "ARG0", "start": 0, "end": 1, "prob": 1},
                    {"role": "ARG1", "start": 4, "end": 7, "prob": 0.5, "meaning": "thing kept"},
                ],
            },
        ],
    }
)


def test_the_text_of_a_part_is_as_it_was_written():
    assert KEPT.text_of(KEPT.props[1].args[1]) == "the old letters"
    assert KEPT.text_of(KEPT.props[1]) == "kept"
    assert KEPT.text_of(Span(1, 4)) == "hasn't  kept"
    assert KEPT.text_of((6, 8)) == "letters."


def test_without_text_or_offsets_tokens_are_joined():
    for missing in ({"text": None}, {"offsets": None}):
        sent = dataclasses.replace(KEPT, **missing)
        assert sent.text_of((1, 4)) == "has n't kept"


def test_the_pieces_of_a_predicate_are_joined():
    sent = Sentence.from_dict(WIRE)
    assert sent.text_of(sent.props[0]) == "picked up"
    assert sent.text_of(Proposition(1, v=())) == "picked"


@pytest.mark.parametrize("span", [(0, 0), (2, 1), (-1, 1), (0, 9)])
def test_a_span_outside_the_sentence_is_an_error(span):
    with pytest.raises(DataError, match="which is not a span of a sentence of 8 tokens"):
        KEPT.text_of(span)


def test_predicates_are_found_by_word_lemma_and_sense():
    (auxiliary, kept) = KEPT.props
    for name in ("kept", "KEEP", "keep", "keep.01"):
        assert KEPT.find(name) == (kept,)
    assert KEPT.find("has") == (auxiliary,)
    assert KEPT.find("letters") == ()
    assert KEPT.find("") == ()
    assert Sentence.from_dict(WIRE).find("pick") == Sentence.from_dict(WIRE).props


def test_lemmas_of_the_sentence_help_to_find():
    sent = Sentence(("mice", "ran"), (Proposition(1),), lemmas=("mouse", "run"))
    assert sent.find("run") == sent.props


def test_rows_are_one_an_argument_and_one_for_a_predicate_without():
    has, first, second = KEPT.rows(number=3)
    known = {
        "id": None,
        "sentence": 3,
        "sentence_text": KEPT.text,
        "sentence_start": 100,
        "sentence_end": 133,
    }
    known |= {"pred": 1, "word": "has", "type": "auxiliary"}
    start, end = KEPT.offsets[1]
    known |= {"word_start": 100 + start, "word_end": 100 + end}
    assert has == dict.fromkeys(ROW_COLUMNS) | known
    start, end = KEPT.offsets[3]
    assert second == has | {
        "pred": 3,
        "word": "kept",
        "word_start": 100 + start,
        "word_end": 100 + end,
        "lemma": "keep",
        "predicate_lemma": "keep",
        "sense": "keep.01",
        "type": "verb",
        "role": "ARG1",
        "text": "the old letters",
        "start": 4,
        "end": 7,
        "char_start": 117,
        "char_end": 132,
        "prob": 0.5,
        "meaning": "thing kept",
    }
    assert isinstance(first["prob"], float)
    assert list(first) == list(second) == list(has)


def test_rows_say_how_sure_a_predicate_and_its_sense_are():
    prop = Proposition(1, sense="keep.01", prob=0.75, sense_prob=0.5)
    (row,) = Sentence(("I", "keep"), (prop,)).rows()
    assert (row["predicate_prob"], row["sense_prob"], row["prob"]) == (0.75, 0.5, None)


def test_without_a_place_in_a_document_characters_count_in_the_sentence():
    sent = dataclasses.replace(KEPT, char_start=None)
    assert [row["char_start"] for row in sent.rows()] == [None, 0, 17]
    assert [row["char_start"] for row in Document("", (sent,)).rows()] == [None, None, None]


def make_document() -> Document:
    text = KEPT.text * 2
    shifted = [dataclasses.replace(KEPT, char_start=start) for start in (0, len(KEPT.text))]
    return Document(text, tuple(shifted))


def test_rows_of_a_document_cut_its_text():
    document = make_document()
    rows = document.rows()
    assert [row["sentence"] for row in rows] == [0, 0, 0, 1, 1, 1]
    placed = [row for row in rows if row["role"]]
    assert all(document.text[row["char_start"] : row["char_end"]] == row["text"] for row in placed)


def test_a_document_comes_back_from_its_wire_form():
    document = make_document()
    assert Document.from_dict(document.to_dict()) == document
    assert Document.from_dict({"text": "a", "sentences": []}) == Document("a")
    assert list(document) == list(document.sentences)
    assert document.props == KEPT.props * 2
    assert document.find("keep") == tuple((sent, KEPT.props[1]) for sent in document.sentences)


def test_a_document_keeps_its_id_and_what_else_it_came_with():
    data = {"id": "letter 7", **make_document().to_dict(), "lang": "en"}
    document = Document.from_dict(data)
    assert (document.id, document.extra) == ("letter 7", {"lang": "en"})
    assert list(document.to_dict().items()) == list(data.items())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "expected a JSON object for a document, found a list ([])"),
        (
            {"sentences": []},
            "'text' is missing in the document; read single sentences with Sentence.from_dict",
        ),
        (
            {"tokens": ["Go"], "text": "Go"},
            "'sentences' is missing in the document; read single sentences with Sentence.from_dict",
        ),
        ({"text": 1}, "'text' must be a string, found a number (1)"),
        ({"text": "", "sentences": {}}, "'sentences' must be a list, found an object ({})"),
        ({"text": "", "sentences": [], "id": 7}, "'id' must be a string, found a number (7)"),
        (
            {"text": "", "sentences": [1]},
            "sentences[0]: expected a JSON object for a sentence, found a number (1)",
        ),
        (
            {"text": "a b", "sentences": [{"tokens": ["b"], "text": "b", "char_start": 1}]},
            "sentences[0]: its text is not at 'char_start' (1) of the document's text",
        ),
    ],
)
def test_a_wrong_document_is_named_with_what_was_found(data, message):
    with pytest.raises(DataError) as caught:
        Document.from_dict(data)
    assert str(caught.value) == message


def test_parts_of_a_sentence_have_their_text():
    kept = KEPT.props[1]
    assert [arg.text for arg in kept.args] == ["She", "the old letters"]
    assert (kept.text, kept.predicate) == ("kept", "keep.01")
    picked = Sentence.from_dict(WIRE).props[0]
    assert picked.text == "picked up"
    assert [arg.text for arg in dataclasses.replace(KEPT, text=None).props[1].args] == [
        "She",
        "the old letters",
    ]


@pytest.mark.parametrize(
    ("prop", "name"),
    [
        (Proposition(0, sense="go.01", lemma="go"), "go.01"),
        (Proposition(0, sense=" ", lemma="go"), "go"),
        (Proposition(0), "went"),
    ],
)
def test_a_predicate_is_named_by_its_sense_lemma_or_word(prop, name):
    assert Sentence(("went",), (prop,)).props[0].predicate == name


def test_the_text_of_a_part_follows_its_span_and_its_sentence():
    arg = KEPT.props[1].args[1]
    assert dataclasses.replace(arg, span=Span(5, 7)).text == "old letters"
    other = Sentence(tuple("abcdefgh"), KEPT.props)
    assert other.props[1].args[1].text == "e f g"
    assert arg.text == "the old letters"


def test_parts_outside_a_sentence_have_no_text():
    for part in (Argument("A0", Span(0, 1)), Proposition(0)):
        with pytest.raises(DataError, match="not part of a Sentence"):
            _ = part.text
    assert repr(Argument("A0", Span(0, 1), 0.5)) == "<Argument A0 [0:1] 0.50>"
    assert repr(Proposition(3)) == "<Proposition V [3] 0 arguments>"


def test_the_words_of_a_part_do_not_count_for_equality_or_json():
    arg = KEPT.props[1].args[0]
    loose = Argument("ARG0", Span(0, 1), 1)
    assert (arg, hash(arg)) == (loose, hash(loose))
    assert arg.to_dict() == {"role": "ARG0", "start": 0, "end": 1, "prob": 1}
    assert Sentence.from_dict(json.loads(KEPT.to_json())) == KEPT


def test_values_survive_pickling_and_copying():
    for twin in (pickle.loads(pickle.dumps(KEPT)), copy.deepcopy(KEPT)):
        assert twin == KEPT
        assert twin.props[1].args[1].text == "the old letters"


def test_sentences_are_sequences_of_tokens_and_documents_of_sentences():
    document = make_document()
    assert (len(document), len(KEPT)) == (2, 8)
    assert document[0] is document.sentences[0]
    assert document[-1:] == document.sentences[1:]
    assert (KEPT[0], KEPT[4:6], list(KEPT)) == ("She", ("the", "old"), list(KEPT.tokens))
    with pytest.raises(IndexError):
        document[2]


def test_reprs_are_one_short_line():
    long = Document("word " * 1000, (Sentence(("word",) * 1000),))
    assert len(repr(long)) < 80
    assert len(repr(long[0])) < 80
    assert repr(KEPT) == '<Sentence "She hasn\'t  kept the old letters." 2 propositions>'
    assert repr(KEPT.props[1]) == "<Proposition keep.01 'kept', ARG0 'She', ARG1 'the old letters'>"
    assert repr(KEPT.props[1].args[1]) == "<Argument ARG1 [4:7] 'the old letters' 0.50>"


def test_a_broken_span_can_still_be_printed():
    sent = dataclasses.replace(KEPT, props=(Proposition(1, (Argument("A0", Span(7, 12)),)),))
    assert "[7:12]" in repr(sent.props[0].args[0])


@pytest.mark.parametrize("tokens", ["abc", None, 7, ("a", 1), ["a", None]])
def test_tokens_must_be_a_sequence_of_strings(tokens):
    with pytest.raises(DataError, match=r"Sentence\(\) expects"):
        Sentence(tokens)


def test_a_list_of_tokens_becomes_a_tuple():
    assert Sentence(["a", "b"]) == Sentence(("a", "b"))  # type: ignore[arg-type]


def test_printing_shows_the_drawing(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    drawn = sentence_text(KEPT, width=60, encoding=sys.stdout.encoding or "utf-8")
    assert str(KEPT) == drawn
    assert "keep.01" in drawn
    assert str(make_document()) == f"{drawn}\n\n{drawn}"


def test_rows_become_a_data_frame():
    pytest.importorskip("pandas")
    frame = make_document().to_pandas()
    assert frame["text"].dropna().tolist() == ["She", "the old letters"] * 2
    assert list(Sentence(()).to_pandas().columns) == list(frame.columns) == list(KEPT.rows()[0])
    frame = KEPT.to_pandas()
    assert frame.astype(object).where(frame.notna(), None).to_dict("records") == KEPT.rows()
    assert (frame.dtypes == Document("").to_pandas().dtypes).all()
    assert {name: str(frame.dtypes[name]) for name in ("start", "prob", "text")} == {
        "start": "Int64",
        "prob": "Float64",
        "text": "object",
    }


def test_without_pandas_one_line_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match="pandas"):
        KEPT.to_pandas()


def test_json_is_one_line_unless_indented():
    assert json.loads(KEPT.to_json(indent=2)) == KEPT.to_dict()
    assert "\n" not in make_document().to_json()
    assert Document.from_dict(json.loads(make_document().to_json())) == make_document()


def test_errors_are_exported():
    names = ("SpansrlError", "DataError", "FormatError", "ConfigError", "ModelError", "MissingExtraError")
    assert all(issubclass(getattr(spansrl, name), spansrl.SpansrlError) for name in names)
    assert set(spansrl.__all__) <= {*dir(spansrl)}
    assert all(getattr(spansrl, name) is not None for name in spansrl.__all__)


def test_names_in_other_resources_survive_json():
    arg = Argument("ARG0", Span(0, 1), thematic="agent", function="PAG")
    prop = Proposition(1, (arg,), sense="sell.01", verbnet=("give-13.1-1",), framenet="Commerce_sell")
    sent = Sentence(("They", "sold"), (prop,))
    data = sent.to_dict()
    assert data["props"][0]["verbnet"] == ["give-13.1-1"]
    assert Sentence.from_dict(data) == sent
    (row,) = sent.rows()
    names = ("thematic", "function", "verbnet", "framenet")
    assert [row[name] for name in names] == ["agent", "PAG", "give-13.1-1", "Commerce_sell"]
    data["props"][0]["verbnet"] = "give-13.1-1"
    with pytest.raises(DataError, match=r"'props\[0\].verbnet' must be a list of strings"):
        Sentence.from_dict(data)


def test_arguments_are_found_by_their_role():
    arg = Argument("ARG0", Span(0, 1))
    prop = Proposition(1, (arg, Argument("ARG0", Span(2, 3)), Argument("A1", Span(3, 4))))
    assert prop.arg("ARG0") == prop["ARG0"] == prop["A0"] == arg
    assert prop["ARG1"].span == (3, 4)
    assert prop.arg("ARG2") is None
    with pytest.raises(KeyError, match=r"no argument ARG2; the roles are \['ARG0', 'ARG0', 'A1'\]"):
        prop["ARG2"]


@pytest.mark.parametrize(
    ("lemma", "sense", "expected"),
    [
        ("turn", "turn_down.05", "turn_down"),
        ("turn", "turn.01", "turn"),
        ("decision", "decide.01", "decision"),
        ("make", "make.LV", "make"),
        ("keep", None, "keep"),
        (None, "turn_down.05", None),
    ],
)
def test_rows_have_the_lemma_with_its_particle(lemma, sense, expected):
    (row,) = Sentence(("word",), (Proposition(0, lemma=lemma, sense=sense),)).rows()
    assert row["predicate_lemma"] == expected
