from __future__ import annotations

import json

import pytest

from spansrl.inventory import PROPBANK, FrameIndex, SenseLinks, load_frames
from spansrl.inventory.frame_files import Roleset
from spansrl.inventory.frame_index import without_notes
from spansrl.inventory.install import read_frames


@pytest.fixture
def index(folder) -> FrameIndex:
    return read_frames(str(folder)).index


def test_an_index_has_senses_and_definitions(index):
    assert len(index) == 4
    assert "guard.01" in index
    assert "guard.09" not in index
    assert index.definition("guard.01") == "watch over"
    assert index.definition("guard.02") == ""
    assert index.definition("guard.09") is None


@pytest.mark.parametrize("role", ["ARG1", "A1", "R-ARG1", "C-A1", "ARG1-DSP"])
def test_a_role_means_the_same_in_every_spelling(index, role):
    assert index.meaning("guard.01", role) == "thing watched"


def test_modifiers_have_a_general_meaning_unless_the_sense_has_its_own(index):
    assert index.meaning("guard.01", "ARGM-LOC") == "where the watcher stands"
    assert index.meaning("guard.02", "AM-LOC") == "location"
    assert index.meaning(None, "R-ARGM-TMP") == "time"
    assert index.meaning("nobody.01", "ARGA") == "causer"


@pytest.mark.parametrize(
    ("sense", "role"),
    [("guard.01", "ARG4"), ("guard.09", "ARG0"), (None, "A0"), ("guard.01", "ARGM-QQQ"), ("guard.01", "V")],
)
def test_roles_without_a_description_have_no_meaning(index, sense, role):
    assert index.meaning(sense, role) is None


def test_numbered_roles_that_a_sense_does_not_have_are_ruled_out(index):
    assert [
        index.rules_out("guard.01", role) for role in ("A0", "R-ARG1", "A3", "C-ARG3", "AM-LOC", "AA")
    ] == [*(False, False, True, True, False, False)]
    assert not index.rules_out("guard.09", "ARG3")


def test_roles_are_in_order_and_spelled_as_in_propbank(index):
    assert list(index.roles("guard.01")) == ["ARG0", "ARG1", "ARG2", "ARGM-LOC"]
    assert index.roles("guard.09") is None


def test_a_word_has_senses_by_its_type_its_namesakes_first_and_those_with_particles_last(index):
    assert index.rolesets("Guard", "verb") == ("guard.01", "guard.02", "ward.01", "guard_off.03")
    assert index.rolesets("guarding", "noun") == ("guard.01",)
    assert index.rolesets("guarded", "adjective") == ("guard.02",)
    assert (
        index.rolesets("guard", "noun") == index.rolesets("cat", None) == index.rolesets("guard", "odd") == ()
    )
    assert index.rolesets("guarding", None) == ("guard.01",)
    assert index.rolesets("guard_off", "verb") == ("guard_off.03",)


def test_the_words_of_a_sense_are_found(index):
    assert index.words("guard.01") == (("guard", "verb"), ("guarding", "noun"))
    assert index.words("guard_off.03") == (("guard_off", "verb"),)
    assert index.words("guard.09") == ()


def test_an_index_survives_json(index):
    again = FrameIndex.from_dict(json.loads(json.dumps(index.to_dict())))
    assert again.meaning("guard.01", "A0") == "watcher"
    assert again.rolesets("guard", "verb") == index.rolesets("guard", "verb")
    assert again.words("guard.01") == index.words("guard.01")


def test_core_roles_are_the_numbered_ones_in_either_spelling():
    def is_core(name):
        return PROPBANK.role(name).is_core

    assert all(map(is_core, ["A0", "A5", "ARG0", "ARG5"]))
    assert not any(map(is_core, ["A6", "AA", "ARGA", "R-A0", "C-ARG1", "AM-TMP", "ARGM-LOC", "V", "A00"]))


def test_roles_refer_to_or_continue_their_base():
    assert [PROPBANK.role(name).base for name in ("ARG1", "R-ARG1", "C-A1")] == ["ARG1", "ARG1", "A1"]


SELL = Roleset(
    "sell.01",
    "commerce (eg)",
    roles={"0": "seller", "1": "thing sold", "M-LOC": "shop"},
    functions={"0": "PAG", "1": "PPT"},
    thematic={"0": "agent"},
    classes=["give-13.1-1", "get-13.5.1"],
    frames=["Commerce_sell"],
)


def test_links_are_kept_in_json_and_indices_without_them_still_load():
    data = json.loads(json.dumps(FrameIndex.of([SELL]).to_dict()))
    index = FrameIndex.from_dict(data)
    assert index.links("sell.01") == SenseLinks(
        ("give-13.1-1", "get-13.5.1"), "Commerce_sell", {"0": "agent"}, {"0": "PAG", "1": "PPT"}
    )
    assert index.links("buy.01") == index.links(None) == SenseLinks()
    assert [index.thematic("sell.01", role) for role in ("A0", "R-ARG0", "ARG1", "ARGM-TMP")] == [
        *("agent", "agent", None, None)
    ]
    assert [index.function("sell.01", role) for role in ("A0", "C-ARG1", "ARG2", "AM-TMP", "V")] == [
        *("PAG", "PPT", None, "TMP", None)
    ]
    del data["links"]
    old = FrameIndex.from_dict(data)
    assert (old.thematic("sell.01", "ARG0"), old.meaning("sell.01", "ARG0")) == (None, "seller")
    assert PROPBANK.function(None, "ARGM-TMP") is None


def test_a_frame_is_kept_only_where_it_is_unique():
    both = Roleset("sell.01", "", frames=["Commerce_sell", "Exchange"])
    assert FrameIndex.of([both]).links("sell.01").framenet is None


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("thing kept", "thing kept"),
        ("", ""),
        ("agent, hitter - animate only!", "agent, hitter"),
        ("agent only!", "agent"),
        ("animate! agentive hitter", "animate agentive hitter"),
        ("wait-er (not waiter, that's the other sense)", "wait-er"),
        ("thing(s) to conduct (oneself) with", "thing to conduct with"),
        ("(cause to) be used to", "cause to be used to"),
        ("(un)guilty party", "unguilty party"),
        ("(extent -- rare)", "extent"),
        ("rash action (may require concatenation", "rash action"),
        ("to what; the new climate", "to what"),
        ("alarm clock, eg", "alarm clock"),
        ("suspicion: what arg0 thinks", "suspicion"),
        ("commerce: seller", "commerce: seller"),
        ("cf buy and sell, pay for, pay for again", "pay for, pay for again"),
        ("cf give", "give"),
        ("sterben", "stop living"),
        ("entity splilling", "entity spilling"),
        ("one, " * 20, "one, one, one, one, one, one, one, one, one, one, one, one"),
        ("word " * 20, "word word word word word word word word word word word word word …"),
    ],
)
def test_meanings_have_no_remarks_for_annotators(text, short):
    assert without_notes(text) == short
    index = FrameIndex.of([Roleset("x.01", text, {"0": text})])
    assert (index.definition("x.01"), index.meaning("x.01", "A0")) == (short, short or None)
    assert index.texts("x.01") == (text, {"ARG0": text})


def test_the_frames_in_the_package_have_links_and_short_texts():
    frames = load_frames()
    assert frames.links("sell.01").verbnet == ("give-13.1-1",)
    assert frames.thematic("sell.01", "ARG2") == "recipient"
    found = [frames.definition("die.01"), *frames.roles("follow_up.03").values()]
    assert "sterben" not in found
    assert all(0 < len(text) <= 70 for text in found)
