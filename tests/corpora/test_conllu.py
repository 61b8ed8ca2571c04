import pytest

from spansrl.corpora.conllu import joined, read_conllu
from spansrl.errors import FormatError
from spansrl.formats.text_files import Line


def rows(*cells):
    """CoNLL-U lines from (number, form, misc)."""
    return [f"{number}\t{form}\t{form.lower()}\tX\tNN\t_\t_\t_\t_\t{misc}" for number, form, misc in cells]


def read(lines):
    return list(read_conllu((Line(n, text) for n, text in enumerate(lines, 1)), "doc.conllu"))


def test_words_have_offsets_in_the_raw_text():
    lines = [
        "# sent_id = a-1",
        "# newpar id = p",
        *rows(("1", "I", "_"), ("2-3", "don't", "X=1|SpaceAfter=No"), ("2", "do", "_"), ("3", "n't", "_")),
        *rows(("4", ",", "_"), ("4.1", "ghost", "_"), ("5", "Bob", "SpaceAfter=No")),
    ]
    (sent,) = read(lines)
    assert (sent.ids, sent.newpar, sent.text, sent.gap) == (("a-1",), True, "I don't, Bob", "")
    assert [sent.text[word.start : word.end] for word in sent.words] == ["I", "do", "n't", ",", "Bob"]
    assert [word.glued for word in sent.words] == [False, False, True, True, False]


def test_other_white_space_is_kept():
    (sent,) = read(rows(("1", "a", r"SpacesAfter=\u00A0"), ("2", "b", r"SpacesAfter=\s\s"), ("3", "c", "_")))
    assert sent.text == "a\u00a0b  c"


def test_joined_sentences_and_their_parts_keep_text_and_offsets_consistent():
    one, two = read([*rows(("1", "One", "SpaceAfter=No"), ("2", ".", "_")), "", *rows(("1", "Two", "_"))])
    both = joined([one, two])
    assert both.text == "One. Two"
    part = both.part(1, 3)
    assert (part.text, [(word.start, word.end) for word in part.words]) == (". Two", [(0, 1), (2, 5)])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1\tI\tI", "doc.conllu:1: expected the 10 tab-separated columns of CoNLL-U, found 3"),
        ("x\tI\tI\tX\tNN\t_\t_\t_\t_\t_", "doc.conllu:1: 'x' is not a word number"),
        ("1-x\tI\tI\tX\tNN\t_\t_\t_\t_\t_", "doc.conllu:1: '1-x' is not a word number"),
    ],
)
def test_an_invalid_line_is_an_error_with_its_number(line, message):
    with pytest.raises(FormatError) as caught:
        read([line])
    assert str(caught.value) == message
