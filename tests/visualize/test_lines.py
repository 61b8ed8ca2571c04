"""Words cut into lines: what fits, and that the work does not grow faster than the words."""

from __future__ import annotations

from drawn_sentences import prop

from spansrl.structures import Sentence
from spansrl.visualize.lines import break_lines
from spansrl.visualize.marks import rows_of


def labels_measured(size: int) -> int:
    """How often a label is measured to set a sentence of so many words."""
    props = [prop(k, "see.01", ("ARG0", k - 1, k), ("ARG1", k + 1, k + 3)) for k in range(1, size - 3, 5)]
    measured = 0

    def label_width(mark) -> float:
        nonlocal measured
        measured += 1
        return len(mark.label)

    rows = rows_of(Sentence(("word",) * size, tuple(props)))
    lines = break_lines([4] * size, [1] * size, rows, limit=80, label_width=label_width)
    assert [line.start for line in lines[1:]] == [line.end for line in lines[:-1]]
    assert all(line.width <= 80 for line in lines)
    return measured


def test_a_line_is_set_with_a_look_at_the_labels_below_it_only():
    assert labels_measured(1600) < 4.5 * labels_measured(400)
