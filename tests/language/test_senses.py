from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import make_prop
from spansrl.errors import ModelError
from spansrl.language.lemmas import Lemmatizer
from spansrl.language.senses import SenseInventory, multiword_spans
from spansrl.structures import PREDICATE_TYPES, Sentence, Span

LEMMATIZER = Lemmatizer()


def seen(word: str, tag: str, *senses: str) -> list[Sentence]:
    return [Sentence((word,), (make_prop(0, sense=sense),), pos=(tag,)) for sense in senses]


INVENTORY = SenseInventory.of(
    [
        *seen("keeps", "VBZ", "keep.01", "keep.02", "keep.02", "keep_up.10"),
        *seen("kept", "VBD", "keep.04", "keep.01"),
        *seen("keep", "NN", "keep.01"),
        *seen("is", "VBZ", "be.01", "be.03", "be.03", "be.03"),
        *seen("make", "VB", "make.LV", "make.01"),
        *seen("extract", "VB", "extract.01"),
        Sentence(("no", "sense"), (make_prop(1),), pos=("DT", "NN")),
    ],
    LEMMATIZER,
)


class Frames:
    """Frames that know one word."""

    def rolesets(self, word: str, type: str | None) -> tuple[str, ...]:
        return ("garden.02", "garden.01") if (word, type) == ("garden", "verb") else ()


def names(word: str, type: str | None) -> list[str]:
    return [INVENTORY.senses[k] for k in INVENTORY.candidates(word, type)]


def logits(**scores: float) -> np.ndarray:
    out = np.zeros(len(INVENTORY), np.float32)
    for sense, score in scores.items():
        out[INVENTORY.senses.index(sense.replace("__", "."))] = score
    return out


def test_senses_are_sorted_and_each_stands_once():
    assert INVENTORY.senses == (
        *("be.01", "be.03", "extract.01"),
        *("keep.01", "keep.02", "keep.04", "keep_up.10", "make.01", "make.LV"),
    )
    assert len(INVENTORY) == 9


def test_candidates_are_those_of_form_and_lemma_with_those_of_the_form_first():
    assert names("keeps", "verb") == ["keep.02", "keep.01", "keep_up.10", "keep.04"]
    assert names("KEPT", "verb") == ["keep.01", "keep.04", "keep.02", "keep_up.10"]
    assert names("keeping", "verb") == ["keep.01", "keep.02", "keep.04", "keep_up.10"]
    assert names("keep", "noun") == ["keep.01", "keep.02", "keep.04", "keep_up.10"]


def test_a_form_is_looked_up_even_where_the_type_makes_its_lemma_another_one():
    assert names("kept", "noun") == ["keep.01", "keep.04"]


def test_auxiliaries_and_other_predicates_share_no_senses():
    assert names("is", "auxiliary") == ["be.03"]
    assert names("was", "verb") == ["be.01"]
    assert names("is", None) == ["be.03", "be.01"]


def test_light_verbs_are_senses_like_others():
    assert names("making", "verb") == ["make.01", "make.LV"]


def test_an_unseen_noun_has_the_senses_of_its_verb():
    assert names("extractions", "noun") == ["extract.01"]
    assert names("extraction", "verb") == []


def test_the_best_candidate_is_chosen_however_high_the_others_score():
    sense, prob = INVENTORY.choose("keeps", "verb", logits(keep__04=2.0, make__01=9.0))
    assert sense == "keep.04"
    assert prob == pytest.approx(0.988 * np.exp(2) / (np.exp(2) + 3))


def test_large_logits_do_not_overflow():
    assert INVENTORY.choose("keeps", "verb", logits(keep__01=3e4)) == ("keep.01", pytest.approx(0.988))


def test_frames_are_asked_about_words_that_training_did_not_see_and_about_no_others():
    assert INVENTORY.choose("gardening", "verb", logits(), Frames()) == ("garden.02", 0.94)
    assert INVENTORY.choose("gardening", "noun", logits(), Frames())[0] == "garden.01"
    assert INVENTORY.choose("extraction", "noun", logits(), Frames()) == ("extract.01", 0.75)
    assert INVENTORY.choose("keeps", "verb", logits(keep__02=1.0), Frames())[0] == "keep.02"


@pytest.mark.parametrize(
    ("word", "type", "sense"),
    [
        ("Gardened", "verb", "garden.01"),
        ("simulations", "noun", "simulate.01"),
        ("re-wired", "verb", "rewire.01"),
        ("garish", "adjective", "garish.01"),
        ("ran", None, "run.01"),
    ],
)
def test_a_word_that_nobody_knows_gets_the_first_sense_of_its_stem_with_a_modest_probability(
    word, type, sense
):
    found, prob = INVENTORY.choose(word, type, logits())
    assert found == sense
    assert 0.5 < prob <= 0.7


@given(st.text(), st.sampled_from([*PREDICATE_TYPES, None]), st.integers(0, 99))
def test_any_word_gets_a_sense_and_a_probability(word, type, seed):
    scores = np.random.default_rng(seed).normal(size=len(INVENTORY))
    sense, prob = INVENTORY.choose(word, type, scores)
    assert sense.rpartition(".")[2]
    assert 0 < prob < 1
    assert len(set(INVENTORY.candidates(word, type))) == len(INVENTORY.candidates(word, type))


def test_an_inventory_survives_the_way_through_json():
    again = SenseInventory.from_dict(json.loads(json.dumps(INVENTORY.to_dict())), LEMMATIZER)
    assert again.senses == INVENTORY.senses
    assert again.to_dict() == INVENTORY.to_dict()
    for word, type in (("keeps", "verb"), ("is", None), ("extraction", "noun")):
        assert again.candidates(word, type) == INVENTORY.candidates(word, type)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"more": 1}, "the keys 'senses', 'lemmas' and 'forms'"),
        ({"senses": "be.01"}, "list of names"),
        ({"senses": ["b.01", "a.01"]}, "sorted"),
        ({"senses": ["a.01", "a.01"]}, "sorted"),
        ({"forms": []}, "'forms' must be an object of objects"),
        ({"lemmas": {"a": []}}, "'lemmas' must be an object of objects"),
        ({"lemmas": {"a": {"verb": [[1]]}}}, "'lemmas' has no pairs"),
        ({"lemmas": {"a": {"verb": [[99, 1]]}}}, "for 'a' as 'verb'"),
        ({"lemmas": {"a": {"verb": [[-1, 1]]}}}, "for 'a' as 'verb'"),
        ({"lemmas": {"a": {"verb": [[0, True]]}}}, "for 'a' as 'verb'"),
        ({"lemmas": {"a": {"verb": [[0, 0]]}}}, "for 'a' as 'verb'"),
    ],
)
def test_anything_else_is_refused(change, message):
    with pytest.raises(ModelError, match=message):
        SenseInventory.from_dict(INVENTORY.to_dict() | change, LEMMATIZER)


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


def test_the_form_of_an_auxiliary_decides_whatever_its_lemma_had():
    sentences = [
        Sentence(("It", form, "gone"), (make_prop(1, sense=sense),), pos=("PRP", "VBZ", "VBN"))
        for form, sense in (("'s", "have.01"), ("'s", "be.03"), ("was", "be.03"))
    ]
    inventory = SenseInventory.of(sentences, LEMMATIZER)
    assert [inventory.senses[k] for k in inventory.candidates("was", "auxiliary")] == ["be.03"]
    assert {inventory.senses[k] for k in inventory.candidates("'s", "auxiliary")} == {"be.03", "have.01"}
