"""The sentences behind the tables: which are chosen, how they are tagged, what is drawn."""

from __future__ import annotations

from cases import GOLD, make_inputs

from builders import make_sentence
from spansrl.analysis import Inputs, ReportSettings, make_system
from spansrl.analysis.confusion import confusion
from spansrl.analysis.error_examples import examples
from spansrl.analysis.repairs import errors


def items(**settings):
    (part,) = examples(make_inputs(settings=ReportSettings(**settings))).parts
    return part.items


def test_every_wrong_proposition_is_tagged_with_its_errors_by_system():
    assert [(item.title, item.tags) for item in items()] == [
        ("start · first", ("crf: A0 labeled A1", "crf: fix labels", "crf: fix boundaries")),
        (
            "move · second",
            (
                "span: A2 labeled AM-DIR",
                "span: fix labels",
                "crf: A2 labeled AM-DIR",
                "crf: fix labels",
            ),
        ),
        ("start · third", ("span: add arguments",)),
    ]


def test_an_error_that_no_table_names_has_an_example_too():
    gold = [make_sentence("a b c d e", (0, ("A1", 2, 5)))]
    system = make_system("span", gold, [make_sentence("a b c d e", (0, ("A2", 3, 5)))])
    (part,) = examples(Inputs(gold, [system])).parts
    assert [item.tags for item in part.items] == [("span: more than one repair",)]


def test_the_note_distinguishes_no_errors_from_no_requested_examples():
    def note(inputs):
        return examples(inputs).parts[0].note

    assert (
        note(make_inputs(settings=ReportSettings(examples=0))) == "No examples were requested (--examples 0)."
    )
    assert note(Inputs(GOLD, [make_system("gold", GOLD, GOLD)])) == "No errors."


def test_an_example_has_a_row_for_gold_and_for_each_system():
    example = items()[1]
    assert [prop.sense for prop in example.sentence.props] == ["gold", "span", "crf"]
    assert [[arg.role for arg in prop.args] for prop in example.sentence.props] == [
        ["A0", "A2", "AM-TMP"],
        ["A0", "AM-DIR", "AM-TMP"],
        ["A0", "AM-DIR", "AM-TMP"],
    ]


def test_only_the_first_of_each_kind_are_kept():
    assert len(items(examples=1)) == 3
    assert items(examples=0) == ()


def test_every_cell_and_row_that_can_be_clicked_has_an_example():
    inputs = make_inputs()
    tags = {tag for item in items() for tag in item.tags}
    for table in confusion(inputs).tables:
        assert set(table.tags) <= tags
    for table in errors(inputs).tables:
        needed = {find for find, row in zip(table.tags, table.rows, strict=True) if row[1]}
        assert needed <= tags
