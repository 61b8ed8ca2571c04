"""Whole networks: batching changes nothing, every parameter learns, and models survive the disk."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch

from builders import NETWORKS, SENTENCES, label_given, make_network, make_sentence
from spansrl.decoding import SpanScores
from spansrl.errors import ModelError
from spansrl.evaluation import score
from spansrl.inference.config import model_config
from spansrl.inference.model import score_propositions
from spansrl.nn.batch import Corpus
from spansrl.nn.network import Network, TorchModel
from spansrl.structures import Sentence
from spansrl.training.checkpoint import load_network, save_description, save_weights

EVERY_NETWORK = pytest.mark.parametrize("sections", NETWORKS.values(), ids=NETWORKS.keys())
WORDS = sorted({token for sent in SENTENCES for token in sent.tokens})
LONG = make_sentence(" ".join(random.Random(0).choices(WORDS, k=500)), (0,), (499,), (250,))
EDGES = {
    "one token": make_sentence("Stop", (0,)),
    "500 tokens": LONG,
    "predicate first": make_sentence("Run home now", (0, ("A4", 1, 3))),
    "predicate last": make_sentence("Quickly he left", (2, ("AM-MNR", 0, 1), ("A0", 1, 2))),
    "no arguments": make_sentence("It rained and snowed", (1,), (3,)),
    "unknown words only": make_sentence("Zyx qwv pft", (1, ("A0", 0, 1), ("A1", 2, 3))),
}


def inputs_of(network: Network, sentences):
    corpus = Corpus.of(sentences, network.roles)
    batch = corpus.batch(np.arange(corpus.n_props))
    return batch, network.embedder.take(network.embedder.prepare(corpus.tokens), batch.rows)


def by_proposition(network: Network, sentences) -> list[tuple[np.ndarray, ...]]:
    """The scores of each proposition, without padding."""
    scores = score_propositions(TorchModel(network), sentences)
    if isinstance(scores, SpanScores):
        return [
            (scores.start[n, :length], scores.end[n, :length], scores.log_z[n])
            for n, length in enumerate(scores.lengths)
        ]
    return [(scores.emissions[n, :length],) for n, length in enumerate(scores.lengths)]


def spans(sentences: list[Sentence]) -> list:
    return [[[(arg.role, arg.span) for arg in prop.args] for prop in sent.props] for sent in sentences]


def fit(network: Network, sentences=SENTENCES, *, steps: int = 120, rate: float = 0.02) -> Network:
    """Adam on one batch of everything."""
    batch, inputs = inputs_of(network, sentences)
    optimizer = torch.optim.Adam([p for p in network.parameters() if p.requires_grad], rate)
    network.train()
    for _ in range(steps):
        optimizer.zero_grad()
        network.loss(batch, inputs).backward()
        optimizer.step()
    return network.eval()


# Batching.


@EVERY_NETWORK
@pytest.mark.parametrize("span_end", ["last", "next"])
def test_scores_are_the_same_alone_in_any_batch_in_any_order_and_with_any_padding(sections, span_end):
    network = make_network(**sections | {"output": sections["output"] | {"span_end": span_end}})
    whole = [*SENTENCES, LONG]  # the last one pads all others to 500 tokens
    alone = [by_proposition(network, [sent]) if sent.props else [] for sent in whole]
    for seed, size in enumerate((5, 9, len(whole))):
        chosen = random.Random(seed).sample(range(len(whole)), size)
        batched = by_proposition(network, [whole[k] for k in chosen])
        expected = [scores for k in chosen for scores in alone[k]]
        for found, wanted in zip(batched, expected, strict=True):
            for one, other in zip(found, wanted, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


@EVERY_NETWORK
def test_labels_do_not_depend_on_how_the_input_is_batched(sections):
    network = fit(make_network(**sections), steps=8)  # unsure of everything, so that spans compete
    sentences = [*SENTENCES, *EDGES.values()]
    expected = spans([label_given(network, [sent])[0] for sent in sentences])
    assert any(args for props in expected for args in props)
    for encoder, scoring in ((1, 1000), (20, 4), (100_000, 1000)):
        assert (
            spans(label_given(network, sentences, encoder_batch=encoder, scoring_batch=scoring)) == expected
        )
    assert spans(label_given(network, sentences[::-1])) == expected[::-1]


@EVERY_NETWORK
def test_the_loss_of_a_batch_is_the_mean_of_its_propositions_losses(sections):
    network = make_network(**sections)
    corpus = Corpus.of(SENTENCES, network.roles)
    store = network.embedder.prepare(corpus.tokens)
    losses = []
    for props in (np.arange(corpus.n_props), *np.arange(corpus.n_props)[:, None]):
        batch = corpus.batch(props)
        losses.append(network.loss(batch, network.embedder.take(store, batch.rows)).item())
    assert losses[0] == pytest.approx(np.mean(losses[1:]), rel=1e-5)


# Learning.


@EVERY_NETWORK
def test_every_parameter_gets_a_gradient(sections):
    network = make_network(**sections)
    network.loss(*inputs_of(network, SENTENCES)).backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        assert (parameter.grad != 0).any(), name


@EVERY_NETWORK
@pytest.mark.parametrize("variant", ["the paper's", "the other"])
def test_a_network_learns_twenty_propositions_by_heart(sections, variant):
    assert sum(len(sent.props) for sent in SENTENCES) == 20
    output = {"span_end": "next", "transitions": "bio"} if variant == "the other" else {}
    network = make_network(**sections | {"output": sections["output"] | output})
    decoder = "exact" if variant == "the other" else "greedy"
    result = score(SENTENCES, label_given(fit(network), SENTENCES, decoder=decoder))
    assert result.overall.f1 == 100.0
    assert result.overall.correct == sum(len(prop.args) for sent in SENTENCES for prop in sent.props)


# Sentences at the edges.


@EVERY_NETWORK
@pytest.mark.parametrize("sent", EDGES.values(), ids=EDGES.keys())
def test_unusual_sentences_can_be_learned_from_and_labeled(sections, sent):
    network = make_network(**sections)
    loss = network.loss(*inputs_of(network, [sent]))
    loss.backward()
    assert torch.isfinite(loss)
    assert all(torch.isfinite(p.grad).all() for p in network.parameters() if p.grad is not None)
    (labeled,) = label_given(network, [sent])
    assert labeled.tokens == sent.tokens
    for prop, given in zip(labeled.props, sent.props, strict=True):
        assert prop.pred == given.pred
        for arg in prop.args:
            assert 0 <= arg.start < arg.end <= len(sent)
            assert not arg.start <= prop.pred < arg.end


def test_unknown_words_share_a_vector_so_only_their_number_matters():
    network = make_network()
    first, second = make_sentence("Zyx qwv pft", (1,)), make_sentence("kkk jjj lll", (1,))
    for one, other in zip(*(by_proposition(network, [sent])[0] for sent in (first, second)), strict=True):
        assert np.array_equal(one, other)


# Dropout.


@EVERY_NETWORK
def test_dropout_acts_in_training_and_never_in_scoring(sections):
    noisy = {"encoder": sections["encoder"] | {"dropout": 0.5}, "embedder": {"dropout": 0.5}}
    network = make_network(**sections | noisy).train()
    batch, inputs = inputs_of(network, SENTENCES)
    assert network.loss(batch, inputs).item() != network.loss(batch, inputs).item()
    first, second = by_proposition(network, SENTENCES), by_proposition(network, SENTENCES)
    for one, other in zip(first, second, strict=True):
        assert all(map(np.array_equal, one, other))
    assert network.training  # scoring leaves it as it was
    assert network.encoder.training
    quiet = make_network(**sections)  # the same seed, so the same parameters
    assert quiet.loss(batch, inputs).item() == network.eval().loss(batch, inputs).item()


# Model directories.


def save(network: Network, directory: Path) -> Path:
    save_description(directory, network, {"data": "hand-made"})
    save_weights(directory, network, epoch=0)
    return directory


@EVERY_NETWORK
def test_saved_and_loaded_a_network_labels_as_before(sections, tmp_path):
    network = fit(make_network(**sections), steps=20)
    loaded = load_network(save(network, tmp_path / "model"))
    assert not loaded.training
    assert loaded.config == model_config(network.config.to_dict())
    sentences = [*SENTENCES, EDGES["unknown words only"]]
    assert label_given(loaded, sentences) == label_given(network, sentences)


def test_weights_do_not_depend_on_when_or_where_they_were_saved(tmp_path):
    paths = [save(make_network(), tmp_path / name) / "weights.safetensors" for name in ("a", "b")]
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_model_that_knows_no_words_can_be_loaded(tmp_path):
    network = make_network(embedder={"min_count": 100})
    assert len(network.embedder.vocab) == 1
    assert label_given(load_network(save(network, tmp_path)), SENTENCES) == label_given(network, SENTENCES)


@pytest.mark.parametrize("word", ["", "\n", "\r", "\u2028", "a\u00a0b", "\ud800", "ǆ"], ids=ascii)
def test_words_with_unusual_characters_survive_the_disk(tmp_path, word):
    sentences = [*SENTENCES, Sentence((word, "sleeps", word), SENTENCES[0].props[:0])]
    network = make_network(sentences)
    loaded = load_network(save(network, tmp_path))
    assert loaded.embedder.vocab.items == network.embedder.vocab.items


@pytest.fixture
def model(tmp_path) -> Path:
    return save(make_network(), tmp_path / "model")


def change(model: Path, **entries) -> None:
    path = model / "config.json"
    content = json.loads(path.read_text()) | entries
    path.write_text(json.dumps({key: value for key, value in content.items() if value is not None}))


DAMAGED_DESCRIPTIONS = {
    "unknown entry": ({"colour": "red"}, "unknown entries: colour"),
    "no format": ({"format": None}, "'format' is missing"),
    "later format": ({"format": 99}, "unknown format 99"),
    "other kind": ({"kind": "mixture"}, "'kind' is 'mixture', expected 'network'"),
    "no roles": ({"roles": []}, "'roles' must be a list of names"),
    "roles of numbers": ({"roles": [1, 2]}, "'roles' must be a list of names"),
    "role twice": ({"roles": ["A0", "A0"]}, "'roles' names a role twice"),
    "no settings": ({"config": None}, "'config' must be an object"),
    "unknown section": ({"config": {"decoder": {}}}, r"unknown section \[decoder\]"),
    "unknown setting": ({"config": {"encoder": {"colour": 1}}}, "unknown setting encoder.colour"),
    "wrong type": ({"config": {"encoder": {"layers": "4"}}}, "encoder.layers must be a"),
    "impossible value": (
        {"config": {"output": {"kind": "magic"}}},
        "output.kind must be one of span, segmental",
    ),
}


@pytest.mark.parametrize(
    ("entries", "message"), DAMAGED_DESCRIPTIONS.values(), ids=DAMAGED_DESCRIPTIONS.keys()
)
def test_a_description_that_is_not_understood_is_refused(model, entries, message):
    change(model, **entries)
    with pytest.raises(ModelError, match=message) as caught:
        load_network(model)
    assert str(model / "config.json") in str(caught.value)


@pytest.mark.parametrize("content", ["", "{", "[1]", "\xff"], ids=repr)
def test_a_description_that_is_not_a_json_object_is_refused(model, content):
    (model / "config.json").write_text(content, encoding="latin-1")
    with pytest.raises(ModelError, match=r"config\.json"):
        load_network(model)


def without_first(tensors):
    return dict(sorted(tensors.items())[1:])


def with_another(tensors):
    return tensors | {"surplus": torch.zeros(2)}


def with_other_shape(tensors):
    return tensors | {"output.roles": tensors["output.roles"][:-1].clone()}


def with_no_number(tensors):
    return tensors | {"output.roles": torch.full_like(tensors["output.roles"], float("nan"))}


DAMAGED_WEIGHTS = {
    "no number": (with_no_number, "'output.roles' has values that are not numbers"),
    "missing tensor": (without_first, "1 tensors are missing, among them 'embedder.vectors.weight'"),
    "foreign tensor": (with_another, "1 tensors do not belong to this model, among them 'surplus'"),
    "wrong shape": (with_other_shape, "'output.roles' has shape .*, expected"),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGED_WEIGHTS.values(), ids=DAMAGED_WEIGHTS.keys())
def test_weights_that_are_not_exactly_the_models_are_refused(model, damage, message):
    path = model / "weights.safetensors"
    path.write_bytes(safetensors.torch.save(damage(safetensors.torch.load_file(path))))
    with pytest.raises(ModelError, match=message):
        load_network(model)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 a zip file"], ids=repr)
def test_damaged_weights_are_refused(model, content):
    (model / "weights.safetensors").write_bytes(content)
    with pytest.raises(ModelError, match=r"weights\.safetensors: damaged or unreadable"):
        load_network(model)


@pytest.mark.parametrize("name", ["config.json", "weights.safetensors", "embedder/words.json"])
def test_a_missing_file_is_named(model, name):
    (model / name).unlink()
    with pytest.raises(ModelError, match=name):
        load_network(model)


def test_a_missing_directory_is_named(tmp_path):
    with pytest.raises(ModelError, match="nowhere: no such model directory"):
        load_network(tmp_path / "nowhere")
