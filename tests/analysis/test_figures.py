"""Sections 1 to 5 on a corpus that was counted by hand (see cases.py): 6 gold arguments, 3 predicates."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from cases import CRF, GOLD, SPAN, TRAIN, make_inputs, table

from builders import make_sentence
from spansrl.analysis import Inputs, build_sections, make_system
from spansrl.analysis.boundary_accuracy import boundaries
from spansrl.analysis.confusion import confusion, short_name
from spansrl.analysis.label_accuracy import labels
from spansrl.analysis.overall import overall
from spansrl.analysis.report_inputs import predicate_name, span_text
from spansrl.errors import DataError
from spansrl.evaluation import breakdown, official_report, score


def test_the_overall_table_has_the_official_scores_and_their_intervals():
    span, crf = table(overall(make_inputs()), "overall")
    assert (span["precision"], span["recall"], span["F1"]) == pytest.approx((80, 100 * 4 / 6, 100 * 8 / 11))
    assert (crf["precision"], crf["recall"], crf["F1"]) == pytest.approx((50, 50, 50))
    assert (span["perfect props %"], crf["perfect props %"]) == pytest.approx((100 / 3, 100 / 3))
    assert (span["arguments"], crf["arguments"]) == (5, 6)
    assert 0 <= span["95 % low"] <= span["F1"] <= span["95 % high"] <= 100


def test_every_pair_of_systems_is_compared():
    (row,) = table(overall(make_inputs()), "significance")
    assert (row["A"], row["B"], row["A − B"]) == ("span", "crf", pytest.approx(100 * 8 / 11 - 50))


def test_boundaries_and_label_accuracy_are_those_of_the_official_confusion_block():
    section = boundaries(make_inputs())
    for name, predicted in (("span", SPAN), ("crf", CRF)):
        report = official_report(score(GOLD, predicted), confusion=True)
        line = re.search(r"Unlabeled\s+\d+\s+\d+\s+\d+\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)", report)
        (bounds,) = [row for row in table(section, "boundaries") if row["system"] == name]
        (accuracy,) = [row for row in table(section, "label-accuracy") if row["system"] == name]
        shown = (bounds["precision"], bounds["recall"], bounds["F1"], accuracy["accuracy %"])
        assert tuple(f"{value:.2f}" for value in shown) == line.groups()


def test_boundaries_and_label_accuracy_by_hand():
    section = boundaries(make_inputs())
    span, crf = table(section, "boundaries")
    assert (span["precision"], span["recall"]) == pytest.approx((100, 100 * 5 / 6))
    assert (crf["precision"], crf["recall"]) == pytest.approx((100 * 5 / 6, 100 * 5 / 6))
    assert span["span − it"] is None
    assert crf["span − it"] == pytest.approx(span["F1"] - crf["F1"])
    span, crf = table(section, "label-accuracy")
    assert (span["correct boundaries"], span["wrong labels"], span["accuracy %"]) == (5, 1, pytest.approx(80))
    assert (crf["correct boundaries"], crf["wrong labels"], crf["accuracy %"]) == (5, 2, pytest.approx(60))


def test_one_system_alone_is_compared_with_nothing():
    inputs = make_inputs()
    section = boundaries(replace(inputs, systems=inputs.systems[:1]))
    heads = [column.name for table in section.tables for column in table.columns]
    assert not [head for head in heads if "−" in head]
    assert [len(table(section, name)) for name in ("boundaries", "label-accuracy")] == [1, 1]


def test_labels_come_by_frequency_with_the_overall_score_last():
    rows = table(labels(make_inputs()), "labels")
    assert [(row["labels"], row["gold"]) for row in rows] == [
        ("A0", 2),
        ("A1", 2),
        ("A2", 1),
        ("AM-TMP", 1),
        ("overall", 6),
    ]
    assert (rows[0]["span"], rows[0]["crf"]) == pytest.approx((100, 200 / 3))
    assert rows[1]["span − crf"] == pytest.approx(200 / 3 - 40)


def test_rare_labels_are_left_to_the_table_of_every_label():
    section = labels(make_inputs(settings=make_inputs().settings.__class__(samples=10, min_count=2)))
    assert [row["labels"] for row in table(section, "labels")] == ["A0", "A1", "overall"]
    assert {row["label"] for row in table(section, "all-labels")} == {"A0", "A1", "A2", "AM-DIR", "AM-TMP"}


@pytest.mark.parametrize(("name", "by"), [("argument-length", "length"), ("distance", "distance")])
def test_breakdowns_are_those_of_the_evaluation(name, by):
    rows = {row[name.replace("-", " ")]: row for row in table(labels(make_inputs()), name)}
    for part, counts in breakdown(GOLD, SPAN, by=by).items():
        if part in rows:
            assert rows[part]["span"] == counts.f1
            assert rows[part]["gold"] == counts.correct + counts.missed


def test_parts_of_speech_and_sentence_lengths_add_up_to_gold():
    section = labels(make_inputs())
    verb, noun = table(section, "part-of-speech")
    assert (verb["part of speech"], verb["gold"], noun["part of speech"], noun["gold"]) == (
        "verb",
        5,
        "noun",
        1,
    )
    assert (noun["span"], noun["crf"]) == (0, 100)
    assert [(row["sentence length"], row["gold"]) for row in table(section, "sentence-length")] == [
        ("1-10", 6)
    ]


def test_predicates_of_other_parts_of_speech_have_a_row_of_their_own():
    gold = [replace(GOLD[2], pos=("DT", "RB", "IN", "DT", "NN")), GOLD[0]]
    rows = table(labels(Inputs(gold, [make_system("span", gold, gold)])), "part-of-speech")
    assert [(row["part of speech"], row["gold"]) for row in rows] == [("verb", 2), ("other", 1)]


def test_without_tags_there_is_no_table_by_part_of_speech():
    gold = [type(sent)(sent.tokens, sent.props) for sent in GOLD]
    inputs = make_inputs().__class__(gold, [make_system("span", gold, SPAN)])
    assert "part-of-speech" not in [table.name for table in labels(inputs).tables]


def test_seen_predicates_are_those_of_the_training_data():
    seen, unseen = table(labels(make_inputs(train=TRAIN)), "seen")
    assert (seen["gold"], unseen["gold"]) == (3, 3)
    assert unseen["span"] == pytest.approx(200 / 3)
    assert "--train" in labels(make_inputs()).intro


def test_confusions_are_percentages_of_the_errors_of_a_gold_label():
    section = confusion(make_inputs())
    (row,) = table(section, "confusion-1")
    assert tuple(row.values()) == ("A2", "AM-DIR", 1, 100.0, 100.0)
    first, second = table(section, "confusion-2")
    assert (first["gold"], first["predicted"], first["% of the label's errors"]) == ("A0", "A1", 100)
    assert first["% of the label's correct boundaries"] == 50
    assert (second["gold"], second["predicted"]) == ("A2", "AM-DIR")


def test_the_matrix_shows_each_cell_with_its_label_and_percentage():
    first, second = (picture.chart for picture in confusion(make_inputs()).pictures)
    assert (first.rows, first.columns) == (("A2 (1)",), ("A2", "DIR"))
    assert first.values == ((None, 100.0),)
    assert len(second.rows) == 2


def test_a_row_of_the_matrix_spreads_the_errors_of_its_label_over_the_others():
    gold = [make_sentence("go a b c", (0, ("A2", 1, 2), ("A2", 2, 3), ("A2", 3, 4)))]
    wrong = [make_sentence("go a b c", (0, ("AM-DIR", 1, 2), ("AM-DIR", 2, 3), ("AM-LOC", 3, 4)))]
    (picture,) = confusion(Inputs(gold, [make_system("span", gold, wrong)])).pictures
    assert (picture.chart.rows, picture.chart.columns) == (("A2 (3)",), ("A2", "DIR", "LOC"))
    assert picture.chart.values == ((None, pytest.approx(200 / 3), pytest.approx(100 / 3)),)


def test_labels_are_compared_on_the_boundaries_that_all_systems_have_right():
    span, crf = table(boundaries(make_inputs()), "label-accuracy-common")
    # Common: A0 of the first sentence, and A0, A2 and AM-TMP of the second.
    assert (span["common boundaries"], crf["common boundaries"]) == (4, 4)
    assert (span["accuracy %"], crf["accuracy %"]) == pytest.approx((75, 50))


def several_runs() -> Inputs:
    inputs = make_inputs()
    return replace(
        inputs, systems=[make_system("both", GOLD, SPAN, CRF), make_system("gold", GOLD, GOLD, GOLD)]
    )


def test_figures_of_several_runs_are_means_with_their_standard_deviation():
    both, gold = table(overall(several_runs()), "overall")
    f1 = [100 * 8 / 11, 50]
    assert both["F1"] == pytest.approx(sum(f1) / 2)
    assert both["± sd"] == pytest.approx(abs(f1[0] - f1[1]) / 2**0.5)
    assert (gold["runs"], gold["F1"], gold["± sd"]) == (2, 100, 0)
    (row,) = table(overall(several_runs()), "significance")
    assert row["A − B"] == pytest.approx(both["F1"] - 100)
    assert row["95 % high"] < 0
    assert row["p (bootstrap)"] < 0.1
    bounds, _ = table(boundaries(several_runs()), "boundaries")
    assert bounds["F1"] == pytest.approx((1000 / 11 + 1000 / 12) / 2)


def test_confused_pairs_count_both_directions():
    rows = table(confusion(make_inputs()), "confused-pairs")
    assert rows[0] == {"labels": "A2 – AM-DIR", "span times": 1, "span %": 100, "crf times": 1, "crf %": 50}
    assert rows[1]["labels"] == "A0 – A1"
    assert rows[1]["crf %"] == 50


def test_short_names_of_both_spellings():
    assert [short_name(role) for role in ("ARGM-TMP", "AM-TMP", "ARG0", "R-AM-LOC")] == [
        "TMP",
        "TMP",
        "ARG0",
        "R-LOC",
    ]


def test_one_system_alone_is_enough():
    inputs = make_inputs()
    alone = inputs.__class__(inputs.gold, inputs.systems[:1], settings=inputs.settings)
    sections = build_sections(alone)
    assert [table.name for table in sections[0].tables] == ["overall"]


def test_a_system_that_makes_no_errors_has_empty_tables_of_errors():
    perfect = make_inputs().__class__(
        GOLD, [make_system("gold", GOLD, GOLD)], settings=make_inputs().settings
    )
    section = confusion(perfect)
    assert table(section, "confused-pairs") == []


def test_gold_without_propositions_and_foreign_sentences_are_refused():
    with pytest.raises(DataError, match="nothing to analyze"):
        make_system("x", [type(GOLD[0])(("Hi",))], [])
    with pytest.raises(DataError, match=r"^x: .*predict every sentence"):
        make_system("x", GOLD, SPAN[:1])


def test_names_of_predicates_and_long_spans():
    assert predicate_name(GOLD[0], GOLD[0].props[0]) == "start"
    assert span_text(GOLD[1], 3, 6) == "across the border"
    assert span_text(GOLD[1], 0, 7, 20) == "Toy makers mo … r today"
