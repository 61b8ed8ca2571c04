from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import make_prop
from spansrl.errors import ModelError
from spansrl.language.english.lemmas import Lemmatizer, predicate_type
from spansrl.language.english.lemmas.derivation import likely_stem, relatives
from spansrl.structures import PREDICATE_TYPES, Sentence

RULES = Lemmatizer()


def tagged(*words: tuple[str, str, str]) -> Sentence:
    tokens, pos, lemmas = zip(*words, strict=True)
    return Sentence(tokens, pos=pos, lemmas=lemmas)


@pytest.mark.parametrize(
    ("lemma", "forms"),
    {
        "stop": "stops stopped stopping",
        "hope": "hopes hoped hoping",
        "try": "tries tried trying",
        "tie": "ties tied tying",
        "watch": "watches watched watching",
        "go": "goes went gone going",
        "see": "sees saw seen seeing",
        "need": "needs needed needing",
        "add": "adds added adding",
        "travel": "travels traveled travelled travelling",
        "call": "calls called calling",
        "argue": "argues argued arguing",
        "change": "changes changed changing",
        "hang": "hangs hung hanging",
        "open": "opens opened opening",
        "create": "creates created creating",
        "treat": "treats treated treating",
        "require": "requires required requiring",
        "sing": "sings sang sung singing",
        "edit": "edits edited editing",
        "write": "writes wrote written writing",
        "be": "am is are was were been being 's 'RE ’m",
    }.items(),
)
def test_verbs_lose_their_endings(lemma, forms):
    assert {form: RULES.lemma(form, "verb") for form in forms.split()} == dict.fromkeys(forms.split(), lemma)


@pytest.mark.parametrize(
    ("form", "lemma"),
    [
        ("decisions", "decision"),
        ("studies", "study"),
        ("losses", "loss"),
        ("meetings", "meeting"),
        ("meeting", "meeting"),
        ("women", "woman"),
        ("basis", "basis"),
        ("crises", "crisis"),
        ("LOSS", "loss"),
    ],
)
def test_nouns_lose_the_plural_only(form, lemma):
    assert RULES.lemma(form, "noun") == lemma


@pytest.mark.parametrize(
    ("form", "lemma"),
    [
        ("bigger", "big"),
        ("happiest", "happy"),
        ("better", "good"),
        ("clever", "clever"),
        ("honest", "honest"),
        ("interested", "interested"),
    ],
)
def test_adjectives_lose_a_comparison_that_their_spelling_shows(form, lemma):
    assert RULES.lemma(form, "adjective") == lemma


@pytest.mark.parametrize(
    ("form", "lemma"),
    [
        ("'s", "be"),
        ("'ve", "have"),
        ("'d", "have"),
        ("ca", "can"),
        ("wo", "will"),
        ("n't", "not"),
        ("'ll", "will"),
        ("Did", "do"),
        ("had", "have"),
    ],
)
def test_auxiliaries_have_a_table_of_their_own(form, lemma):
    assert RULES.lemma(form, "auxiliary") == lemma


def test_a_predicate_of_unknown_type_counts_as_a_verb():
    assert RULES.lemma("meeting", None) == "meet"


def test_only_lemmas_that_the_rules_get_wrong_are_learned_from_a_treebank():
    learned = Lemmatizer.of(
        [
            tagged(("They", "PRP", "they"), ("Recieved", "VBD", "receive"), ("news", "NN", "news")),
            tagged(("stopped", "VBN", "stop"), ("Kings", "NNPS", "Kings"), ("goeswith", "VB", "_")),
        ]
    )
    assert learned.to_dict() == {
        "exceptions": {"verb": {"recieved": "receive"}, "noun": {"news": "news"}, "adjective": {}}
    }
    assert learned.lemma("RECIEVED", "verb") == "receive"
    assert learned.lemma("news", "noun") == "news"
    assert learned.lemma("recieved", "adjective") == "recieved"


def test_the_most_frequent_lemma_is_learned_and_ties_go_to_the_first_by_name():
    often = [tagged(("lied", "VBD", "lay"))] * 2 + [tagged(("lied", "VBD", "lie"))]
    assert Lemmatizer.of(often).lemma("lied", "verb") == "lay"
    assert Lemmatizer.of([tagged(("x", "VB", "b")), tagged(("x", "VB", "a"))]).lemma("x", "verb") == "a"


def test_sentences_without_tags_or_lemmas_teach_nothing():
    assert Lemmatizer.of([Sentence(("went",))]).to_dict() == Lemmatizer().to_dict()


@given(st.text(), st.sampled_from([*PREDICATE_TYPES, None, "other"]))
def test_every_word_has_a_lemma_and_an_empty_one_only_if_it_is_empty(word, type):
    lemma = RULES.lemma(word, type)
    assert bool(lemma) == bool(word)
    assert bool(likely_stem(lemma, type)) == bool(word)
    assert lemma not in relatives(lemma, type)


def test_a_very_long_word_is_fast():
    for ending in ("ing", "ed", "s", "ation"):
        RULES.lemma("bell" * 50_000 + ending, "verb")
        relatives("aeiou" * 50_000 + ending, "noun")


def test_a_lemmatizer_survives_the_way_through_json():
    learned = Lemmatizer({"verb": {"recieved": "receive"}, "noun": {"wimmin": "woman"}})
    again = Lemmatizer.from_dict(json.loads(json.dumps(learned.to_dict())))
    assert again.exceptions == learned.exceptions


@pytest.mark.parametrize(
    "data",
    [
        [],
        {},
        {"exceptions": {"verb": {}, "noun": {}}},
        {"exceptions": {"verb": {}, "noun": [], "adjective": {}}},
        {"exceptions": {"verb": {"a": 1}, "noun": {}, "adjective": {}}},
        {"exceptions": {"verb": {"a": ""}, "noun": {}, "adjective": {}}},
    ],
)
def test_damaged_data_is_refused(data):
    with pytest.raises(ModelError, match="get the model again"):
        Lemmatizer.from_dict(data)


@pytest.mark.parametrize(
    ("lemma", "type", "first"),
    [
        ("extraction", "noun", "extract"),
        ("renewal", "noun", "renew"),
        ("baiting", "noun", "bait"),
        ("realisation", "noun", "realization"),
        ("re-word", "verb", "reword"),
        ("amazed", "adjective", "amaze"),
    ],
)
def test_an_unseen_lemma_has_relatives(lemma, type, first):
    assert relatives(lemma, type)[0] == first


def test_a_lemma_that_is_spelled_as_propbank_does_and_derived_from_nothing_has_no_relatives():
    assert relatives("keep", "verb") == relatives("cat", "noun") == relatives("extraction", "verb") == ()


def test_the_stem_of_an_unseen_noun_is_its_verb_where_the_ending_is_sure():
    assert likely_stem("reorganisation", "noun") == "reorganize"
    assert likely_stem("announcement", "noun") == "announce"
    assert likely_stem("murder", "noun") == "murder"


def test_the_type_of_a_predicate_is_the_given_one_or_follows_from_sense_and_tag():
    sent = Sentence(("a", "b", "c", "d"), pos=("VBZ", "NNS", "JJ", "RB"))
    assert [predicate_type(sent, make_prop(k)) for k in range(4)] == ["verb", "noun", "adjective", None]
    assert predicate_type(sent, make_prop(0, sense="be.03")) == "auxiliary"
    assert predicate_type(sent, make_prop(0, type="noun")) == "noun"
    assert predicate_type(sent, make_prop(0, type="copula")) == "verb"  # a file's own types say nothing
    assert predicate_type(Sentence(("a",)), make_prop(0)) is None
