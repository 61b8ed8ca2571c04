"""Verbs with particles."""

from __future__ import annotations

import pytest

from spansrl.inventory.particles import multiword_spans, particles
from spansrl.structures import Span


def test_particles_are_part_of_the_name_of_a_sense():
    assert particles("look_forward_to.03") == ("forward", "to")
    assert particles("make.LV") == ()
    assert particles("_.01") == ()


@pytest.mark.parametrize(
    ("text", "pred", "sense", "spans"),
    [
        ("We moved on", 1, "move_on.08", [(1, 3)]),
        ("Call the whole thing OFF now", 0, "call_off.06", [(0, 1), (4, 5)]),
        ("It took him in to account", 1, "take_in_to.99", [(1, 2), (3, 5)]),
        ("We moved", 1, "move_on.08", None),
        ("We moved", 1, "move.01", None),
        ("On we moved", 2, "move_on.08", None),
        ("Call a b c d e f off", 0, "call_off.06", None),
        ("Make", 0, "make.LV", None),
        ("We", 0, "", None),
    ],
)
def test_the_pieces_of_a_verb_are_its_particles_that_follow_soon(text, pred, sense, spans):
    expected = None if spans is None else tuple(Span(*span) for span in spans)
    assert multiword_spans(text.split(), pred, sense) == expected
