"""Everyday sentences: the shipped model has the right sense, and roles by the frame's own numbering."""

from __future__ import annotations

import pytest

from spansrl.inference.directory import ENCODER_GRAPH
from spansrl.inference.loading import load, shipped_model

pytestmark = pytest.mark.skipif(
    not (shipped_model() / ENCODER_GRAPH).exists(), reason="the package has no model here"
)


@pytest.fixture(scope="module")
def srl():
    return load(threads=1)


@pytest.mark.parametrize(
    ("text", "sense", "arguments"),
    [
        ("The company's decision to fire Bob surprised everyone.", "fire.02", {"ARG1": "Bob"}),
        ("Turn the lights off before you leave.", "turn_off.07", {"ARG1": "the lights"}),
        ("Mary baked John a cake.", "bake.01", {"ARG1": "a cake", "ARG3": "John"}),
        ("He promised his mother to call.", "promise.01", {"ARG1": "his mother", "ARG2": "to call"}),
        ("Fed Hikes Rates", "hike.02", {"ARG0": "Fed", "ARG1": "Rates"}),
        ("Could you look after the cat?", "look_after.07", {"ARG0": "you"}),
        ("The police will look into the matter.", "look_into.11", {"ARG0": "The police"}),
        ("He criticised the plan.", "criticize.01", {"ARG0": "He", "ARG1": "the plan"}),
        ("We honour the dead.", "honor.01", {"ARG0": "We", "ARG1": "the dead"}),
    ],
)
def test_a_reader_accepts_the_sense_and_its_arguments(srl, text, sense, arguments):
    prop = next(prop for prop in srl(text).props if prop.sense == sense)
    found = {arg.role: arg.text for arg in prop.args}
    assert {role: found.get(role) for role in arguments} == arguments
    assert prop.lemma == sense.partition(".")[0].partition("_")[0]
