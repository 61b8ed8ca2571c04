"""experiments/sense_scores.py on a corpus of a few words, counted by hand."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from builders import make_prop, tagged
from spansrl.formats import write_sentences
from spansrl.structures import Sentence

SCRIPT = Path(__file__).resolve().parents[2] / "experiments" / "sense_scores.py"
FRAMES = """<frameset><predicate lemma="x">
  <roleset id="call.02" name=""><aliases><alias pos="v">call</alias></aliases>
    <roles><role n="0" descr="caller"/></roles></roleset>
  <roleset id="call.04" name=""><aliases><alias pos="v">call</alias></aliases><roles/></roleset>
  <roleset id="ring.05" name=""><aliases><alias pos="v">ring</alias></aliases><roles/></roleset>
</predicate></frameset>"""


def word(text: str, sense: str, *args: tuple[str, int, int], **more) -> Sentence:
    """A sentence with its first word as the predicate."""
    return tagged(text, make_prop(0, *args, sense=sense, **more))


TRAIN = (
    word("calls/VBZ/call", "call.02"),
    word("call/VB/call", "call.02"),
    word("call/VB/call off/RP/off", "call_off.06", v=((0, 2),)),
    word("extract/VB/extract", "extract.01"),
)
DEV = (
    word("called/VBD/call her/PRP/she", "call.02", ("ARG0", 1, 2)),  # seen, the most frequent
    word("called/VBD/call it/PRP/it off/RP/off", "call_off.06", ("R-ARG1", 1, 2), v=((0, 1), (2, 3))),
    word("calling/VBG/call on/IN/on", "call.04", ("ARG1", 1, 2)),  # seen, in the frames alone, without ARG1
    word("rang/VBD/ring", "ring.05"),  # in the frames; its stem says ring.01
    word("extraction/NN/extraction", "extract.01"),  # by a related word
    word("garish/JJ/garish", "garish.02"),  # unknown; its stem says garish.01
)


def run(monkeypatch, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", [SCRIPT.name, *map(str, arguments)])
    runpy.run_path(str(SCRIPT), run_name="__main__")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name, sentences in (("train", TRAIN), ("dev", DEV), ("test", DEV[:1])):
        write_sentences(tmp_path / f"{name}.jsonl", sentences)
    return tmp_path


def test_shares_match_counts_by_hand(data, monkeypatch, capsys):
    (data / "x.xml").write_text(FRAMES)
    run(monkeypatch, data, "--frames", data / "x.xml")
    first, _, *table = capsys.readouterr().out.splitlines()
    assert first == "3 senses in training, 3 in the frames"
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]
    every, seen, other = "all predicates", "word or lemma seen", "unseen, no related word seen"
    stem = "the first sense of the stem is right (4)"
    links = ("verbs", "nouns", "adjectives")
    assert [(of, what, dev) for of, what, dev, _ in rows if not of.endswith(links)] == [
        (every, "lemma equals that of Universal Dependencies", "100.0 % (6 of 6)"),
        (every, "the right sense is among the candidates (1 and 3)", "50.0 % (3 of 6)"),
        (every, "the most frequent candidate is right", "33.3 % (2 of 6)"),
        (every, "most frequent candidate, else 4", "50.0 % (3 of 6)"),
        (every, "most frequent candidate, else 2 to 4, with frames", "66.7 % (4 of 6)"),
        (every, "the frames have the right sense", "50.0 % (3 of 6)"),
        (seen, "the right sense is among the candidates (1)", "66.7 % (2 of 3)"),
        (seen, "the right sense is in the frames alone", "33.3 % (1 of 3)"),
        (seen, "the first sense in the frames alone is right", "33.3 % (1 of 3)"),
        ("unseen, in the frames", "their first sense is right (2)", "100.0 % (1 of 1)"),
        ("unseen, a related word seen", "the right sense is among the candidates (3)", "100.0 % (1 of 1)"),
        (f"{other}, verb", stem, "0.0 % (0 of 1)"),
        (f"{other}, noun", stem, "none"),
        (f"{other}, adjective", stem, "0.0 % (0 of 1)"),
        ("core arguments, with R- and C-", "the frames rule them out", "33.3 % (1 of 3)"),
        ("verbs with pieces by their sense", "their pieces are just these", "100.0 % (1 of 1)"),
    ]
    assert {test for *_, test in rows} == {"100.0 % (1 of 1)", "0.0 % (0 of 1)", "none"}


def test_the_frames_in_use_are_the_default(data, monkeypatch, capsys):
    monkeypatch.setenv("SPANSRL_HOME", str(data / "nothing"))
    run(monkeypatch, data)
    assert ", 11,207 in the frames" in capsys.readouterr().out.splitlines()[0]


def test_names_in_other_resources_are_counted_by_type(data, monkeypatch, capsys):
    link = '<rolelink resource="VerbNet" version="verbnet3.3" class="get-13.5.1">theme</rolelink>'
    linked = f'<role n="1" f="PPT" descr="">{link}</role>'
    lexical = '<lexlinks><lexlink resource="VerbNet" version="verbnet3.3" class="get-13.5.1"/></lexlinks>'
    roleset = f'<roleset id="call_off.06" name=""><roles>{linked}</roles>{lexical}</roleset>'
    (data / "x.xml").write_text(f"<frameset>{roleset}</frameset>")
    run(monkeypatch, data, "--frames", data / "x.xml")
    out = capsys.readouterr().out
    assert "| verbs | a VerbNet class | 25.0 % (1 of 4) | 0.0 % (0 of 1) |" in out
    assert "| core arguments of verbs | a function tag | 0.0 % (0 of 2) | 0.0 % (0 of 1) |" in out
