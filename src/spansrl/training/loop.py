"""One loop for every model: a generator of steps. Saving, logging and progress bars are the caller's.

A model offers `loss(batch, inputs)`; the loop asks for an epoch's batches by number, so that their order
depends on seed and epoch alone, and a run that was cut off continues from its `Position` unharmed.
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
from spansrl.nn.batch import Batch
from spansrl.training.averaging import WeightAverage
from spansrl.training.config import TrainingConfig
from spansrl.training.distributed import ALONE, Workers


class Trainable(Protocol):
    """What the loop needs of a model."""

    def loss(self, batch: Batch, inputs: Any) -> Tensor:
        """The batch's loss, to be minimized."""

    def train(self, mode: bool = True) -> Any:
        """Switch dropout on or off."""

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        """All parameters; those that need no gradient are left alone."""


class Examples(Protocol):
    """Training data, cut into batches."""

    def steps(self) -> int:
        """Batches in an epoch."""

    def epoch(self, epoch: int, skip: int = 0) -> Iterator[tuple[Batch, Any] | None]:
        """The batches of epoch 0, 1, … with their inputs, without the first `skip`.

        None where a batch has nothing for this process.
        """


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
    ends_epoch: bool = False  # whether this is an evaluation


def train(
    model: Trainable,
    optimizer: torch.optim.Optimizer,
    examples: Examples,
    evaluate: Callable[[], Score],
    config: TrainingConfig,
    position: Position,
    average: WeightAverage | None = None,
    workers: Workers = ALONE,
) -> Iterator[Step]:
    """Train from a position to the last epoch; evaluates on development data after every epoch.

    Of several processes, the first one evaluates; the others yield the same steps without a `dev` score.
    """
    average = average or WeightAverage(model, 0.0)
    per_epoch = examples.steps()
    total = per_epoch * config.epochs
    for epoch in range(position.epoch, config.epochs):
        model.train()
        for example in examples.epoch(epoch, skip=position.step):
            number = epoch * per_epoch + position.step
            rate = set_rate(optimizer, config, rate_factor(config, number, per_epoch))
            loss, n_props = _update(model, optimizer, example, config.clip, workers)
            if not math.isfinite(loss):
                raise SpansrlError(
                    f"the loss became {loss} in batch {position.step + 1} of epoch {epoch + 1}; "
                    "start anew with a lower training.rate, or with training.clip = 5"
                )
            average.update()
            position = replace(position, step=position.step + 1, loss_sum=position.loss_sum + loss)
            mean = position.loss_sum / position.step
            yield Step(position, epoch, number + 1, total, mean, rate, n_props=n_props)
        # A resumed run may have nothing left of the epoch but this: count again, do not remember.
        with average.applied():
            dev = evaluate() if workers.is_first else None
        f1 = workers.from_first(0.0 if dev is None else dev.overall.f1)
        done = (epoch + 1) * per_epoch
        rate = config.rate * rate_factor(config, done - 1, per_epoch)
        mean = position.loss_sum / per_epoch
        is_best = f1 > position.best_f1
        position = Position(
            epoch=epoch + 1,
            best_f1=f1 if is_best else position.best_f1,
            best_epoch=epoch if is_best else position.best_epoch,
        )
        yield Step(position, epoch, done, total, mean, rate, dev=dev, is_best=is_best, ends_epoch=True)


def _update(
    model: Trainable,
    optimizer: torch.optim.Optimizer,
    example: tuple[Batch, Any] | None,
    clip: float,
    workers: Workers,
) -> tuple[float, int]:
    """Take one optimizer step, unless the loss is not finite; returns loss and number of propositions."""
    optimizer.zero_grad(set_to_none=True)
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    if workers.size == 1:
        assert example is not None
        batch, inputs = example
        loss = _loss(model, batch, inputs)
        value, n_props = float(loss.detach()), batch.n_props
        if math.isfinite(value):
            loss.backward()  # type: ignore[no-untyped-call]
    else:
        value, n_props = _shared_backward(model, parameters, example, workers)
    if math.isfinite(value):
        if clip > 0:
            nn.utils.clip_grad_norm_(parameters, clip)
        optimizer.step()
    return value, n_props


def _shared_backward(
    model: Trainable, parameters: list[nn.Parameter], example: tuple[Batch, Any] | None, workers: Workers
) -> tuple[float, int]:
    """Gradients, loss and number of propositions of the batch that all processes share.

    A process's loss is a mean over its own propositions. Weighted by their number, the losses of all
    processes add up to the sum over the batch, which is then divided by the number of all propositions.
    """
    totals = torch.zeros(2)
    if example is not None:
        batch, inputs = example
        loss = _loss(model, batch, inputs) * max(1, batch.n_props)
        loss.backward()  # type: ignore[no-untyped-call]
        totals = torch.stack([loss.detach().float().cpu(), torch.tensor(float(batch.n_props))])
    loss_sum, count = workers.add_gradients(parameters, totals).tolist()
    for parameter in parameters:
        if parameter.grad is not None:
            parameter.grad /= max(1.0, count)
    return loss_sum / max(1.0, count), round(count)


def _loss(model: Trainable, batch: Batch, inputs: Any) -> Tensor:
    """The batch's loss, in mixed precision on devices that have bfloat16 (none of our machines had one)."""
    use_bfloat16 = torch.cuda.is_available() and torch.cuda.is_bf16_supported()
    with torch.autocast("cuda", dtype=torch.bfloat16, enabled=use_bfloat16):
        return model.loss(batch, inputs)


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
