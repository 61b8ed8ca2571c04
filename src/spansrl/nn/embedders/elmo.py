"""ELMo (Peters+ 2018), live from `options.json` and `weights.hdf5`.

A character CNN with highway layers makes a vector of each word; two stacks of projected LSTMs read them, one
in each direction. All layers come out; `ScalarMix` makes one vector per word of them. ELMo is frozen here:
its weights stay in the user's files, and are neither trained nor part of `state_dict`.

    elmo = Elmo.from_files(Path("options.json"), Path("weights.hdf5"))
    layers = elmo(*batch_char_ids([["Cats", "sleep", "."], ["Why", "?"]]))         # (3, 2, 3, 1024)

The files are those of bilm-tf and AllenNLP: matrices are as in TensorFlow (inputs × outputs), an LSTM's
gates come in the order input, new memory, forget, output; the forget gate's constant 1 is not in the bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from spansrl.errors import DataError
from spansrl.inference.inputs.characters import MAX_CHARS, N_CHARS, CharacterBatch
from spansrl.nn.embedders.elmo_files import ElmoOptions, WeightFile
from spansrl.nn.recurrence import Tensors, reversal, run_steps, take


def batch_char_ids(sentences: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor, Tensor]:
    """What `Elmo` takes: characters of the distinct words, each token's index among them, mask."""
    batch = CharacterBatch.of(sentences)
    return torch.from_numpy(batch.chars), torch.from_numpy(batch.words), torch.from_numpy(batch.mask)


class _Frozen(nn.Module):
    """Tensors that move between devices with the model, but are neither trained nor saved."""

    def __init__(self, **tensors: Tensor) -> None:
        super().__init__()
        for name, tensor in tensors.items():
            self.register_buffer(name, tensor.contiguous(), persistent=False)


class _Convolution(_Frozen):
    """The strongest answer of each filter anywhere in the word."""

    kernel: Tensor
    bias: Tensor

    @classmethod
    def load(cls, weights: WeightFile, index: int, options: ElmoOptions) -> Self:
        width, count = options.filters[index]
        kernel = weights.take(f"CNN/W_cnn_{index}", 1, width, options.char_width, count)[0].permute(2, 1, 0)
        return cls(kernel=kernel, bias=weights.take(f"CNN/b_cnn_{index}", count))

    def forward(self, chars: Tensor) -> Tensor:
        """Character vectors (N, E, 50) -> (N, filters)."""
        return F.conv1d(chars, self.kernel, self.bias).amax(dim=2)


class _Highway(_Frozen):
    """A layer that decides, value by value, between its input and something new."""

    gate: Tensor
    gate_bias: Tensor
    transform: Tensor
    transform_bias: Tensor

    @classmethod
    def load(cls, weights: WeightFile, index: int, options: ElmoOptions) -> Self:
        group, width = f"CNN_high_{index}", options.n_filters
        return cls(
            gate=weights.take(f"{group}/W_carry", width, width),
            gate_bias=weights.take(f"{group}/b_carry", width),
            transform=weights.take(f"{group}/W_transform", width, width),
            transform_bias=weights.take(f"{group}/b_transform", width),
        )

    def forward(self, words: Tensor) -> Tensor:
        """(N, filters) -> (N, filters)."""
        gate = torch.sigmoid(torch.addmm(self.gate_bias, words, self.gate))
        new = torch.relu(torch.addmm(self.transform_bias, words, self.transform))
        return gate * new + (1 - gate) * words


class _WordProjection(_Frozen):
    weight: Tensor
    bias: Tensor

    @classmethod
    def load(cls, weights: WeightFile, options: ElmoOptions) -> Self:
        weight = weights.take("CNN_proj/W_proj", options.n_filters, options.projection)
        return cls(weight=weight, bias=weights.take("CNN_proj/b_proj", options.projection))

    def forward(self, words: Tensor) -> Tensor:
        """(N, filters) -> (N, P)."""
        return torch.addmm(self.bias, words, self.weight)


class _CharCnn(_Frozen):
    """A word's characters -> its vector, independent of context."""

    embedding: Tensor

    def __init__(self, options: ElmoOptions, weights: WeightFile) -> None:
        embedding = weights.take("char_embed", N_CHARS, options.char_width)
        super().__init__(embedding=F.pad(embedding, (0, 0, 1, 0)))  # the new row 0 is padding
        self._activation = torch.tanh if options.activation == "tanh" else torch.relu
        self.convolutions = nn.ModuleList(
            _Convolution.load(weights, index, options) for index in range(len(options.filters))
        )
        layers: list[nn.Module] = [
            _Highway.load(weights, index, options) for index in range(options.n_highway)
        ]
        if options.n_filters != options.projection:  # where they are equal, bilm-tf has no projection
            layers.append(_WordProjection.load(weights, options))
        self.layers = nn.Sequential(*layers)

    def forward(self, ids: Tensor) -> Tensor:
        """Characters (N, 50) -> word vectors (N, P)."""
        chars = self.embedding[ids].transpose(1, 2)  # (N, E, 50)
        words = self._activation(torch.cat([convolution(chars) for convolution in self.convolutions], dim=1))
        return self.layers(words)


class _ProjectedLstm(_Frozen):
    """An LSTM from left to right whose memory is clipped, and whose output is projected and clipped."""

    input_weights: Tensor  # (P, 4C)
    hidden_weights: Tensor  # (P, 4C)
    bias: Tensor  # (4C,)
    projection: Tensor  # (C, P)

    def __init__(self, options: ElmoOptions, weights: WeightFile, group: str) -> None:
        P, C = options.projection, options.cell
        input_weights, hidden_weights = weights.take(f"{group}/W_0", 2 * P, 4 * C).chunk(2)
        bias = weights.take(f"{group}/B", 4 * C)
        bias[2 * C : 3 * C] += 1.0  # TensorFlow adds this to the forget gate when it runs
        super().__init__(
            input_weights=input_weights,
            hidden_weights=hidden_weights,
            bias=bias,
            projection=weights.take(f"{group}/W_P_0", C, P),
        )
        self._cell_clip, self._projection_clip = options.cell_clip, options.projection_clip

    def forward(self, inputs: Tensor, mask: Tensor, before: Tensors | None) -> tuple[Tensor, Tensors]:
        """Inputs (B, T, P), mask (B, T) -> outputs (B, T, P), and the state after each sentence's end.

        The state is the output (B, P) and the memory (B, C) of the last step.
        """
        B, _, P = inputs.shape
        start = before or (inputs.new_zeros(B, P), inputs.new_zeros(B, len(self.projection)))
        inputs = inputs @ self.input_weights + self.bias  # (B, T, 4C), once for all steps
        steps = inputs.transpose(0, 1), mask.T[..., None]  # (T, B, 4C), (T, B, 1)
        after, outputs = run_steps(self._step, start, steps)  # (T, B, P)
        return outputs.transpose(0, 1), after

    def _step(self, state: Tensors, now: Tensors) -> tuple[Tensors, Tensor]:
        """One token of each sentence: gates (B, 4C), whether it exists (B, 1) -> state, outputs (B, P)."""
        (hidden, memory), (gates, inside) = state, now
        enter, new, keep, leave = torch.addmm(gates, hidden, self.hidden_weights).chunk(4, dim=1)
        changed = keep.sigmoid() * memory + enter.sigmoid() * new.tanh()
        changed = changed.clamp(-self._cell_clip, self._cell_clip)
        output = (leave.sigmoid() * changed.tanh()) @ self.projection
        output = output.clamp(-self._projection_clip, self._projection_clip)
        return (torch.where(inside, output, hidden), torch.where(inside, changed, memory)), output


class Elmo(nn.Module):
    """Sentences as characters -> all layers of the bidirectional language model; frozen.

    Every sentence is read on its own.
    """

    def __init__(self, options: ElmoOptions, weights: WeightFile) -> None:
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

    @classmethod
    def from_files(cls, options: Path, weights: Path) -> Self:
        with WeightFile(weights) as file:
            return cls(ElmoOptions.from_file(options), file)

    @torch.no_grad()
    def forward(self, chars: Tensor, words: Tensor, mask: Tensor) -> Tensor:
        """Distinct words (W, 50), each token's word (B, T + 2), mask -> layers (L + 1, B, T, 2P)."""
        if chars.ndim != 2 or chars.shape[1] != MAX_CHARS:
            raise DataError(f"ELMo takes character ids (W, {MAX_CHARS}), not {tuple(chars.shape)}")
        if words.ndim != 2 or words.shape[1] < 2 or mask.shape != words.shape:
            shapes = f"{tuple(words.shape)} and {tuple(mask.shape)}"
            raise DataError(f"ELMo takes words and mask (B, T + 2), not {shapes}")
        # In parts, which bounds the memory that the convolutions take.
        vectors = torch.cat([self.char_cnn(part) for part in torch.split(chars, 512)])  # (W, P)
        layers, _ = self.read(vectors[words], mask)
        return layers

    def read(
        self, words: Tensor, mask: Tensor, before: Sequence[list[Tensors]] = ()
    ) -> tuple[Tensor, list[list[Tensors]]]:
        """Word vectors (B, T + 2, P) -> layers (L + 1, B, T, 2P), zero at padding, and the states after.

        Layer 0 is the word's own vector, twice; the others hold left-to-right and right-to-left halves. With
        the states after the batch before, each row continues there, as when bilm-tf dumps embeddings.
        """
        backwards = reversal(mask.sum(dim=1), mask.shape[1])  # (B, T + 2)
        left_before, right_before = before or ([], [])
        left, left_after = self._read(self.forward_lstms, words, mask, left_before)
        right, right_after = self._read(self.backward_lstms, take(words, backwards), mask, right_before)
        pairs = zip(left, (take(layer, backwards) for layer in right), strict=True)
        layers = torch.stack([torch.cat(pair, dim=2) for pair in pairs])  # (L + 1, B, T + 2, 2P)
        # Token t exists if </S> or a later piece is two positions further.
        return layers[:, :, 1:-1] * mask[:, 2:, None], [left_after, right_after]

    def _read(
        self, lstms: nn.ModuleList, words: Tensor, mask: Tensor, states: list[Tensors]
    ) -> tuple[list[Tensor], list[Tensors]]:
        """One direction's layers, the words first, and its LSTMs' states at the end."""
        layers, after = [words], []
        for k, lstm in enumerate(lstms):
            output, state = lstm(layers[-1], mask, states[k] if states else None)
            layers.append(output + layers[-1] if self._skip_connections and k > 0 else output)
            after.append(state)
        return layers, after
