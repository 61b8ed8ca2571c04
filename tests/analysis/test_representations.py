"""Span vectors and label embeddings of model directories: their products are the model's scores."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from builders import SENTENCES, make_network
from spansrl.analysis.representations import NoSpanModelError, load_model
from spansrl.inference.directory import ENCODER_GRAPH
from spansrl.inference.model import score_propositions
from spansrl.nn.ensembles import Mixture
from spansrl.training.checkpoint import WEIGHTS, save_description, save_weights
from spansrl.training.ensemble_directories import save_ensemble


def saved(directory, seed=1, **sections):
    network = make_network(seed=seed, **sections)
    save_description(directory, network, {})
    save_weights(directory, network, epoch=0)
    return directory


def product(tmp_path):
    save_ensemble(tmp_path / "m", "product", [saved(tmp_path / str(seed), seed) for seed in (1, 2)], {})
    return tmp_path / "m", 0.5


def mixture(tmp_path):
    experts = [saved(tmp_path / str(seed), seed) for seed in (1, 2)]
    save_ensemble(tmp_path / "m", "mixture", experts, {})
    torch.manual_seed(5)
    module = Mixture.of([make_network(seed=seed) for seed in (1, 2)])
    for parameter in module.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    save_weights(tmp_path / "m", module, epoch=0)
    assert (tmp_path / "m" / WEIGHTS).exists()
    return tmp_path / "m", 1.0


MODELS = {
    "a single model": lambda path: (saved(path / "m"), 1.0),
    "ends at the next token": lambda path: (saved(path / "m", output={"span_end": "next"}), 1.0),
    "a product": product,
    "a mixture": mixture,
}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_span_vectors_times_label_embeddings_are_the_scores(make, tmp_path):
    directory, scale = make(tmp_path)
    model = load_model(directory, tmp_path / "cache")
    vectors = np.concatenate(list(model.argument_vectors(SENTENCES, lambda *told: None)))
    found = scale * vectors @ model.role_vectors().T  # (A, R)
    scores = score_propositions(model.model, SENTENCES)
    props = [prop for sent in SENTENCES for prop in sent.props]
    expected = [
        scores.start[n, arg.start] + scores.end[n, arg.end - 1]
        for n, prop in enumerate(props)
        for arg in prop.args
    ]
    assert found == pytest.approx(np.array(expected), abs=2e-2)  # features are kept in half precision


def test_a_crf_model_is_refused_with_the_reason(tmp_path):
    directory = saved(tmp_path / "crf", output={"kind": "crf"})
    with pytest.raises(NoSpanModelError, match="holds a tagger"):
        load_model(directory, tmp_path)


def test_an_exported_model_is_refused_and_the_run_is_requested(tmp_path):
    directory = saved(tmp_path / "m")
    (directory / ENCODER_GRAPH).write_bytes(b"")
    load_model(directory, tmp_path)  # with its weights beside the graph, it still can
    (directory / WEIGHTS).unlink()
    with pytest.raises(
        NoSpanModelError, match="is an exported model; pass the run that it was exported from"
    ):
        load_model(directory, tmp_path)


def test_a_model_over_precomputed_vectors_is_refused(tmp_path):
    directory = saved(tmp_path / "m")
    description = json.loads((directory / "config.json").read_text())
    description["config"]["embedder"] |= {"kind": "elmo", "precomputed": "vectors"}
    (directory / "config.json").write_text(json.dumps(description))
    with pytest.raises(NoSpanModelError, match="has precomputed vectors of its training data only"):
        load_model(directory, tmp_path)


def test_sentences_without_arguments_have_no_vectors(tmp_path):
    model = load_model(saved(tmp_path / "m"), tmp_path / "cache")
    assert (
        list(model.argument_vectors([sent for sent in SENTENCES if not sent.props], lambda *told: None)) == []
    )
