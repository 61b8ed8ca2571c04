"""One loop for every model: a generator of steps. Saving, logging and progress bars are the caller's.

A model offers `loss(batch, inputs)`. The loop requests an epoch's batches by number, so that their order
depends on seed and epoch only, and an interrupted run continues from its `Position` to the same weights.

On a GPU, reading a loss makes the host wait for all pending work. So losses stay on the device and are read
together, every `READ_EVERY` batches; only then does the loop yield a step, which can be shown and saved.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from spansrl.errors import SpansrlError
from spansrl.evaluation import Score
from spansrl.nn.batch import Batch
from spansrl.training.distributed import ALONE, Workers
from spansrl.training.run_config import TrainingConfig

READ_EVERY = 20  # batches, on devices other than the CPU


class Trainable(Protocol):
    """What the loop needs of a model."""

    def loss(self, batch: Batch, inputs: Any) -> Tensor:
        """The batch's loss, to be minimized."""

    def train(self, mode: bool = True) -> Any:
        """Switch dropout on or off."""

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        """All parameters; those that need no gradient are ignored."""


class WeightAverage:
    """The average of the trained parameters over the last 1 / (1 - decay) steps or so.

    The first steps use a lower decay, so that the average does not remember the initial weights.
    A decay of 0 keeps no average: `applied` then changes nothing.
    """

    def __init__(self, parameters: Iterable[tuple[str, nn.Parameter]], decay: float) -> None:
        self.decay = decay
        self.steps = 0
        self._parameters = {name: p for name, p in parameters if p.requires_grad and decay > 0}
        self.tensors: dict[str, Tensor] = {name: p.detach().clone() for name, p in self._parameters.items()}

    @torch.no_grad()
    def update(self) -> None:
        """Move the average toward the current parameters; call it after every step of the optimizer."""
        if not self.tensors:
            return
        self.steps += 1
        decay = min(self.decay, self.steps / (self.steps + 9))
        current = [self._parameters[name].detach() for name in self.tensors]
        torch._foreach_lerp_(list(self.tensors.values()), current, 1 - decay)

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """Swap the average into the model inside this block."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    @torch.no_grad()
    def _swap(self) -> None:
        for name, average in self.tensors.items():
            parameter = self._parameters[name]
            kept = parameter.detach().clone()
            parameter.copy_(average)
            average.copy_(kept)


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
    """The progress of a run; with weights, moments and random state, all that resuming needs."""

    epoch: int = 0  # the current epoch, from 0
    step: int = 0  # batches of it that are done
    loss_sum: float = 0.0  # of those batches
    best_f1: float = -1.0
    best_epoch: int = -1


@dataclass(frozen=True, slots=True)
class Step:
    """One batch, or several on a GPU, or the evaluation (`dev`) that follows an epoch's last batch."""

    position: Position  # after this step
    epoch: int  # from 0
    number: int  # batches done in the whole run
    total: int  # batches of the whole run
    loss: float  # mean of the epoch so far
    rate: float  # the learning rate
    n_props: int = 0  # of the batches
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
    average = average or WeightAverage((), 0.0)
    per_epoch = examples.steps()
    total = per_epoch * config.epochs
    reads_every = 1 if _device(model).type == "cpu" else READ_EVERY
    for epoch in range(position.epoch, config.epochs):
        model.train()
        unread: list[Tensor] = []  # (2,) each: loss and number of propositions
        for done, example in enumerate(examples.epoch(epoch, skip=position.step), start=position.step + 1):
            number = epoch * per_epoch + done
            factor = rate_factor(config, number - 1, per_epoch)
            for group in optimizer.param_groups:
                group["lr"] = group["base_rate"] * factor
            unread.append(_update(model, optimizer, example, config, workers, checked=reads_every == 1))
            average.update()
            if done % reads_every and done < per_epoch:
                continue
            position, n_props = _read(unread, position)
            unread.clear()
            mean = position.loss_sum / done
            yield Step(position, epoch, number, total, mean, config.rate * factor, n_props=n_props)
        # A run may resume right here, so nothing below depends on variables of the loop above.
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


def _read(losses: Sequence[Tensor], position: Position) -> tuple[Position, int]:
    """The position after some batches, and their propositions; waits for the device.

    Raises SpansrlError for a loss that is not finite.
    """
    n_props = 0
    for loss, count in torch.stack(list(losses)).tolist():
        position = replace(position, step=position.step + 1, loss_sum=position.loss_sum + loss)
        n_props += round(count)
        if not math.isfinite(loss):
            raise SpansrlError(
                f"the loss is {loss} in batch {position.step} of epoch {position.epoch + 1}; "
                "start again with a lower training.rate, or with training.clip = 5"
            )
    return position, n_props


def _update(
    model: Trainable,
    optimizer: torch.optim.Optimizer,
    example: tuple[Batch, Any] | None,
    config: TrainingConfig,
    workers: Workers,
    *,
    checked: bool,
) -> Tensor:
    """Take one optimizer step; returns the loss and the number of propositions, (2,) on the device.

    `checked`: read the loss, and keep the weights as they are if it is not finite.
    """
    optimizer.zero_grad(set_to_none=True)
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    if workers.size == 1:
        assert example is not None
        batch, inputs = example
        loss = _loss(model, batch, inputs, config.precision)
        loss.backward()  # type: ignore[no-untyped-call]
        totals = _with_count(loss, batch.n_props)
    else:
        totals = _shared_backward(model, parameters, example, config.precision, workers)
    if not checked or math.isfinite(totals[0].item()):
        if config.clip > 0:
            nn.utils.clip_grad_norm_(parameters, config.clip)
        optimizer.step()
    return totals


def _shared_backward(
    model: Trainable,
    parameters: list[nn.Parameter],
    example: tuple[Batch, Any] | None,
    precision: str,
    workers: Workers,
) -> Tensor:
    """Gradients, loss and number of propositions, (2,), of the batch that all processes share.

    A process's loss is a mean over its own propositions. Weighted by their number, the losses of all
    processes add up to the sum over the batch, which is then divided by the number of all propositions.
    """
    totals = torch.zeros(2, device=workers.device)
    if example is not None:
        batch, inputs = example
        loss = _loss(model, batch, inputs, precision) * max(1, batch.n_props)
        loss.backward()  # type: ignore[no-untyped-call]
        totals = _with_count(loss, batch.n_props)
    loss_sum, count = workers.add_gradients(parameters, totals)
    divisor = count.clamp(min=1)
    for parameter in parameters:
        if parameter.grad is not None:
            parameter.grad /= divisor
    return torch.stack([loss_sum / divisor, count])


def _with_count(loss: Tensor, n_props: int) -> Tensor:
    return torch.stack([loss.detach(), torch.full_like(loss, n_props, requires_grad=False)])


def _loss(model: Trainable, batch: Batch, inputs: Any, precision: str) -> Tensor:
    """The batch's loss; in mixed precision, the network decides what stays in single precision."""
    device = _device(model).type
    in_bfloat16 = precision == "bf16" or (
        precision == "auto" and device == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    )
    # The CPU's fused attention has a slower backward pass than plain matrix products.
    attention = sdpa_kernel(SDPBackend.MATH) if device == "cpu" else contextlib.nullcontext()
    mixed = torch.autocast(device, dtype=torch.bfloat16) if in_bfloat16 else contextlib.nullcontext()
    with attention, mixed:
        return model.loss(batch, inputs)


def _device(model: Trainable) -> torch.device:
    return next(parameter for _, parameter in model.named_parameters()).device


def make_optimizer(model: nn.Module, config: TrainingConfig) -> torch.optim.Adam:
    """Adam with coupled L2; the layers of a fine-tuned encoder may have their own rates."""
    trained = [(_layer_of(name), p) for name, p in model.named_parameters() if p.requires_grad]
    top = max((layer for layer, _ in trained if layer is not None), default=0)
    groups: dict[float, list[nn.Parameter]] = {}
    for layer, parameter in trained:
        rate = config.rate
        if layer is not None:
            rate = (config.embedder_rate or config.rate) * config.layer_decay ** (top - layer)
        groups.setdefault(rate, []).append(parameter)
    settings = [{"params": params, "base_rate": rate} for rate, params in groups.items()]
    return torch.optim.Adam(settings, lr=config.rate, betas=(0.9, 0.999), weight_decay=config.l2, fused=True)


def _layer_of(name: str) -> int | None:
    """The layer of a fine-tuned encoder that has a parameter, 0 for its embeddings; otherwise None."""
    if ".transformer." not in f".{name}":
        return None
    found = re.search(r"\.layers?\.(\d+)\.", name)
    return int(found[1]) + 1 if found else 0


def rate_factor(config: TrainingConfig, step: int, per_epoch: int) -> float:
    """The factor of the learning rate in a step of the whole run, counted from 0."""
    total = per_epoch * config.epochs
    warmup = config.warmup * total
    if step < warmup:
        return (step + 1) / (warmup + 1)
    if config.schedule == "halve":  # 1 for 50 epochs, then halved, and again every 25 (Appendix C.1)
        return float(0.5 ** max(0, step // per_epoch // 25 - 1))
    hold = max(config.hold * total, warmup)
    return 1.0 if step < hold else (total - step) / max(1.0, total - hold)
