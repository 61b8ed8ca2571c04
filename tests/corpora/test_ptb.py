import pytest

from spansrl.corpora.conll05 import read_terminals
from spansrl.errors import FormatError
from spansrl.formats.text_files import Line


def read(text):
    lines = (Line(number, line) for number, line in enumerate(text.split("\n"), 1))
    return [(tree.words, tree.tags) for tree in read_terminals(lines, "a.mrg")]


def test_words_and_tags_without_traces():
    text = (
        "( (S (NP-1 (DT The) (NN dog))\n (VP (VBD was) (VP (VBN fed) (NP (-NONE- *-1))))))\n\n(X (CD 1\\/2))"
    )
    assert read(text) == [
        (("The", "dog", "was", "fed"), ("DT", "NN", "VBD", "VBN")),
        (("1\\/2",), ("CD",)),
    ]


def test_an_empty_file_has_no_trees():
    assert read("\n") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (NN dog)\n", "a.mrg:1: this tree is still open when the file ends"),
        ("(NN dog)\n)", "a.mrg:2: ')' closes nothing"),
        ("dog", "a.mrg:1: 'dog' is outside a leaf (TAG WORD)"),
        ("(NN two words)", "a.mrg:1: 'words' is outside a leaf (TAG WORD)"),
    ],
)
def test_brackets_that_do_not_match_are_named(text, message):
    with pytest.raises(FormatError) as caught:
        read(text)
    assert str(caught.value) == message
