"""The gold statements are complete, and the scores of statements count what they should."""

from __future__ import annotations

import pytest
import score_statements
from score_statements import Row


def row(subject: str, relation: str, obj: str, negated: bool = False) -> Row:
    return Row((subject,), (relation,), (obj,), (negated,))


def test_every_sentence_has_gold_statements_and_is_in_the_list_for_annotators():
    gold = score_statements.read(score_statements.HERE / "gold.txt")
    assert len(gold) == 216
    assert all(rows for _, rows in gold.values())
    lines = (score_statements.HERE / "sentences.txt").read_text(encoding="utf-8").splitlines()
    assert {line.split("\t")[0]: line.split("\t")[1] for line in lines} == {
        name: text for name, (text, _) in gold.items()
    }


def test_an_annotation_agrees_with_itself():
    gold = score_statements.read(score_statements.HERE / "gold.txt")
    assert score_statements.score(gold, {name: rows for name, (_, rows) in gold.items()})["f1"] == 1


@pytest.mark.parametrize(
    ("own", "is_right"),
    [
        (row("senator", "turn down", "bribe"), True),
        (row("The senator from Ohio", "turn down", "the bribe"), True),
        (row("The senator", "turn", "the bribe"), False),
        (row("the bribe", "turn down", "The senator"), False),
        (row("The senator", "turn down", "-"), False),
        (row("The senator", "turn down", "the bribe", negated=True), False),
    ],
)
def test_a_statement_is_right_if_subject_relation_object_and_negation_are(own, is_right):
    assert score_statements.matches(row("The senator", "turn down", "the bribe"), own) is is_right


def test_the_preposition_of_a_relation_does_not_count():
    assert score_statements.matches(row("He", "live in", "Rome"), row("He", "live", "Rome"))
