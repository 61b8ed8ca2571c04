"""`spansrl evaluate` with a toy model."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from itertools import accumulate

import numpy as np
import pytest

import spansrl as spansrl_package
from builders import make_network
from spansrl.formats import write_sentences
from spansrl.training.checkpoint import save_description
from toy_text_model import TOYS, make_text_network, save, train


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model that has learned its toys by heart."""
    network = make_text_network()
    train(network, np.arange(len(TOYS)), 100)
    return save(network, tmp_path_factory.mktemp("toy") / "model")


@pytest.fixture
def evaluate(spansrl, model):
    """Run the command beside gold.jsonl, the toys."""
    write_sentences("gold.jsonl", TOYS)
    return partial(spansrl, "evaluate", "--model", model)


def test_a_memorized_corpus_scores_100(evaluate):
    code, out, err = evaluate("gold.jsonl")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "5 sentences, 7 predicates"
    assert "| arguments, gold predicates | 100.00 | 100.00 | 100.00 |" in lines
    assert "| predicates found | 100.00 | 100.00 | 100.00 |" in lines
    assert "Senses, accuracy on gold predicates: 100.00" in lines
    assert "| ARG0 | 4 | 100.00 | 100.00 | 100.00 |" in lines


def test_predicates_without_gold_arguments_have_no_score_of_arguments(evaluate):
    _, out, _ = evaluate("gold.jsonl", "--save", "figures.json")
    assert "| auxiliary | 1 | 100.00 | 100.00 | – |" in out.splitlines()
    with open("figures.json", encoding="utf-8") as file:
        assert set(json.load(file)["by_type"]["auxiliary"]) == {"predicates", "found", "senses"}


def test_a_type_without_gold_predicates_has_no_figures(evaluate):
    write_sentences("verbs.jsonl", TOYS[:2])
    _, out, _ = evaluate("verbs.jsonl")
    assert "| adjective | 0 | – | – | – |" in out.splitlines()


def test_python_gives_the_same_figures(evaluate, model):
    _, out, _ = evaluate("gold.jsonl", "--json")
    assert spansrl_package.load(model).evaluate("gold.jsonl") == json.loads(out)


def test_options_of_models_and_of_predictions_are_not_mixed(evaluate, spansrl):
    code, _, err = evaluate("gold.jsonl", "gold.jsonl")
    assert (code, err.splitlines()[-1]) == (2, "Error: --model is for a model: give no PRED")
    code, _, err = spansrl("evaluate", "gold.jsonl", "--confusion")
    assert (code, err.splitlines()[-1]) == (2, "Error: --confusion is for predictions: give PRED")


def test_senses_with_a_particle_are_counted(evaluate):
    ran = replace(TOYS[0].props[0], sense="run_off.09")
    write_sentences("particle.jsonl", [replace(TOYS[0], props=(ran, *TOYS[0].props[1:]))])
    _, out, _ = evaluate("particle.jsonl")
    assert "Senses with a particle: 0 of 1 right" in out.splitlines()


def test_text_is_labeled_from_scratch_where_the_corpus_has_it(evaluate):
    _, out, _ = evaluate("gold.jsonl")
    assert "from plain text" not in out
    write_sentences("text.jsonl", [written(sent) for sent in TOYS])
    _, out, _ = evaluate("text.jsonl")
    assert "| arguments end to end, from plain text | 100.00 | 100.00 | 100.00 |" in out.splitlines()


def written(sent):
    """The sentence with its text, each in a document of its own."""
    ends = list(accumulate(len(token) + 1 for token in sent.tokens))
    offsets = tuple((end - 1 - len(token), end - 1) for token, end in zip(sent.tokens, ends, strict=True))
    return replace(sent, id=f"{' '.join(sent.tokens)}#0", text=" ".join(sent.tokens), offsets=offsets)


def test_sentences_of_another_file_are_left_out(evaluate):
    write_sentences("train.jsonl", TOYS[:2])
    _, out, _ = evaluate("gold.jsonl", "--without", "train.jsonl")
    assert out.startswith("3 sentences, 5 predicates\n")


def test_the_figures_are_compared_with_the_card(evaluate, model):
    card = model / "scores.json"
    assert evaluate("gold.jsonl", "--save", card)[0] == 0
    code, _, err = evaluate("gold.jsonl", "--compare")
    assert (code, err) == (0, "\nThe model's card has the same figures.\n")
    figures = json.loads(card.read_text(encoding="utf-8"))
    card.write_text(json.dumps(figures | {"senses": 99.0}), encoding="utf-8")
    code, _, err = evaluate("gold.jsonl", "--compare")
    assert (code, err) == (1, f"spansrl: error: {card}: 'senses' is 99.0 there, and 100.0 now\n")
    card.write_text("[]", encoding="utf-8")
    code, _, err = evaluate("gold.jsonl", "--compare")
    assert (code, err) == (1, f"spansrl: error: {card}: does not hold the figures of an evaluation\n")


def test_gold_without_predicates_is_refused(evaluate):
    write_sentences("none.jsonl", TOYS[-1:])
    code, out, err = evaluate("none.jsonl")
    assert (code, out, err) == (1, "", "spansrl: error: none.jsonl: no predicates to score against\n")


def test_roles_cannot_be_ruled_out_without_frames(evaluate):
    code, _, err = evaluate("gold.jsonl", "--rule-out-roles", "--no-frames")
    assert code == 2
    assert "--rule-out-roles and --no-frames contradict each other" in err


def test_a_model_that_finds_no_predicates_is_refused_before_it_is_loaded(spansrl, tmp_path):
    save_description(tmp_path / "given", make_network(), {})  # without weights
    code, out, err = spansrl("evaluate", "gold.jsonl", "--model", "given")
    assert (code, out) == (1, "")
    assert err == (
        "spansrl: error: given: this model does not find predicates; "
        "label GOLD with it (spansrl label), and give the result as PRED\n"
    )
