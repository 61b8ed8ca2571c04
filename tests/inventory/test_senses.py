from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import make_prop
from spansrl.errors import ModelError
from spansrl.inventory.frame_files import Roleset
from spansrl.inventory.frame_index import FrameIndex
from spansrl.inventory.senses import FEATURES, SenseInventory, Trust
from spansrl.language.english.lemmas import Lemmatizer
from spansrl.structures import PREDICATE_TYPES, Sentence

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
    """Frames of a few verbs."""

    def __len__(self) -> int:
        return 4

    def beginning_with(self, word: str) -> dict:
        return {}

    def rolesets(self, word: str, type: str | None) -> tuple[str, ...]:
        verbs = {"garden": ("garden.02", "garden.01"), "keep_off": ("keep_off.11",), "log_on": ("log_on.02",)}
        return verbs.get(word, ()) if type == "verb" else ()


def choose(
    text: str, type: str | None, scores: np.ndarray, frames: Frames | None = None
) -> tuple[str, float]:
    """The sense of the first word of a text."""
    return INVENTORY.choose(text.split(" "), 0, type, scores, frames)


def names(word: str, type: str | None) -> list[str]:
    return [INVENTORY.senses[k] for k in INVENTORY.candidates(word, type)]


def logits(**scores: float) -> np.ndarray:
    out = np.zeros(len(INVENTORY), np.float32)
    for sense, score in scores.items():
        out[INVENTORY.senses.index(sense.replace("__", "."))] = score
    return out


def test_senses_are_sorted_and_unique():
    assert INVENTORY.senses == (
        *("be.01", "be.03", "extract.01"),
        *("keep.01", "keep.02", "keep.04", "keep_up.10", "make.01", "make.LV"),
    )
    assert len(INVENTORY) == 9


def test_candidates_are_the_senses_of_the_form_then_of_the_lemma():
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
    sense, prob = choose("keeps", "verb", logits(keep__04=2.0, make__01=9.0))
    assert sense == "keep.04"
    assert prob == pytest.approx(0.988 * np.exp(2) / (np.exp(2) + 2))


def test_the_other_senses_share_what_is_left_and_need_their_particles():
    scores = logits(keep__01=3.0, keep__04=1.0)
    found = INVENTORY.others(["keeps"], 0, "verb", scores, "keep.01")
    assert found == pytest.approx({"keep.02": 1 / (1 + np.e), "keep.04": np.e / (1 + np.e)})
    assert "keep_up.10" in INVENTORY.others(["keeps", "up"], 0, "verb", scores, "keep.01")
    assert INVENTORY.others(["extract"], 0, "verb", scores, "extract.01") == {}


def test_large_logits_do_not_overflow():
    assert choose("keeps", "verb", logits(keep__01=3e4)) == ("keep.01", pytest.approx(0.988))


def test_frames_are_used_for_unseen_words_only():
    assert choose("gardening", "verb", logits(), Frames()) == ("garden.02", 0.94)
    assert choose("gardening", "noun", logits(), Frames()) == (None, 0.0), "no sense is invented"
    assert choose("extraction", "noun", logits(), Frames()) == ("extract.01", 0.75)
    assert choose("keeps", "verb", logits(keep__02=1.0), Frames())[0] == "keep.02"


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
def test_an_unknown_word_gets_the_first_sense_of_its_stem_with_a_modest_probability(word, type, sense):
    found, prob = choose(word, type, logits())
    assert found == sense
    assert 0.5 < prob <= 0.7


@given(st.text(), st.sampled_from([*PREDICATE_TYPES, None]), st.integers(0, 99))
def test_any_word_gets_a_sense_and_a_probability(word, type, seed):
    scores = np.random.default_rng(seed).normal(size=len(INVENTORY))
    sense, prob = choose(word, type, scores)
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
    "change",
    [
        {"senses": ["b.01", "a.01"]},
        {"senses": ["a.01", "a.01"]},
        {"senses": None},
        {"forms": []},
        {"lemmas": {"a": []}},
        {"lemmas": {"a": {"verb": [[1]]}}},
        {"lemmas": {"a": {"verb": [[99, 1]]}}},
        {"lemmas": {"a": {"verb": [[-1, 1]]}}},
        {"lemmas": {"a": {"verb": [[0, "1"]]}}},
        {"trust": {"luck": 1}},
        {"trust": {"seen": "very"}},
    ],
)
def test_damaged_data_is_refused(change):
    with pytest.raises(ModelError, match="get the model again"):
        SenseInventory.from_dict(INVENTORY.to_dict() | change, LEMMATIZER)


def test_an_inventory_may_have_its_own_trust():
    data = INVENTORY.to_dict() | {"trust": {"noun": 0.1}}
    again = SenseInventory.from_dict(data, LEMMATIZER)
    assert again.choose(["simulations"], 0, "noun", logits()) == ("simulate.01", 0.1)
    old = {key: value for key, value in data.items() if key != "trust"}
    assert SenseInventory.from_dict(old, LEMMATIZER).trust == Trust()


# Particles.


def test_a_sense_with_a_particle_needs_its_particle():
    sure = logits(keep_up__10=9.0, keep__02=1.0)
    assert choose("keeps it up", "verb", sure)[0] == "keep_up.10"
    assert choose("keeps it in", "verb", sure)[0] == "keep.02"
    assert choose("keeps", "verb", sure)[0] == "keep.02"


def test_where_the_model_expects_another_particle_the_one_that_is_there_decides():
    sure = logits(keep_up__10=9.0, keep__02=1.0)
    assert choose("keeps the dogs off", "verb", sure, Frames())[0] == "keep_off.11"
    assert choose("keeps the dogs off", "verb", sure)[0] == "keep.02"


def test_a_particle_right_after_the_verb_makes_its_sense_likelier():
    close = logits(keep__02=1.5)
    assert choose("keeps up well", "verb", close)[0] == "keep_up.10"
    assert choose("keeps it up", "verb", close)[0] == "keep_up.10"
    assert choose("keeps all dogs up", "verb", close)[0] == "keep.02"
    assert choose("keeps up well", "verb", logits(keep__02=3.0))[0] == "keep.02"


@pytest.mark.parametrize(
    ("text", "sense"),
    [
        ("keeps off the grass", "keep_off.11"),
        ("keeps them off", "keep_off.11"),
        ("keeps dogs off", "keep.02"),
        ("logs on", "log_on.02"),
        ("logs on , then", "log_on.02"),
        ("logs on the road", None),
    ],
)
def test_frames_have_particles_that_training_did_not_see_with_the_verb(text, sense):
    assert choose(text, "verb", logits(keep__02=1.0), Frames())[0] == sense


def test_the_form_of_an_auxiliary_decides_whatever_its_lemma_had():
    sentences = [
        Sentence(("It", form, "gone"), (make_prop(1, sense=sense),), pos=("PRP", "VBZ", "VBN"))
        for form, sense in (("'s", "have.01"), ("'s", "be.03"), ("was", "be.03"))
    ]
    inventory = SenseInventory.of(sentences, LEMMATIZER)
    assert [inventory.senses[k] for k in inventory.candidates("was", "auxiliary")] == ["be.03"]
    assert {inventory.senses[k] for k in inventory.candidates("'s", "auxiliary")} == {"be.03", "have.01"}


# Candidates with features, for models with prototypes.

FRAMES = FrameIndex.of(
    [
        Roleset("turn.01", "", aliases=[("v", "turn"), ("n", "turn")]),
        Roleset("turn_off.05", "", aliases=[("v", "turn_off")]),
        Roleset("keep.01", "", aliases=[("v", "keep")]),
        Roleset("keep.02", "", aliases=[("v", "keep")]),
        Roleset("criticize.01", "", aliases=[("v", "criticize"), ("n", "criticism")]),
        Roleset("honor.01", "", aliases=[("v", "honor")]),
        Roleset("fulfill.01", "", aliases=[("v", "fulfill")]),
        Roleset("extract.01", "", aliases=[("v", "extract")]),
    ]
)


def offered(text: str, type: str | None, at: int = 0, own: str | None = None) -> dict[str, dict[str, float]]:
    names, features = INVENTORY.offers(text.split(), at, type, FRAMES, own)
    return {name: dict(zip(FEATURES, row, strict=True)) for name, row in zip(names, features, strict=True)}


def test_senses_of_expressions_are_offered_where_their_words_follow():
    assert offered("turn left", "verb").keys() == {"turn.01"}
    near = offered("turn the lights off", "verb")["turn_off.05"]
    assert (near["adjacent"], near["near"], near["far"], near["stem"], near["type"]) == (0, 1, 0, 0, 1)
    assert offered("turned off the lights", "verb")["turn_off.05"]["adjacent"] == 1
    assert offered("turned off the lights", "verb")["turn.01"]["passed"] == 1
    assert offered("turns of the wheel", "noun")["turn.01"]["type"] == 1


def test_counts_leave_an_occurrence_itself_out():
    found = offered("keeps", "verb")
    assert found["keep.02"]["form_prior"] > found["keep.01"]["form_prior"]
    alone = offered("keeps", "verb", own="keep.01")
    assert alone["keep.01"]["seen"] == 1
    assert alone["keep.01"]["form_prior"] < found["keep.01"]["form_prior"]


@pytest.mark.parametrize(
    ("word", "lemma"),
    [("criticised", "criticize"), ("honours", "honor"), ("fulfilled", "fulfill"), ("keeps", "keep")],
)
def test_lemmas_are_spelled_as_in_the_frames(word, lemma):
    assert INVENTORY.lemma(word, "verb", FRAMES) == lemma
    assert offered(word, "verb").keys() >= {f"{lemma}.01"}


def test_a_word_without_frames_has_no_sense():
    weighed = INVENTORY.with_senses(INVENTORY.senses, np.ones(len(FEATURES)))
    assert weighed.choose(["florps"], 0, "verb", logits(), FRAMES) == (None, 0.0)
    assert weighed.choose(["extractions"], 0, "noun", logits(), FRAMES)[0] == "extract.01"
    sense, prob = weighed.choose(["keeps"], 0, "verb", logits(keep__01=9.0), FRAMES)
    assert sense == "keep.01"
    assert prob > 0.9
    others = weighed.others(["keeps"], 0, "verb", logits(keep__01=9.0), "keep.01", FRAMES)
    assert sum(others.values()) == pytest.approx(1)


@given(st.lists(st.text(), min_size=1), st.sampled_from([*PREDICATE_TYPES, None]))
def test_any_token_has_finite_features(tokens, type):
    names, features = INVENTORY.offers(tokens, 0, type, FRAMES)
    assert features.shape == (len(names), len(FEATURES))
    assert np.isfinite(features).all()
