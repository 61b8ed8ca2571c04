"""Sentences that people complained about in trackers of other tools, labeled by the model in the package."""

from __future__ import annotations

import pytest

import spansrl
from spansrl.inference.loading import shipped_model

pytestmark = pytest.mark.skipif(not shipped_model().is_dir(), reason="no model in the package")

SENTENCES = {
    "Barack Obama was born in Hawaii.": ["Barack Obama | be born in | Hawaii"],
    "The cat is blue.": ["The cat | be | blue"],
    "A woman walked to the store.": ["A woman | walk to | the store"],
    "Sam and his fat friend are nice men that didn't hurt my child and sister.": [
        "Sam and his fat friend | be | nice men",
        "nice men | not hurt | my child and sister",
    ],
    "Subijanto said Indonesia was committed to protecting the tigers, which live within Sumatra.": [
        "Indonesia | protect | the tigers",
        "the tigers | live within | Sumatra",
    ],
    "This is a dog.": ["This | be | a dog"],
    "The new rights are nice enough.": ["The new rights | be | nice enough"],
    "You can sign up to get free food.": ["You | get | free food"],
    "Facebook reports robust profit, revenue gains; stock rises": [
        "Facebook | report | robust profit, revenue gains",
        "stock | rise | -",
    ],
    "Taxes kill jobs and hinder innovation.": ["Taxes | kill | jobs", "Taxes | hinder | innovation"],
    "Initech was not acquired by Globex.": ["Globex | not acquire | Initech"],
    "The lynching of the man by the mob occurred in Georgia.": ["the mob | lynching of | the man"],
    "The contract shall be terminated by the Buyer if the Seller fails to deliver the goods.": [
        "the Buyer | terminate | The contract",
        "the Seller | deliver | the goods",
    ],
    "The senator did not accept the bribe.": ["The senator | not accept | the bribe"],
    "The bank turned down my loan application.": ["The bank | turn down | my loan application"],
    "He gave up smoking.": ["He | give up | smoking"],
    "The bill was vetoed by the president.": ["the president | veto | The bill"],
    "Nobody liked the film.": ["Nobody | not like | the film"],
    "She is a doctor.": ["She | be | a doctor"],
}


@pytest.fixture(scope="module")
def srl():
    return spansrl.load(threads=1)


@pytest.mark.parametrize("text", SENTENCES)
def test_a_sentence_that_others_failed_on_comes_out_right(srl, text):
    found = str(srl(text).statements()).splitlines()
    assert [one for one in SENTENCES[text] if one not in found] == []


def test_propositions_in_a_spacy_document_have_statements(srl):
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("spansrl")
    doc = nlp("It rained all day. The bill was vetoed by the president.")
    (one,) = (prop.statement() for prop in doc._.srl if prop.lemma == "veto")
    assert str(one) == "the president | veto | The bill"
    assert doc.text[one.subject.char_start : one.subject.char_end] == "the president"
    assert one.prop in doc._.srl
    assert [arg.head for arg in one.prop.args] == ["bill", "president"]
