"""ELMo (Peters et al. 2018), computed from `options.json` and `weights.hdf5`.

A character CNN with highway layers makes a vector of each word; two stacks of projected LSTMs read them, one
in each direction. All layers come out; `ScalarMix` makes one vector per word of them. ELMo is frozen here.

    elmo = Elmo.from_files(Path("options.json"), Path("weights.hdf5"))
    layers = elmo(*batch_char_ids([["Cats", "sleep", "."], ["Why", "?"]]))         # (3, 2, 3, 1024)

The files are those of bilm-tf and AllenNLP: matrices are as in TensorFlow (inputs × outputs), an LSTM's
gates come in the order input, new memory, forget, output; the forget gate's constant 1 is not in the bias.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from spansrl.errors import FormatError, MissingExtraError, ModelError
from spansrl.inference.directory import read_json
from spansrl.inference.inputs.characters import MAX_CHARS, N_CHARS, CharacterBatch
from spansrl.nn.recurrence import Tensors, reversal, run_steps, take

ACTIVATIONS = {"relu": torch.relu, "tanh": torch.tanh}


def batch_char_ids(sentences: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor, Tensor]:
    """What `Elmo` takes: characters of the distinct words, each token's index among them, mask."""
    batch = CharacterBatch.of(sentences)
    return torch.from_numpy(batch.chars), torch.from_numpy(batch.words), torch.from_numpy(batch.mask)


@dataclass(frozen=True, slots=True)
class ElmoOptions:
    """The parts of `options.json` that describe how to use the weights."""

    char_width: int
    filters: tuple[tuple[int, int], ...]  # (characters wide, how many)
    n_highway: int
    activation: str
    n_layers: int
    cell: int
    projection: int
    cell_clip: float
    projection_clip: float
    skip_connections: bool

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """Read an options file; its sizes are compared with the shapes of the weights later."""
        content = read_json(path)
        try:
            cnn, lstm = content["char_cnn"], content["lstm"]
            sizes = cnn["max_characters_per_token"], cnn["n_characters"]
            options = cls(
                char_width=int(cnn["embedding"]["dim"]),
                filters=tuple((int(width), int(count)) for width, count in cnn["filters"]),
                n_highway=int(cnn.get("n_highway") or 0),
                activation=cnn["activation"],
                n_layers=int(lstm["n_layers"]),
                cell=int(lstm["dim"]),
                projection=int(lstm["projection_dim"]),
                cell_clip=float(lstm.get("cell_clip") or math.inf),
                projection_clip=float(lstm.get("proj_clip") or math.inf),
                skip_connections=bool(lstm.get("use_skip_connections")),
            )
        except KeyError as error:
            raise ModelError(
                f"{path}: the option {error} is missing; is this ELMo's options file?"
            ) from error
        except (TypeError, ValueError, AttributeError) as error:
            raise ModelError(f"{path}: cannot be read as ELMo's options ({error})") from error
        # bilm-tf counts the padding character only when it is not training.
        if sizes not in ((MAX_CHARS, N_CHARS), (MAX_CHARS, N_CHARS + 1)):
            expected = f"{MAX_CHARS} of {N_CHARS + 1}"
            raise ModelError(
                f"{path}: found {sizes[0]} characters per token of {sizes[1]}, expected {expected}"
            )
        if options.activation not in ACTIVATIONS:
            choices = " or ".join(ACTIVATIONS)
            raise ModelError(f"{path}: the activation is {options.activation!r}, expected {choices}")
        return options

    @property
    def n_filters(self) -> int:
        """The width of a word's vector between convolutions and projection."""
        return sum(count for _, count in self.filters)


def open_hdf5(path: Path) -> Any:
    """An HDF5 file for reading, for a `with` statement."""
    try:  # here, because every other embedder works without h5py
        import h5py
    except ImportError:
        raise MissingExtraError("ELMo", "train") from None
    try:
        return h5py.File(path, "r")
    except OSError as error:
        raise FormatError(f"cannot be read as HDF5 ({error})", path=str(path)) from error


@dataclass(frozen=True, slots=True)
class _Weights:
    """The datasets of a weight file, each read by its name and the shape that the options require."""

    path: Path
    file: Any

    def take(self, name: str, *shape: int) -> Tensor:
        data = self.file.get(name)
        found = getattr(data, "shape", "none")
        if found != shape:
            raise ModelError(
                f"{self.path}: the dataset '{name}' must have shape {shape} by the options, found {found}; "
                "options and weights do not belong together"
            )
        return torch.from_numpy(np.asarray(data, dtype=np.float32))

    def linear(self, matrix: str, bias: str, n_in: int, n_out: int) -> nn.Linear:
        layer = nn.Linear(n_in, n_out, device="meta")  # without initial values
        layer.weight = nn.Parameter(self.take(matrix, n_in, n_out).T.contiguous())
        layer.bias = nn.Parameter(self.take(bias, n_out))
        return layer

    def convolution(self, index: int, options: ElmoOptions) -> nn.Conv1d:
        width, count = options.filters[index]
        layer = nn.Conv1d(options.char_width, count, width, device="meta")
        kernel = self.take(f"CNN/W_cnn_{index}", 1, width, options.char_width, count)[0]
        layer.weight = nn.Parameter(kernel.permute(2, 1, 0).contiguous())
        layer.bias = nn.Parameter(self.take(f"CNN/b_cnn_{index}", count))
        return layer


class _Highway(nn.Module):
    """A layer that decides, value by value, between its input and something new."""

    def __init__(self, weights: _Weights, index: int, width: int) -> None:
        super().__init__()
        self.gate, self.transform = (
            weights.linear(f"CNN_high_{index}/W_{part}", f"CNN_high_{index}/b_{part}", width, width)
            for part in ("carry", "transform")
        )

    def forward(self, words: Tensor) -> Tensor:
        """(N, filters) -> (N, filters)"""
        gate = self.gate(words).sigmoid()
        return gate * self.transform(words).relu() + (1 - gate) * words


class _CharCnn(nn.Module):
    """A word's characters -> its vector, independent of context."""

    embedding: Tensor

    def __init__(self, options: ElmoOptions, weights: _Weights) -> None:
        super().__init__()
        embedding = weights.take("char_embed", N_CHARS, options.char_width)
        self.register_buffer("embedding", F.pad(embedding, (0, 0, 1, 0)))  # the new row 0 is padding
        self._activation = ACTIVATIONS[options.activation]
        filters, width = range(len(options.filters)), options.n_filters
        self.convolutions = nn.ModuleList(weights.convolution(index, options) for index in filters)
        self.layers = nn.Sequential(*(_Highway(weights, index, width) for index in range(options.n_highway)))
        if width != options.projection:  # where they are equal, bilm-tf has no projection
            self.layers.append(
                weights.linear("CNN_proj/W_proj", "CNN_proj/b_proj", width, options.projection)
            )

    def forward(self, ids: Tensor) -> Tensor:
        """Characters (N, 50) -> word vectors (N, P)"""
        chars = self.embedding[ids].transpose(1, 2)  # (N, E, 50)
        found = [convolution(chars).amax(dim=2) for convolution in self.convolutions]
        return self.layers(self._activation(torch.cat(found, dim=1)))


class _ProjectedLstm(nn.Module):
    """An LSTM from left to right whose memory is clipped, and whose output is projected and clipped."""

    input_weights: Tensor  # (P, 4C)
    hidden_weights: Tensor  # (P, 4C)
    bias: Tensor  # (4C,)
    projection: Tensor  # (C, P)

    def __init__(self, options: ElmoOptions, weights: _Weights, group: str) -> None:
        super().__init__()
        P, C = options.projection, options.cell
        input_weights, hidden_weights = weights.take(f"{group}/W_0", 2 * P, 4 * C).chunk(2)
        bias = weights.take(f"{group}/B", 4 * C)
        bias[2 * C : 3 * C] += 1.0  # TensorFlow adds this to the forget gate when it runs
        self.register_buffer("input_weights", input_weights.contiguous())
        self.register_buffer("hidden_weights", hidden_weights.contiguous())
        self.register_buffer("bias", bias)
        self.register_buffer("projection", weights.take(f"{group}/W_P_0", C, P))
        self._cell_clip, self._projection_clip = options.cell_clip, options.projection_clip

    def forward(self, inputs: Tensor) -> Tensor:
        """Inputs (B, T, P) -> outputs (B, T, P)"""
        B, _, P = inputs.shape
        start = inputs.new_zeros(B, P), inputs.new_zeros(B, len(self.projection))
        gates = inputs @ self.input_weights + self.bias  # (B, T, 4C), once for all steps
        return run_steps(self._step, start, gates.transpose(0, 1)).transpose(0, 1)

    def _step(self, state: Tensors, gates: Tensor) -> tuple[Tensors, Tensor]:
        """One token of each sentence: output (B, P) and memory (B, C), gates (B, 4C) -> the next state"""
        hidden, memory = state
        enter, new, keep, leave = torch.addmm(gates, hidden, self.hidden_weights).chunk(4, dim=1)
        memory = keep.sigmoid() * memory + enter.sigmoid() * new.tanh()
        memory = memory.clamp(-self._cell_clip, self._cell_clip)
        output = (leave.sigmoid() * memory.tanh()) @ self.projection
        output = output.clamp(-self._projection_clip, self._projection_clip)
        return (output, memory), output


class Elmo(nn.Module):
    """Sentences as characters -> all layers of the bidirectional language model; frozen.

    Every sentence is read on its own.
    """

    def __init__(self, options: ElmoOptions, weights: _Weights) -> None:
        super().__init__()
        self.n_layers = options.n_layers + 1
        self.width = 2 * options.projection
        self._skip_connections = options.skip_connections
        self.char_cnn = _CharCnn(options, weights)
        self.forward_lstms, self.backward_lstms = (
            nn.ModuleList(
                _ProjectedLstm(options, weights, f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell")
                for layer in range(options.n_layers)
            )
            for direction in range(2)
        )
        self.requires_grad_(False)

    @classmethod
    def from_files(cls, options: Path, weights: Path) -> Self:
        with open_hdf5(weights) as file:
            return cls(ElmoOptions.from_file(options), _Weights(weights, file))

    @torch.no_grad()
    def forward(self, chars: Tensor, words: Tensor, mask: Tensor) -> Tensor:
        """Distinct words (W, 50), each token's word (B, T + 2), mask -> layers (L + 1, B, T, 2P)"""
        # In parts, which bounds the memory that the convolutions take.
        vectors = torch.cat([self.char_cnn(part) for part in torch.split(chars, 512)])  # (W, P)
        return self.read(vectors[words], mask)

    def read(self, words: Tensor, mask: Tensor) -> Tensor:
        """Word vectors (B, T + 2, P) -> layers (L + 1, B, T, 2P), zero at padding.

        Layer 0 is the word's own vector, twice; the others hold left-to-right and right-to-left halves.
        """
        backwards = reversal(mask.sum(dim=1), mask.shape[1])  # (B, T + 2)
        left = self._read(self.forward_lstms, words)
        right = self._read(self.backward_lstms, take(words, backwards))
        pairs = zip(left, (take(layer, backwards) for layer in right), strict=True)
        layers = torch.stack([torch.cat(pair, dim=2) for pair in pairs])  # (L + 1, B, T + 2, 2P)
        # Token t exists if the mask is true two positions later: at </S>, or at a further token.
        return layers[:, :, 1:-1] * mask[:, 2:, None]

    def _read(self, lstms: nn.ModuleList, words: Tensor) -> list[Tensor]:
        """One direction's layers, the words first."""
        layers = [words]
        for k, lstm in enumerate(lstms):
            output = lstm(layers[-1])
            layers.append(output + layers[-1] if self._skip_connections and k > 0 else output)
        return layers
