"""AllenNLP's form of labels, its predictor's methods, and what relatio reads from them."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from spansrl.cli import cli
from spansrl.errors import DataError
from spansrl.formats import write_sentences
from spansrl.inference.loading import shipped_model
from spansrl.integrations.allennlp import Predictor
from spansrl.structures import Argument, Document, Proposition, Sentence, Span

needs_model = pytest.mark.skipif(not shipped_model().is_dir(), reason="no model in the package")

PICKED = Proposition(
    1,
    (
        Argument("ARG0", Span(0, 1)),
        Argument("ARG1", Span(2, 4)),
        Argument("ARG2", Span(3, 4)),
        Argument("ARGM-TMP", Span(5, 6)),
    ),
    v=(Span(1, 2), Span(4, 5)),
    type="verb",
)
SENT = Sentence(("She", "picked", "the", "letter", "up", "today"), (PICKED, Proposition(3, type="noun")))
FORM = {
    "verbs": [
        {
            "verb": "picked",
            "description": "[ARG0: She] [V: picked] [ARG1: the letter] [C-V: up] [ARGM-TMP: today]",
            "tags": ["B-ARG0", "B-V", "B-ARG1", "I-ARG1", "B-C-V", "B-ARGM-TMP"],
        }
    ],
    "words": ["She", "picked", "the", "letter", "up", "today"],
}


def test_verbs_have_tags_and_a_description_and_nouns_are_left_out():
    assert SENT.to_allennlp() == FORM
    assert Document("", (SENT, Sentence(()))).to_allennlp() == [FORM, {"verbs": [], "words": []}]


def test_spans_of_one_role_side_by_side_stay_apart():
    args = (Argument("ARG1", Span(1, 2)), Argument("ARG1", Span(2, 3)))
    (verb,) = Sentence(("go", "a", "b", "."), (Proposition(0, args),)).to_allennlp()["verbs"]
    assert verb["description"] == "[V: go] [ARG1: a] [ARG1: b] ."


def test_the_format_is_one_object_a_line_and_says_what_it_loses(tmp_path):
    losses = write_sentences(tmp_path / "x.json", [SENT, SENT], "allennlp")
    lines = (tmp_path / "x.json").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [FORM, FORM]
    assert "propositions of nouns and adjectives (2)" in str(losses)


# What relatio keeps, written from its description: the words of each tag, B- and I- alike.
USED = ("ARG0", "B-V", "ARG1", "ARG2")


def roles_by_tags(result):
    statements = []
    for verb in result["verbs"]:
        found = {}
        for role in USED:
            own = [
                word
                for word, tag in zip(result["words"], verb["tags"], strict=True)
                if tag == role or tag in (f"B-{role}", f"I-{role}")
            ]
            if own:
                found[role] = " ".join(own)
        found |= {"B-ARGM-NEG": True} if "B-ARGM-NEG" in verb["tags"] else {}
        statements.append(found)
    return statements


@pytest.fixture(scope="module")
def predictor():
    return Predictor.from_path("structured-prediction-srl-bert.2020.12.15.tar.gz", cuda_device=-1)


@needs_model
def test_relatio_finds_who_did_what(predictor):
    (result,) = predictor.pipeline("Taxes do not kill jobs.").to_allennlp()
    kill = roles_by_tags(result)[-1]
    assert kill == {"ARG0": "Taxes", "B-V": "kill", "ARG1": "jobs", "B-ARGM-NEG": True}


@needs_model
def test_all_methods_return_the_same(predictor):
    text = "Taxes kill jobs."
    result = predictor.predict(sentence=text)
    assert predictor.predict_json({"sentence": text}) == result
    assert predictor.predict_batch_json([{"sentence": text}, {"sentence": ""}]) == [
        *(result, {"verbs": [], "words": []})
    ]
    assert predictor.predict_tokenized(["Taxes", "kill", "jobs", "."]) == result
    with pytest.raises(DataError, match=r"inputs\[1\] has no string under the key 'sentence'"):
        predictor.predict_batch_json([{"sentence": text}, {}])


@needs_model
def test_a_text_of_two_sentences_is_put_together(predictor):
    result = predictor.predict("She left. He stayed.")
    assert result["words"] == ["She", "left", ".", "He", "stayed", "."]
    first, second = result["verbs"]
    assert first["tags"] == ["B-ARG0", "B-V", "O", "O", "O", "O"]
    assert second["tags"][:3] == ["O"] * 3
    assert second["tags"][4] == "B-V"


@needs_model
def test_the_command_line_writes_it(tmp_path):
    out = tmp_path / "x.json"
    args = ["label", "Taxes kill jobs.", "--to", "allennlp", "-o", str(out)]
    assert CliRunner().invoke(cli, args).exit_code == 0
    assert json.loads(out.read_text())["verbs"][0]["verb"] == "kill"
