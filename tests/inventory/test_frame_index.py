from __future__ import annotations

import json

import pytest

from spansrl.inventory import PROPBANK, FrameIndex
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
