"""What training does on a GPU, without one.

Tensors on the device "meta" have shapes but no values. Whatever would make the host wait for a GPU (reading a
number, selecting by a mask) cannot be computed there and raises. The rest is checked with fake functions.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace

import pytest
import torch
from test_combinations import ENCODERS, OUTPUTS, settings
from test_loop import Evaluations, Line, Points, make_training, weights_of

from builders import SENTENCES, make_prop, tagged
from spansrl.errors import SpansrlError
from spansrl.nn.batch import Teacher
from spansrl.training import checkpoint, distributed, loop
from spansrl.training.distributed import ALONE, Workers, joined, own_device
from spansrl.training.loop import Position, WeightAverage, train
from spansrl.training.run_config import TrainingConfig, config_from_dict
from spansrl.training.runs import Splits, prepare_run
from tiny_bert import make_bert

# Top layers need a fine-tuned transformer, which test_combinations has.
CORE = [(output, "bilstm") for output in OUTPUTS] + [
    ("span", kind) for kind in ENCODERS if kind not in ("bilstm", "top")
]


class LossesRead(Exception):  # noqa: N818 (not an error)
    """The loop reads the losses."""


def batches_before_reading(config, monkeypatch, sentences=SENTENCES, change=lambda examples: examples) -> int:
    """Train on "meta" until the losses are read; returns the number of batches."""

    def read(losses, position):
        assert all(loss.shape == (2,) and loss.device.type == "meta" for loss in losses)
        raise LossesRead(len(losses))

    monkeypatch.setattr(loop, "_read", read)
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: contextlib.nullcontext())
    run = prepare_run(config, Splits(sentences, sentences, {}), device="meta")
    trained = [parameter for parameter in run.model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.Adam([{"params": trained, "base_rate": 0.1}])
    average = WeightAverage(run.model.named_parameters(), 0.9)
    steps = train(run.model, optimizer, change(run.examples), run.evaluate, run.config, Position(), average)
    with pytest.raises(LossesRead) as reading:
        next(steps)
    return int(reading.value.args[0])


@pytest.mark.parametrize(("output", "encoder"), CORE, ids=["-".join(case) for case in CORE])
def test_a_step_never_waits_for_the_device(monkeypatch, output, encoder):
    config = config_from_dict(settings(output, encoder) | {"training": {"batch_size": 6, "clip": 1.0}})
    assert batches_before_reading(config, monkeypatch) > 2


def test_losses_of_long_epochs_are_read_every_few_batches(monkeypatch):
    monkeypatch.setattr(loop, "READ_EVERY", 3)
    config = config_from_dict(settings("span", "bilstm") | {"training": {"batch_size": 1}})
    assert batches_before_reading(config, monkeypatch) == 3


def test_tasks_and_syntax_do_not_wait_for_the_device(monkeypatch):
    syntax = {"heads": [1, -1, 1], "deprels": ["nsubj", "root", "obj"]}
    sentences = [
        tagged(
            "Ann/NNP/ann sold/VBD/sell it/PRP/it", make_prop(1, ("A0", 0, 1), lemma="sell", sense="sell.01")
        ),
        tagged(
            "Bob/NNP/bob sold/VBD/sell out/RP/out", make_prop(1, ("A0", 0, 1), lemma="sell", sense="sell.02")
        ),
    ]
    sentences = [replace(sent, extra={**sent.extra, **syntax}) for sent in sentences]
    sections = settings("span", "none") | {"tasks": {"predicates": True, "senses": True, "syntax": 0.5}}
    config = config_from_dict(sections | {"training": {"batch_size": 1}})
    assert batches_before_reading(config, monkeypatch, sentences) == 2


def test_of_a_fine_tuned_encoder_only_transformers_itself_waits_for_the_device(monkeypatch, tmp_path):
    # It asks once per batch whether there is any padding.
    monkeypatch.setattr("transformers.masking_utils._ignore_bidirectional_mask_sdpa", lambda *_: False)
    embedder = {"kind": "transformer", "path": str(make_bert(tmp_path / "bert")), "finetune": True}
    sections = settings("span", "none") | {"embedder": embedder, "training": {"batch_size": 7}}
    assert batches_before_reading(config_from_dict(sections), monkeypatch) > 1


@pytest.mark.parametrize("output", ["span", "segmental"])
def test_teachers_do_not_make_a_step_wait_for_the_device(monkeypatch, output):
    class Taught:
        """Examples with a teacher."""

        def __init__(self, examples):
            self.examples = examples

        def steps(self):
            return self.examples.steps()

        def epoch(self, epoch, skip=0):
            for batch, inputs in self.examples.epoch(epoch, skip):
                size = {"span": 2 * n_roles, "segmental": 2 * n_roles + 1}[output]
                teacher = torch.ones(batch.n_props, batch.longest, size, device="meta")
                weight = torch.ones(batch.n_props, device="meta")
                yield replace(batch, teacher=Teacher(teacher, weight)), inputs

    n_roles = len({arg.role for sent in SENTENCES for prop in sent.props for arg in prop.args})
    config = config_from_dict(settings(output, "bilstm") | {"training": {"batch_size": 7}})
    assert batches_before_reading(config, monkeypatch, change=Taught) > 1


# Reading the losses late changes nothing else.


@pytest.fixture
def on_gpu(monkeypatch):
    """The loop takes the model to be on a GPU."""
    monkeypatch.setattr(loop, "_device", lambda model: torch.device("cuda"))
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda *, including_emulation: False)
    monkeypatch.setattr(loop, "READ_EVERY", 2)


def steps_of(model, optimizer, config, position=Position(), done=0):  # noqa: B008 (a constant)
    return train(model, optimizer, Points([]), Evaluations(model, done=done), config, position)


def test_steps_and_weights_are_those_of_the_cpu_but_fewer(monkeypatch, request):
    model, optimizer, config = make_training()
    every = list(steps_of(model, optimizer, config))
    expected = weights_of(model)
    request.getfixturevalue("on_gpu")
    model, optimizer, config = make_training()
    found = list(steps_of(model, optimizer, config))
    read = [step for step in every if step.ends_epoch or (step.number - 1) % 3 in (1, 2)]
    assert [replace(step, n_props=0) for step in found] == [replace(step, n_props=0) for step in read]
    assert sum(step.n_props for step in found) == sum(step.n_props for step in every)
    assert all(torch.equal(tensor, expected[name]) for name, tensor in weights_of(model).items())


@pytest.mark.parametrize("cut", range(1, 12))
def test_resuming_on_a_gpu_gives_the_same_steps_and_weights(on_gpu, cut):
    model, optimizer, config = make_training()
    whole = list(steps_of(model, optimizer, config))
    expected = weights_of(model)
    model, optimizer, config = make_training()
    running = steps_of(model, optimizer, config)
    first = [next(running) for _ in range(cut)]
    done = sum(step.dev is not None for step in first)
    assert first + list(steps_of(model, optimizer, config, first[-1].position, done)) == whole
    assert all(torch.equal(tensor, expected[name]) for name, tensor in weights_of(model).items())


def test_a_loss_that_is_not_finite_is_noticed_before_anything_can_be_saved(on_gpu):
    model, optimizer, config = make_training()
    running = steps_of(model, optimizer, config)
    next(running)
    next(running)
    next(running)  # the evaluation
    model.loss = lambda batch, inputs: model.w.sum() * torch.nan
    with pytest.raises(SpansrlError, match=r"^the loss is nan in batch 1 of epoch 2; .*rate"):
        next(running)


# Precision.


@pytest.mark.parametrize(
    ("precision", "device", "is_supported", "expected"),
    [
        ("auto", "cuda", True, ["cuda"]),
        ("auto", "cuda", False, []),
        ("auto", "cpu", True, []),
        ("bf16", "cuda", True, ["cuda"]),
        ("bf16", "cpu", True, ["cpu"]),
        ("fp32", "cuda", True, []),
    ],
)
def test_autocast_is_used_where_the_device_has_bfloat16(
    monkeypatch, precision, device, is_supported, expected
):
    used = []

    def autocast(device, *, dtype):
        assert dtype == torch.bfloat16
        used.append(device)
        return contextlib.nullcontext()

    monkeypatch.setattr(loop, "_device", lambda model: torch.device(device))
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda *, including_emulation: is_supported)
    monkeypatch.setattr(torch, "autocast", autocast)
    model, optimizer, config = make_training(precision=precision, epochs=1)
    next(steps_of(model, optimizer, config))
    assert set(used) == set(expected)


# Devices and random state of processes.


@pytest.fixture
def calls(monkeypatch):
    """Calls of functions that need GPUs or other processes."""
    found = []

    def note(name):
        return lambda *args, **settings: found.append((name, *args))

    monkeypatch.setattr(torch.cuda, "set_device", note("set_device"))
    monkeypatch.setattr(distributed.dist, "init_process_group", note("join"))
    monkeypatch.setattr(distributed.dist, "destroy_process_group", note("leave"))
    for name in ("LOCAL_RANK", "RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    return found


def start_as(monkeypatch, *, rank, local_rank, size):
    for name, value in (("RANK", rank), ("LOCAL_RANK", local_rank), ("WORLD_SIZE", size)):
        monkeypatch.setenv(name, str(value))


def test_each_process_of_a_machine_has_its_own_gpu(monkeypatch, calls):
    start_as(monkeypatch, rank=5, local_rank=1, size=8)
    device = own_device("cuda")
    with joined(device) as workers:
        assert workers == Workers(rank=5, size=8, device="cuda:1")
        calls.append("training")
    assert calls == [("set_device", "cuda:1"), ("join", "nccl"), "training", ("leave",)]


def test_processes_on_cpus_use_gloo(monkeypatch, calls):
    start_as(monkeypatch, rank=1, local_rank=1, size=2)
    with joined(own_device("cpu")) as workers:
        assert workers == Workers(rank=1, size=2, device="cpu")
    assert calls == [("join", "gloo"), ("leave",)]


@pytest.mark.parametrize(
    ("device", "expected"), [("cuda:2", [("set_device", "cuda:2")]), ("cuda", []), ("cpu", [])]
)
def test_one_process_uses_the_device_that_it_is_given(calls, device, expected):
    with joined(own_device(device)) as workers:
        assert workers is ALONE
    assert calls == expected


class FakeGpus:
    """Random states of GPUs, by device."""

    def __init__(self, monkeypatch, device):
        self.states = {f"cuda:{k}": torch.full((4,), k, dtype=torch.uint8) for k in range(3)}
        monkeypatch.setattr(checkpoint, "_device", lambda module: torch.device(device))
        monkeypatch.setattr(torch.cuda, "get_rng_state", lambda device: self.states[str(device)].clone())
        monkeypatch.setattr(torch.cuda, "set_rng_state", self.set)

    def set(self, state, device):
        self.states[str(device)] = state.clone()


class TwoWorkers(Workers):
    """The first of two processes, the other of which is on the last GPU."""

    def gather(self, state):
        return [state, torch.full_like(state, 2) if len(state) == 4 else state.clone()]


def test_random_state_is_that_of_the_models_gpu_and_of_each_process(monkeypatch, tmp_path):
    config = TrainingConfig()
    model = Line()
    optimizer = loop.make_optimizer(model, config)
    gpus = FakeGpus(monkeypatch, "cuda:1")
    checkpoint.save_state(tmp_path / "state", model, optimizer, {}, None, TwoWorkers(0, 2))
    gpus.states = {name: torch.zeros_like(state) for name, state in gpus.states.items()}
    checkpoint.load_state(tmp_path / "state", model, optimizer, None, Workers(0, 2))
    assert [int(state[0]) for state in gpus.states.values()] == [0, 1, 0]
    monkeypatch.setattr(checkpoint, "_device", lambda module: torch.device("cuda:2"))
    checkpoint.load_state(tmp_path / "state", model, optimizer, None, Workers(1, 2))
    assert [int(state[0]) for state in gpus.states.values()] == [0, 1, 2]


def test_a_run_that_began_on_the_cpu_continues_on_a_gpu(monkeypatch, tmp_path):
    model = Line()
    optimizer = loop.make_optimizer(model, TrainingConfig())
    checkpoint.save_state(tmp_path / "state", model, optimizer, {})
    gpus = FakeGpus(monkeypatch, "cuda:1")
    checkpoint.load_state(tmp_path / "state", model, optimizer)
    assert [int(state[0]) for state in gpus.states.values()] == [0, 1, 2]
