from __future__ import annotations

from drawn_sentences import CAT, LONG, prop, sentences
from hypothesis import given, settings
from hypothesis import strategies as st

from spansrl.structures import Sentence
from spansrl.visualize.layout import fit, lay_out
from spansrl.visualize.marks import rows_of


def laid_out(sent: Sentence, limit: int, measure=len):
    return lay_out(sent, rows_of(sent), [len(word) for word in sent.tokens], measure, limit=limit, space=1)


def labels_measured(size: int) -> int:
    """How many labels are measured for a sentence of so many words."""
    props = [prop(k, "see.01", ("ARG0", k - 1, k), ("ARG1", k + 1, k + 3)) for k in range(1, size - 3, 5)]
    measured = 0

    def measure(text: str) -> float:
        nonlocal measured
        measured += 1
        return len(text)

    laid_out(Sentence(("word",) * size, tuple(props)), 80, measure)
    return measured


def test_the_work_grows_with_the_number_of_words():
    assert labels_measured(1600) < 4.5 * labels_measured(400)


def test_words_keep_their_natural_spacing():
    (line,) = laid_out(CAT, 80)
    assert [int(offset) for offset in line.offsets] == [start for start, _ in CAT.offsets]


@settings(deadline=None, max_examples=80)
@given(sentences(), st.integers(20, 60))
def test_labels_of_a_line_never_overlap_and_every_bar_has_one(sent, limit):
    for line in laid_out(sent, limit):
        for strip in line.strips:
            for labels in strip.labels:
                ends = [label.begin + len(label.text) for label in labels]
                assert all(end < other.begin for end, other in zip(ends, labels[1:], strict=False))
                assert all(label.begin >= 0 and end <= limit for label, end in zip(labels, ends, strict=True))
            labeled = [label.mark for labels in strip.labels for label in labels]
            assert sorted(labeled) == sorted(bar.mark for bar in strip.bars)


def test_a_part_on_a_line_without_its_predicate_names_it():
    _, second, third = laid_out(LONG, 60)
    texts = [label.text for strip in second.strips for labels in strip.labels for label in labels]
    assert "ARG0 of postpone.01" in texts
    assert "ARG0 of decide.01" not in texts  # the predicate is on this line
    assert len(third.strips) == 3  # and nothing is drawn for propositions that are elsewhere


def test_a_text_that_is_too_wide_is_cut():
    assert fit("understand", 6, len) == "under…"
    assert fit("under", 6, len) == "under"
    assert len(fit("understand", 4, len, "...")) == 4
