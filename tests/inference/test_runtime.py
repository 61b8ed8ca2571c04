"""Exported transformers on ONNX Runtime: the numbers of torch, whatever the tokens, alone and batched."""

from __future__ import annotations

import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from spansrl.decoding import log_partition
from spansrl.errors import ModelError
from spansrl.inference.model import encode_all, score_propositions
from spansrl.inference.runtime import OnnxModel, token_inputs
from spansrl.nn.network import TorchModel
from spansrl.structures import Proposition, Sentence
from spansrl.training.export import export_model
from tiny_bert import make_bert
from toy_text_model import make_text_network, save

SENTENCES = [
    ("The", "cats", "chased", "unlikely", "cat", "."),
    ("cat",),
    ("", "\u200d", "\ud800", "[SEP]", "strange", "." * 300),
    ("The", "cats", "chased", "unlikely", "cat", ".", "unlikely") * 6,  # read in windows
]
pytestmark = pytest.mark.slow  # two exports
CLOSE = {"rtol": 1e-4, "atol": 1e-4}


@pytest.fixture(scope="module", params=["first", "mean"])
def models(request, tmp_path_factory):
    """The same random network on torch and on ONNX Runtime."""
    root = tmp_path_factory.mktemp("bert")
    embedder = {
        "kind": "transformer",
        "path": str(make_bert(root / "bert")),
        "finetune": True,
        "pooling": request.param,
    }
    source = save(make_text_network(embedder=embedder), root / "model")
    network = export_model(source, root / "out")
    return TorchModel(network), OnnxModel.load(root / "out", threads=1), root / "out"


def test_vectors_and_classes_are_those_of_torch_whatever_the_tokens(models):
    torch_model, onnx_model, _ = models
    ours, theirs = encode_all(onnx_model, SENTENCES), encode_all(torch_model, SENTENCES)
    assert ours.lengths.tolist() == theirs.lengths.tolist() == [6, 1, 6, 42]
    for s, tokens in enumerate(SENTENCES):
        own = slice(0, len(tokens))
        np.testing.assert_allclose(ours.vectors[s, own], theirs.vectors[s, own], **CLOSE)
        np.testing.assert_allclose(ours.classes[s, own], theirs.classes[s, own], **CLOSE)
    assert onnx_model.roles == tuple(torch_model.roles)


def test_a_sentence_is_encoded_alone_as_in_a_batch(models):
    _, model, _ = models
    batch = encode_all(model, SENTENCES)
    for s, tokens in enumerate(SENTENCES):
        alone = encode_all(model, [tokens])
        np.testing.assert_allclose(batch.vectors[s, : len(tokens)], alone.vectors[0], **CLOSE)
        np.testing.assert_allclose(batch.classes[s, : len(tokens)], alone.classes[0], **CLOSE)


def test_scores_of_predicates_are_those_of_torch(models):
    torch_model, onnx_model, _ = models
    sentence, pred = np.array([3, 0, 0, 1]), np.array([41, 2, 0, 0])
    pairs = [(model, encode_all(model, SENTENCES)) for model in (onnx_model, torch_model)]
    senses = [model.score_senses(encoding, sentence, pred) for model, encoding in pairs]
    np.testing.assert_allclose(*senses, **CLOSE)
    ours, theirs = (model.score_arguments(encoding, sentence, pred, [None] * 4) for model, encoding in pairs)
    np.testing.assert_allclose(ours.log_z, theirs.log_z, **CLOSE)
    for n, length in enumerate(ours.lengths):
        for name in ("start", "end"):
            found, expected = (getattr(scores, name)[n, :length] for scores in (ours, theirs))
            np.testing.assert_allclose(found, expected, **CLOSE)
    start, end, lengths = ours.start, ours.end, ours.lengths
    np.testing.assert_allclose(ours.log_z, log_partition(start, end, lengths))


def test_a_model_scores_the_propositions_of_sentences_in_order(models):
    _, model, _ = models
    sentences = [
        Sentence(SENTENCES[0], (Proposition(2), Proposition(0))),
        Sentence(SENTENCES[1], (Proposition(0),)),
    ]
    scores = score_propositions(model, sentences)
    assert scores.pred.tolist() == [2, 0, 0]
    assert scores.lengths.tolist() == [6, 6, 1]


def test_graphs_that_score_senses_and_arguments_together_run_once(models, monkeypatch):
    _, model, _ = models
    sentence, pred = np.array([0, 2]), np.array([1, 3])
    runs = []
    run = model._arguments._session.run
    monkeypatch.setattr(
        model._arguments, "_session", SimpleNamespace(run=lambda *args: runs.append(1) or run(*args))
    )
    encoding = encode_all(model, SENTENCES)
    model.score_senses(encoding, sentence, pred)
    together = model.score_arguments(encoding, sentence, pred, [None, None])
    assert (len(runs), encoding.kept) == (1, {})
    alone = model.score_arguments(encoding, sentence, pred, [None, None])
    assert len(runs) == 2
    np.testing.assert_array_equal(together.start, alone.start)


@pytest.mark.parametrize("positions", [None, "512", 4, True])
def test_an_encoder_must_say_how_many_positions_it_has(models, tmp_path, positions):
    _, model, directory = models
    files = shutil.copytree(directory / "embedder", tmp_path / "embedder")
    settings = json.loads((files / "config.json").read_text()) | {"max_position_embeddings": positions}
    (files / "config.json").write_text(json.dumps(settings))
    with pytest.raises(ModelError, match=r"config\.json: 'max_position_embeddings' must be a number"):
        token_inputs(model.directory.network_config.embedder, files)
