import pytest
from hypothesis import given
from hypothesis import strategies as st

from spansrl.structures import Argument, Proposition, Span
from spansrl.tags import (
    Phrase,
    TagError,
    bio_from_phrases,
    column_from_phrases,
    in_column_order,
    keep_apart,
    keep_nested,
    phrases_from_bio,
    phrases_from_column,
    phrases_of,
    proposition_parts,
)

SIZE = 7
ROLES = ("A0", "A1", "AM-TMP", "C-A1", "R-A0", "V")


@st.composite
def any_phrases(draw):
    found = []
    for _ in range(draw(st.integers(0, 7))):
        start = draw(st.integers(0, SIZE - 1))
        found.append(Phrase(draw(st.sampled_from(ROLES)), start, draw(st.integers(start + 1, SIZE))))
    return found


nested_phrases = any_phrases().map(lambda found: in_column_order(keep_nested(found)[0]))
separate_phrases = any_phrases().map(lambda found: in_column_order(keep_apart(found)[0]))
well_formed_cells = nested_phrases.map(lambda found: column_from_phrases(found, SIZE))


@given(nested_phrases)
def test_phrases_come_back_from_their_bracket_column(phrases):
    assert phrases_from_column(column_from_phrases(phrases, SIZE)) == phrases


@given(well_formed_cells)
def test_a_bracket_column_comes_back_from_its_phrases(cells):
    assert column_from_phrases(phrases_from_column(cells), len(cells)) == cells


@given(separate_phrases)
def test_phrases_come_back_from_their_bio_tags(phrases):
    assert phrases_from_bio(bio_from_phrases(phrases, SIZE), strict=True) == phrases


@given(st.lists(st.sampled_from(["O", "B-A0", "I-A0", "B-C-A0", "I-C-A0"]), max_size=8))
def test_any_bio_tags_make_phrases_that_cover_what_is_not_o(tags):
    covered = [place for phrase in phrases_from_bio(tags) for place in range(phrase.start, phrase.end)]
    assert covered == [place for place, tag in enumerate(tags) if tag != "O"]


@given(any_phrases())
def test_what_is_kept_can_be_written_and_each_dropped_phrase_clashes_with_a_kept_one(phrases):
    for keep, write in ((keep_nested, column_from_phrases), (keep_apart, bio_from_phrases)):
        kept, dropped = keep(phrases)
        assert sorted(kept + dropped) == sorted(phrases)
        write(kept, SIZE)
        for phrase in dropped:
            with pytest.raises(TagError, match=r"cross|overlap"):
                write([*kept, phrase], SIZE)


def test_nested_phrases_come_outer_first_also_when_their_spans_are_equal():
    assert phrases_from_column(["(A0(A1*", "(A2*)", "*))"]) == [("A0", 0, 3), ("A1", 0, 3), ("A2", 1, 2)]


def test_phrases_may_be_closed_by_name():
    assert phrases_from_column(["(A0(A1*A1)", "(A2*)A0)"]) == [("A0", 0, 2), ("A1", 0, 1), ("A2", 1, 2)]


@pytest.mark.parametrize(
    ("cells", "row", "message"),
    [
        (["(A0*", "*"], 0, "'(A0*' is still open when the sentence ends; add the closing ')'"),
        (["*", "*)"], 1, "'*)' closes a phrase that was never opened; remove a ')'"),
        (["(*)"], 0, "'(*)' is not a bracket cell such as '(A0*', '*', '*)' or '(A0*)'"),
        (["*", "A0"], 1, "'A0' is not a bracket cell such as '(A0*', '*', '*)' or '(A0*)'"),
        (["(A0*A1)"], 0, "'(A0*A1)' closes 'A1' where 'A0' is open; write ')'"),
        (["\x0c*"], 0, r"'\x0c*' is not a bracket cell such as '(A0*', '*', '*)' or '(A0*)'"),
        (["(A0*)("], 0, "'(A0*)(' is not a bracket cell such as '(A0*', '*', '*)' or '(A0*)'"),
    ],
)
def test_a_wrong_bracket_column_is_refused_with_its_row(cells, row, message):
    with pytest.raises(TagError) as caught:
        phrases_from_column(cells)
    assert (caught.value.row, str(caught.value)) == (row, message)


@pytest.mark.parametrize(
    ("tags", "row", "message"),
    [
        (["O", "I-A0"], 1, "'I-A0' does not continue a phrase; the first tag of a phrase is 'B-A0'"),
        (["B-A0", "I-A1"], 1, "'I-A1' does not continue a phrase; the first tag of a phrase is 'B-A1'"),
        (["B-"], 0, "'B-' is not a BIO tag such as 'B-A0', 'I-A0' or 'O'"),
        (["S-A0"], 0, "'S-A0' is not a BIO tag such as 'B-A0', 'I-A0' or 'O'"),
    ],
)
def test_wrong_bio_tags_are_refused_with_their_row(tags, row, message):
    with pytest.raises(TagError) as caught:
        phrases_from_bio(tags, strict=True)
    assert (caught.value.row, str(caught.value)) == (row, message)


@pytest.mark.parametrize("write", [column_from_phrases, bio_from_phrases])
@pytest.mark.parametrize(
    "phrase",
    [Phrase("A0", 1, 1), Phrase("A0", -1, 1), Phrase("A0", 1, 4), Phrase("A 0", 0, 1), Phrase("", 0, 1)],
)
def test_phrases_outside_the_sentence_or_without_a_proper_role_are_not_written(write, phrase):
    with pytest.raises(TagError):
        write([phrase], 3)


def test_crossing_phrases_are_no_bracket_column():
    with pytest.raises(TagError, match="'A0' over tokens 0 to 2 and 'A1' over tokens 1 to 3 cross"):
        column_from_phrases([Phrase("A1", 1, 3), Phrase("A0", 0, 2)], 3)


def test_the_verb_comes_before_its_pieces_wherever_they_stand():
    phrases = [Phrase("C-V", 0, 1), Phrase("A0", 1, 2), Phrase("V", 2, 3), Phrase("C-V", 4, 5)]
    assert proposition_parts(phrases) == ((Span(2, 3), Span(0, 1), Span(4, 5)), (Argument("A0", Span(1, 2)),))


def test_a_piece_without_a_verb_stays_an_argument():
    assert proposition_parts([Phrase("C-V", 0, 1)]) == ((), (Argument("C-V", Span(0, 1)),))


@given(any_phrases())
def test_phrases_come_back_from_the_parts_of_a_proposition(phrases):
    phrases = in_column_order(keep_nested(phrase for phrase in phrases if phrase.role != "V")[0])
    verb = Phrase("V", 0, SIZE)
    v, args = proposition_parts([verb, *phrases])
    assert phrases_of(Proposition(0, args, v=v)) == [verb, *phrases]


@pytest.mark.parametrize(
    ("brackets", "roles"),
    [
        (["(A0(V*))"], ["A0", "V"]),
        (["(V(A0*))"], ["V", "A0"]),
        (["(A1(V*))"], ["V", "A0"]),
        (["(A0(V*)"], ["V", "A0"]),
        ("(A0(V*))", ["V", "A0"]),
        ([1], ["V", "A0"]),
        (None, ["V", "A0"]),
    ],
)
def test_brackets_say_how_equal_spans_nest_as_long_as_they_hold_the_same_phrases(brackets, roles):
    prop = Proposition(0, (Argument("A0", Span(0, 1)),), extra={"brackets": brackets})
    assert [phrase.role for phrase in phrases_of(prop)] == roles


def test_a_second_verb_is_refused():
    with pytest.raises(TagError, match="a second 'V' for one predicate") as caught:
        proposition_parts([Phrase("V", 0, 1), Phrase("V", 3, 4)])
    assert caught.value.row == 3
