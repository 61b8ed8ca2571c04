"""The lexicon of a model directory: what training saw, there and back, and what is refused."""

from __future__ import annotations

import json

import pytest

from fake_model import INVENTORY, TAUGHT
from spansrl.errors import ModelError
from spansrl.inference.directory import write_json
from spansrl.inference.lexicon import LEXICON, learn_lexicon, lexicon_to_dict, read_lexicon

WHOLE = lexicon_to_dict(INVENTORY)


def test_a_lexicon_knows_the_senses_and_lemmas_of_its_sentences():
    inventory = learn_lexicon(TAUGHT)
    assert inventory.senses == ("be.03", "call.02", "call.03", "call_off.06", "good.02", "keep.01")
    assert {inventory.senses[k] for k in inventory.candidates("calls", "verb")} >= {"call.02", "call_off.06"}
    assert inventory.lemmatizer.lemma("keeping", "verb") == "keep"


def test_a_lexicon_survives_the_way_through_its_file(tmp_path):
    write_json(tmp_path / LEXICON, WHOLE)
    found = read_lexicon(tmp_path, INVENTORY.senses)
    assert lexicon_to_dict(found) == WHOLE
    for word in ("called", "CALLS", "is", "cats", "vanished", "’s"):
        for type in ("verb", "noun", "adjective", "auxiliary", None):
            assert found.candidates(word, type) == INVENTORY.candidates(word, type)
            assert found.lemmatizer.lemma(word, type) == INVENTORY.lemmatizer.lemma(word, type)


def test_the_senses_must_be_those_of_the_model(tmp_path):
    write_json(tmp_path / LEXICON, WHOLE)
    with pytest.raises(ModelError, match="its senses are not those of the model"):
        read_lexicon(tmp_path, INVENTORY.senses[:-1])


DAMAGE = {
    "a list": [],
    "nothing but senses": {"senses": WHOLE["senses"]},
    "lemmas that are text": WHOLE | {"lemmas": "keep"},
    "senses that are a list": WHOLE | {"senses": []},
    "a sense that does not exist": WHOLE
    | {"senses": WHOLE["senses"] | {"lemmas": {"call": {"verb": [[99, 1]]}}}},
    "a count in words": WHOLE | {"senses": WHOLE["senses"] | {"forms": {"call": {"verb": [[0, "one"]]}}}},
}


@pytest.mark.parametrize("content", DAMAGE.values(), ids=DAMAGE.keys())
def test_damage_is_refused_in_one_line_with_the_file(tmp_path, content):
    (tmp_path / LEXICON).write_text(json.dumps(content))
    with pytest.raises(ModelError, match="get the model again") as caught:
        read_lexicon(tmp_path, INVENTORY.senses)
    assert str(caught.value).startswith(str(tmp_path / LEXICON))
    assert "\n" not in str(caught.value)
