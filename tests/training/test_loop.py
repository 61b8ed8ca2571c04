"""The loop: steps, schedules, the optimizer, and resuming from any position."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from spansrl.errors import SpansrlError
from spansrl.evaluation import Counts, Score
from spansrl.training.loop import Position, make_optimizer, rate_factor, train
from spansrl.training.run_config import TrainingConfig

F1S = (40.0, 60.0, 60.0, 20.0)


class Line(nn.Module):
    """The smallest model there is: fits y = w·x + b, with dropout so that random numbers matter."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([0.5, -0.25, 1.0]))
        self.b = nn.Parameter(torch.zeros(()))
        self.dropout = nn.Dropout(0.5)

    def loss(self, batch, inputs):
        return ((self.dropout(inputs) @ self.w + self.b - inputs.sum(-1)) ** 2).mean()


@dataclass
class Points:
    """Three batches per epoch, the epoch's number in their values."""

    asked: list

    def steps(self):
        return 3

    def epoch(self, epoch, skip=0):
        self.asked.append((epoch, skip))
        for step in range(skip, 3):
            values = torch.arange(12.0).reshape(4, 3) / (1 + epoch + step)
            yield SimpleNamespace(n_props=4 + step), values


class Evaluations:
    """Scores with the F1 that was planned for each epoch."""

    def __init__(self, model, f1s=F1S, done=0):
        self.model, self.f1s, self.done = model, f1s, done

    def __call__(self):
        self.model.eval()
        f1 = self.f1s[self.done]
        self.done += 1
        return Score(roles={"A0": Counts(correct=int(f1), excess=100 - int(f1), missed=100 - int(f1))})


def make_training(**settings):
    torch.manual_seed(0)
    model = Line()
    config = TrainingConfig(**{"epochs": 4, "rate": 0.05, "schedule": "linear"} | settings)
    return model, make_optimizer(model, config), config


def weights_of(model):
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def test_the_loop_yields_every_batch_and_then_the_epochs_evaluation():
    model, optimizer, config = make_training(epochs=2)
    steps = list(train(model, optimizer, Points([]), Evaluations(model), config, Position()))
    assert [(step.epoch, step.number, step.n_props, step.dev is not None) for step in steps] == [
        (0, 1, 4, False),
        (0, 2, 5, False),
        (0, 3, 6, False),
        (0, 3, 0, True),
        (1, 4, 4, False),
        (1, 5, 5, False),
        (1, 6, 6, False),
        (1, 6, 0, True),
    ]
    assert {step.total for step in steps} == {6}


def test_an_epochs_loss_is_the_mean_over_its_batches():
    model, optimizer, config = make_training(rate=0.0)
    torch.manual_seed(1)
    steps = list(train(model, optimizer, Points([]), Evaluations(model), config, Position()))
    torch.manual_seed(1)
    model.train()
    losses = [model.loss(batch, inputs).item() for batch, inputs in Points([]).epoch(0)]
    assert [step.loss for step in steps[:4]] == pytest.approx(
        [losses[0], sum(losses[:2]) / 2, sum(losses) / 3, sum(losses) / 3]
    )


def test_the_first_of_equal_scores_is_the_best_epoch():
    model, optimizer, config = make_training()
    steps = list(train(model, optimizer, Points([]), Evaluations(model), config, Position()))
    ends = [step for step in steps if step.dev is not None]
    assert [step.is_best for step in ends] == [True, True, False, False]
    assert [(step.position.best_epoch, step.position.best_f1) for step in ends] == [
        (0, 40.0),
        (1, 60.0),
        (1, 60.0),
        (1, 60.0),
    ]


def test_dropout_is_on_again_after_an_evaluation_switched_it_off():
    model, optimizer, config = make_training()
    for step in train(model, optimizer, Points([]), Evaluations(model), config, Position()):
        assert model.training is (step.dev is None)


@pytest.mark.parametrize("cut", range(1, 16))
def test_going_on_from_any_step_gives_the_same_steps_and_weights(cut):
    model, optimizer, config = make_training()
    whole = list(train(model, optimizer, Points([]), Evaluations(model), config, Position()))
    expected = weights_of(model)

    model, optimizer, config = make_training()
    running = train(model, optimizer, Points([]), Evaluations(model), config, Position())
    first = [next(running) for _ in range(cut)]
    done = sum(step.dev is not None for step in first)
    examples = Points([])
    rest = train(model, optimizer, examples, Evaluations(model, done=done), config, first[-1].position)
    assert first + list(rest) == whole
    assert all(torch.equal(tensor, expected[name]) for name, tensor in weights_of(model).items())
    assert examples.asked[0] == (first[-1].position.epoch, first[-1].position.step)


def test_a_finished_position_leaves_nothing_to_do():
    model, optimizer, config = make_training()
    before = weights_of(model)
    assert list(train(model, optimizer, Points([]), Evaluations(model), config, Position(epoch=4))) == []
    assert all(torch.equal(tensor, before[name]) for name, tensor in weights_of(model).items())


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_not_finite_stops_the_run_and_keeps_the_weights(value):
    model, optimizer, config = make_training()
    running = train(model, optimizer, Points([]), Evaluations(model), config, Position())
    for _ in range(5):
        next(running)
    before = weights_of(model)
    model.loss = lambda batch, inputs: model.w.sum() * value
    with pytest.raises(SpansrlError, match=r"^the loss is (nan|inf|-inf) in batch 2 of epoch 2; .*rate"):
        next(running)
    assert all(torch.equal(tensor, before[name]) for name, tensor in weights_of(model).items())


def test_the_gradients_norm_is_clipped_where_the_config_says_so():
    norms = {}
    for clip in (0.0, 1.0):
        model, optimizer, config = make_training(clip=clip)
        next(train(model, optimizer, Points([]), Evaluations(model), config, Position()))
        norms[clip] = math.sqrt(sum(float((p.grad**2).sum()) for p in model.parameters()))
    assert norms[0.0] > 2
    assert norms[1.0] == pytest.approx(1.0, rel=1e-4)


# Schedules.


def test_the_papers_rate_is_halved_after_epochs_50_and_75():
    config = TrainingConfig(epochs=100)
    rates = [config.rate * rate_factor(config, epoch * 7 + 3, 7) for epoch in range(100)]
    assert rates == [1e-3] * 50 + [5e-4] * 25 + [2.5e-4] * 25


def test_the_linear_rate_holds_and_then_falls_towards_nothing():
    config = TrainingConfig(epochs=2, schedule="linear", hold=0.5)
    factors = [rate_factor(config, step, 4) for step in range(8)]
    assert factors == pytest.approx([1, 1, 1, 1, 1, 0.75, 0.5, 0.25])


@pytest.mark.parametrize("schedule", ["linear", "halve"])
def test_warming_up_rises_to_the_full_rate(schedule):
    config = TrainingConfig(epochs=10, schedule=schedule, warmup=0.1, hold=0.5)
    factors = [rate_factor(config, step, 4) for step in range(40)]
    assert factors[:5] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert all(0 < factor <= 1 for factor in factors)


def test_a_rate_that_is_held_to_the_end_never_falls():
    config = TrainingConfig(epochs=3, schedule="linear", hold=1.0)
    assert {rate_factor(config, step, 5) for step in range(15)} == {1.0}


# The optimizer.


def test_adam_is_the_textbooks_with_l2_in_the_gradient():
    config = TrainingConfig(rate=0.01, l2=0.1)
    module = nn.Linear(3, 2).double()
    optimizer = make_optimizer(module, config)
    generator = np.random.default_rng(0)
    expected = {name: p.detach().numpy().copy() for name, p in module.named_parameters()}
    moments = {name: (np.zeros_like(value), np.zeros_like(value)) for name, value in expected.items()}
    for t in range(1, 6):
        for name, p in module.named_parameters():
            gradient = generator.normal(size=p.shape)
            p.grad = torch.from_numpy(gradient.copy())
            g = gradient + 0.1 * expected[name]
            m = 0.9 * moments[name][0] + 0.1 * g
            v = 0.999 * moments[name][1] + 0.001 * g * g
            moments[name] = (m, v)
            expected[name] = expected[name] - 0.01 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        optimizer.step()
    for name, p in module.named_parameters():
        np.testing.assert_allclose(p.detach().numpy(), expected[name], rtol=1e-12)


def test_a_fine_tuned_encoder_has_its_own_rate_and_the_schedule_moves_both():
    module = nn.ModuleDict(
        {"transformer": nn.Linear(2, 2), "head": nn.Linear(2, 2), "frozen": nn.Linear(2, 2)}
    )
    module["frozen"].requires_grad_(False)
    wrapped = nn.ModuleDict({"embedder": module})
    optimizer = make_optimizer(wrapped, TrainingConfig(rate=1e-3, embedder_rate=5e-5))
    rates = {id(p): group["base_rate"] for group in optimizer.param_groups for p in group["params"]}
    assert {rates[id(p)] for p in module["transformer"].parameters()} == {5e-5}
    assert {rates[id(p)] for p in module["head"].parameters()} == {1e-3}
    assert not any(id(p) in rates for p in module["frozen"].parameters())


def test_the_rate_of_a_step_is_the_one_that_the_optimizer_used():
    model, optimizer, config = make_training(epochs=2, hold=0.0)
    running = train(model, optimizer, Points([]), Evaluations(model), config, Position())
    seen = [(step.rate, optimizer.param_groups[0]["lr"]) for step in running]
    assert [rate for rate, _ in seen] == pytest.approx([used for _, used in seen])
    assert seen[0][0] > seen[-1][0] > 0


def test_training_depends_on_the_random_state_alone():
    results = []
    for seed in (1, 1, 2):
        model, optimizer, config = make_training()
        torch.manual_seed(seed)
        list(train(model, optimizer, Points([]), Evaluations(model), config, Position()))
        results.append(copy.deepcopy(model.w.detach()))
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], results[2])


def test_each_layer_of_a_fine_tuned_encoder_learns_more_slowly_than_the_one_above_it():
    wrapped = nn.Module()
    wrapped.transformer = nn.Module()
    wrapped.transformer.encoder = nn.Module()
    wrapped.transformer.encoder.layer = nn.ModuleList(nn.Linear(1, 1) for _ in range(2))
    wrapped.transformer.embeddings = nn.Embedding(2, 1)
    wrapped.head = nn.Linear(1, 1)
    optimizer = make_optimizer(wrapped, TrainingConfig(rate=1e-3, embedder_rate=1e-4, layer_decay=0.5))
    rates = {id(p): group["base_rate"] for group in optimizer.param_groups for p in group["params"]}
    lower, upper = wrapped.transformer.encoder.layer
    assert rates[id(wrapped.head.weight)] == 1e-3
    assert rates[id(upper.weight)] == pytest.approx(1e-4)
    assert rates[id(lower.bias)] == pytest.approx(5e-5)
    assert rates[id(wrapped.transformer.embeddings.weight)] == pytest.approx(2.5e-5)


def test_mixed_precision_computes_products_in_bfloat16_and_learns_nearly_the_same():
    seen = []

    class Products(Line):
        def loss(self, batch, inputs):
            product = inputs @ self.w[:, None]
            seen.append(product.dtype)
            return ((product.float()[:, 0] + self.b - inputs.sum(-1)) ** 2).mean()

    losses = {}
    for precision in ("fp32", "bf16"):
        model = Products()
        config = TrainingConfig(epochs=1, rate=0.01, precision=precision, l2=0.0)
        steps = list(
            train(model, make_optimizer(model, config), Points([]), Evaluations(model), config, Position())
        )
        losses[precision] = steps[-1].loss
    assert seen == [torch.float32] * 3 + [torch.bfloat16] * 3
    assert losses["bf16"] == pytest.approx(losses["fp32"], rel=0.05)
    assert losses["bf16"] != losses["fp32"]
