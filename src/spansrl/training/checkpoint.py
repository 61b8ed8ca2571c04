"""Networks in model directories, and training state: safetensors and JSON, never pickle.

The state of a run is one file, replaced atomically.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_safetensors
from torch import Tensor, nn

from spansrl.errors import ConfigError, ModelError, SpansrlError
from spansrl.inference.directory import (
    DESCRIPTION,
    FORMAT,
    WEIGHTS,
    ModelDirectory,
    not_saved,
    write_bytes,
    write_json,
)
from spansrl.nn.embedders import load_embedder
from spansrl.nn.network import Network
from spansrl.training.distributed import ALONE, Workers
from spansrl.training.loop import WeightAverage

STATE = "state.safetensors"


def check_device(name: str) -> None:
    """Raise ConfigError unless torch can compute there."""
    try:
        torch.ones(1, device=name).item()  # on some devices tensors have no values
    except (RuntimeError, AssertionError, ImportError, ValueError) as error:
        reason = str(error).strip().split("\n")[0].split(". ")[0].rstrip(".")
        raise ConfigError(f"device {name}: not usable here ({reason}); try cpu") from error


def save_description(directory: Path, network: Network, provenance: Mapping[str, Any]) -> None:
    """Write everything of a model but its weights; done once, before training."""
    files = directory / "embedder"
    try:
        files.mkdir(parents=True, exist_ok=True)
        network.embedder.save_files(files)
    except OSError as error:
        raise not_saved(files, error) from error
    write_json(
        directory / DESCRIPTION,
        {
            "format": FORMAT,
            "kind": "network",
            "config": network.config.to_dict(),
            "language": "english",
            "inventory": "propbank",
            "roles": list(network.roles.items),
            **({} if network.senses is None else {"senses": list(network.senses.items)}),
            "provenance": dict(provenance),
        },
    )


def save_weights(directory: Path, module: nn.Module, *, epoch: int) -> None:
    """The trained parameters after an epoch, counted from 0 (frozen encoders are in `embedder/`)."""
    metadata = {"epoch": str(epoch)}
    write_bytes(directory / WEIGHTS, to_safetensors(trained_tensors(module), metadata))


def saved_epoch(directory: Path) -> int | None:
    """The epoch of a directory's weights; None without weights, or if they do not record it."""
    path = directory / WEIGHTS
    epoch = _read_metadata(path).get("epoch", "") if path.exists() else ""
    return int(epoch) if epoch.isdecimal() else None


def trained_tensors(module: nn.Module) -> dict[str, Tensor]:
    """All parameters and persistent buffers, contiguous and on the CPU."""
    return {name: tensor.detach().cpu().contiguous() for name, tensor in module.state_dict().items()}


def load_network(source: Path | ModelDirectory, device: str = "cpu") -> Network:
    """A trained network, in eval mode."""
    directory = ModelDirectory.read(source, kind="network")
    network = make_network(directory)
    load_weights(directory.path / WEIGHTS, network)
    return network.to(device).eval()


def make_network(directory: ModelDirectory) -> Network:
    """The network that a directory describes, with initial weights."""
    config = directory.network_config
    embedder = load_embedder(config.embedder, directory.path / "embedder")
    return Network(config, directory.roles, embedder, directory.senses)


def load_weights(path: Path, module: nn.Module) -> None:
    """Fill a module with the tensors of a file; names and shapes must be exactly its own."""
    tensors = _load_tensors(path)
    own = module.state_dict()
    if missing := sorted(set(own) - set(tensors)):
        raise ModelError(f"{path}: {len(missing)} tensors are missing, among them {missing[0]!r}")
    if foreign := sorted(set(tensors) - set(own)):
        raise ModelError(
            f"{path}: {len(foreign)} tensors do not belong to this model, among them {foreign[0]!r}"
        )
    for name, tensor in tensors.items():
        if tensor.shape != own[name].shape:
            raise ModelError(
                f"{path}: {name!r} has shape {tuple(tensor.shape)}, expected {tuple(own[name].shape)}"
            )
        if tensor.isnan().any():
            raise ModelError(f"{path}: {name!r} has values that are not numbers; get the model again")
    module.load_state_dict(tensors)


def _load_tensors(path: Path) -> dict[str, Tensor]:
    try:
        return safetensors.torch.load_file(path)
    except FileNotFoundError as error:
        raise ModelError(f"{path}: no such file; has training finished an epoch?") from error
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path}: damaged or unreadable: {error}") from error


def _read_metadata(path: Path) -> dict[str, str]:
    try:
        with safe_open(path, framework="pt") as file:
            return file.metadata() or {}
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path}: damaged or unreadable: {error}") from error


def save_state(
    path: Path,
    module: nn.Module,
    optimizer: torch.optim.Optimizer,
    facts: Mapping[str, Any],
    average: WeightAverage | None = None,
    workers: Workers = ALONE,
) -> None:
    """All that resuming needs, in one file: weights, Adam's moments, random state, and the caller's facts.

    Weights that are not finite are rejected, so that they never replace a good state.
    """
    if not all(bool(torch.isfinite(parameter).all()) for parameter in module.parameters()):
        raise SpansrlError(
            f"{path}: not saved, because the weights are no longer finite; the last saved state is kept. "
            "Start again with a lower training.rate, or with training.clip = 5"
        )
    tensors = {f"weights.{name}": tensor for name, tensor in trained_tensors(module).items()}
    for name, parameter in module.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"optimizer.{name}.{key}"] = value.detach().cpu().contiguous()
    if average is not None:
        tensors |= {f"average.{name}": value.cpu().contiguous() for name, value in average.tensors.items()}
        facts = {**facts, "averaged": average.steps}
    random = {"cpu": torch.get_rng_state()}
    if (device := _device(module)).type == "cuda":
        random["cuda"] = torch.cuda.get_rng_state(device)
    for kind, state in random.items():
        for rank, part in enumerate(workers.gather(state)):
            tensors[_random_key(kind, rank)] = part
    if not workers.is_first:
        return
    facts = json.loads(json.dumps({**facts, "sha256": _digest(tensors)}))
    facts = {**facts, "facts_sha256": _digest_of_facts(facts)}
    # A single entry, because the order of several is undefined and equal states should be equal files.
    write_bytes(path, to_safetensors(tensors, metadata={"state": json.dumps(facts)}))


def load_state(
    path: Path,
    module: nn.Module,
    optimizer: torch.optim.Optimizer,
    average: WeightAverage | None = None,
    workers: Workers = ALONE,
) -> dict[str, Any]:
    """Restore module, optimizer and random state; returns the facts that were saved with them."""
    facts = read_state_facts(path)
    tensors = _load_tensors(path)
    if "sha256" in facts and facts["sha256"] != _digest(tensors):
        raise ModelError(f"{path}: damaged (its checksum differs); start again in another --out")
    try:
        module.load_state_dict({name: tensors[f"weights.{name}"] for name in module.state_dict()})
        for name, parameter in module.named_parameters():
            prefix = f"optimizer.{name}."
            # Copies: loaded tensors are mapped from the file, and would keep a replaced state on disk.
            moments = {
                key.removeprefix(prefix): tensor.to(parameter.device, copy=True)
                for key, tensor in tensors.items()
                if key.startswith(prefix)
            }
            if moments:
                optimizer.state[parameter] = moments
        if average is not None:
            for name, value in average.tensors.items():
                value.copy_(tensors[f"average.{name}"])
            average.steps = int(facts.get("averaged", 0))
        torch.set_rng_state(tensors[_random_key("cpu", workers.rank)])
        device = _device(module)
        key = _random_key("cuda", workers.rank)
        if device.type == "cuda" and key in tensors:  # missing if the run began on the CPU
            torch.cuda.set_rng_state(tensors[key], device)
    except (KeyError, TypeError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[-1].strip()
        raise ModelError(f"{path}: this state does not belong to the run's model: {reason}") from error
    return facts


def _device(module: nn.Module) -> torch.device:
    return next(module.parameters()).device


def _random_key(kind: str, rank: int) -> str:
    """The name of a process's random state in the file; the first one's has no number."""
    return f"random.{kind}.{rank}" if rank else f"random.{kind}"


def _digest(tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 of all names and values."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(f"{name} {tensors[name].dtype} {list(tensors[name].shape)}".encode())
        digest.update(tensors[name].reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def read_state_facts(path: Path) -> dict[str, Any]:
    """The facts in a state, without loading its tensors."""
    try:
        facts = json.loads(_read_metadata(path)["state"])
    except (KeyError, ValueError) as error:
        raise ModelError(f"{path}: not the state of a training run") from error
    if not isinstance(facts, dict):
        raise ModelError(f"{path}: not the state of a training run")
    # States of earlier versions do not have it.
    if facts.pop("facts_sha256", expected := _digest_of_facts(facts)) != expected:
        raise ModelError(f"{path}: damaged (its checksum differs); start again in another --out")
    return facts


def _digest_of_facts(facts: Mapping[str, Any]) -> str:
    """SHA-256 of everything but the tensors, of which the facts have the SHA-256."""
    known = {name: value for name, value in facts.items() if name != "facts_sha256"}
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()
