"""A small corpus whose figures can be counted by hand, and two systems' answers to it."""

from __future__ import annotations

from dataclasses import replace

from builders import make_sentence
from spansrl.analysis import Inputs, ReportSettings, make_system

GOLD = [
    replace(
        make_sentence("People start their own business", (1, ("A0", 0, 1), ("A1", 2, 5))),
        pos=("NNS", "VBP", "PRP$", "JJ", "NN"),
        id="first",
    ),
    replace(
        make_sentence(
            "Toy makers move across the border today", (2, ("A0", 0, 2), ("A2", 3, 6), ("AM-TMP", 6, 7))
        ),
        pos=("NN", "NNS", "VBP", "IN", "DT", "NN", "RB"),
        id="second",
    ),
    replace(
        make_sentence("The start of the race", (1, ("A1", 2, 5))),
        pos=("DT", "NN", "IN", "DT", "NN"),
        id="third",
    ),
]

# One label wrong (A2 as AM-DIR), one argument missed (A1 of the noun).
SPAN = [
    make_sentence("People start their own business", (1, ("A0", 0, 1), ("A1", 2, 5))),
    make_sentence(
        "Toy makers move across the border today", (2, ("A0", 0, 2), ("AM-DIR", 3, 6), ("AM-TMP", 6, 7))
    ),
    make_sentence("The start of the race", (1,)),
]

# Two labels wrong (A0 as A1, A2 as AM-DIR), one boundary wrong (A1 of the first sentence).
CRF = [
    make_sentence("People start their own business", (1, ("A1", 0, 1), ("A1", 3, 5))),
    make_sentence(
        "Toy makers move across the border today", (2, ("A0", 0, 2), ("AM-DIR", 3, 6), ("AM-TMP", 6, 7))
    ),
    make_sentence("The start of the race", (1, ("A1", 2, 5))),
]

TRAIN = [make_sentence("They start it", (1, ("A0", 0, 1), ("A1", 2, 3)))]


def make_inputs(**more) -> Inputs:
    """The corpus with both systems; everything is frequent."""
    settings = more.pop("settings", ReportSettings(samples=200, min_count=1))
    systems = [make_system("span", GOLD, SPAN), make_system("crf", GOLD, CRF)]
    return Inputs(GOLD, systems, settings=settings, **more)


def table(section, name):
    """A section's table as a list of dictionaries, one a row."""
    (found,) = [table for table in section.tables if table.name == name]
    heads = [column.name for column in found.columns]
    return [dict(zip(heads, row, strict=True)) for row in found.rows]
