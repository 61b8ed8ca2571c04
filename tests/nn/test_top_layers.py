"""The top layers of a transformer as the head, and the case of tokens."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from builders import SENTENCES, make_config
from nn.test_transformer import LONG
from spansrl.errors import ConfigError, ModelError
from spansrl.inference.config import EmbedderConfig
from spansrl.inference.inputs.pieces import case_of
from spansrl.inventory.roles import roles_in
from spansrl.nn.batch import Batch
from spansrl.nn.embedders import build_embedder
from spansrl.nn.embedders.transformer import Transformer, TransformerEmbedder
from spansrl.nn.network import Network
from spansrl.training.loop import make_optimizer
from spansrl.training.recovery import start_from
from spansrl.training.run_config import TrainingConfig
from tiny_bert import make_bert, transformers

TOP = {"kind": "none", "predicate": "after", "top_layers": 1}


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return make_bert(tmp_path_factory.mktemp("bert"))


def network_over(directory, encoder: dict, seed: int = 1, **embedder) -> Network:
    torch.manual_seed(seed)
    settings = {"kind": "transformer", "path": str(directory), "finetune": True, **embedder}
    config = make_config(embedder=settings, encoder=encoder)
    return Network(config, roles_in(SENTENCES), build_embedder(config.embedder, []), ()).eval()


def features(network: Network, sentences, sentence, pred) -> torch.Tensor:
    """h (N, T, D) of predicates"""
    embedder = network.embedder
    inputs = embedder.take(embedder.prepare(sentences), np.arange(len(sentences)))
    lengths = np.array([len(tokens) for tokens in sentences])
    with torch.no_grad():
        return network.token_features(Batch.of_predicates(lengths, sentence, pred), inputs)


def test_without_a_predicate_the_top_layers_compute_what_the_pretrained_ones_do(bert):
    network = network_over(bert, TOP)
    for weight in (network.encoder.head.pred.weight, network.encoder.head.distance.weight):
        torch.nn.init.zeros_(weight)
    x, mask = torch.randn(2, 5, 8), torch.ones(2, 5, dtype=torch.bool)
    found = network.encoder.head(x, torch.tensor([0, 1]), torch.tensor([2, 3]), mask)
    whole = transformers.BertModel.from_pretrained(bert).eval()
    torch.testing.assert_close(found, whole.encoder.layer[1](x))
    assert len(network.embedder.transformer.encoder.encoder.layer) == 1
    assert len(network.embedder.mix.weights) == 2
    assert network.embedder.mix.weights.softmax(0)[1] > 0.99


def test_predicates_of_one_sentence_have_vectors_of_their_own_alone_and_batched(bert):
    network = network_over(bert, TOP, case=True)
    torch.nn.init.normal_(network.embedder.case.weight)
    sentences = [("The", "cats", "chased", "."), LONG]
    sentence, pred = np.array([0, 0, 1]), np.array([1, 2, 40])
    together = features(network, sentences, sentence, pred)
    assert not torch.allclose(together[0, :4], together[1, :4])
    for n, (s, p) in enumerate(zip(sentence, pred, strict=True)):
        alone = features(network, [sentences[s]], np.array([0]), np.array([p]))[0]
        torch.testing.assert_close(together[n, : len(alone)], alone)


def test_every_parameter_gets_a_gradient_and_top_layers_have_the_rate_of_the_transformer(bert):
    network = network_over(bert, TOP, case=True).train()
    embedder = network.embedder
    batch = Batch.of_predicates(np.array([4]), np.array([0]), np.array([2]))
    inputs = embedder.take(embedder.prepare([("The", "cats", "chased", ".")]), np.array([0]))
    network.token_features(batch, inputs).square().sum().backward()
    unused = {name for name, p in network.named_parameters() if p.grad is None}
    assert unused == {name for name, _ in network.named_parameters() if name.startswith("output.")}
    optimizer = make_optimizer(network, TrainingConfig(rate=1.0, embedder_rate=0.1, layer_decay=0.5))
    rates = {id(p): group["base_rate"] for group in optimizer.param_groups for p in group["params"]}
    found = {name: rates[id(p)] for name, p in network.named_parameters()}
    assert found["encoder.head.attention.transformer.layer.1.output.dense.weight"] == 0.1
    assert found["embedder.transformer.encoder.encoder.layer.0.output.dense.weight"] == 0.05
    assert found["embedder.case.weight"] == found["encoder.head.pred.weight"] == 1.0


def test_a_model_with_all_layers_in_its_embedder_is_a_start(bert):
    source = network_over(bert, {"kind": "none", "predicate": "after", "attention_layers": 1}, seed=2)
    with torch.no_grad():
        for parameter in source.parameters():
            parameter.add_(torch.randn_like(parameter))
    network = network_over(bert, TOP, case=True)
    (note, _) = start_from(network, source, "old")
    layers = source.embedder.transformer.encoder.encoder.layer
    parts = (
        network.embedder.transformer.encoder.encoder.layer[0],
        next(iter(network.encoder.head.attention.transformer.layer)),
    )
    for own, given in zip(parts, layers, strict=True):
        torch.testing.assert_close(own.state_dict(), given.state_dict())
    new = set(network.state_dict()) - set(source.state_dict()) | {
        "embedder.mix.weights",
        "embedder.mix.gamma",
    }
    assert note.startswith("start from old: ")
    assert "encoder.head.attention.transformer.layer.1.output.dense.weight" in new
    again = network_over(bert, TOP, seed=3, case=True)
    start_from(again, network, "new")
    torch.testing.assert_close(again.state_dict(), network.state_dict())


def test_mpnet_brings_its_relative_positions(tmp_path):
    config = transformers.MPNetConfig(
        vocab_size=14,
        hidden_size=8,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=20,
    )
    torch.manual_seed(0)
    whole = transformers.MPNetModel(config).eval()
    torch.nn.init.normal_(whole.encoder.relative_attention_bias.weight)
    directory = make_bert(tmp_path / "mpnet")  # for its tokenizer
    whole.save_pretrained(directory)
    network = network_over(directory, {**TOP, "top_layers": 2})
    head = network.encoder.head
    torch.nn.init.zeros_(head.distance.weight)
    x, mask = torch.randn(1, 5, 8), torch.ones(1, 5, dtype=torch.bool)
    bias = whole.encoder.compute_position_bias(x)
    expected = x
    for layer in whole.encoder.layer[1:]:
        expected = layer(expected, None, bias)[0]
    torch.testing.assert_close(head(x, torch.tensor([0]), torch.tensor([2]), mask), expected)


@pytest.mark.parametrize(("count", "message"), [(2, "the transformer has 2 layers"), (9, "has 2 layers")])
def test_at_least_one_layer_stays_below(bert, count, message):
    with pytest.raises(ConfigError, match=message):
        network_over(bert, {**TOP, "top_layers": count})


def test_transformers_without_a_stack_of_layers_are_refused(bert):
    transformer = Transformer(bert)
    transformer.encoder = torch.nn.Identity()
    with pytest.raises(ModelError, match="Identity has no stack of layers"):
        transformer.take_top(1)


@pytest.mark.parametrize(
    ("sections", "setting"),
    [
        ({"encoder": {**TOP, "attention_layers": 1}}, "top_layers"),
        ({"encoder": {"top_layers": 1}}, "top_layers"),
        ({"encoder": TOP}, "finetune"),
        ({"embedder": {"kind": "transformer", "path": "x", "case": True}}, "finetune"),
    ],
)
def test_settings_that_do_not_fit_are_errors(sections, setting):
    with pytest.raises(ConfigError, match=setting):
        make_config(**sections)


def test_the_case_of_a_token():
    words = ["the", "12", "The", "iPhone", "U.S.", "NATO", "A", "É", ""]
    assert [case_of(word, 1) for word in words] == [0, 0, 1, 0, 2, 2, 1, 1, 0]
    assert [case_of(word, 0) for word in ("the", "The", "NATO")] == [3, 4, 5]


def test_case_starts_as_nothing_and_tells_names_from_words(bert):
    embedder = build_embedder(EmbedderConfig("transformer", str(bert), finetune=True, case=True), []).eval()
    assert isinstance(embedder, TransformerEmbedder)
    store = embedder.prepare([("the", "cat"), ("the", "Cat")])
    inputs = embedder.take(store, np.array([0, 1]))
    assert inputs.cases.tolist() == [[3, 0], [3, 1]]
    before = embedder(inputs)
    torch.testing.assert_close(before[0], before[1])
    torch.nn.init.normal_(embedder.case.weight)
    after = embedder(inputs)
    assert not torch.allclose(after[0, 1], after[1, 1])
    torch.testing.assert_close(after[0, 0], after[1, 0])
