"""Counting: what is correct, excess and missed, sentence by sentence."""

from __future__ import annotations

import pytest

from spansrl.errors import DataError
from spansrl.evaluation import Counts, Score, breakdown, end_to_end, score
from spansrl.evaluation.breakdown import distance_of, length_of
from spansrl.evaluation.counts import NONE
from spansrl.evaluation.scorable import Arg, join_pieces
from spansrl.structures import Argument, Proposition, Sentence, Span
from spansrl.tags import phrases_from_column


def sentence(size: int, *props: Proposition, id: str | None = None) -> Sentence:
    return Sentence(tokens=("_",) * size, props=props, id=id)


def prop(pred: int, *args: tuple[str, int, int], lemma: str | None = None) -> Proposition:
    return Proposition(pred, tuple(Argument(role, Span(start, end)) for role, start, end in args), lemma)


def args_of(column: str) -> list[Arg]:
    return join_pieces(phrases_from_column(column.split()))


def test_percentages_of_nothing_are_zero() -> None:
    assert (Counts().precision, Counts().recall, Counts().f1) == (0, 0, 0)
    assert Score().perfect_percent == Score().label_accuracy == 0


def test_percentages_follow_their_definitions() -> None:
    counts = Counts(correct=3, excess=1, missed=2)
    assert counts.precision == 75
    assert counts.recall == 60
    assert counts.f1 == pytest.approx(66.6667, abs=1e-4)


def test_a_wrong_role_is_both_excess_and_missed_and_is_in_the_confusion() -> None:
    gold = sentence(4, prop(1, ("A0", 0, 1), ("A1", 2, 4)))
    predicted = sentence(4, prop(1, ("A0", 0, 1), ("A2", 2, 4)))
    result = score([gold], [predicted])
    assert result.roles == {
        "A0": Counts(1, 0, 0),
        "A1": Counts(0, 0, 1),
        "A2": Counts(0, 1, 0),
        "V": Counts(1, 0, 0),
    }
    assert result.confusion == {("A0", "A0"): 1, ("A1", "A2"): 1, ("V", "V"): 1}
    assert result.unlabeled == Counts(2, 0, 0)
    assert result.label_accuracy == 50


def test_a_wrong_verb_does_not_spoil_a_perfect_proposition() -> None:
    gold = sentence(3, prop(1, ("A0", 0, 1)))
    predicted = sentence(3, Proposition(1, (Argument("A0", Span(0, 1)),), v=(Span(1, 3),)))
    result = score([gold], [predicted])
    assert (result.propositions, result.perfect) == (1, 1)
    assert result.verb == Counts(0, 1, 1)


def test_without_a_verb_in_gold_the_predicted_one_is_excess() -> None:
    gold = sentence(2, Proposition(1, v=()))
    assert score([gold], [sentence(2, prop(1))]).roles == {"V": Counts(0, 1, 0)}


def test_lemmas_are_compared_only_on_request() -> None:
    gold = [sentence(2, prop(1, ("A0", 0, 1), lemma="keep"))]
    predicted = [sentence(2, prop(1, ("A0", 0, 1), lemma="hold"))]
    assert score(gold, predicted).overall == Counts(1, 0, 0)
    assert score(gold, predicted, match="lemma").overall == Counts(0, 0, 1)


def test_of_two_gold_arguments_with_one_extent_the_last_exists() -> None:
    gold = sentence(2, prop(1, ("A0", 0, 1), ("A1", 0, 1)))
    assert score([gold], [sentence(2, prop(1, ("A1", 0, 1)))]).overall == Counts(1, 0, 0)
    assert score([gold], [sentence(2, prop(1, ("A0", 0, 1)))]).overall == Counts(0, 1, 1)


def test_of_two_predicted_arguments_with_one_span_the_last_exists() -> None:
    gold = sentence(2, prop(1, ("A1", 0, 1)))
    assert score([gold], [sentence(2, prop(1, ("A0", 0, 1), ("A1", 0, 1)))]).overall == Counts(1, 0, 0)
    assert score([gold], [sentence(2, prop(1, ("A1", 0, 1), ("A0", 0, 1)))]).overall == Counts(0, 1, 1)


def test_two_predicted_arguments_that_come_to_share_their_ends_are_both_judged() -> None:
    gold = sentence(4, prop(0, ("A1", 1, 4)))
    predicted = sentence(4, prop(0, ("A1", 1, 4), ("A0", 1, 2), ("C-A0", 3, 4)))
    result = score([gold], [predicted])
    assert result.roles["A0"] == Counts(0, 1, 0)
    assert result.confusion == {("A1", NONE): 1, (NONE, "A1"): 1, (NONE, "A0"): 1, ("V", "V"): 1}


def test_an_argument_that_covers_just_the_verb_hides_it_unless_brackets_nest_them_otherwise() -> None:
    gold = sentence(1, prop(0))
    hidden = Proposition(0, (Argument("A0", Span(0, 1)),))
    assert score([gold], [sentence(1, hidden)]).roles == {"V": Counts(0, 0, 1), "A0": Counts(0, 1, 0)}
    shown = Proposition(0, hidden.args, extra={"brackets": ["(A0(V*))"]})
    assert score([gold], [sentence(1, shown)]).roles == {"V": Counts(1, 0, 0)}


def test_a_continuation_goes_to_the_most_recent_argument_of_its_role() -> None:
    first, _, second = args_of("(A1*) (V*) (A1*) * (C-A1*)")
    assert first == Arg("A1", 0, 1, (Span(0, 1),))
    assert (second.role, second.start, second.end) == ("A1", 2, 5)
    assert second.shape == ((2, 3), (4, 5))


def test_a_continuation_of_a_reference_continues_the_reference() -> None:
    reference, plain = args_of("(R-A0*) (A0*) (C-R-A0*)")
    assert (reference.role, reference.end) == ("R-A0", 3)
    assert (plain.role, plain.end) == ("A0", 2)


def test_a_continuation_of_nothing_becomes_an_argument_that_others_continue() -> None:
    (arg,) = args_of("(C-A1*) * (C-A1*)")
    assert arg == Arg("A1", 0, 3, (Span(0, 1), Span(2, 3)), (Span(0, 1), Span(2, 3)))


def test_a_piece_inside_its_own_argument_moves_the_end_back() -> None:
    (arg,) = args_of("(A1* (C-A1*) *)")
    assert (arg.start, arg.end) == (0, 2)
    assert arg.shape == ((1, 2), (1, 2))


def test_a_phrase_whose_span_an_inner_one_has_is_not_there_to_be_continued() -> None:
    inner, piece = args_of("(A0(A1*)) * (C-A0*)")
    assert inner == Arg("A1", 0, 1, (Span(0, 1),))
    assert piece == Arg("A0", 2, 3, (Span(2, 3),))


def test_a_phrase_that_is_continued_ends_later_also_for_the_one_around_it() -> None:
    outer, inner = args_of("(A1* (A0*) *) * (C-A0*)")
    assert (outer.end, outer.shape) == (3, ((1, 5),))
    assert (inner.end, inner.shape) == (5, ((1, 2), (4, 5)))


def test_one_piece_never_matches_several_of_the_same_extent() -> None:
    gold = sentence(4, prop(0, ("A1", 1, 2), ("C-A1", 3, 4)))
    whole = sentence(4, prop(0, ("A1", 1, 4)))
    assert score([gold], [whole]).overall == Counts(0, 1, 1)
    assert score([gold], [whole]).unlabeled == Counts(0, 1, 1)


def test_all_pieces_have_to_agree() -> None:
    gold = sentence(6, prop(0, ("A1", 1, 2), ("C-A1", 3, 4), ("C-A1", 5, 6)))
    other = sentence(6, prop(0, ("A1", 1, 2), ("C-A1", 2, 3), ("C-A1", 5, 6)))
    assert score([gold], [gold]).overall == Counts(1, 0, 0)
    assert score([gold], [other]).overall == Counts(0, 1, 1)


def test_arguments_may_come_in_any_order() -> None:
    gold = sentence(4, prop(0, ("A1", 1, 2), ("C-A1", 3, 4)))
    mixed = sentence(4, prop(0, ("C-A1", 3, 4), ("A1", 1, 2)))
    assert score([gold], [mixed]).overall == Counts(1, 0, 0)


def test_predicted_sentences_after_the_end_of_gold_are_ignored() -> None:
    one = sentence(2, prop(1, ("A0", 0, 1)))
    assert score([one], [one, sentence(9)]).sentences == 1


def test_too_few_predicted_sentences_are_an_error_with_the_line() -> None:
    with pytest.raises(DataError, match=r"predicted ends after 1 sentence \(a\), but gold continues \(b\)"):
        score([sentence(2, id="a"), sentence(3, id="b")], [sentence(2, id="a")])


def test_a_different_number_of_tokens_is_an_error_with_the_line() -> None:
    with pytest.raises(DataError, match=r"sentence 2 has 3 tokens in gold \(b\) and 4 in predicted; "):
        score([sentence(2), sentence(3, id="b")], [sentence(2), sentence(4)])


def test_two_propositions_of_one_predicate_are_an_error() -> None:
    with pytest.raises(DataError, match="sentence 'x' has two propositions for token 1; keep one of them"):
        score([sentence(2, prop(1), prop(1), id="x")], [sentence(2)])


def test_end_to_end_counts_what_a_wrong_predicate_adds() -> None:
    gold = [sentence(4, prop(1, ("A0", 0, 1), ("A1", 2, 3)))]
    predicted = [sentence(4, prop(1, ("A0", 0, 1)), prop(3, ("A0", 0, 1), ("A1", 1, 2), ("A2", 2, 3)))]
    result = end_to_end(gold, predicted)
    assert result.forward.overall == Counts(1, 0, 1)
    assert result.backward.overall == Counts(1, 1, 3)
    assert (result.precision, result.recall) == (25, 50)
    assert result.f1 == pytest.approx(100 / 3)
    assert (result + result).f1 == result.f1


def test_end_to_end_refuses_sentences_that_gold_does_not_have() -> None:
    with pytest.raises(DataError, match="gold ends after 1 sentence, but predicted continues"):
        end_to_end([sentence(2)], [sentence(2), sentence(2)])


@pytest.mark.parametrize(
    ("column", "length", "distance"),
    [
        ("(A0*) * * (V*)", 1, 2),
        ("* * (A0*) (V*)", 1, 0),
        ("* * * (V*) * (A0* *)", 2, 1),
        ("* * * (V*) (A0* * *)", 3, 0),
        ("(A0* * * (V*) *)", 5, 0),
        ("(A0*) * * (V*) * (C-A0* *)", 3, 1),
    ],
)
def test_length_and_distance_are_those_of_the_tokens_covered(column: str, length: int, distance: int) -> None:
    arg = next(arg for arg in args_of(column) if arg.role == "A0")
    assert (length_of(arg), distance_of(arg, 3)) == (length, distance)


def test_breakdowns_put_each_argument_in_its_own_bin() -> None:
    gold = [sentence(20, prop(0, ("A0", 1, 2), ("A1", 3, 8), ("A2", 9, 20)))]
    predicted = [sentence(20, prop(0, ("A0", 1, 2), ("A1", 3, 9), ("AM-TMP", 9, 11)))]
    assert breakdown(gold, predicted, by="length") == {
        "1": Counts(1, 0, 0),
        "2": Counts(0, 1, 0),
        "3-5": Counts(0, 0, 1),
        "6-10": Counts(0, 1, 0),
        "11+": Counts(0, 0, 1),
    }
    assert breakdown(gold, predicted, by="distance") == {
        "0": Counts(1, 0, 0),
        "1-2": Counts(0, 1, 1),
        "3-6": Counts(),
        "7+": Counts(0, 1, 1),
    }
    assert breakdown(gold, predicted, by="role")["A1"] == Counts(0, 1, 1)


def test_scores_as_json_hold_everything() -> None:
    gold = [sentence(3, prop(1, ("A0", 0, 1), ("A1", 2, 3)))]
    predicted = [sentence(3, prop(1, ("A1", 0, 1)))]
    data = score(gold, predicted).to_dict()
    assert data["overall"] == {
        "correct": 0,
        "excess": 1,
        "missed": 2,
        "precision": 0.0,
        "recall": 0.0,
        "f1": 0.0,
    }
    assert data["confusion"] == {"A0": {"A1": 1}, "A1": {NONE: 1}, "V": {"V": 1}}
    assert list(data["roles"]) == ["A0", "A1"]
    assert data["verb"]["correct"] == 1
