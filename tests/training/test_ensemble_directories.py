"""Ensembles as directories: copied whole, loaded again, trained and resumed by the one loop."""

from __future__ import annotations

import json
import shutil

import pytest
import torch

from builders import SENTENCES, label_given, make_network
from spansrl.errors import ConfigError, ModelError
from spansrl.formats import write_sentences
from spansrl.inference.directory import ModelDirectory
from spansrl.inference.loading import load
from spansrl.nn.ensembles import ProductModel
from spansrl.training import runs
from spansrl.training.checkpoint import load_network, save_description, save_weights
from spansrl.training.ensemble_directories import prepare_mixture, save_average, save_ensemble
from spansrl.training.export import export_model
from spansrl.training.run_config import MIXTURE_DEFAULTS, config_from_dict


@pytest.fixture
def experts(tmp_path):
    """Three untrained experts as model directories."""
    directories = []
    for seed in (1, 2, 3):
        directory = tmp_path / f"expert-{seed}"
        network = make_network(seed=seed)
        save_description(directory, network, {})
        save_weights(directory, network, epoch=0)
        directories.append(directory)
    return directories


@pytest.fixture
def data(tmp_path):
    directory = tmp_path / "data"
    directory.mkdir()
    for split in ("train", "dev"):
        write_sentences(directory / f"{split}.jsonl", SENTENCES)
    return directory


def mixture_run(experts, data, tmp_path, epochs=3, **settings):
    training = {**MIXTURE_DEFAULTS["training"], "epochs": epochs, "rate": 1e-2, **settings}
    config = config_from_dict({"training": training}).training
    return prepare_mixture(experts, runs.read_splits(data), config, cache=tmp_path / "cache", provenance={})


def test_a_product_labels_from_its_directory_as_from_its_experts(experts, tmp_path):
    save_ensemble(tmp_path / "product", "product", experts, {"why": "test"})
    for directory in experts:
        shutil.rmtree(directory)  # the ensemble is complete by itself
    expected = label_given(ProductModel([make_network(seed=seed) for seed in (1, 2, 3)]))
    assert list(load(tmp_path / "product").label(SENTENCES, predicates="given")) == expected


def test_an_exported_model_is_an_expert_like_the_run_that_it_was_exported_from(tmp_path):
    run, exported = tmp_path / "run", tmp_path / "exported"
    network = make_network(encoder={"kind": "none", "predicate": "after", "width": 8})
    for parameter in network.parameters():  # as if trained: the exporter drops biases that are zero
        torch.nn.init.normal_(parameter, std=0.3)
    save_description(run, network, {})
    save_weights(run, network, epoch=0)
    export_model(run, exported)
    save_ensemble(tmp_path / "product", "product", [run, exported], {})
    expected = label_given(ProductModel([network, network]))
    assert list(load(tmp_path / "product").label(SENTENCES, predicates="given")) == expected


def test_an_average_has_the_mean_of_the_weights_and_everything_else_of_the_first(experts, tmp_path):
    (experts[0] / "lexicon.json").write_text("{}")
    path = experts[0] / "config.json"
    first = json.loads(path.read_text())
    first["config"]["training"] = {"epochs": 3}  # which a network does not know
    path.write_text(json.dumps(first))
    save_average(tmp_path / "average", [ModelDirectory.read(own) for own in experts], {"why": "test"})
    found = load_network(tmp_path / "average").state_dict()
    networks = [make_network(seed=seed).state_dict() for seed in (1, 2, 3)]
    for name, tensor in found.items():
        torch.testing.assert_close(tensor, torch.stack([own[name] for own in networks]).mean(dim=0))
    description = json.loads((tmp_path / "average" / "config.json").read_text())
    assert description["config"] == first["config"]
    assert description["provenance"] == {"why": "test", "average": ["expert-1", "expert-2", "expert-3"]}
    assert (tmp_path / "average" / "lexicon.json").read_text() == "{}"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"encoder": {"width": 9}}, "weights of other names or shapes"),
        ({"sentences": SENTENCES[:1]}, "other roles or senses"),
    ],
)
def test_models_that_do_not_fit_together_have_no_average(experts, tmp_path, settings, message):
    other = tmp_path / "other"
    network = make_network(**settings)
    save_description(other, network, {})
    save_weights(other, network, epoch=0)
    with pytest.raises(ModelError, match=message):
        save_average(tmp_path / "average", [ModelDirectory.read(own) for own in (experts[0], other)], {})
    assert not (tmp_path / "average").exists()


def test_a_trained_mixture_labels_the_same_after_loading_and_learns(experts, data, tmp_path):
    run = mixture_run(experts, data, tmp_path, epochs=8)
    events = list(runs.execute(run, tmp_path / "mixture"))
    losses = [event.step.loss for event in events if event.step.dev is not None]
    assert losses[-1] < losses[0]
    loaded = list(load(tmp_path / "mixture").label(SENTENCES, predicates="given"))
    best = max(event.step.position.best_f1 for event in events)
    from spansrl.evaluation import score

    assert score(SENTENCES, loaded).overall.f1 == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("experts_dropout", [False, True])
def test_a_stopped_mixture_resumes_to_the_same_weights(experts, data, tmp_path, experts_dropout):
    def new_run():
        return mixture_run(experts, data, tmp_path, experts_dropout=experts_dropout)

    list(runs.execute(new_run(), tmp_path / "whole"))
    steps = iter(range(100))
    stop_at_four = runs.execute(new_run(), tmp_path / "cut", should_stop=lambda: next(steps) == 4)
    assert list(stop_at_four)[-1].stopped
    list(runs.execute(new_run(), tmp_path / "cut", resume=True))
    for name in ("weights.safetensors", "state.safetensors"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "cut" / name).read_bytes()


def test_a_mixture_is_not_resumed_with_other_experts(experts, data, tmp_path):
    list(runs.execute(mixture_run(experts[:2], data, tmp_path), tmp_path / "mixture"))
    with pytest.raises(ConfigError, match="experts"):
        list(runs.execute(mixture_run(experts[1:], data, tmp_path), tmp_path / "mixture", resume=True))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "committee"}, "'kind' is 'committee'"),
        ({"experts": []}, "'experts' must be a list"),
        ({"experts": ["experts/9"]}, "no such model directory"),
        ({"surprise": 1}, "unknown entries: surprise"),
    ],
)
def test_a_damaged_description_is_refused(experts, tmp_path, change, message):
    out = tmp_path / "product"
    save_ensemble(out, "product", experts, {})
    description = json.loads((out / "config.json").read_text())
    (out / "config.json").write_text(json.dumps(description | change))
    with pytest.raises(ModelError, match=message):
        load(out)
