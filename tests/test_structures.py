import dataclasses

import pytest

from spansrl.errors import DataError
from spansrl.structures import Argument, Proposition, Sentence, Span

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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tokens": None}, "'tokens' must be a list of strings, found nothing"),
        ({"tokens": ["a", 1]}, "'tokens' must be a list of strings, found a list (['a', 1])"),
        ({"pos": ["X"]}, "'pos' must have one entry a token, found 1 for 4 tokens"),
        ({"id": 7}, "'id' must be a string, found a number (7)"),
        ({"text": True}, "'text' must be a string, found a boolean (True)"),
        ({"offsets": [[0, 1]]}, "'offsets' must be a list of 4 pairs, one a token, found a list ([[0, 1]])"),
        (
            {"offsets": [[0, 4], [5, 11], [12, 14], [15, 18]]},
            "'offsets[3]' is [15, 18], which is no range of 'text'",
        ),
        (
            {"offsets": [[4, 0], [5, 11], [12, 14], [15, 17]]},
            "'offsets[0]' is [4, 0], which is no range of 'text'",
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
            "'props[0].v[0]' covers tokens 3 to 5, which is no span of a sentence of 4 tokens; "
            "'end' is the token after the last, counted from 0",
        ),
        (
            {"props": [{"pred": 0, "args": [{"role": "A0", "start": 2, "end": 2}]}]},
            "'props[0].args[0]' covers tokens 2 to 2, which is no span of a sentence of 4 tokens; "
            "'end' is the token after the last, counted from 0",
        ),
        (
            {"props": [{"pred": 0, "args": [{"role": "V", "start": 0, "end": 1}]}]},
            "'props[0].args[0].role' is 'V', which is no argument; give the verb's spans in 'v'",
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
