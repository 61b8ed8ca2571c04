"""Choosing raw sentences to distill on."""

from __future__ import annotations

import json
import lzma
import subprocess
import sys
from pathlib import Path

import pytest

from builders import make_prop, tagged
from spansrl.formats import read_sentences, write_sentences

SCRIPT = Path(__file__).parents[2] / "experiments" / "raw_text.py"
TRAIN = [
    tagged("The/DT/the walk/NN/walk ended/VBD/end", make_prop(1), make_prop(2, ("ARG1", 0, 2))),
    tagged("They/PRP/they end/VBP/end a/DT/a walk/NN/walk", make_prop(1, ("ARG1", 2, 4)), make_prop(3)),
    tagged("A/DT/a plan/NN/plan", make_prop(1)),
    tagged("A/DT/a plan/NN/plan"),
    tagged("No/DT/no plan/NN/plan"),
]
TEXTS = [
    "A walk and another walk.",
    "They end it here.",
    "This plan is a plan.",
    "One walk is " + "very " * 40 + "long.",
    "The old walk took them too long.",
]


@pytest.fixture
def raw(tmp_path):
    """Run the command on the texts; returns the chosen sentences."""
    with lzma.open(tmp_path / "raw.jsonl.xz", "wt", encoding="utf-8") as file:
        for text in TEXTS:
            file.write(json.dumps({"text": text, "source": "ours", "genre": "toys"}) + "\n")
    write_sentences(tmp_path / "train.jsonl", TRAIN)

    def chosen(*options: object) -> list[str]:
        paths = [tmp_path / "raw.jsonl.xz", "--out", tmp_path / "out.jsonl"]
        subprocess.run([sys.executable, SCRIPT, *paths, *map(str, options)], check=True, capture_output=True)
        return [" ".join(sent.tokens) for sent in read_sentences(tmp_path / "out.jsonl")]

    return chosen


def test_sentences_that_are_richest_in_noun_predicates_come_first(raw, tmp_path):
    # "walk" is always a predicate; "plan" in one of three cases, which is not enough; "end" is a verb.
    assert raw("--nouns", tmp_path / "train.jsonl", "--keep", 2) == [
        "A walk and another walk .",
        "The old walk took them too long .",
    ]


def test_later_sentences_are_those_after_the_first_ones(raw):
    everything = raw()
    assert sorted(map(len, everything)) == sorted(len(text) + 1 for text in TEXTS)
    assert raw("--skip", 3) == everything[3:]
