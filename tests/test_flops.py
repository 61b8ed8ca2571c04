"""benchmarks/flops.py: what it counts as necessary work."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import spansrl
from spansrl.structures import Sentence

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.fixture
def flops(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("flops")


def event(left, right, out):
    return {
        "input_type_shape": [{"float": left}, {"float": right}],
        "output_type_shape": [{"float": out}],
    }


@pytest.mark.parametrize(
    ("left", "right", "out"),
    [([5, 7], [7, 3], [5, 3]), ([5, 7], [3, 7], [5, 3]), ([7, 5], [7, 3], [5, 3])],
)
def test_a_product_counts_the_same_when_a_matrix_is_transposed(flops, left, right, out):
    assert flops._product(event(left, right, out)) == pytest.approx(2 * 5 * 7 * 3)


def test_every_matrix_of_a_stack_counts(flops):
    assert flops._product(event([2, 4, 5, 7], [2, 4, 7, 3], [2, 4, 5, 3])) == pytest.approx(8 * 2 * 5 * 7 * 3)
    assert flops._product(event([2, 5, 7], [7, 3], [2, 5, 3])) == pytest.approx(2 * 2 * 5 * 7 * 3)


def test_sentences_add_up_without_padding(flops):
    srl = spansrl.load(threads=1)
    short, long = (
        Sentence(("Ann", "left", ".")),
        Sentence(("She", "kept", "a", "cat", "in", "the", "garden", ".")),
    )
    apart = flops.operations(srl, [short]) + flops.operations(srl, [long])
    assert flops.operations(srl, [short, long]) == pytest.approx(apart)
    # The encoder alone: six layers of width 384 with feed-forward layers of width 1536 for each of 10 pieces.
    assert flops.operations(srl, [long]) > 10 * 6 * 2 * (4 * 384**2 + 2 * 384 * 1536)
