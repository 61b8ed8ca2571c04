"""One loop for every model: a generator of steps. Saving, logging and progress bars are the caller's.

A model offers `loss(batch, inputs)`; the loop asks for an epoch's batches by number, so that their order
depends on seed and epoch alone, and a run that was cut off goes on from its `Position` unharmed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from spansrl.errors import SpansrlError
from spansrl.evaluation import Score
from spansrl.inference.config import TrainingConfig
from spansrl.nn.batch import Batch
from spansrl.training.averaging import WeightAverage


class Trainable(Protocol):
    """What the loop needs of a model."""

    def loss(self, batch: Batch, inputs: Any) -> Tensor:
        """The batch's loss, to be minimised."""

    def train(self, mode: bool = True) -> Any:
        """Switch dropout on or off."""

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        """All parameters; those that need no gradient are left alone."""


class Examples(Protocol):
    """Training data, cut into batches."""

    def steps(self) -> int:
        """Batches in an epoch."""

    def epoch(self, epoch: int, skip: int = 0) -> Iterator[tuple[Batch, Any]]:
        """The batches of epoch 0, 1, … with their inputs, without the first `skip`."""


@dataclass(frozen=True, slots=True)
class Position:
    """How far a run has come; with weights, moments and random state, all that resuming needs."""

    epoch: int = 0  # the epoch under way, from 0
    step: int = 0  # batches of it that are done
    loss_sum: float = 0.0  # of those batches
    best_f1: float = -1.0
    best_epoch: int = -1


@dataclass(frozen=True, slots=True)
class Step:
    """What happened in one step: a batch, or the evaluation (`dev`) that follows an epoch's last batch."""

    position: Position  # after this step
    epoch: int  # from 0
    number: int  # batches done in the whole run
    total: int  # batches of the whole run
    loss: float  # mean of the epoch so far
    rate: float  # the learning rate
    n_props: int = 0  # of the batch
    dev: Score | None = None
    is_best: bool = False


def train(
    model: Trainable,
    optimizer: torch.optim.Optimizer,
    examples: Examples,
    evaluate: Callable[[], Score],
    config: TrainingConfig,
    position: Position,
    average: WeightAverage | None = None,
) -> Iterator[Step]:
    """Train from a position to the last epoch; evaluates on development data after every epoch."""
    average = average or WeightAverage(model, 0.0)
    per_epoch = examples.steps()
    total = per_epoch * config.epochs
    for epoch in range(position.epoch, config.epochs):
        model.train()
        for batch, inputs in examples.epoch(epoch, skip=position.step):
            number = epoch * per_epoch + position.step
            rate = set_rate(optimizer, config, rate_factor(config, number, per_epoch))
            loss = _update(model, optimizer, batch, inputs, config.clip)
            if not math.isfinite(loss):
                raise SpansrlError(
                    f"the loss became {loss} in batch {position.step + 1} of epoch {epoch + 1}; "
                    "start anew with a lower training.rate, or with training.clip = 5"
                )
            average.update()
            position = replace(position, step=position.step + 1, loss_sum=position.loss_sum + loss)
            mean = position.loss_sum / position.step
            yield Step(position, epoch, number + 1, total, mean, rate, n_props=batch.n_props)
        # A resumed run may have nothing left of the epoch but this: count again, do not remember.
        with average.applied():
            dev = evaluate()
        done = (epoch + 1) * per_epoch
        rate = config.rate * rate_factor(config, done - 1, per_epoch)
        mean = position.loss_sum / per_epoch
        is_best = dev.overall.f1 > position.best_f1
        position = Position(
            epoch=epoch + 1,
            best_f1=dev.overall.f1 if is_best else position.best_f1,
            best_epoch=epoch if is_best else position.best_epoch,
        )
        yield Step(position, epoch, done, total, mean, rate, dev=dev, is_best=is_best)


def _update(
    model: Trainable, optimizer: torch.optim.Optimizer, batch: Batch, inputs: Any, clip: float
) -> float:
    """One step of the optimiser; returns the loss, and leaves the weights alone where that is not finite."""
    optimizer.zero_grad(set_to_none=True)
    loss = model.loss(batch, inputs)
    value = float(loss.detach())
    if math.isfinite(value):
        loss.backward()  # type: ignore[no-untyped-call]
        if clip > 0:
            parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
            nn.utils.clip_grad_norm_(parameters, clip)
        optimizer.step()
    return value


def make_optimizer(model: nn.Module, config: TrainingConfig) -> torch.optim.Adam:
    """Adam with coupled L2; the layers of a fine-tuned encoder may have rates of their own."""
    layers = {name: _layer_of(name) for name, p in model.named_parameters() if p.requires_grad}
    top = max((layer for layer in layers.values() if layer is not None), default=0)
    groups: dict[float, list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            layer = layers[name]
            rate = config.rate
            if layer is not None:
                rate = (config.embedder_rate or config.rate) * config.layer_decay ** (top - layer)
            groups.setdefault(rate, []).append(parameter)
    settings = [{"params": params, "base_rate": rate} for rate, params in groups.items()]
    return torch.optim.Adam(settings, lr=config.rate, betas=(0.9, 0.999), weight_decay=config.l2, fused=True)


def _layer_of(name: str) -> int | None:
    """The layer of a fine-tuned encoder that a parameter is in, the embeddings being layer 0; else None."""
    if ".transformer." not in f".{name}":
        return None
    found = re.search(r"\.layers?\.(\d+)\.", name)
    return int(found[1]) + 1 if found else 0


def rate_factor(config: TrainingConfig, step: int, per_epoch: int) -> float:
    """What the learning rate is multiplied by in a step (counted from 0) of the whole run."""
    total = per_epoch * config.epochs
    warmup = config.warmup * total
    if step < warmup:
        return (step + 1) / (warmup + 1)
    if config.schedule == "halve":  # 1 for 50 epochs, then halved, and again every 25 (Appendix C.1)
        return float(0.5 ** max(0, step // per_epoch // 25 - 1))
    hold = max(config.hold * total, warmup)
    return 1.0 if step < hold else (total - step) / max(1.0, total - hold)


def set_rate(optimizer: torch.optim.Optimizer, config: TrainingConfig, factor: float) -> float:
    """Give every group its base rate times the factor; returns the main rate."""
    for group in optimizer.param_groups:
        group["lr"] = group["base_rate"] * factor
    return config.rate * factor
