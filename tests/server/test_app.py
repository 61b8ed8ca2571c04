"""What the server answers to valid requests, over a real socket."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from spansrl.formats.jsonl import sentence_schema
from spansrl.inventory import FrameIndex
from spansrl.inventory.frame_files import Roleset
from spansrl.server.app import ENDPOINTS
from spansrl.server.openapi import openapi
from spansrl.structures import PREDICATE_TYPES, Sentence

TEXT = "The cat chased a mouse. It rained."


def test_a_text_comes_back_with_its_sentences_and_propositions(client):
    answer = client.label(text=TEXT)
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    (result,) = answer.json["results"]
    assert result["text"] == TEXT
    first, second = map(Sentence.from_dict, result["sentences"])
    assert first.tokens == ("The", "cat", "chased", "a", "mouse", ".")
    assert first.props[0].sense == "chas.01"
    assert [(arg.role, arg.start, arg.end) for arg in first.props[0].args] == [("ARG0", 0, 2), ("ARG1", 3, 6)]
    assert TEXT[second.char_start :] == "It rained."


def test_many_items_come_back_in_order_with_their_ids(client):
    items = [{"text": "He waited."}, {"tokens": ["It", "rained"], "id": "b"}, {"text": "", "id": "c"}]
    results = client.label(items=items).json["results"]
    assert [result.get("id") for result in results] == [None, "b", "c"]
    assert [len(result["sentences"]) for result in results] == [1, 1, 0]
    assert "text" not in results[1]


def test_several_texts_come_back_in_order(client):
    results = client.label(texts=["He waited.", "", "It rained."]).json["results"]
    assert [result["text"] for result in results] == ["He waited.", "", "It rained."]


def test_predicates_that_are_given_are_those_that_are_labeled(client):
    result = client.label(tokens=["They", "chased", "and", "fled"], predicates=[3, 2]).json["results"][0]
    assert [prop["pred"] for prop in result["sentences"][0]["props"]] == [2, 3]


def test_no_given_predicate_is_not_the_same_as_none_given(client):
    tokens = ["It", "rained"]
    assert client.label(tokens=tokens, predicates=[]).json["results"][0]["sentences"][0]["props"] == []
    assert len(client.label(tokens=tokens).json["results"][0]["sentences"][0]["props"]) == 1


@pytest.mark.parametrize(
    ("wanted", "types"),
    [
        ("noun", ("noun",)),
        ("auxiliaries", ("auxiliary",)),
        (["verbs", "noun", "verb"], ("verb", "noun")),
        (None, PREDICATE_TYPES),
    ],
)
def test_predicate_types_reach_the_pipeline(client, pipeline, wanted, types):
    assert client.label(text=TEXT, predicates=wanted).status == 200
    assert pipeline.predicates == [types]


def test_an_item_may_have_predicates_of_its_own(client, pipeline):
    items = [{"text": "It rained.", "predicates": "noun"}, {"text": "It poured."}]
    assert client.label(items=items, predicates="verb").status == 200
    assert sorted(pipeline.predicates) == [("noun",), ("verb",)]


def test_pictures_come_when_they_are_asked_for(client):
    assert "html" not in client.label(text=TEXT).json["results"][0]
    pictures = client.label(text=TEXT, html=True).json["results"][0]["html"]
    assert len(pictures) == 2
    assert pictures[0].startswith("<div")
    assert "chas.01" in pictures[0]
    (result,) = client.label(text=TEXT, svg=True).json["results"]
    assert "html" not in result
    assert [svg.startswith("<svg") for svg in result["svg"]] == [True, True]


def test_senses_are_explained_when_asked_for(client, pipeline):
    frames = [
        Roleset("chas.01", "follow", {"0": "follower", "1": "thing followed"}, [("v", "chas")]),
        Roleset("chas.02", "hunt", {}, [("v", "chas")]),
    ]
    pipeline.inventory = FrameIndex.of(frames)
    (prop,) = client.label(text="The cat chased a mouse.", explain=True).json["results"][0]["sentences"][0][
        "props"
    ]
    assert prop["definition"] == "follow"
    assert prop["roles"] == {"ARG0": "follower", "ARG1": "thing followed"}
    assert prop["alternatives"] == [{"sense": "chas.02", "definition": "hunt"}]


def test_text_beyond_ascii_comes_back_as_it_was(client):
    text = "Zoë 😀 laughed — “loudly”."
    answer = client.label(text=text)
    assert text in answer.body.decode()
    sent = answer.json["results"][0]["sentences"][0]
    assert [text[start:end] for start, end in sent["offsets"]] == sent["tokens"]


def test_the_code_in_the_documentation_runs(client, capsys):
    page = (Path(__file__).parents[2] / "docs" / "server.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    exec(compile(code.replace("http://127.0.0.1:8000", client.url), "docs/server.md", "exec"), {})
    roles = "[('ARG0', ['The', 'cat']), ('ARG1', ['a', 'mouse', '.'])]"
    assert capsys.readouterr().out == f"chas.01 {roles}\n"


def test_health_and_readiness(client):
    assert client.get("/healthz").json == {"status": "ok"}
    assert client.get("/readyz").json == {"status": "ready"}


def test_the_metrics_count_requests_and_batches(client):
    client.label(text=TEXT)
    client.get("/no/such/page")
    client.request("BREW", "/healthz")
    lines = client.get("/metrics").body.decode().splitlines()
    assert 'spansrl_requests_total{method="POST",path="/v1/label",status="200"} 1.0' in lines
    assert 'spansrl_requests_total{method="GET",path="other",status="404"} 1.0' in lines
    assert 'spansrl_requests_total{method="other",path="/healthz",status="405"} 1.0' in lines
    assert "spansrl_batch_sentences_count 1.0" in lines
    assert "spansrl_batch_sentences_sum 2.0" in lines
    assert "spansrl_wait_seconds 0.0" in lines


def test_answers_carry_headers_that_protect_browsers(client):
    for path in ("/", "/docs", "/healthz", "/static/pictures.css", "/no/such/page"):
        headers = client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers
        assert "server" not in headers


def test_unknown_paths_and_methods_are_refused_in_json(client):
    assert client.get("/no/such/page").status == 404
    assert client.get("/no/such/page").error["code"] == "not_found"
    wrong = client.get("/v1/label")
    assert (wrong.status, wrong.error["code"], wrong.headers["allow"]) == (405, "method_not_allowed", "POST")


def test_files_beside_the_static_ones_cannot_be_reached(client):
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd", "/static/..%2fapp.py"):
        assert client.get(path).status == 404


@pytest.fixture(scope="module")
def document():
    return openapi(ENDPOINTS)


def schema(document, name):
    """A component, in a document where its references lead somewhere."""
    return {"$ref": f"#/components/schemas/{name}", "components": document["components"]}


def test_the_openapi_document_lists_every_endpoint(client, document):
    assert client.get("/openapi.json").json == document
    listed = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert listed == {(endpoint.method, endpoint.path) for endpoint in ENDPOINTS}


def test_the_openapi_document_describes_every_parameter_and_field_of_a_request(document):
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    described = [parameter for operation in operations for parameter in operation.get("parameters", [])]
    for name in ("LabelRequest", "Item"):
        described += document["components"]["schemas"][name]["properties"].values()
    assert len(described) > 15
    assert [one for one in described if not one.get("description")] == []


def test_every_reference_of_the_openapi_document_leads_somewhere(document):
    text = json.dumps(document)
    references = {part.split('"')[0] for part in text.split('"$ref": "')[1:]}
    assert references
    for reference in references:
        found = document
        for key in reference.removeprefix("#/").split("/"):
            found = found[key]


def test_answers_match_the_openapi_document(client, document):
    jsonschema.validate(client.label(text=TEXT, html=True).json, schema(document, "LabelResponse"))
    for result in client.label(text=TEXT).json["results"]:
        for sent in result["sentences"]:
            jsonschema.validate(sent, sentence_schema())
    jsonschema.validate(client.label(text=1).json, schema(document, "Error"))
    line, error = client.stream({"text": TEXT, "id": "a"}, {"text": 1}).lines
    jsonschema.validate(line, schema(document, "Result"))
    jsonschema.validate(error, schema(document, "StreamError"))


@pytest.mark.parametrize(
    "message",
    [
        {"text": "a"},
        {"tokens": ["a"], "predicates": [0]},
        {"texts": ["a", "b"], "predicates": "verbs"},
        {"text": "a", "min_prob": 0.5, "decoder": "exact"},
        {"tokens": ["a"], "predicates": [0, 0]},
        {"items": [{"text": "a"}], "text": None, "html": True},
    ],
)
def test_the_openapi_schema_accepts_what_the_server_accepts(client, document, message):
    jsonschema.validate(message, schema(document, "LabelRequest"))
    assert client.label(**message).status == 200


@pytest.mark.parametrize(
    "message",
    [
        {"html": True},
        {"texts": "a"},
        {"text": "a\0"},
        {"tokens": []},
        {"tokens": ["a", ""]},
        {"text": "a", "tokens": ["a"]},
        {"text": "a", "items": [{"text": "a"}]},
        {"text": "a", "min_prob": -1},
        {"text": "a", "decoder": "best"},
        {"tokens": ["a"], "predicates": [-1]},
        {"tokens": ["a"], "predicates": [0, "verb"]},
        {"text": "a", "predicates": ["adverb"]},
        {"text": "a", "texts": ["a"]},
        {"items": [{"text": "a", "html": True}]},
    ],
)
def test_the_openapi_schema_refuses_what_the_server_refuses(client, document, message):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(message, schema(document, "LabelRequest"))
    assert client.label(**message).status == 422
