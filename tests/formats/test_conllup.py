"""CoNLL-U Plus with the columns of Universal Propositions, in and out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import column_sentences

from spansrl.errors import FormatError
from spansrl.formats import Losses, read_sentences, write_sentences
from spansrl.formats.conllup import conllup_lines, read_conllup
from spansrl.formats.text_files import Line
from spansrl.structures import Argument, Proposition, Sentence, Span

HEADER = (
    "# global.columns = ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC UP:PRED UP:ARGHEADS UP:ARGSPANS"
)
SPANS = "V:2-2|C-V:4-4|ARG0:1-1|ARG1:3-3"
FILE = f"""{HEADER}
# sent_id = s1
# text = They turned it off.
1	They	they	PRON	PRP	_	2	nsubj	_	_	_	_	_
2	turned	turn	VERB	VBD	_	0	root	_	_	turn_off.05	ARG0:1|ARG1:3	{SPANS}
3	it	it	PRON	PRP	_	2	obj	_	_	_	_	_
4	off	off	ADP	RP	_	2	compound:prt	_	SpaceAfter=No	_	_	_
5	.	.	PUNCT	.	_	2	punct	_	_	_	_	_

"""


def read(text):
    return list(
        read_conllup([Line(k, line) for k, line in enumerate(text.split("\n"), start=1)], "x.conllup")
    )


def written(*sentences):
    losses = Losses("conllup")
    return "".join(f"{line}\n" for line in conllup_lines(sentences, losses)), losses


def test_a_file_of_universal_propositions():
    (sent,) = read(FILE)
    assert (sent.id, sent.text, sent.offsets[3:]) == ("s1", "They turned it off.", ((15, 18), (18, 19)))
    assert (sent.pos[1], sent.lemmas[2], sent.extra["heads"]) == ("VBD", "it", [1, -1, 1, 1, 1])
    (prop,) = sent.props
    assert (prop.pred, prop.sense, prop.lemma, prop.v) == (1, "turn_off.05", "turn", (Span(1, 2), Span(3, 4)))
    assert prop.args == (Argument("ARG0", Span(0, 1)), Argument("ARG1", Span(2, 3)))
    text, losses = written(sent)
    assert text == FILE
    assert not losses


def test_the_columns_may_be_others_and_in_any_order():
    text = "# global.columns = ID UP:ARGSPANS UP:PREDS\n1\t_\t_\n2\tA0:1-1\thave.03\n"
    (sent,) = read(text)
    assert sent.tokens == ("_", "_")
    assert sent.props == (Proposition(1, (Argument("A0", Span(0, 1)),), lemma="have", sense="have.03"),)


def test_plain_conllu_has_tokens_and_no_propositions():
    rows = ("1-2\tdon't" + 8 * "\t_", "1\tdo" + 8 * "\t_", "2\tn't" + 8 * "\t_", "2.1\tx" + 8 * "\t_")
    (sent,) = read("# newdoc\n" + "\n".join(rows))
    assert (sent.tokens, sent.props, sent.id) == (("do", "n't"), (), "1")


def test_predicates_without_a_sense_or_a_lemma_come_back():
    props = (Proposition(0, lemma="go"), Proposition(1))
    (sent,) = read(written(Sentence(("a", "b"), props))[0])
    assert sent.props == props


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("2\tturned", "3\tturned", "x.conllup:5: expected ID 2, found '3'"),
        ("ARG1:3-3", "ARG1:3-9", "x.conllup:5: 'ARG1:3-9' is not a span of the sentence"),
        ("ARG1:3-3", "ARG1", "x.conllup:5: 'ARG1' is not ROLE:FIRST-LAST"),
        ("C-V:4-4", "V:4-4", "x.conllup:5: a second 'V' for one predicate"),
        ("\t2\tobj", "\t7\tobj", "x.conllup:6: HEAD '7' is not a word"),
        ("\t_\n5", "\n5", "x.conllup:7: expected 13 tab-separated columns, found 12"),
        ("UP:ARGSPANS", "OTHER", "x.conllup:5: no column UP:ARGSPANS"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(old, new, message):
    assert old in FILE
    with pytest.raises(FormatError, match=f"^{message}"):
        read(FILE.replace(old, new, 1))


@given(column_sentences(), st.data())
def test_any_sentence_comes_back(sent, data):
    tops = st.lists(st.integers(-1, len(sent) - 1), min_size=len(sent), max_size=len(sent))
    heads = data.draw(st.none() | tops.filter(lambda found: True))
    props = tuple(replace(prop, v=prop.v or None, extra={}) for prop in sent.props)
    sent = replace(sent, props=props, extra={} if heads is None else {"heads": heads})
    text, losses = written(sent)
    (found,) = read(text)
    assert not losses
    assert found == sent
    assert written(found)[0] == text


@given(st.lists(st.text("ab .\u00e9", min_size=1).filter(str.strip).map(str.strip), min_size=1), st.data())
def test_the_text_and_its_spaces_come_back(tokens, data):
    tokens = [token for part in tokens for token in part.split()]
    gaps = [data.draw(st.sampled_from(["", " ", "  "])) for _ in tokens]
    text, offsets = "", []
    for gap, token in zip(gaps, tokens, strict=True):
        text += gap if text else ""
        offsets.append((len(text), len(text) + len(token)))
        text += token
    sent = Sentence(tuple(tokens), id="1", text=text, offsets=tuple(offsets))
    (found,) = read(written(sent)[0])
    assert (found.text, found.offsets, found.extra) == (text, tuple(offsets), {})


def test_losses_are_counted():
    args = (Argument("A0", Span(0, 1), prob=0.5),)
    sent = Sentence(
        ("a\tb", ""), (Proposition(1, args, lemma="x", prob=0.5),), char_start=3, extra={"note": 1}
    )
    assert str(written(sent)[1]) == (
        "conllup cannot hold: 'char_start' (1 sentence), 'prob' (1 sentence), 'note' (1 sentence), "
        "cells with tabs, line breaks or no text, written with '_' (2)"
    )
    with pytest.raises(FormatError, match=r"sentence 1 cannot be written as conllup: the role 'A\|0'"):
        written(Sentence(("a",), (Proposition(0, (Argument("A|0", Span(0, 1)),)),)))


def test_files_are_found_by_name_and_content(tmp_path):
    for name in ("a.conllup", "a.conllu", "unknown"):
        (tmp_path / name).write_text(FILE)
        (sent,) = read_sentences(tmp_path / name)
        assert sent.props
    assert not write_sentences(tmp_path / "b.conllup.gz", [sent])
    assert list(read_sentences(tmp_path / "b.conllup.gz")) == [sent]
