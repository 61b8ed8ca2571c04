"""brat standoff: annotations whose offsets are those of the text file beside them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import column_sentences

from spansrl.errors import DataError, FormatError
from spansrl.formats import Losses, write_sentences
from spansrl.formats.brat import brat_lines
from spansrl.structures import Argument, Proposition, Sentence, Span


def files(*sentences):
    chunks = list(brat_lines(sentences, Losses("brat")))
    return "".join(f"{chunk}\n" for chunk in chunks[::2] if chunk), "".join(f"{c}\n" for c in chunks[1::2])


def spans_of(annotations, text):
    """The words of each span, which must be those that the text has there."""
    found = {}
    for line in annotations.split("\n"):
        if match := re.fullmatch(r"(T\d+)\t(\w+) ([\d ;]+)\t(.*)", line):
            ranges = [piece.split() for piece in match[3].split(";")]
            assert match[4] == " ".join(text[int(start) : int(end)] for start, end in ranges)
            found[match[1]] = (match[2], match[4])
    return found


def test_a_sentence_becomes_spans_senses_and_relations():
    args = (Argument("ARG0", Span(0, 1)), Argument("ARG1", Span(2, 3)))
    prop = Proposition(1, args, sense="turn_off.05", v=(Span(1, 2), Span(3, 4)))
    text = "They turned it off."
    offsets = ((0, 4), (5, 11), (12, 14), (15, 18), (18, 19))
    sent = Sentence(("They", "turned", "it", "off", "."), (prop,), text=text, offsets=offsets)
    plain = Sentence(("Ann", "left"), (Proposition(1, (Argument("ARG0", Span(0, 1)),)),))
    annotations, words = files(sent, plain)
    assert words == "They turned it off.\nAnn left\n"
    assert annotations.splitlines() == [
        "T1\tPredicate 5 11;15 18\tturned off",
        "A1\tSense T1 turn_off.05",
        "T2\tArgument 0 4\tThey",
        "R1\tARG0 Arg1:T1 Arg2:T2",
        "T3\tArgument 12 14\tit",
        "R2\tARG1 Arg1:T1 Arg2:T3",
        "T4\tPredicate 24 28\tleft",
        "T5\tArgument 20 23\tAnn",
        "R3\tARG0 Arg1:T4 Arg2:T5",
    ]


@given(st.lists(column_sentences(), max_size=3))
def test_every_proposition_can_be_rebuilt_from_the_two_files(sentences):
    sentences = [replace(s, tokens=tuple(re.sub(r"\s", " ", t) for t in s.tokens)) for s in sentences]
    annotations, text = files(*sentences)
    assert text.count("\n") == len(sentences)
    spans = spans_of(annotations, text)
    assert [words for name, words in spans.values() if name == "Predicate"] == [
        " ".join(" ".join(sent.tokens[span.start : span.end]) for span in sorted(prop.verb_spans))
        or sent.tokens[prop.pred]
        for sent in sentences
        for prop in sent.props
    ]
    relations = re.findall(r"^R\d+\t(\S+) Arg1:(T\d+) Arg2:(T\d+)$", annotations, re.MULTILINE)
    assert [(role, spans[target][1]) for role, _, target in relations] == [
        (arg.role, " ".join(sent.tokens[arg.span.start : arg.span.end]))
        for sent in sentences
        for prop in sent.props
        for arg in prop.args
    ]


def test_two_files_appear_and_no_text_is_overwritten(tmp_path):
    sent = Sentence(("Ann", "left"))
    assert not write_sentences(tmp_path / "a.ann", [sent])
    assert ((tmp_path / "a.ann").read_text(), (tmp_path / "a.txt").read_text()) == ("", "Ann left\n")
    with pytest.raises(DataError, match=r"a\.txt: exists already"):
        write_sentences(tmp_path / "a.ann", [sent])
    for name in ("-", str(tmp_path / "b.ann.gz")):
        with pytest.raises(DataError, match="brat is two files"):
            write_sentences(name, [sent], "brat")
    role = Sentence(("a",), (Proposition(0, (Argument("A 0", Span(0, 1)),)),))
    with pytest.raises(FormatError, match="sentence 1 cannot be written as brat: the role 'A 0'"):
        write_sentences(tmp_path / "c.ann", [role])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.ann", "a.txt"]
