import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spansrl.corpora.banded import IMPOSSIBLE, Costs, align_banded
from spansrl.structures import Span

LONGEST = 2


def simple_costs(right, n_kinds):
    """A row of kind k takes one atom that is k for nothing, and any other single atom for 10."""
    take = np.full((n_kinds, LONGEST, len(right) + 1), IMPOSSIBLE, dtype=np.int32)
    for j, atom in enumerate(right, start=1):
        take[:, 0, j] = 10
        take[atom, 0, j] = 0
    return Costs(
        take,
        np.full(n_kinds, 15, dtype=np.int32),
        np.full(len(right), 15, dtype=np.int32),
        np.zeros(len(right) + 1, dtype=np.int32),
    )


def price(kinds, costs, spans):
    """The cost of an alignment, added up move by move."""
    total, at = 0, 0
    n_atoms = len(costs.skip_atom)
    for kind, span in [*zip(kinds, spans, strict=True), (None, Span(n_atoms, n_atoms))]:
        if span is None:
            total += costs.skip_row[kind]
            continue
        if span.start > at:
            total += costs.start_skip[at] + costs.skip_atom[at : span.start].sum()
        if kind is not None:
            total += costs.take[kind, span.end - span.start - 1, span.end]
        at = span.end
    return total


def every_alignment(n_rows, n_atoms, at=0):
    if n_rows == 0:
        yield []
        return
    for rest in every_alignment(n_rows - 1, n_atoms, at):
        yield [None, *rest]
    for start in range(at, n_atoms):
        for end in range(start + 1, min(n_atoms, start + LONGEST) + 1):
            for rest in every_alignment(n_rows - 1, n_atoms, end):
                yield [Span(start, end), *rest]


@st.composite
def problems(draw):
    n_rows, n_atoms, n_kinds = draw(st.integers(0, 3)), draw(st.integers(0, 4)), 2
    numbers = st.integers(0, 9)

    def array(*shape):
        size = int(np.prod(shape))
        values = draw(st.lists(numbers, min_size=size, max_size=size))
        return np.array(values, dtype=np.int32).reshape(shape)

    take = array(n_kinds, LONGEST, n_atoms + 1)
    for m in range(LONGEST):
        take[:, m, : m + 1] = IMPOSSIBLE
    kinds = draw(st.lists(st.integers(0, n_kinds - 1), min_size=n_rows, max_size=n_rows))
    return kinds, Costs(take, array(n_kinds), array(n_atoms), array(n_atoms + 1))


@given(problems())
def test_no_alignment_is_cheaper_than_the_one_found(problem):
    kinds, costs = problem
    found = align_banded(kinds, costs)
    cheapest = min(price(kinds, costs, spans) for spans in every_alignment(len(kinds), len(costs.skip_atom)))
    assert price(kinds, costs, found) == cheapest


def test_rows_and_atoms_without_a_partner_are_skipped():
    right = [0, 1, 2, 2, 0]
    assert align_banded([0, 1, 0], simple_costs(right, 3)) == [Span(0, 1), Span(1, 2), Span(4, 5)]
    right = [0, 0]
    assert align_banded([0, 1, 1, 1, 0], simple_costs(right, 2)) == [Span(0, 1), None, None, None, Span(1, 2)]


def test_a_run_of_skipped_atoms_starts_where_that_is_cheapest():
    costs = simple_costs([0, 0, 0], 1)
    for boundary in range(3):
        costs.start_skip[:] = 5
        costs.start_skip[boundary] = 0
        spans = align_banded([0, 0], costs)
        assert [span.start for span in spans] == [place for place in range(3) if place != boundary]


def test_the_band_is_widened_until_it_holds_the_best_path():
    kinds = [0, 1, 2] * 20
    right = [3] * 150 + kinds
    costs = simple_costs(right, 4)
    expected = [Span(150 + place, 151 + place) for place in range(60)]
    assert align_banded(kinds, costs, half_width=2) == expected
    assert align_banded(kinds, costs, half_width=300) == expected


def test_one_side_may_be_empty():
    assert align_banded([], simple_costs([0, 0], 1)) == []
    assert align_banded([0, 0], simple_costs([], 1)) == [None, None]
