"""The weights of an exported model, read back from its ONNX graphs, and new models that start from old ones.

The exporter keeps most parameters as initializers under their own names. The matrix of a linear layer may
be transposed and without a name; it is found by the bias that is added to its product. The weights of a
scalar mix are stored as their softmax.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from spansrl.errors import ConfigError, MissingExtraError, ModelError, counted
from spansrl.inference.config import EmbedderConfig
from spansrl.inference.directory import ARGUMENTS_GRAPH, ENCODER_GRAPH, WEIGHTS, ModelDirectory
from spansrl.inference.loading import find_model
from spansrl.inference.prototypes import PROTOTYPES
from spansrl.nn.embedders import Embedder, load_embedder
from spansrl.nn.network import Network
from spansrl.training.checkpoint import load_network, make_network
from spansrl.training.onnx_weights import set_precision
from spansrl.training.run_config import TrainingConfig

Array = npt.NDArray[Any]
FREQUENT_ROLES = ("ARG0", "ARG1", "ARG2")
# Names in the encoder's graph -> names in the network.
HEAD_PARTS = ("encoder.", "output.", "syntax.", "embedder.mix.")
STACK, TOP = "embedder.transformer.encoder.encoder.", "encoder.head.attention.transformer."
PREFIXES = {"encoder.": "embedder.transformer.encoder.", "mix.": "embedder.mix."}
# The same in a graph of arguments that depend on frames; any other has the network's names.
FRAME_PREFIXES = {"head.": "encoder.head.", "roles": "output.roles"}
SENSE_HEAD, SENSE_LOGITS = "tasks.sense.", "tasks.sense.3."


def find_trained(name: str, setting: str) -> ModelDirectory:
    """The model that a setting names: a directory, or a model that is installed."""
    path = Path(name).expanduser()
    try:
        return ModelDirectory.read(path if path.is_dir() else find_model(name), kind="network")
    except ModelError as error:
        raise ConfigError(f"{setting}: {error}") from error


def load_trained(directory: ModelDirectory) -> Network:
    """A trained network, from weights or from ONNX graphs; the random state is not changed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        if (directory.path / WEIGHTS).exists() or not directory.is_exported:
            return load_network(directory)
        network = make_network(directory)
    found = graph_tensors(directory.path, network)
    expected = network.state_dict()
    if (directory.path / PROTOTYPES).exists():
        # Prototypes cannot be trained on: a new softmax begins with the most frequent sense of each word.
        found |= {
            name: torch.zeros_like(tensor) if name.startswith(SENSE_LOGITS) else tensor
            for name, tensor in expected.items()
            if name.startswith(SENSE_HEAD)
        }
    if missing := sorted(set(expected) - set(found)):
        raise ModelError(
            f"{directory.path}: {len(missing)} tensors cannot be recovered from the ONNX graphs, among them "
            f"{missing[0]!r}; start from the run that was exported"
        )
    network.load_state_dict({name: found[name].reshape(tensor.shape) for name, tensor in expected.items()})
    return network.eval()


def graph_tensors(directory: Path, network: Network) -> dict[str, Tensor]:
    """The parameters in a model's graphs, by their names in the network."""
    found: dict[str, Array] = {}
    for graph, prefixes in ((ENCODER_GRAPH, PREFIXES), (ARGUMENTS_GRAPH, FRAME_PREFIXES)):
        constants = _constants(directory / graph)
        for name, array in constants.items():
            prefix = next((p for p in prefixes if name.startswith(p)), "")
            found[prefixes.get(prefix, "") + name.removeprefix(prefix)] = array
    for name, tensor in network.state_dict().items():
        if name.endswith("mix.weights"):
            softmaxes = [
                array
                for array in found.values()
                if array.size == tensor.numel() and array.min() > 0 and abs(array.sum() - 1) < 1e-5
            ]
            if len(softmaxes) == 1:
                found[name] = np.log(softmaxes[0]).reshape(-1)
    return {name: torch.from_numpy(np.array(array)) for name, array in found.items()}


def _constants(path: Path) -> dict[str, Array]:
    """The floating-point constants of a graph by name; matrices found by their bias are transposed back."""
    try:
        import onnx
        from onnx import numpy_helper
    except ImportError as error:
        raise MissingExtraError("training from an exported model", "train") from error
    proto = onnx.load(path)
    set_precision(proto, "full")
    graph = proto.graph
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    products = {node.output[0]: node.input[1] for node in graph.node if node.op_type == "MatMul"}
    for node in graph.node:
        if node.op_type != "Add":
            continue
        for product, bias in (node.input, reversed(node.input)):
            matrix = products.get(product)
            if matrix in constants and bias.endswith(".bias"):
                constants[bias.removesuffix("bias") + "weight"] = constants[matrix].T
    return {name: array for name, array in constants.items() if array.dtype == np.float32}


def start_from(network: Network, source: Network, name: str) -> list[str]:
    """Copy the weights of a trained network, roles and senses by name; return notes for the user."""
    own, given = network.state_dict(), source.state_dict()
    if network.config.encoder.top_layers and not source.config.encoder.top_layers:
        # The transformer's top layers become the head, in place of the source's own.
        moved = {key: given.get(key.replace(TOP, STACK)) for key in own if key.startswith(TOP)}
        given = {key: value for key, value in given.items() if not key.startswith(HEAD_PARTS)}
        given |= {key: value for key, value in moved.items() if value is not None}
    rows = _named_rows(network, source)
    kept = 0
    for key in sorted(set(own) & set(given)):
        if key in rows:
            here, there = (torch.meshgrid(*part, indexing="ij") for part in zip(*rows[key], strict=True))
            own[key][here] = given[key][there]
        elif own[key].shape == given[key].shape:
            own[key].copy_(given[key])
        else:
            raise ConfigError(
                f"training.start = {name!r}: {key} has shape {tuple(given[key].shape)} there and "
                f"{tuple(own[key].shape)} here; use the settings of that model"
            )
        kept += 1
    new = len(own) - kept
    notes = [f"start from {name}: {counted(kept, 'tensor')} kept, {new} new"]
    notes.append(_kept("role", network.roles.items, source.roles.items))
    if network.senses is not None and source.senses is not None:
        notes.append(_kept("sense", network.senses.items, source.senses.items))
    return notes


Pairs = tuple[Tensor, Tensor]  # indices of the same names, here and there


def _named_rows(network: Network, source: Network) -> dict[str, tuple[Pairs, ...]]:
    """For tensors with a role or sense axis: which index is which, for each such axis from the first on."""
    roles = _pairs(network.roles.items, source.roles.items)
    tags = tuple(torch.cat([torch.zeros(1, dtype=torch.long), 1 + 2 * part, 2 + 2 * part]) for part in roles)
    axes = {"role": roles, "tag": (tags[0], tags[1])}
    found = {
        f"output.{name}": tuple(axes[axis] for axis in kinds)
        for name, kinds in network.output.row_axes.items()
    }
    if network.senses is not None and source.senses is not None and network.tasks is not None:
        senses = _pairs(network.senses.items, source.senses.items)
        last = len(network.tasks.sense) - 1
        found |= {f"tasks.sense.{last}.{part}": (senses,) for part in ("weight", "bias")}
    return found


def _pairs(own: Sequence[str], given: Sequence[str]) -> Pairs:
    index = {name: k for k, name in enumerate(given)}
    pairs = [(k, index[name]) for k, name in enumerate(own) if name in index]
    here, there = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).T
    return here, there


def _kept(what: str, own: Sequence[str], given: Sequence[str]) -> str:
    new = [name for name in own if name not in set(given)]
    dropped = [name for name in given if name not in set(own)]
    parts = [f"{counted(len(own) - len(new), what)} kept by name"]
    parts += [f"{len(new)} new ({_some(new)})"] if new else []
    parts += [f"{len(dropped)} not in the training data ({_some(dropped)})"] if dropped else []
    return ", ".join(parts)


def names_at_risk(config: TrainingConfig, known: Sequence[str], labeled: Sequence[str]) -> list[str]:
    """A warning about the most frequent roles, where the start model has them and the data does not."""
    missing = [role for role in FREQUENT_ROLES if role in known and role not in labeled]
    if not missing:
        return []
    names = " and ".join(missing)
    if not config.keep_names:
        advice = "the new model cannot find them; keep them with training.keep_names = true"
    elif not config.rehearse:
        advice = "fine-tuning may make them rare; name raw sentences in training.rehearse to prevent it"
    else:
        return []
    return [f"warning: the training data has no {names}: {advice}"]


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")


def settings_of_start(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Config sections in which missing settings of the model are those of `training.start`."""
    training = raw.get("training")
    name = training.get("start") if isinstance(training, Mapping) else None
    if not isinstance(name, str) or not name:
        return dict(raw)
    start = find_trained(name, "training.start").network_config.to_dict()
    filled = dict(raw)
    for section in ("embedder", "encoder", "output", "tasks"):
        given = raw.get(section, {})
        if isinstance(given, Mapping):
            filled[section] = {**start[section], **given}
    return filled


def starting_embedder(config: EmbedderConfig, start: ModelDirectory) -> Embedder | None:
    """The embedder of a model to start from; None if the config describes another, or files are missing.

    Exported models have frozen encoders and vectors in their graphs only, not as files.
    """
    own = start.network_config.embedder
    if config.kind != own.kind or (start.is_exported and not own.finetune and own.kind != "words"):
        return None
    return load_embedder(config, start.path / "embedder")
