import pytest
from hypothesis import given
from hypothesis import strategies as st

from spansrl.corpora.alignment import AlignedToken, align, align_by_position

TAGS = st.sampled_from(["DT", "NN", "NNP", "VBZ", "POS", "HYPH", ",", "."])
LEFT = st.lists(st.builds(AlignedToken, TAGS), max_size=12)
RIGHT = st.lists(
    st.builds(AlignedToken, TAGS, form=st.sampled_from(["a", "it's", "so-so", "!"])), max_size=12
)


def left(tags, **lemmas):
    return [AlignedToken(tag, lemmas.get(tag)) for tag in tags.split()]


def right(*words):
    """Words as FORM/TAG or FORM/TAG/LEMMA; '+' before one that follows without a space."""
    parts = [word.removeprefix("+").split("/") for word in words]
    return [
        AlignedToken(tag, lemma[0] if lemma else None, form, word.startswith("+"))
        for word, (form, tag, *lemma) in zip(words, parts, strict=True)
    ]


def regrouped(tokens, words):
    """The blocks that are not one to one, as tags and forms."""
    return [
        (" ".join(t.tag for t in tokens[slice(*b.left)]), " ".join(w.form for w in words[slice(*b.right)]))
        for b in align(tokens, words).blocks
        if b.is_regrouped
    ]


@pytest.mark.parametrize(
    ("tokens", "words", "expected"),
    [
        (
            left("VB GW HYPH WRB PRP"),
            right("Go/VB", "where-ever/WRB", "you/PRP"),
            [("GW HYPH WRB", "where-ever")],
        ),
        (
            left("DT NNP HYPH NNP HYPH NNP NNP"),
            right("the/DT", "XY-Z-12/NNP", "Rocket/NNP"),
            [("NNP HYPH NNP HYPH NNP", "XY-Z-12")],
        ),
        (left("DT NNPS NN"), right("the/DT", "Post/NNP", "+s/POS", "page/NN"), [("NNPS", "Post s")]),
        (left("NNP VBZ", VBZ="be"), right("Bob/NNP/Bob", "+s/POS/'s", "is/VBZ/be"), [("NNP", "Bob s")]),
        (left("WP DT VBZ NN"), right("what/WP", "thes/DT", "news/NN"), [("DT VBZ", "thes")]),
        (left("NNP POS ."), right("Wendys/NNP", "+./."), [("NNP POS", "Wendys")]),
        (left("NNP ."), right("Anna/NNP", "+s/POS", "+./."), [("NNP", "Anna s")]),
        (left("CD NNS"), right("2/CD", "+:/HYPH", "+3/CD", "days/NNS"), [("CD", "2 : 3")]),
    ],
    ids=["hyphens", "many", "plural", "lemma", "clitic", "sign-merge", "sign-split", "ratio"],
)
def test_tokens_that_were_cut_differently_find_each_other(tokens, words, expected):
    assert regrouped(tokens, words) == expected


def test_corrected_tags_do_not_regroup_tokens():
    tokens = left("PRP VBP IN PRP RB RB .")
    words = right("I/PRP", "mean/VBP", "besides/IN", "me/PRP", "of/IN", "course/NN", "+./.")
    assert regrouped(tokens, words) == []


def test_a_shift_in_sentences_of_equal_length_is_seen():
    tokens = left("WP DT VBZ NN IN DT JJ NN .")
    words = right("what/WP", "thes/DT", "use/NN", "of/IN", "an/DT", "old/JJ", "m/NN", "16/CD", "?/.")
    assert regrouped(tokens, words) == [("DT VBZ", "thes"), ("NN", "m 16")]


@given(LEFT, RIGHT)
def test_blocks_cover_both_sides_in_order_without_gaps(tokens, words):
    blocks = align(tokens, words).blocks
    for side, size in ((0, len(tokens)), (1, len(words))):
        ends = [block[side].end for block in blocks]
        assert [block[side].start for block in blocks] == [0, *ends[:-1]][: len(blocks)]
        assert (ends or [0])[-1] == size
    assert all(block.left != block.right or block.left.start < block.left.end for block in blocks)


@given(LEFT)
def test_equal_tags_correspond_by_position(tokens):
    words = [AlignedToken(token.tag, form="x") for token in tokens]
    assert align(tokens, words) == align_by_position(tokens, words)


@given(LEFT, st.data())
def test_an_alignment_never_costs_more_than_positions(tokens, data):
    words = [AlignedToken(data.draw(TAGS), form="ab") for _ in tokens]
    assert align(tokens, words).cost <= align_by_position(tokens, words).cost
