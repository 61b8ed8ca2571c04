"""Text in, frames out, with a model made of dice: what must hold for any text and any scores."""

from __future__ import annotations

import gc
import json
import re
import tracemalloc
import warnings
from dataclasses import replace
from itertools import count, islice, repeat

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from builders import role_table
from fake_model import (
    INVENTORY,
    ROLES,
    FakeModel,
    SomeFrames,
    assert_same_labels,
    check_legal,
    without_chances,
)
from spansrl.errors import ConfigError, DataError, SpansrlWarning
from spansrl.inference.calibration import PROPER_NOUN_PENALTY, Calibration, Curve, Limits, log_odds
from spansrl.inference.model import NO_PREDICATE
from spansrl.inference.pipeline import ENCODER_BATCH, Pipeline, ruled_out, run_to_end
from spansrl.inventory import Role
from spansrl.language import MAX_TOKENS, English
from spansrl.language.english.lemmas.derivation import likely_stem
from spansrl.structures import PREDICATE_TYPES, Argument, Document, Proposition, Sentence, Span

WORDS = [
    "They",
    "called",
    "it",
    "off",
    "calls",
    "is",
    "keeping",
    "good",
    "vanished",
    ".",
    ",",
    "n't",
    "\ud800",
]
ODD = [
    "שלום",
    "مرحبا",
    "\u202e",
    "\x00",
    "\x1b[0m",
    "\udfff",
    "e\u0301",
    "👩\u200d👧",
    "。",
    "\ufeff",
    "\n\n",
    "\t",
]
TEXTS = st.one_of(
    st.text(max_size=40),
    st.lists(st.sampled_from([*WORDS, *ODD]), max_size=15).map(" ".join),
    st.sampled_from(["", " ", "\n\n", "\u00a0"]),
)
TOKENS = st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=5)), max_size=12).map(tuple)
any_text = settings(deadline=None, max_examples=30)


@pytest.fixture(autouse=True)
def warnings_of_length_are_meant():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpansrlWarning)
        yield


def pipeline(*, spread: float = 3.0, finds: bool = True, senses: bool = True, **settings) -> Pipeline:
    model = FakeModel(spread=spread, finds=finds, senses=len(INVENTORY) if senses else 0)
    return Pipeline(model, senses=INVENTORY if senses else None, **settings)


SRL = pipeline()


@st.composite
def given_sentences(draw):
    """A sentence with predicates in any order, some of them twice."""
    tokens = draw(TOKENS)
    places = draw(st.lists(st.integers(0, len(tokens) - 1), max_size=5)) if tokens else []
    return Sentence(tokens, tuple(Proposition(p, lemma="given", sense="given.99") for p in places))


# Any text.


@any_text
@given(TEXTS, st.sampled_from(["greedy", "exact"]), st.sampled_from([0.1, 3.0, 100.0]))
def test_any_text_becomes_legal_frames_with_correct_offsets(text, decoder, spread):
    document = pipeline(spread=spread, decoder=decoder)(text)
    assert document.text == text
    for sent in document.sentences:
        assert text.startswith(sent.text, sent.char_start)
        assert tuple(sent.text[start:end] for start, end in sent.offsets) == sent.tokens
        assert [prop.pred for prop in sent.props] == sorted({prop.pred for prop in sent.props})
        check_legal(sent)
    assert "".join("".join(sent.tokens) for sent in document.sentences) == "".join(text.split())
    assert Document.from_dict(json.loads(json.dumps(document.to_dict()))) == document


@pytest.mark.parametrize("unit", ["x", "_", "\n", "\u0301", "ש", "他"])
def test_a_megabyte_of_one_character_is_no_problem(unit):
    text = unit * 1_000_000
    document = SRL(text)
    assert "".join("".join(sent.tokens) for sent in document.sentences) == "".join(text.split())


def test_a_text_of_very_many_sentences_is_labeled():
    text = "They called it off, didn't they?\n" * 6_000
    document = SRL(text, predicates=["adjective"])
    assert len(document.sentences) == 6_000
    assert_same_labels(
        [replace(document.sentences[-1], char_start=0)],
        list(SRL("They called it off, didn't they?", predicates=["adjective"]).sentences),
    )


@any_text
@given(st.lists(TEXTS, max_size=4))
def test_documents_come_in_order_and_are_the_same_as_one_by_one(texts):
    documents = list(SRL.pipe(texts))
    assert [document.text for document in documents] == texts
    for document in documents:
        assert_same_labels(document.sentences, SRL(document.text).sentences)


def test_empty_texts_keep_their_order():
    texts = ["", "They left.", " ", "\n", "She is keeping cats.", ""]
    assert [len(document.sentences) for document in SRL.pipe(texts)] == [0, 1, 0, 0, 1, 0]


def test_nothing_in_nothing_out():
    assert list(SRL.pipe([])) == []
    assert list(SRL.label([])) == []


@pytest.mark.parametrize(("missing", "name"), [(float("nan"), "float"), (None, "NoneType")])
def test_a_missing_value_is_named_by_its_row(missing, name):
    found = SRL.pipe(["They left.", "They left.", missing])
    with pytest.raises(DataError, match=rf"texts\[2\] must be a string, got {name}; drop or fill missing"):
        list(found)


@pytest.mark.parametrize("text", [None, 3, b"They left."])
def test_other_types_than_str_are_refused_by_name(text):
    with pytest.raises(DataError, match=f"text must be a string, got {type(text).__name__}$"):
        SRL(text)


@pytest.mark.parametrize("tokens", [["They", "left"], ("They", "left")])
def test_tokens_instead_of_a_text_are_refused_with_advice(tokens):
    message = f"got {type(tokens).__name__}; to label tokens: srl.label([Sentence(tokens)])"
    with pytest.raises(DataError, match=re.escape(message)):
        SRL(tokens)
    assert len(list(SRL.label([Sentence(tokens)]))) == 1


def test_a_sentence_instead_of_a_text_is_refused_with_advice():
    with pytest.raises(DataError, match=r"got Sentence; to label sentences: srl\.label\(\[sentence\]\)"):
        SRL(Sentence(("They", "left")))


def test_the_repr_of_a_pipeline_is_one_short_line():
    assert re.fullmatch(r"<Pipeline \d+ roles, \d+ senses, greedy decoder>", repr(SRL))


def test_a_text_where_many_are_expected_is_not_taken_for_a_list_of_letters():
    with pytest.raises(ConfigError, match=r"pipe\(\) expects an iterable of strings, got a str"):
        list(SRL.pipe("They left."))


def test_a_sentence_where_many_are_expected_is_named():
    with pytest.raises(
        ConfigError, match=r"label\(\) expects an iterable of Sentences, got one; use label\(\[sentence\]\)"
    ):
        list(SRL.label(Sentence(("They", "left"))))


def test_tokens_may_be_a_list():
    (found,) = SRL.label([Sentence(["They", "called", "it", "off"])], predicates=[1])
    assert [prop.pred for prop in found.props] == [1]
    check_legal(found)


# Sentences that are cut already.


@any_text
@given(st.lists(TOKENS, max_size=5))
def test_a_sentence_is_labeled_alone_as_in_any_batch(rows):
    sentences = [Sentence(tokens, id=str(k)) for k, tokens in enumerate(rows)]
    batched = list(SRL.label(sentences))
    assert [sent.id for sent in batched] == [sent.id for sent in sentences]
    assert_same_labels(batched, [next(SRL.label([sent])) for sent in sentences])
    assert_same_labels(batched[::-1], list(SRL.label(sentences[::-1])))
    for sent in batched:
        check_legal(sent)


@any_text
@given(st.lists(given_sentences(), max_size=5))
def test_given_predicates_keep_their_order_and_nothing_else_of_the_input(sentences):
    for sent, found in zip(sentences, SRL.label(sentences, predicates="given"), strict=True):
        assert [prop.pred for prop in found.props] == [prop.pred for prop in sent.props]
        assert all(
            prop.lemma != "given" and prop.sense != "given.99" and prop.prob is None for prop in found.props
        )
        assert all(prop.type in PREDICATE_TYPES for prop in found.props)
        check_legal(found)


def test_what_a_sentence_has_besides_labels_is_kept():
    own = {"id": "s1", "pos": ("PRP", "VBD"), "lemmas": ("they", "leave"), "extra": {"source": "us"}}
    sent = Sentence(("They", "left"), (Proposition(1, (Argument("ARG0", Span(0, 1)),)),), **own)
    (found,) = SRL.label([sent], predicates=[])
    assert found == replace(sent, props=())


@any_text
@given(TOKENS)
def test_only_predicates_of_the_wanted_types_are_labeled(tokens):
    (everything,) = SRL.label([Sentence(tokens)])
    for type in PREDICATE_TYPES:
        (found,) = SRL.label([Sentence(tokens)], predicates=[type])
        assert_same_labels(
            [found], [replace(found, props=tuple(p for p in everything.props if p.type == type))]
        )


@any_text
@given(TOKENS, st.floats(0, 1))
def test_a_predicate_is_what_is_likelier_than_the_threshold(tokens, threshold):
    (loose,) = pipeline(calibration=Calibration(threshold=0.0)).label([Sentence(tokens)])
    assert [prop.pred for prop in loose.props] == [
        k for k, token in enumerate(tokens) if English().can_be_predicate(token, "noun")
    ]
    (found,) = pipeline(calibration=Calibration(threshold=threshold)).label([Sentence(tokens)])
    assert all(prop.prob >= threshold - 1e-4 for prop in found.props)
    left_out = {prop.pred for prop in loose.props} - {prop.pred for prop in found.props}
    assert all(prop.prob <= threshold + 1e-4 for prop in loose.props if prop.pred in left_out)


def test_chances_are_calibrated_each_by_its_own_curve():
    curves = Calibration(Curve(0, -1), Curve(0, 1), Curve(0, 2), threshold=0.0)
    (found,) = pipeline(calibration=curves).label([Sentence(("They", "called", "it", "off"))])
    assert {prop.prob for prop in found.props} == {0.7311}
    assert {prop.sense_prob for prop in found.props} == {0.8808}
    assert {arg.prob for prop in found.props for arg in prop.args} == {0.2689}


# Predicates by token index.


def test_token_indices_are_predicates_of_every_sentence_each_once():
    sentences = [Sentence(("They", "called", "it", "off")), Sentence(()), Sentence(("She", "left"))]
    found = list(SRL.label(sentences, predicates=[1, 0, np.int64(1)]))
    assert [[prop.pred for prop in sent.props] for sent in found] == [[0, 1], [], [0, 1]]


@pytest.mark.parametrize("place", [2, -1, 300])
def test_a_place_outside_a_sentence_is_refused_whatever_it_is_batched_with(place):
    sentences = [Sentence(("She", "left")), Sentence(("They",) * 250)]
    with pytest.raises(DataError, match=f"no token {place} in the sentence 'She left', which has 2"):
        list(SRL.label(sentences, predicates=[place]))
    sentences[0] = replace(sentences[0], props=(Proposition(place),))
    with pytest.raises(DataError, match=f"no token {place} in the sentence 'She left', which has 2"):
        list(SRL.label(sentences, predicates="given"))


GOOD = {
    None: PREDICATE_TYPES,
    "all": PREDICATE_TYPES,
    "verb": ("verb",),
    "Verbs, nouns": ("verb", "noun"),
    ("verbs", "auxiliaries"): ("verb", "auxiliary"),
    ("adjective",): ("adjective",),
    (): (),
}


@pytest.mark.parametrize(("predicates", "types"), GOOD.items(), ids=map(repr, GOOD))
def test_types_are_singular_or_plural_one_or_several(predicates, types):
    sent = Sentence(("They", "called", "it", "off", "good", "calls"))
    (found,) = pipeline(calibration=Calibration(threshold=0.0)).label([sent], predicates=predicates)
    (everything,) = pipeline(calibration=Calibration(threshold=0.0)).label([sent])
    assert found.props == tuple(prop for prop in everything.props if prop.type in types)


@pytest.mark.parametrize("predicates", ["1,3", [1, 3], (3, 1, 1)])
def test_indices_are_numbers_or_a_string_of_them(predicates):
    (found,) = SRL.label([Sentence(("They", "called", "it", "off"))], predicates=predicates)
    assert [prop.pred for prop in found.props] == [1, 3]


BAD = [
    "verb,given",
    "verb,1",
    "all,verb",
    "-1",
    "",
    5,
    1.5,
    ["given"],
    ["verb", 1],
    [True],
    [None],
    [1.0],
    [["verb"]],
    [""],
    {"verb": 1},
    "9" * 5000,
]


@pytest.mark.parametrize("predicates", BAD, ids=lambda found: repr(found)[:20])
def test_predicates_that_mean_nothing_are_refused_in_one_line(predicates):
    with pytest.raises(ConfigError, match="predicate") as caught:
        list(SRL.label([Sentence(("She", "left"))], predicates=predicates))
    assert "\n" not in str(caught.value)
    with pytest.raises(ConfigError):
        SRL("She left.", predicates=predicates)


def test_a_text_has_no_given_predicates_and_what_to_do_is_said():
    message = "'given', but text input has no predicates; use types or token indices, or pass Sentences"
    with pytest.raises(ConfigError, match=message):
        SRL("She left.", predicates="given")
    with pytest.raises(ConfigError, match=message):
        next(SRL.pipe(["She left.", ""], predicates="given"))


def test_a_model_that_finds_no_predicates_says_so_and_labels_given_ones():
    srl = pipeline(finds=False)
    with pytest.raises(
        ConfigError, match=r"does not find predicates; use predicates='given' or token indices$"
    ):
        srl("She left.")
    (found,) = srl.label([Sentence(("She", "left"), (Proposition(1),))], predicates="given")
    assert (found.props[0].pred, found.props[0].type, found.props[0].prob) == (1, None, None)


# Sentences that are too long.


def long_sentence(size: int, *places: int) -> Sentence:
    tokens = tuple(f"{WORDS[k % 9]}{k}" for k in range(size))
    return Sentence(tokens, tuple(map(Proposition, places)), id="long", extra={"kept": 1})


@pytest.mark.parametrize("size", [MAX_TOKENS, MAX_TOKENS + 1, 2 * MAX_TOKENS, 700])
def test_a_long_sentence_is_labeled_in_pieces_and_put_together_again(size):
    sent = long_sentence(size)
    cuts = range(0, size, MAX_TOKENS)
    pieces = [next(SRL.label([Sentence(sent.tokens[k : k + MAX_TOKENS])])) for k in cuts]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _, found, after = SRL.label([Sentence(("They",)), sent, Sentence(("off",))])
    assert [type(warning.message) for warning in caught] == [SpansrlWarning] * (size > MAX_TOKENS)
    assert after.tokens == ("off",)
    assert replace(found, props=()) == sent
    check_legal(found)
    expected = [
        (k + prop.pred, [(arg.role, k + arg.start) for arg in prop.args])
        for k, piece in zip(cuts, pieces, strict=True)
        for prop in piece.props
    ]
    assert [(p.pred, [(a.role, a.start) for a in p.args]) for p in found.props] == expected
    assert len(expected) > 10


def test_given_predicates_of_a_long_sentence_stay_where_they_are_in_their_order():
    places = (600, 3, 256, 255, 600, 512)
    (found,) = SRL.label([long_sentence(700, *places)], predicates="given")
    assert tuple(prop.pred for prop in found.props) == places
    check_legal(found)
    (found,) = SRL.label([long_sentence(700)], predicates=[600, 3])
    assert [prop.pred for prop in found.props] == [3, 600]


def test_a_long_sentence_of_a_text_is_cut_with_one_warning():
    with pytest.warns(SpansrlWarning, match="more than 256 tokens") as caught:
        document = SRL("they " * 2000, predicates=[])
    assert len(caught) == 1
    assert sum(len(sent) for sent in document.sentences) == 2000


# Senses and verbs.


@any_text
@given(TOKENS)
def test_senses_are_those_that_the_word_may_have(tokens):
    (found,) = SRL.label([Sentence(tokens)], predicates=range(len(tokens)))
    for prop in found.props:
        word = tokens[prop.pred]
        assert prop.lemma == INVENTORY.lemmatizer.lemma(word, prop.type)
        if ids := INVENTORY.candidates(word, prop.type):
            assert prop.sense in {INVENTORY.senses[k] for k in ids}
        else:
            assert prop.sense == likely_stem(prop.lemma, prop.type) + ".01"


def test_a_verb_has_pieces_unless_an_argument_has_taken_one():
    tokens = ("They", "called", "the", "thing", "off")
    seen = set()
    for number in range(300):
        sent = Sentence((*tokens, str(number)))
        for prop in next(SRL.label([sent], predicates=[1])).props:
            off = any(arg.start <= 4 < arg.end for arg in prop.args)
            if prop.sense == "call_off.06":
                assert prop.v == (None if off else (Span(1, 2), Span(4, 5)))
                seen.add(off)
            else:
                assert prop.v is None
    assert seen == {True, False}


def test_without_an_inventory_there_are_no_senses():
    (found,) = pipeline(senses=False).label([Sentence(("They", "called"))], predicates=[1])
    assert (found.props[0].lemma, found.props[0].sense, found.props[0].sense_prob) == (None, None, None)


class FakeFrames(SomeFrames):
    """ARG1 is the thing called; no sense has ARG2."""

    def meaning(self, sense, role):
        return f"{role} of {sense}" if role == "ARG1" else None

    def rules_out(self, sense, role):
        return role == "ARG2"

    def rolesets(self, word, type):
        return () if "_" in word else (f"{word}.07",)


@any_text
@example(("_",))
@given(TOKENS)
def test_frames_give_meanings_and_senses_and_may_rule_out_roles(tokens):
    everywhere = {"predicates": range(len(tokens))}
    (found,) = pipeline(inventory=FakeFrames(), rule_out_roles=True).label([Sentence(tokens)], **everywhere)
    for prop in found.props:
        assert "ARG2" not in {arg.role for arg in prop.args}
        for arg in prop.args:
            assert arg.meaning == (f"ARG1 of {prop.sense}" if arg.role == "ARG1" else None)
        known = FakeFrames().rolesets(prop.lemma, prop.type)  # none for a token with an underscore
        if known and not INVENTORY.candidates(tokens[prop.pred], prop.type):
            assert prop.sense == known[0]
    check_legal(found)


class KnowsAll(FakeFrames):
    """Frames of any word, however it is written."""

    def rolesets(self, word, type):
        return (f"{word}.07",)


class KnowsVerbs(FakeFrames):
    """Frames without nouns and adjectives."""

    def rolesets(self, word, type):
        return super().rolesets(word, type) if type == "verb" else ()


@any_text
@given(TOKENS)
def test_a_noun_or_adjective_is_a_predicate_only_if_training_or_the_frames_know_it(tokens):
    everything = Calibration(threshold=0.0)
    (loose,) = pipeline(calibration=everything).label([Sentence(tokens)])
    (found,) = pipeline(calibration=everything, inventory=KnowsVerbs()).label([Sentence(tokens)])
    expected = [
        prop.pred
        for prop in loose.props
        if prop.type in ("verb", "auxiliary") or INVENTORY.seen(tokens[prop.pred], prop.type)
    ]
    assert [prop.pred for prop in found.props] == expected
    (all_known,) = pipeline(calibration=everything, inventory=KnowsAll()).label([Sentence(tokens)])
    assert [prop.pred for prop in all_known.props] == [prop.pred for prop in loose.props]


def test_a_capitalized_noun_within_a_sentence_has_to_be_a_clearer_predicate():
    everything = Calibration(threshold=0.0)

    def probs(*tokens: str) -> list[float]:
        (found,) = Pipeline(EqualOdds(), senses=INVENTORY, calibration=everything).label([Sentence(tokens)])
        return [prop.prob for prop in found.props]

    plain, name = probs("the", "good", "call")[0], probs("the", "good", "Call")[2]
    assert log_odds(name) == pytest.approx(log_odds(plain) - PROPER_NOUN_PENALTY, abs=0.01)
    assert probs("Call", "the", "good") == probs("The", "Good", "Call") == [plain] * 3


class EqualOdds(FakeModel):
    """Every token is a noun predicate as likely as not."""

    def encode(self, prepared, rows):
        encoding = super().encode(prepared, rows)
        classes = np.full_like(encoding.classes, -30.0)
        classes[:, :, NO_PREDICATE] = classes[:, :, 1 + PREDICATE_TYPES.index("noun")] = 0.0
        return replace(encoding, classes=classes)


def test_ruling_out_leaves_other_roles_and_propositions_without_sense_alone():
    found = ruled_out(role_table(ROLES), ["a.01", None], FakeFrames())
    assert found.tolist() == [[role == "ARG2" for role in ROLES], [False] * len(ROLES)]


@any_text
@given(TOKENS, st.floats(0, 1))
def test_min_prob_drops_the_arguments_that_are_less_probable_and_no_others(tokens, min_prob):
    sentences, everywhere = [Sentence(tokens)], {"predicates": range(len(tokens))}
    (everything,) = SRL.label(sentences, **everywhere)
    (found,) = SRL.label(sentences, min_prob=min_prob, **everywhere)
    (own,) = pipeline(min_prob=min_prob).label(sentences, **everywhere)
    (calibrated,) = pipeline(calibration=Calibration(limits=Limits(min_prob=min_prob))).label(
        sentences, **everywhere
    )
    assert found == own == calibrated
    assert [prop.args for prop in found.props] == [
        tuple(arg for arg in prop.args if arg.prob >= min_prob) for prop in everything.props
    ]
    assert list(pipeline(min_prob=min_prob).label(sentences, min_prob=0, **everywhere)) == [everything]


def test_a_type_of_predicate_can_have_limits_of_its_own():
    sentences = [Sentence(("they", "called", "cats"), props=(Proposition(1), Proposition(2)))]
    (everything,) = SRL.label(sentences, predicates="given", min_prob=0)
    verb, other = everything.props
    assert verb.args
    assert other.args
    assert verb.type != other.type
    strict = Calibration(by_type={verb.type: Limits(min_prob=1.0)})
    (labeled,) = pipeline(calibration=strict).label(sentences, predicates="given")
    assert labeled.props == (replace(verb, args=()), other)
    (all_of_them,) = pipeline(calibration=strict).label(sentences, predicates="given", min_prob=0)
    assert all_of_them == everything
    shy = Calibration(by_type={other.type: Limits(handicap=-100.0)})
    (labeled,) = pipeline(calibration=shy).label(sentences, predicates="given")
    assert labeled.props == (verb, replace(other, args=()))


@pytest.mark.parametrize("min_prob", [-0.1, 1.1, "0.5", True, float("nan")])
def test_what_is_not_a_probability_is_refused(min_prob):
    with pytest.raises(ConfigError, match=r"min_prob is .*; expected a probability from 0 to 1"):
        SRL.label([], min_prob=min_prob)


@any_text
@given(TOKENS, st.floats(0, 5))
def test_a_handicap_of_null_lets_more_roles_in_and_never_fewer(tokens, handicap):
    def roles(handicap: float) -> list[set[str]]:
        srl = pipeline(decoder="argmax", calibration=Calibration(limits=Limits(handicap=handicap)))
        (found,) = srl.label([Sentence(tokens)], predicates=range(len(tokens)))
        return [{arg.role for arg in prop.args} for prop in found.props]

    assert all(few <= many for few, many in zip(roles(0.0), roles(handicap), strict=True))


# Streams.


def test_batches_are_bounded_also_where_tokens_are_long():
    srl = pipeline()
    sizes = [1, 2, 3, 200, 4] * 300
    list(srl.label([Sentence(("x" * size,) * (size % 7 + 1)) for size in sizes], predicates=[]))
    for sentences, longest, characters in srl.model.batches:
        assert sentences * longest <= ENCODER_BATCH
        assert sentences == 1 or characters <= 8 * ENCODER_BATCH
    assert len(srl.model.batches) < len(sizes) / 2


def consumed_by(limit: int, item):
    """Endless, but whoever takes more than `limit` items at once hoards them."""
    for number in count():
        assert number < limit, "too many items were taken before one was given back"
        yield item


@pytest.mark.parametrize("text", ["", "They left.", "One came. Two left."])
def test_an_endless_stream_of_texts_gives_documents_all_the_while(text):
    documents = SRL.pipe(consumed_by(6000, text), predicates=[])
    assert [document.text for document in islice(documents, 3000)] == [text] * 3000


def test_memory_does_not_grow_with_the_number_of_sentences():
    def endless():
        for number in count():
            yield Sentence(("They", "called", str(number), "off"))

    labeled = SRL.label(endless(), predicates=["verb"])
    peaks = []
    tracemalloc.start()
    try:
        for _ in range(4):
            gc.collect()
            tracemalloc.reset_peak()
            for _ in islice(labeled, 1024):
                pass
            peaks.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()
    assert peaks[-1] < 1.1 * peaks[1]


def test_repeated_calls_give_the_same_answer():
    text = "They called it off. She is keeping cats."
    first, second = (SRL(text) for _ in range(2))
    assert without_chances(first.sentences) == without_chances(second.sentences)
    assert list(islice(SRL.pipe(repeat(text)), 2)) == [first, second]


def test_what_is_no_sentence_is_refused_with_what_to_do():
    with pytest.raises(DataError, match=r"got a list; make one with Sentence\(tokens\)"):
        list(SRL.label([["She", "left"]]))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_with_any_number_of_threads_order_and_answers_are_the_same(threads):
    sentences = [Sentence(("They", "called", str(k), "off")[: 2 + k % 3]) for k in range(300)]
    assert list(pipeline(threads=threads).label(sentences)) == list(pipeline().label(sentences))


@given(st.lists(TOKENS, max_size=5))
@settings(max_examples=30, deadline=None)
def test_labeling_in_steps_gives_the_same_labels(batch):
    pipeline = Pipeline(FakeModel(), senses=INVENTORY)
    sentences = [Sentence(tokens) for tokens in batch]
    assert_same_labels(run_to_end(pipeline.steps(sentences)), list(pipeline.label(sentences)))


def test_steps_yield_the_cost_that_is_left():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpansrlWarning)
        costs = list(Pipeline(FakeModel()).steps([Sentence(tuple(f"word{k}" for k in range(600)))]))
    assert costs == sorted(costs, reverse=True)
    assert len(costs) > 10


class Counting(FakeModel):
    """A FakeModel that remembers predicates × tokens of what it scores."""

    def __init__(self) -> None:
        super().__init__()
        self.scored: list[tuple[int, int]] = []  # predicates, tokens of their longest sentence

    def score_arguments(self, encoding, sentence, pred, senses):
        self.scored.append((len(pred), int(encoding.lengths[sentence].max())))
        return super().score_arguments(encoding, sentence, pred, senses)


@any_text
@given(st.lists(given_sentences(), max_size=5), st.integers(1, 40))
def test_no_more_is_scored_at_once_than_the_limit_or_one_predicate(sentences, limit):
    model = Counting()
    srl = Pipeline(model, senses=INVENTORY, scoring_batch=limit)
    assert_same_labels(
        list(srl.label(sentences, predicates="given")), list(SRL.label(sentences, predicates="given"))
    )
    assert all(predicates == 1 or predicates * tokens <= limit for predicates, tokens in model.scored)


def test_sentences_without_given_predicates_are_not_encoded():
    srl = pipeline()
    sentences = [Sentence(()), Sentence(("They", "left")), Sentence(("It", "rained"), (Proposition(1),))]
    assert [len(sent.props) for sent in srl.label(sentences, predicates="given")] == [0, 0, 1]
    assert [sentences for sentences, _, _ in srl.model.batches] == [1]


def test_lemmas_of_given_predicates_are_kept_where_the_model_has_none():
    sent = Sentence(("They", "called"), (Proposition(1, lemma="call", sense="call.02"),))
    (found,) = pipeline(senses=False).label([sent], predicates="given")
    assert (found.props[0].lemma, found.props[0].sense) == ("call", None)


def test_arguments_are_checked_when_the_call_is_made_not_when_it_is_iterated():
    with pytest.raises(ConfigError):
        SRL.label([], predicates="foo")
    with pytest.raises(ConfigError):
        SRL.pipe("They left.")
    with pytest.raises(ConfigError):
        pipeline(finds=False).pipe([])


def test_a_pipeline_without_a_limit_takes_long_sentences_whole():
    sent = long_sentence(700, 3)
    (found,) = pipeline(max_tokens=None).label([sent], predicates="given")
    check_legal(found)


def test_only_words_become_predicates_unless_they_are_given():
    sent = Sentence(("Write", "support@example.com", "#now", "12", "!"))
    eager = pipeline(calibration=Calibration(threshold=0.0))
    assert [prop.pred for prop in next(eager.label([sent])).props] == [0]
    assert [prop.pred for prop in next(eager.label([sent], predicates=[1, 3])).props] == [1, 3]


def test_a_text_in_another_language_is_labeled_with_one_warning_per_call():
    german = "Der Hund beißt den Mann und die Katze."
    with pytest.warns(SpansrlWarning, match="English.*'Der Hund") as caught:
        assert len(list(SRL.pipe([german, "They called it off.", german]))) == 3
    assert len(caught) == 1


class FrameModel(FakeModel):
    """A model whose roles depend on the sense: calls have a caller and a called, others have a thing."""

    of_calls, of_others = ("caller", "called", "again-called"), ("thing",)

    def roles_of(self, sense):
        return self.of_calls if sense is not None and sense.startswith("call") else self.of_others


class Calls(SomeFrames):
    """An inventory that is not PropBank's."""

    def role(self, name):
        return Role(
            name, is_core=name != "again-called", continues="called" if name.startswith("again") else None
        )

    def meaning(self, sense, role):
        return f"{role} of {sense}"

    def rules_out(self, sense, role):
        return (sense, role) == ("call.02", "caller")


@any_text
@given(TOKENS)
@example(("They", "called", "keeping", "it", "off", "good", "call", "us"))
def test_roles_may_depend_on_senses_and_need_not_be_those_of_propbank(tokens):
    everywhere = {"predicates": range(len(tokens))}
    srl = Pipeline(FrameModel(), senses=INVENTORY, inventory=Calls(), rule_out_roles=True)
    (found,) = srl.label([Sentence(tokens)], **everywhere)
    for prop in found.props:
        roles = [arg.role for arg in prop.args]
        assert set(roles) <= set(srl.model.roles_of(prop.sense))
        assert all(roles.count(role) <= 1 for role in ("caller", "called", "thing"))
        assert prop.sense != "call.02" or "caller" not in roles
        assert not prop.sense or all(arg.meaning == f"{arg.role} of {prop.sense}" for arg in prop.args)
    alone = [next(srl.label([Sentence(tokens)], predicates=[k])).props[0] for k in range(len(tokens))]
    assert [[(a.role, a.span) for a in p.args] for p in alone] == [
        [(a.role, a.span) for a in p.args] for p in found.props
    ]


def test_pipe_returns_what_comes_with_each_text():
    pairs = [("They called.", {"row": 1}), ("", None), ("It was good. They called.", 3)]
    found = list(pipeline().pipe(iter(pairs), as_tuples=True))
    assert [context for _, context in found] == [{"row": 1}, None, 3]
    assert [document for document, _ in found] == list(pipeline().pipe([text for text, _ in pairs]))
