"""The real pipeline behind the server: answers are the same as without the server."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from fake_model import INVENTORY, FakeModel, assert_same_labels
from serving import serving, wait_until
from spansrl.inference.pipeline import Pipeline
from spansrl.inventory import FrameIndex
from spansrl.inventory.frame_files import Roleset
from spansrl.structures import Document, Proposition, Sentence

TEXTS = [f"They called number {k} off. She is keeping {k} cats!" for k in range(30)] + ["", " \n "]


@pytest.fixture(scope="module")
def pipeline():
    return Pipeline(FakeModel(), senses=INVENTORY)


@pytest.fixture(scope="module")
def client(pipeline):
    with serving(lambda: pipeline) as found:
        wait_until(lambda: found.get("/readyz").status == 200)
        yield found


def sentences(result) -> list[Sentence]:
    return [Sentence.from_dict(sent) for sent in result["sentences"]]


def assert_as_called(pipeline, text, result):
    assert_same_labels(sentences(result), pipeline(text).sentences)


def test_texts_that_arrive_together_get_the_answers_that_they_get_alone(client, pipeline):
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda text: client.label(text=text), TEXTS))
    for text, answer in zip(TEXTS, answers, strict=True):
        assert_as_called(pipeline, text, answer.json["results"][0])


def test_a_stream_gives_the_same_answers(client, pipeline):
    for text, line in zip(TEXTS, client.stream(*({"text": text} for text in TEXTS)).lines, strict=True):
        assert_as_called(pipeline, text, line)


def test_a_result_is_read_back_as_a_document_with_its_id(client, pipeline):
    (result,) = client.label(text=TEXTS[0], id="first", html=True).json["results"]
    document = Document.from_dict(result)
    assert (document.id, document.text, list(document.extra)) == ("first", TEXTS[0], ["html"])
    assert_same_labels(document.sentences, pipeline(TEXTS[0]).sentences)
    assert document.to_dict() == result


def test_given_predicates_are_kept(client, pipeline):
    tokens = ["They", "called", "it", "off"]
    (found,) = sentences(client.label(tokens=tokens, predicates=[1, 3]).json["results"][0])
    given = Sentence(tuple(tokens), (Proposition(1), Proposition(3)))
    assert [prop.pred for prop in found.props] == [1, 3]
    assert_same_labels([found], list(pipeline.label([given], predicates="given")))


def test_a_model_that_finds_no_predicates_asks_for_them():
    tokens = ["They", "called", "it", "off"]
    with serving(lambda: Pipeline(FakeModel(finds=False))) as client:
        wait_until(lambda: client.get("/readyz").status == 200)
        for message in ({"text": "They called it off."}, {"tokens": tokens}):
            answer = client.label(**message)
            assert answer.status == 422
            assert "this model does not find predicates" in answer.error["message"]
        assert client.label(tokens=tokens, predicates=[1]).status == 200


def test_pictures_show_what_senses_mean_if_there_are_frames():
    frames = FrameIndex.of([Roleset("call.01", "ring up", aliases=[("v", "call")])])
    srl = Pipeline(FakeModel(), senses=INVENTORY, inventory=frames)
    with serving(lambda: srl) as client:
        wait_until(lambda: client.get("/readyz").status == 200)
        answer = client.label(tokens=["They", "called"], predicates=[1], html=True)
        (picture,) = answer.json["results"][0]["html"]
        assert "call.01: ring up" in picture


def test_explain_adds_the_frame_of_the_sense_and_the_other_senses_of_the_word():
    frames = FrameIndex.of(
        [
            Roleset("call.01", "ring up", roles={"0": "caller"}, aliases=[("v", "call")]),
            Roleset("call.02", "name", aliases=[("v", "call")]),
            Roleset("hide.01", "conceal", aliases=[("v", "hide")]),
        ]
    )
    srl = Pipeline(FakeModel(), senses=INVENTORY, inventory=frames)
    with serving(lambda: srl) as client:
        wait_until(lambda: client.get("/readyz").status == 200)
        answer = client.label(tokens=["They", "called"], predicates=[1], explain=True)
        (prop,) = answer.json["results"][0]["sentences"][0]["props"]
        assert (prop["sense"], prop["definition"]) == ("call.01", "ring up")
        assert prop["roles"] == {"ARG0": "caller"}
        assert prop["alternatives"] == [{"sense": "call.02", "definition": "name"}]
        plain = client.label(tokens=["They", "called"], predicates=[1])
        assert "definition" not in plain.json["results"][0]["sentences"][0]["props"][0]


def test_min_prob_and_decoder_reach_the_pipeline(client, pipeline):
    text = TEXTS[0]
    for settings in ({"min_prob": 0.0}, {"min_prob": 0.9}, {"decoder": "exact"}):
        (result,) = client.label(text=text, **settings).json["results"]
        chosen = replace(pipeline, **settings)
        assert_same_labels(sentences(result), chosen(text).sentences)


def test_statements_are_those_of_the_document(client, pipeline):
    (result,) = client.label(text=TEXTS[0], statements=True).json["results"]
    expected = [[one.to_dict() for one in sent.statements()] for sent in pipeline(TEXTS[0])]
    assert any(expected)
    for own, found in zip(expected, result["statements"], strict=True):
        assert [one["relation"] for one in found] == [one["relation"] for one in own]
        assert [one.get("subject", {}).get("text") for one in found] == [
            one.get("subject", {}).get("text") for one in own
        ]
    assert "statements" not in client.label(text=TEXTS[0]).json["results"][0]
