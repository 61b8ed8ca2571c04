"""Mixture and product of experts against their equations, computed span by span."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from builders import SENTENCES, label_given, make_network, make_sentence
from spansrl.decoding import ARRAYS, SpanScores, log_partition
from spansrl.errors import ModelError
from spansrl.inference.model import score_propositions
from spansrl.nn.batch import Corpus
from spansrl.nn.ensembles import (
    DroppedFeatures,
    Mixture,
    MixtureModel,
    ProductModel,
    check_experts,
    expert_features,
)
from spansrl.nn.network import TorchModel
from spansrl.nn.outputs import OUTPUTS
from spansrl.nn.outputs.boundaries import span_vectors


@pytest.fixture
def experts():
    return [make_network(seed=seed) for seed in (1, 2, 3, 4, 5)]


def random_mixture(experts):
    mixture = Mixture.of(experts)
    torch.manual_seed(7)
    for parameter in mixture.parameters():
        parameter.data += 0.3 * torch.randn_like(parameter)
    return mixture


def test_the_mixture_scores_spans_as_equations_9_and_10_say(experts):
    mixture = random_mixture(experts).double()
    batch = Corpus.of(SENTENCES[:1], experts[0].roles).batch(np.arange(1))
    features = [torch.randn(1, 5, 16, dtype=torch.float64) for _ in experts]
    logits = mixture(features, batch.mask())
    alpha = mixture.gate.softmax(0)
    for i in range(5):
        for j in range(i, 5):
            ends = torch.tensor([i]), torch.tensor([j])
            mixed = sum(a * span_vectors(h[0], *ends)[0] for a, h in zip(alpha, features, strict=True))
            expected = mixture.roles @ (mixture.transform @ mixed)  # (R,)
            assert torch.allclose(logits.start[0, i] + logits.end[0, j], expected)


def test_a_new_mixture_has_zero_gates_an_identity_and_the_mean_of_the_role_rows(experts):
    mixture = Mixture.of(experts)
    assert torch.equal(mixture.gate, torch.zeros(5))
    assert torch.equal(mixture.transform, torch.eye(32))
    assert torch.allclose(mixture.roles, sum(expert.output.roles for expert in experts) / 5)


def test_a_new_mixture_of_one_expert_is_that_expert(experts):
    alone = experts[0]
    batch_scores = score_propositions(TorchModel(alone), SENTENCES)
    mixed = score_propositions(MixtureModel(Mixture.of([alone]), [alone]), SENTENCES)
    assert np.allclose(mixed.start, batch_scores.start, atol=1e-5)
    assert np.allclose(mixed.log_z, batch_scores.log_z, atol=1e-5)


def test_the_mixtures_gradients_match_finite_differences(experts):
    mixture = random_mixture(experts).double()
    corpus = Corpus.of(SENTENCES[:2], experts[0].roles)
    batch = corpus.batch(np.arange(corpus.n_props))
    features = tuple(torch.randn(3, 8, 16, dtype=torch.float64) for _ in experts)
    loss = mixture.loss(batch, features)
    loss.backward()
    for parameter in mixture.parameters():
        index = tuple(0 for _ in parameter.shape)
        step = 1e-6
        with torch.no_grad():
            parameter[index] += step
            above = mixture.loss(batch, features)
            parameter[index] -= 2 * step
            below = mixture.loss(batch, features)
            parameter[index] += step
        assert parameter.grad[index].item() == pytest.approx((above - below).item() / (2 * step), abs=1e-6)


def test_cached_features_are_the_experts_own_and_are_computed_once(experts, tmp_path):
    corpus = Corpus.of(SENTENCES, experts[0].roles)
    features = expert_features(experts, corpus, tmp_path)
    files = sorted(tmp_path.glob("expert-*.npy"))
    assert len(files) == len(experts)
    written = [file.stat().st_mtime_ns for file in files]
    props = np.array([3, 1])
    batch = corpus.batch(props)
    taken = features.take(props)
    for expert, h in zip(experts, taken, strict=True):
        inputs = expert.embedder.take(expert.embedder.prepare(corpus.tokens), batch.rows)
        with torch.inference_mode():
            live = expert.token_features(batch, inputs)
        for row, length in enumerate(batch.lengths):
            assert torch.allclose(h[row, :length], live[row, :length], atol=1e-3)  # half precision on disk
    expert_features(experts, corpus, tmp_path)
    assert [file.stat().st_mtime_ns for file in files] == written


def test_experts_with_dropout_give_other_features_each_time_and_are_left_as_they_were(experts):
    corpus = Corpus.of(SENTENCES, experts[0].roles)
    modes = [expert.training for expert in experts]
    for expert in experts:
        expert.encoder.lstm.dropout.p = 0.5
    features = DroppedFeatures(
        corpus, experts, [expert.embedder.prepare(corpus.tokens) for expert in experts]
    )
    first, second = (features.take(np.array([3, 1])) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert one.shape == other.shape
        assert not torch.equal(one, other)
        assert not one.requires_grad
    assert [expert.training for expert in experts] == modes


def test_remembered_features_give_the_labels_of_live_ones(experts, tmp_path):
    mixture = random_mixture(experts)
    live = MixtureModel(mixture, experts)
    remembering = MixtureModel(mixture, experts)
    remembering.remember(expert_features(experts, Corpus.of(SENTENCES, experts[0].roles), tmp_path))
    assert np.allclose(
        score_propositions(live, SENTENCES).log_z,
        score_propositions(remembering, SENTENCES).log_z,
        atol=1e-2,
    )
    unknown = [SENTENCES[0], make_sentence("Something new happened", (2,))]
    assert np.isfinite(score_propositions(remembering, unknown).log_z).all()


def test_the_product_is_the_mean_of_the_scores_renormalized(experts):
    scores = [score_propositions(TorchModel(expert), SENTENCES) for expert in experts]
    product = score_propositions(ProductModel(experts), SENTENCES)
    assert isinstance(product, SpanScores)
    for n, length in enumerate(product.lengths):
        for name in ("start", "end"):
            mean = np.mean([getattr(part, name)[n, :length] for part in scores], axis=0)
            assert np.allclose(getattr(product, name)[n, :length], mean, atol=1e-5)
    assert np.allclose(product.log_z, log_partition(product.start, product.end, product.lengths), atol=1e-4)


@pytest.mark.parametrize(
    "output", [*({"kind": kind} for kind in OUTPUTS), {"kind": "crf", "transitions": "bio"}], ids=str
)
def test_a_product_of_any_output_has_the_mean_of_every_array(output):
    experts = [make_network(output=output, seed=seed) for seed in (1, 2)]
    first, second, product = (
        score_propositions(model, SENTENCES) for model in (*map(TorchModel, experts), ProductModel(experts))
    )
    for name in ARRAYS[output["kind"]]:
        parts = [getattr(scores, name) for scores in (first, second)]
        np.testing.assert_allclose(getattr(product, name), np.mean(parts, axis=0), atol=1e-5)


@pytest.mark.parametrize("span_end", ["last", "next"])
def test_a_product_of_one_expert_labels_as_that_expert(span_end):
    expert = make_network(output={"span_end": span_end})
    alone = label_given(expert)
    product = label_given(ProductModel([expert]))
    spans = [[(arg.role, arg.span) for prop in sent.props for arg in prop.args] for sent in alone]
    assert spans == [[(arg.role, arg.span) for prop in sent.props for arg in prop.args] for sent in product]


def test_roles_in_another_order_are_aligned(experts):
    reordered = make_network(seed=2)
    order = torch.randperm(len(reordered.roles), generator=torch.Generator().manual_seed(3))
    reordered.roles = type(reordered.roles)([reordered.roles.items[k] for k in order])
    reordered.output.roles.data = reordered.output.roles.data[order]
    straight = score_propositions(ProductModel(experts[:2]), SENTENCES)
    crooked = score_propositions(ProductModel([experts[0], reordered]), SENTENCES)
    assert np.allclose(straight.start, crooked.start, atol=1e-5)
    assert torch.allclose(Mixture.of(experts[:2]).roles, Mixture.of([experts[0], reordered]).roles)


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"output": {"kind": "crf"}}, "expert 2 has crf output"),
        ({"output": {"span_end": "next"}}, "another output.span_end"),
        ({"encoder": {"width": 20}}, "expert 2 has width 20, expert 1 16"),
    ],
)
def test_experts_that_do_not_fit_are_refused(experts, sections, message):
    with pytest.raises(ModelError, match=message):
        check_experts([experts[0], make_network(**sections)], same_width=True)


def test_experts_with_other_roles_are_refused(experts):
    with pytest.raises(ModelError, match="expert 2 has other roles"):
        check_experts([experts[0], make_network(SENTENCES[:2])], same_width=False)
