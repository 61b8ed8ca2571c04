"""The figures of a card, counted by hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from builders import make_prop
from spansrl.evaluation.model_scores import evaluate_model
from spansrl.structures import Sentence

GOLD = [
    Sentence(
        ("I", "can", "help", "him"),
        (make_prop(2, ("ARG0", 0, 1), ("ARG1", 3, 4), sense="help.01", type="verb"),),
    ),
    Sentence(("It", "rained"), (make_prop(1, sense="rain.01", type="verb"),)),
    Sentence(("No",)),
]
GIVEN = [
    Sentence(GOLD[0].tokens, (make_prop(2, ("ARG0", 0, 1), sense="help.01", sense_prob=0.9, type="verb"),)),
    Sentence(GOLD[1].tokens, (make_prop(1, ("ARG1", 0, 1), sense="rain.02", sense_prob=0.6, type="verb"),)),
    GOLD[2],
]
# Of two predicates it finds the first, and three tokens that are not predicates.
FOUND = [
    Sentence(GOLD[0].tokens, (make_prop(1), *GIVEN[0].props, make_prop(3))),
    Sentence(GOLD[1].tokens, (make_prop(0),)),
    GOLD[2],
]


class Answers:
    """A pipeline with fixed answers."""

    def label(self, sentences: Iterable[Sentence], *, predicates: object = None) -> Iterator[Sentence]:
        return iter(GIVEN if predicates == "given" else FOUND)


def test_figures_of_three_sentences_counted_by_hand():
    figures = evaluate_model(Answers(), GOLD)
    assert (figures["sentences"], figures["predicates"]) == (3, 2)
    assert figures["arguments"] == {"precision": 50.0, "recall": 50.0, "f1": 50.0}
    assert figures["found"] == {"precision": 25.0, "recall": 50.0, "f1": 33.33}
    assert figures["end_to_end"] == {"precision": 100.0, "recall": 50.0, "f1": 66.67}
    assert figures["senses"] == 50.0
    assert figures["calibration"]["senses"] == 0.35  # (|0.9 − 1| + |0.6 − 0|) / 2
    assert figures["by_type"]["verb"] == {
        "predicates": 2,
        "found": 50.0,
        "senses": 50.0,
        "arguments_f1": 50.0,
    }
    assert figures["by_role"]["ARG1"] == {"gold": 1, "precision": 0.0, "recall": 0.0, "f1": 0.0}


def test_several_genres_are_scored_separately():
    gold = [
        replace(sent, id=f"{genre}/a#1") for sent, genre in zip(GOLD, ("news", "mail", "mail"), strict=True)
    ]
    assert evaluate_model(Answers(), GOLD)["by_genre"] == {}
    assert evaluate_model(Answers(), gold)["by_genre"] == {
        "mail": {"predicates": 1, "arguments_f1": 0.0, "end_to_end_f1": 0.0},
        "news": {"predicates": 1, "arguments_f1": 66.67, "end_to_end_f1": 66.67},
    }
