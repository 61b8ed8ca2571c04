"""The spaCy component in real pipelines of spaCy's, mostly with a model that needs no training."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from importlib.metadata import entry_points

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

spacy = pytest.importorskip("spacy")  # the extra

from spacy import displacy  # noqa: E402
from spacy.tokens import Doc, DocBin  # noqa: E402

from spansrl.errors import ConfigError, DataError, ModelError  # noqa: E402
from spansrl.integrations import spacy as spacy_component  # noqa: E402
from spansrl.integrations.spacy import Settings, SpansrlComponent, document_of, make_component  # noqa: E402
from spansrl.language import English  # noqa: E402
from spansrl.structures import PREDICATE_TYPES, Argument, Document, Proposition, Sentence, Span  # noqa: E402
from spansrl.visualize.palette import GROUPS  # noqa: E402

DEFAULTS = {"min_prob": None, "decoder": None, "precision": "full"}
TEXT = "She  picked a cat up.\n\nThen he wanted  to leave; they waited. Why?"
SPLITTER = spacy.blank("en")
SPLITTER.add_pipe("sentencizer")


class FakePipeline:
    """Words in -ed are verbs, "up" after them is theirs; ARG0 is all before them, ARG1 the next two words."""

    language = English()

    def __init__(self) -> None:
        self.calls: list[list[tuple[str, ...]]] = []

    def label(self, sentences, *, predicates):
        sentences = list(sentences)
        self.calls.append([sent.tokens for sent in sentences])
        if any("poisoned" in sent.tokens for sent in sentences):
            raise DataError("poisoned")
        for sent in sentences:
            places = [k for k, word in enumerate(sent.tokens) if word.endswith("ed") and "verb" in predicates]
            yield Sentence(sent.tokens, tuple(proposition(sent.tokens, place) for place in places))


def proposition(tokens: tuple[str, ...], pred: int) -> Proposition:
    spans = {"ARG0": Span(0, pred), "ARG1": Span(pred + 1, min(pred + 3, len(tokens)))}
    args = tuple(Argument(role, span, 0.5) for role, span in spans.items() if span.start < span.end)
    up = tokens.index("up") if "up" in tokens else 0
    verb = (Span(pred, pred + 1), Span(up, up + 1)) if up > pred + 2 else None
    return Proposition(pred, args, sense=f"{tokens[pred]}.01", type="verb", prob=0.75, v=verb)


@pytest.fixture
def fake(monkeypatch):
    """The model of every component that a test makes; `loads` has what it was loaded with."""
    pipeline = FakePipeline()
    pipeline.loads = []

    def load(path, **options):
        pipeline.loads.append((path, options))
        return pipeline

    monkeypatch.setattr(
        spacy_component.SpansrlComponent.__init__, "__kwdefaults__", {"name": "spansrl", "load": load}
    )
    return pipeline


def english(**config):
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("spansrl", config=config)
    return nlp


def words(doc, prop):
    """The predicate and the arguments of a proposition as text."""
    return doc[prop.pred].text, {arg.role: doc[arg.start : arg.end].text for arg in prop.args}


def answers(doc):
    return [words(doc, prop) for prop in doc._.srl]


def test_indices_count_the_tokens_of_the_doc(fake):
    doc = english()(TEXT)
    assert answers(doc) == [
        ("picked", {"ARG0": "She", "ARG1": "a cat"}),
        ("wanted", {"ARG0": "Then he", "ARG1": "to leave"}),
        ("waited", {"ARG0": "Then he wanted  to leave; they", "ARG1": "."}),
    ]
    assert [doc[start:end].text for start, end in doc._.srl[0].v] == ["picked", "up"]


def test_white_space_that_spacy_makes_tokens_of_is_not_shown_to_the_model(fake):
    doc = english()(TEXT)
    assert any(token.is_space for token in doc)
    assert [" ".join(tokens) for tokens in fake.calls[0]] == [
        "She picked a cat up .",
        "Then he wanted to leave ; they waited .",
        "Why ?",
    ]


def test_spans_carry_roles_and_lead_back_to_their_predicate(fake):
    doc = english()("She picked a cat up.")
    assert [(span.text, span.label_, doc[int(span.id_)].text, span.kb_id_) for span in doc.spans["srl"]] == [
        ("picked", "V", "picked", "picked.01"),
        ("up", "C-V", "picked", "picked.01"),
        ("She", "ARG0", "picked", "picked.01"),
        ("a cat", "ARG1", "picked", "picked.01"),
    ]


def test_a_sentence_has_its_own_propositions(fake):
    doc = english()(TEXT)
    assert [[prop.sense for prop in sent._.srl] for sent in doc.sents] == [
        ["picked.01"],
        ["wanted.01", "waited.01"],
        [],
    ]


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.sampled_from(["She", "picked", "wanted", " ", "\n", "up", ".", "?"]), max_size=30).map(
        " ".join
    ),
    st.integers(0, 60),
    st.integers(0, 60),
)
def test_any_span_has_the_propositions_whose_predicate_lies_in_it(text, start, length):
    doc = SpansrlComponent(load=lambda *args, **options: FakePipeline())(SPLITTER(text))
    start = min(start, len(doc))
    span = doc[start : start + length]
    inside = [prop for prop in doc._.srl if span.start <= prop.pred < span.end]
    assert list(span._.srl) == inside
    assert [doc[prop.pred].text for prop in doc._.srl] == [t.text for t in doc if t.text.endswith("ed")]
    assert not any(token.is_space for prop in doc._.srl for token in (doc[prop.pred], *ends(doc, prop)))


def ends(doc, prop):
    return [doc[place] for arg in prop.args for place in (arg.start, arg.end - 1)]


def test_a_doc_without_sentence_boundaries_is_split(fake):
    nlp = spacy.blank("en")
    nlp.add_pipe("spansrl")
    doc = nlp("Dr. Lee picked a cat up.  Then she waited.\n\nHe left.")
    assert [sent.text.strip() for sent in doc.sents] == [
        "Dr. Lee picked a cat up.",
        "Then she waited.",
        "He left.",
    ]
    assert answers(doc)[0] == ("picked", {"ARG0": "Dr. Lee", "ARG1": "a cat"})


def test_existing_sentence_boundaries_are_kept(fake):
    nlp = spacy.blank("en")
    nlp.add_pipe("spansrl")
    doc = nlp.make_doc("She left . He waited .")
    for token in doc:
        token.is_sent_start = token.i == 0
    assert len(list(nlp(doc).sents)) == 1


def test_arguments_have_the_text_of_the_doc(fake):
    doc = english()(TEXT)
    for prop in doc._.srl:
        assert prop.text.split()[0] == doc[prop.pred].text
        assert all(arg.text == doc[arg.start : arg.end].text for arg in prop.args)


def test_a_token_has_the_propositions_whose_predicate_it_is(fake):
    doc = english()(TEXT)
    assert [token._.srl for token in doc if token._.srl] == [(prop,) for prop in doc._.srl]
    assert [token.text for token in doc if token._.srl] == ["picked", "wanted", "waited"]


def test_displacy_shows_roles_and_senses_in_our_colors(fake):
    doc = english()("She picked a cat up.")
    html = displacy.render(doc, style="span", options={"spans_key": "srl"}, jupyter=False)
    assert all(text in html for text in ("ARG0", "ARG1", "cat", GROUPS["arg0"].light.line))


@pytest.mark.parametrize("text", ["", " ", "\n\n \t"])
def test_docs_without_words_have_no_propositions(fake, text):
    doc = english()(text)
    assert (doc._.srl, len(doc.spans["srl"]), document_of(doc)) == ((), 0, Document(text))


def test_a_doc_that_the_component_has_not_seen_has_no_propositions():
    doc = spacy.blank("en")("She picked a cat up.")
    assert (doc._.srl, doc[0:3]._.srl) == ((), ())


def merged(doc: Doc) -> Doc:
    with doc.retokenize() as changes:
        changes.merge(doc[3:5])
    return doc


@pytest.mark.parametrize(
    "change",
    [merged, lambda doc: list(doc.sents)[-2].as_doc(copy_user_data=True)],
    ids=["merged tokens", "a part of the Doc"],
)
def test_a_doc_whose_tokens_are_no_longer_those_that_were_labeled_gives_no_wrong_answer(fake, change):
    doc = change(english()(TEXT))
    with pytest.raises(DataError, match="merge and split tokens before"):
        doc._.srl  # noqa: B018
    with pytest.raises(DataError, match="merge and split tokens before"):
        document_of(doc)


def test_docs_in_a_pipe_are_labeled_together_and_as_they_are_alone(fake):
    nlp = english()
    texts = [f"{TEXT} Number {number} jumped." for number in range(5)] + [""]
    alone = [answers(nlp(text)) for text in texts]
    fake.calls.clear()
    docs = list(nlp.pipe(texts, batch_size=4))
    assert [doc.text for doc in docs] == texts
    assert [answers(doc) for doc in docs] == alone
    assert [len(sentences) for sentences in fake.calls] == [16, 4]


def test_a_pipe_begins_to_answer_before_its_input_ends(fake):
    taken = []

    def stream():
        for number in range(6):
            taken.append(number)
            yield SPLITTER("He waited.")

    next(SpansrlComponent(load=lambda *args, **options: fake).pipe(stream(), batch_size=2))
    assert taken == [0, 1]


def test_the_error_handler_of_a_pipe_meets_only_the_docs_that_fail(fake):
    nlp = english()
    failed = []
    nlp.set_error_handler(lambda name, component, docs, error: failed.append((name, [*docs], str(error))))
    docs = list(nlp.pipe(["He waited.", "It was poisoned .", "They jumped."]))
    assert [doc.text for doc in docs] == ["He waited.", "They jumped."]
    assert [(name, [doc.text for doc in docs], error) for name, docs, error in failed] == [
        ("spansrl", ["It was poisoned ."], "poisoned")
    ]


def test_without_an_error_handler_a_pipe_raises(fake):
    with pytest.raises(DataError, match="poisoned"):
        list(english().pipe(["He waited.", "It was poisoned ."]))


@pytest.mark.slow
def test_several_processes_give_the_same_answers(fake):
    nlp = english()
    alone = [answers(nlp(text)) for text in [TEXT] * 4]
    assert [answers(doc) for doc in nlp.pipe([TEXT] * 4, n_process=2, batch_size=2)] == alone


def test_the_model_is_loaded_for_the_first_doc_and_again_after_a_fork(fake, monkeypatch):
    nlp = english(threads=3, frames=False)
    assert fake.loads == []
    nlp(TEXT)
    nlp(TEXT)
    assert fake.loads == [(None, DEFAULTS | {"threads": 3, "frames": False})]
    monkeypatch.setattr(os, "getpid", lambda: -1)
    nlp(TEXT)
    assert len(fake.loads) == 2


def test_a_labeled_doc_survives_its_bytes(fake):
    doc = english()(TEXT)
    copy = Doc(doc.vocab).from_bytes(doc.to_bytes())
    assert copy._.srl == doc._.srl
    spans = [
        [(span.start, span.end, span.label_, span.id_) for span in own.spans["srl"]] for own in (doc, copy)
    ]
    assert spans[0] == spans[1]


def test_labeled_docs_survive_a_doc_bin(fake):
    doc = english()(TEXT)
    stored = DocBin(docs=[doc], store_user_data=True).to_bytes()
    (copy,) = DocBin(store_user_data=True).from_bytes(stored).get_docs(spacy.blank("en").vocab)
    assert answers(copy) == answers(doc)


def test_a_doc_becomes_a_document_whose_offsets_fit(fake):
    document = document_of(english()(TEXT))
    assert Document.from_dict(document.to_dict()) == document
    for sent in document:
        assert TEXT.startswith(sent.text, sent.char_start)
        assert tuple(sent.text[start:end] for start, end in sent.offsets) == sent.tokens
    assert [row["text"] for row in document.rows()][:2] == ["She", "a cat"]


def test_types_of_predicates_are_an_option(fake):
    assert english(predicates=["noun", "adjective"])(TEXT)._.srl == ()
    assert Settings().predicates == PREDICATE_TYPES


def test_the_group_of_spans_is_an_option(fake):
    doc = english(spans_key="roles")(TEXT)
    assert list(doc.spans) == ["roles"]


@pytest.mark.parametrize(
    ("config", "kind", "message"),
    [
        ({"predicates": ["foo"]}, ConfigError, "spansrl: unknown predicate type 'foo'. Choose from: verb, "),
        ({"predicates": ["given"]}, ConfigError, "spansrl: "),
        ({"threads": 0}, ConfigError, "spansrl: threads is 0; expected 1 or more, or None for all cores"),
        ({"threads": "2"}, ConfigError, "spansrl: threads is '2'; expected 1 or more"),
        ({"model": "no/such"}, ModelError, "no/such: no such model directory"),
    ],
)
def test_a_wrong_config_is_noticed_when_the_component_is_added(config, kind, message):
    with pytest.raises(kind, match=re.escape(message)):
        english(**config)


def test_a_saved_pipeline_comes_back_with_its_settings(fake, tmp_path):
    nlp = english(predicates=["verb"], threads=2, spans_key="roles")
    nlp.to_disk(tmp_path / "nlp")
    found = spacy.load(tmp_path / "nlp")
    assert found.get_pipe("spansrl").settings == Settings(predicates=("verb",), threads=2, spans_key="roles")
    assert answers(found(TEXT)) == answers(nlp(TEXT))


def test_a_setting_can_be_changed_when_a_saved_pipeline_is_loaded(fake, tmp_path):
    english(threads=2).to_disk(tmp_path / "nlp")
    found = spacy.load(tmp_path / "nlp", config={"components": {"spansrl": {"threads": 4}}})
    assert found.get_pipe("spansrl").settings.threads == 4


def test_settings_go_from_one_pipeline_to_another_as_bytes(fake):
    data = english(threads=2, frames=False).to_bytes()
    nlp = english()
    nlp(TEXT)
    nlp.from_bytes(data)
    nlp(TEXT)
    assert fake.loads[-1] == (None, DEFAULTS | {"threads": 2, "frames": False})


@pytest.mark.parametrize(
    "data", [b"", b"\xff", b"[]", b"{}", b'{"predicates": 1}', b'{"predicates": [], "x": 1}']
)
def test_bytes_that_are_no_settings_are_refused(data):
    with pytest.raises(ConfigError, match=r"^not the saved settings of a spansrl component: "):
        SpansrlComponent().from_bytes(data)


def test_a_component_is_sent_to_other_processes_without_its_model():
    component = SpansrlComponent(Settings(threads=2), name="roles")
    component._loaded = (os.getpid(), FakePipeline())
    copy = pickle.loads(pickle.dumps(component))
    assert (copy.name, copy.settings, copy._loaded) == ("roles", component.settings, None)


def test_spacy_finds_the_component_by_its_entry_point():
    (entry,) = entry_points(group="spacy_factories", name="spansrl")
    assert entry.load() is make_component


def test_without_spacy_the_error_says_what_to_install_and_the_package_does_without():
    program = """
import sys
sys.modules["spacy"] = None  # as if it were not installed
import spansrl, spansrl.inference.loading
try:
    import spansrl.integrations.spacy
except spansrl.errors.MissingExtraError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == (
        "the spaCy component needs the extra 'spacy'; install it with: pip install 'spansrl[spacy]'\n"
    )


def test_a_model_may_be_named_and_labels_as_it_does_elsewhere(fake):
    chosen = {"model": "small", "min_prob": 0.7, "decoder": "exact", "precision": "int8"}
    nlp = english(**chosen)
    nlp("She called.")
    options = {"threads": None, "frames": True, "min_prob": 0.7, "decoder": "exact", "precision": "int8"}
    assert fake.loads[-1] == ("small", options)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"model": "huge"}, "no model 'huge' is installed"),
        ({"min_prob": 2.0}, "min_prob is 2.0; expected a probability"),
        ({"decoder": "beam"}, "unknown decoder 'beam'"),
        ({"precision": "half"}, "unknown precision 'half'"),
    ],
)
def test_a_wrong_option_is_an_error_when_the_component_is_made(option, message):
    with pytest.raises((ConfigError, ModelError), match=message):
        make_component(
            spacy.blank("en"),
            "spansrl",
            **{"model": None, "predicates": [], "threads": None, "frames": True, "spans_key": "srl"}
            | DEFAULTS
            | option,
        )
