"""Files that are written atomically, and states that training resumes from."""

from __future__ import annotations

import errno
import json
import os

import pytest
import safetensors.torch
import torch
from torch import nn

from builders import make_network
from spansrl.errors import ModelError, SpansrlError
from spansrl.inference.directory import write_bytes
from spansrl.training.checkpoint import load_state, read_state_facts, save_state, save_weights, saved_epoch
from spansrl.training.loop import make_optimizer
from spansrl.training.run_config import TrainingConfig


def make_module(seed: int = 0) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(seed)
    module = nn.Sequential(nn.Linear(5, 4), nn.Dropout(0.5), nn.Linear(4, 1), nn.Linear(9, 9))
    return module, make_optimizer(module, TrainingConfig(l2=0.01))


def advance(module, optimizer, steps: int) -> None:
    """Some steps; the last layer takes no part, so it has no moments."""
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        module[:3](torch.randn(6, 5)).pow(2).mean().backward()
        optimizer.step()


def tensors_of(module, optimizer) -> dict[str, torch.Tensor]:
    tensors = dict(module.state_dict())
    for name, parameter in module.named_parameters():
        tensors |= {f"{name}.{key}": value for key, value in optimizer.state.get(parameter, {}).items()}
    return tensors


def assert_equal(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert found[name].dtype == tensor.dtype, name
        assert torch.equal(found[name], tensor), name


# Training state.


def test_a_loaded_state_continues_bit_for_bit(tmp_path):
    module, optimizer = make_module()
    advance(module, optimizer, 3)
    save_state(tmp_path / "state", module, optimizer, {"position": {"step": 3}})
    advance(module, optimizer, 4)
    expected = tensors_of(module, optimizer)

    module, optimizer = make_module(seed=9)
    advance(module, optimizer, 1)
    assert load_state(tmp_path / "state", module, optimizer)["position"] == {"step": 3}
    advance(module, optimizer, 4)
    assert_equal(tensors_of(module, optimizer), expected)
    assert {float(state["step"]) for state in optimizer.state.values()} == {7.0}


def test_a_loaded_state_does_not_hold_on_to_its_file(tmp_path):
    module, optimizer = make_module()
    advance(module, optimizer, 2)
    path = tmp_path / "state"
    save_state(path, module, optimizer, {})
    expected = {name: tensor.clone() for name, tensor in tensors_of(module, optimizer).items()}
    load_state(path, module, optimizer)
    with path.open("r+b") as file:
        file.write(b"\xff" * path.stat().st_size)
    assert_equal(tensors_of(module, optimizer), expected)


def test_equal_states_are_equal_files_wherever_they_are(tmp_path):
    contents = []
    for name in ("here", "there"):
        module, optimizer = make_module()
        advance(module, optimizer, 2)
        (tmp_path / name).mkdir()
        save_state(tmp_path / name / "state", module, optimizer, {"position": {"epoch": 1, "step": 2}})
        save_weights(tmp_path / name, module, epoch=1)
        contents.append([(tmp_path / name / file).read_bytes() for file in ("state", "weights.safetensors")])
    assert contents[0] == contents[1]


def test_the_facts_of_a_state_are_read_without_its_tensors(tmp_path):
    module, optimizer = make_module()
    save_state(tmp_path / "state", module, optimizer, {"position": {"epoch": 5}})
    assert read_state_facts(tmp_path / "state")["position"] == {"epoch": 5}


@pytest.mark.parametrize("keep", [0, 1, 7, 200, -1])
def test_a_damaged_state_is_refused(tmp_path, keep):
    module, optimizer = make_module()
    path = tmp_path / "state"
    save_state(path, module, optimizer, {})
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ModelError, match=r"state: damaged or unreadable"):
        load_state(path, module, optimizer)


@pytest.mark.parametrize("metadata", [None, {"state": "no JSON"}, {"state": "[]"}, {"other": "{}"}])
def test_a_file_that_is_not_a_state_is_refused(tmp_path, metadata):
    module, optimizer = make_module()
    path = tmp_path / "state"
    safetensors.torch.save_file(dict(module.state_dict()), path, metadata)
    with pytest.raises(ModelError, match=r"state: not the state of a training run$"):
        load_state(path, module, optimizer)


def test_the_state_of_another_model_is_refused_naming_what_does_not_fit(tmp_path):
    module, optimizer = make_module()
    save_state(tmp_path / "state", module, optimizer, {})
    wider = nn.Sequential(nn.Linear(6, 4), nn.Dropout(0.5), nn.Linear(4, 1), nn.Linear(9, 9))
    with pytest.raises(ModelError, match=r"does not belong to the run's model: size mismatch for 0.weight"):
        load_state(tmp_path / "state", wider, make_optimizer(wider, TrainingConfig()))
    other = nn.ModuleDict({"x": nn.Linear(2, 2)})
    with pytest.raises(ModelError, match=r"does not belong to the run's model: .*x.weight"):
        load_state(tmp_path / "state", other, make_optimizer(other, TrainingConfig()))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_never_replace_a_good_state(tmp_path, value):
    module, optimizer = make_module()
    save_state(tmp_path / "state", module, optimizer, {})
    before = (tmp_path / "state").read_bytes()
    with torch.no_grad():
        module[0].weight[1, 1] = value
    with pytest.raises(SpansrlError, match=r"no longer finite; the last saved state is kept"):
        save_state(tmp_path / "state", module, optimizer, {})
    assert (tmp_path / "state").read_bytes() == before


# Weights.


def test_weights_record_their_epoch(tmp_path):
    assert saved_epoch(tmp_path) is None
    save_weights(tmp_path, make_network(), epoch=3)
    assert saved_epoch(tmp_path) == 3
    safetensors.torch.save_file({"w": torch.zeros(1)}, tmp_path / "weights.safetensors")
    assert saved_epoch(tmp_path) is None


def test_weight_files_say_nothing_but_names_shapes_and_the_epoch(tmp_path):
    save_weights(tmp_path, make_network(), epoch=3)
    raw = (tmp_path / "weights.safetensors").read_bytes()
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    assert header.pop("__metadata__") == {"epoch": "3"}
    assert all(set(entry) == {"dtype", "shape", "data_offsets"} for entry in header.values())


# Writing.


def test_a_file_is_replaced_and_no_other_file_is_left(tmp_path):
    write_bytes(tmp_path / "file", b"old")
    write_bytes(tmp_path / "file", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"new"


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_keeps_the_old_file_and_says_so(tmp_path, monkeypatch, call):
    write_bytes(tmp_path / "file", b"old")

    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(SpansrlError) as caught:
        write_bytes(tmp_path / "file", b"new")
    assert str(caught.value) == (
        f"{tmp_path / 'file'}: could not be saved (No space left on device); what was saved before is "
        "untouched: fix the problem, for example by freeing disk space, then continue with --resume"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_the_next_save_removes_what_a_killed_process_left(tmp_path):
    (tmp_path / ".file.tmp").write_bytes(b"half of it")
    write_bytes(tmp_path / "file", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_state_with_a_flipped_bit_is_rejected_when_resuming(tmp_path):
    network = make_network()
    optimizer = make_optimizer(network, TrainingConfig())
    save_state(tmp_path / "state.safetensors", network, optimizer, {"position": {}})
    content = bytearray((tmp_path / "state.safetensors").read_bytes())
    content[-1] ^= 1
    (tmp_path / "state.safetensors").write_bytes(content)
    with pytest.raises(ModelError, match="checksum"):
        load_state(tmp_path / "state.safetensors", network, optimizer)


def change_facts(path, **changes):
    """Write the state again with other facts, as damage or an editor could."""
    with safetensors.safe_open(path, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # not a dict
        facts = json.loads(file.metadata()["state"])
    facts = {name: value for name, value in {**facts, **changes}.items() if value is not None}
    safetensors.torch.save_file(tensors, path, {"state": json.dumps(facts)})


def test_a_changed_position_is_noticed_also_without_reading_the_tensors(tmp_path):
    module, optimizer = make_module()
    path = tmp_path / "state"
    save_state(path, module, optimizer, {"position": {"epoch": 11}})
    change_facts(path, position={"epoch": 12})
    for read in (read_state_facts, lambda path: load_state(path, module, optimizer)):
        with pytest.raises(ModelError, match="checksum differs"):
            read(path)


def test_a_state_of_an_earlier_version_is_loaded(tmp_path):
    module, optimizer = make_module()
    path = tmp_path / "state"
    save_state(path, module, optimizer, {"position": {"epoch": 11}})
    change_facts(path, facts_sha256=None)
    assert load_state(path, module, optimizer)["position"] == {"epoch": 11}
