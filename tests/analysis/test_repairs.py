"""Kinds of errors (He+ 2017): each repair on an example of its own, then all of them together."""

from __future__ import annotations

import pytest
from cases import make_inputs, table
from hypothesis import given
from hypothesis import strategies as st

from spansrl.analysis.repairs import (
    BEYOND,
    REPAIRS,
    add_arguments,
    drop_arguments,
    errors,
    fix_boundaries,
    fix_labels,
    kinds_needed,
    merge_spans,
    move_core,
    split_spans,
)
from spansrl.tags import Phrase


def spans(*phrases):
    return tuple(Phrase(*phrase) for phrase in phrases)


def test_a_right_span_gets_the_right_label():
    gold = spans(("A0", 0, 2), ("A1", 3, 5))
    assert fix_labels(gold, spans(("A1", 0, 2), ("A1", 3, 4))) == (spans(("A0", 0, 2), ("A1", 3, 4)), 1)


def test_a_core_argument_moves_to_where_gold_has_it():
    gold = spans(("A0", 0, 2), ("AM-TMP", 5, 6))
    assert move_core(gold, spans(("A0", 3, 5), ("AM-TMP", 6, 7))) == (
        spans(("A0", 0, 2), ("AM-TMP", 6, 7)),
        1,
    )


def test_a_core_argument_that_overlaps_gold_or_is_there_twice_does_not_move():
    gold = spans(("A0", 0, 2))
    for predicted in (spans(("A0", 1, 3)), spans(("A0", 3, 4), ("A0", 5, 6)), spans(("A1", 3, 4))):
        assert move_core(gold, predicted) == (predicted, 0)


def test_two_spans_with_at_most_one_token_between_them_are_merged():
    gold = spans(("A1", 0, 5))
    assert merge_spans(gold, spans(("A1", 0, 2), ("A2", 3, 5))) == (gold, 1)
    apart = spans(("A1", 0, 1), ("A2", 3, 5))
    assert merge_spans(gold, apart) == (apart, 0)


def test_a_span_made_of_two_gold_spans_is_split():
    gold = spans(("A1", 0, 2), ("AM-LOC", 2, 5))
    assert split_spans(gold, spans(("A1", 0, 5))) == (gold, 1)
    assert split_spans(gold, spans(("A1", 0, 4))) == (spans(("A1", 0, 4)), 0)


def test_boundaries_are_fixed_where_a_span_of_the_same_label_overlaps():
    gold = spans(("A1", 0, 4))
    assert fix_boundaries(gold, spans(("A1", 1, 4))) == (gold, 1)
    assert fix_boundaries(gold, spans(("A2", 1, 4))) == (spans(("A2", 1, 4)), 0)


def test_arguments_are_dropped_and_added_only_where_nothing_overlaps():
    gold, predicted = spans(("A0", 0, 2), ("A1", 4, 6)), spans(("A2", 1, 3), ("AM-TMP", 7, 8))
    assert drop_arguments(gold, predicted) == (spans(("A2", 1, 3)), 1)
    assert add_arguments(gold, predicted) == ((*predicted, Phrase("A1", 4, 6)), 1)


def test_kinds_are_in_the_order_of_the_repairs():
    gold = spans(("A0", 0, 1), ("A1", 2, 5), ("AM-TMP", 6, 7))
    assert kinds_needed(gold, spans(("A1", 0, 1), ("A1", 3, 5))) == [
        "fix labels",
        "fix boundaries",
        "add arguments",
    ]
    assert kinds_needed(gold, gold) == []


def test_an_error_that_no_repair_fixes_is_reported_too():
    gold = spans(("A1", 2, 5), ("AM-TMP", 6, 7))
    assert kinds_needed(gold, spans(("A2", 3, 5), ("AM-TMP", 6, 7))) == [BEYOND]
    assert kinds_needed(gold, spans(("A2", 3, 5))) == ["add arguments", BEYOND]


PLACES = st.lists(
    st.builds(
        lambda role, start, length: Phrase(role, start, start + length),
        st.sampled_from(["A0", "A1", "AM-TMP"]),
        st.integers(0, 8),
        st.integers(1, 4),
    ),
    max_size=4,
)


def apart(phrases):
    """As decoders give them: sorted, without overlaps."""
    kept = []
    for phrase in sorted(phrases, key=lambda phrase: phrase.start):
        if not kept or kept[-1].end <= phrase.start:
            kept.append(phrase)
    return tuple(kept)


@given(PLACES, PLACES)
def test_no_repair_takes_away_a_right_argument(gold, predicted):
    gold, predicted = apart(gold), apart(predicted)
    for _, repair in REPAIRS:
        repaired, times = repair(gold, predicted)
        assert set(gold) & set(predicted) <= set(repaired)
        assert (times == 0) == (sorted(repaired) == sorted(predicted))
        predicted = repaired


@given(PLACES)
def test_a_correct_proposition_needs_no_repair_and_an_empty_one_only_additions(gold):
    gold = apart(gold)
    assert kinds_needed(gold, gold) == []
    assert kinds_needed(gold, ()) == ["add arguments"] * bool(gold)


def test_the_table_has_the_gain_of_each_repair():
    section = errors(make_inputs())
    rows = table(section, "repairs-1")
    assert [row["repair"] for row in rows] == ["as predicted", *(name for name, _ in REPAIRS)]
    by_kind = {row["repair"]: row for row in rows}
    assert by_kind["fix labels"]["times"] == by_kind["add arguments"]["times"] == 1
    assert by_kind["fix labels"]["% of repairs"] == by_kind["add arguments"]["% of repairs"] == 50
    assert by_kind["fix labels"]["F1 afterwards"] == pytest.approx(100 * 10 / 11)
    assert by_kind["fix labels"]["gain"] == pytest.approx(200 / 11)
    assert by_kind["add arguments"]["F1 afterwards"] == 100
    assert by_kind["add arguments"]["gain alone"] == pytest.approx(100 * 10 / 12 - 100 * 8 / 11)
    assert by_kind["drop arguments"]["times"] == 0


def test_progress_is_reported_for_every_system():
    told = []
    errors(make_inputs(progress=lambda *step: told.append(step)))
    assert told == [("Repairs", 1, 2), ("Repairs", 2, 2)]
