"""Heads and short forms of arguments, and pronouns resolved by clusters."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spansrl import Argument, DataError, Document, Proposition, Sentence, Span

TEXT = "Ann met Bob. She gave him the old letters that her aunt wrote."


def document() -> Document:
    first = Sentence(
        ("Ann", "met", "Bob", "."),
        (Proposition(1, (Argument("ARG0", Span(0, 1)), Argument("ARG1", Span(2, 3))), type="verb"),),
        text="Ann met Bob.",
        offsets=((0, 3), (4, 7), (8, 11), (11, 12)),
        char_start=0,
    )
    words = "She gave him the old letters that her aunt wrote .".split()
    offsets, at = [], 0
    for word in words:
        at = TEXT.index(word, 13 + at) - 13
        offsets.append((at, at + len(word)))
        at += len(word)
    args = (Argument("ARG0", Span(0, 1)), Argument("ARG2", Span(2, 3)), Argument("ARG1", Span(3, 10)))
    props = (Proposition(1, args, type="verb"), Proposition(9, type="verb"))
    second = Sentence(tuple(words), props, text=TEXT[13:], offsets=tuple(offsets), char_start=13)
    return Document(TEXT, (first, second))


def test_head_and_short_form_leave_out_determiners_and_relative_clauses():
    letters = document()[1].props[0].args[2]
    assert (letters.head, letters.head_index, letters.short) == ("letters", 5, "old letters")
    assert not letters.is_pronoun
    assert not letters.is_clause


@pytest.mark.parametrize(
    ("words", "verbs", "head", "short"),
    [
        ("by the president", {}, "president", "president"),
        ("to the risk of stroke", {}, "risk", "risk of stroke"),
        ("that he left early", {2: "verb"}, "left", "he left early"),
        ("to leave", {1: "verb"}, "leave", "to leave"),
        ("the people waiting outside", {2: "verb"}, "people", "people"),
        ("that she is a doctor", {2: "verb"}, "doctor", "she is a doctor"),
        ("$ 5 million", {}, "$", "$ 5 million"),
        ("Ann and Bob", {}, "Ann", "Ann and Bob"),
        ("just after noon", {}, "noon", "noon"),
    ],
)
def test_heads_are_those_of_universal_dependencies(words, verbs, head, short):
    tokens = words.split()
    others = tuple(Proposition(pred, type=type) for pred, type in verbs.items())
    main = Proposition(len(tokens), (Argument("ARG1", Span(0, len(tokens))),), type="verb")
    arg = Sentence((*tokens, "see"), (*others, main)).props[-1].args[0]
    assert (arg.head, arg.short) == (head, short)


def test_clauses_and_pronouns_are_marked():
    she, him, _ = document()[1].props[0].args
    assert she.is_pronoun
    assert him.is_pronoun
    clause = Sentence(
        ("He", "said", "it", "broke"),
        (Proposition(1, (Argument("ARG1", Span(2, 4)),), type="verb"), Proposition(3, type="verb")),
    )
    assert clause.props[0].args[0].is_clause


def test_clusters_fill_in_what_pronouns_refer_to():
    doc = document().with_coreference([[(0, 3), (13, 16), (47, 50)], [(8, 11), (22, 25)]])
    she, him, _ = doc[1].props[0].args
    assert (she.refers_to, him.refers_to) == ("Ann", "Bob")
    (gave,) = doc[1].statements()
    assert (gave.subject.name, gave.row()["subject_refers_to"], str(gave.subject)) == ("Ann", "Ann", "She")
    assert doc[0].props[0].args[0].refers_to is None
    assert Document.from_dict(doc.to_dict()) == doc


def test_spacy_spans_are_clusters_too():
    spacy = pytest.importorskip("spacy")
    labeled = spacy.blank("en")(TEXT)
    group = [labeled.char_span(0, 3), labeled.char_span(13, 16)]
    doc = document().with_coreference([group])
    assert doc[1].props[0].args[0].refers_to == "Ann"


@pytest.mark.parametrize(
    ("clusters", "message"),
    [
        ([[(0, 3), (60, 99)]], "60 to 99 is outside the text"),
        ([[(0, 3), "Ann"]], "pair of character offsets"),
    ],
)
def test_a_wrong_mention_is_one_clear_line(clusters, message):
    with pytest.raises(DataError, match=message):
        document().with_coreference(clusters)


def test_a_changed_sentence_binds_its_propositions_again():
    doc = document()
    fewer = replace(doc[1], props=doc[1].props[:1])
    assert fewer.props[0].words.props == doc[1].props[:1]
    assert replace(doc[1], id="x").props is doc[1].props
