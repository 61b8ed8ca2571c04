"""The files of an ELMo: `options.json` describes how to use the weights in `weights.hdf5`.

Outputs that were computed elsewhere may be in HDF5 files of their own.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from spansrl.errors import FormatError, MissingExtraError, ModelError, SpansrlError
from spansrl.inference.directory import file_hash
from spansrl.inference.inputs.characters import MAX_CHARS, N_CHARS

OPTIONS_FILE, WEIGHTS_FILE = "options.json", "weights.hdf5"
PUBLIC_WEIGHTS = {
    "747ba97abce8a5f446558369e10bb0f7931437a46867476fdd156f5d7f576229": "ELMo small",
    "a6b92b9ccbb13fe489faacd2221c795d4bebe84b75f8aded9d85ea464fa5c994": "ELMo original",
}
"""The published weight files by their SHA-256."""


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
        """Read and check an options file; settings that do not matter for reading the weights are ignored."""
        options = _OptionsFile(path)
        options.one_of("char_cnn.max_characters_per_token", (MAX_CHARS,))
        # bilm-tf counts 0 only when not training.
        options.one_of("char_cnn.n_characters", (N_CHARS, N_CHARS + 1))
        return cls(
            char_width=options.count("char_cnn.embedding.dim"),
            filters=options.filters("char_cnn.filters"),
            n_highway=options.count("char_cnn.n_highway", default=0),
            activation=options.one_of("char_cnn.activation", ("relu", "tanh")),
            n_layers=options.count("lstm.n_layers"),
            cell=options.count("lstm.dim"),
            projection=options.count("lstm.projection_dim"),
            cell_clip=options.limit("lstm.cell_clip"),
            projection_clip=options.limit("lstm.proj_clip"),
            skip_connections=options.one_of("lstm.use_skip_connections", (True, False), default=False),
        )

    @property
    def n_filters(self) -> int:
        """The width of a word's vector between convolutions and projection."""
        return sum(count for _, count in self.filters)


class _OptionsFile:
    """Typed access to a JSON file by dotted keys; whatever is wrong is a `ModelError` with the key in it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._values = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise ModelError(f"{path}: ELMo's options cannot be read ({error.strerror or error})") from error
        except ValueError as error:
            raise ModelError(f"{path}: ELMo's options are not JSON ({error})") from error

    def count(self, key: str, *, default: int | None = None) -> int:
        value = self._get(key, default)
        least = 1 if default is None else default
        if type(value) is not int or value < least:
            raise self._refuse(key, value, f"an integer, {least} or more")
        return value

    def limit(self, key: str) -> float:
        """A positive number; infinity where there is none."""
        value = self._get(key, math.inf)
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise self._refuse(key, value, "a positive number or null")
        return float(value)

    def one_of(self, key: str, choices: Sequence[Any], *, default: Any = None) -> Any:
        value = self._get(key, default)
        if value not in choices:
            raise self._refuse(key, value, " or ".join(map(repr, choices)))
        return value

    def filters(self, key: str) -> tuple[tuple[int, int], ...]:
        value = self._get(key, None)
        if not isinstance(value, list) or not value or not all(_is_filter(pair) for pair in value):
            raise self._refuse(key, value, f"[width, count] pairs with widths up to {MAX_CHARS}")
        return tuple((width, count) for width, count in value)

    def _get(self, key: str, default: Any) -> Any:
        """The value; where there is a default, it replaces a missing key or null."""
        value = self._values
        for part in key.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if value is None and default is None:
            raise ModelError(f"{self._path}: the option '{key}' is missing; is this ELMo's options file?")
        return default if value is None else value

    def _refuse(self, key: str, value: Any, expected: str) -> ModelError:
        return ModelError(f"{self._path}: the option '{key}' is {value!r}; expected {expected}")


def _is_filter(pair: Any) -> bool:
    match pair:
        case [int(width), int(count)]:
            return 1 <= width <= MAX_CHARS and count >= 1
    return False


class Hdf5File:
    """An HDF5 file for reading, for `with` statements."""

    def __init__(self, path: Path) -> None:
        # Imported here, because every other embedder works without h5py.
        try:
            import h5py
        except ImportError:
            raise MissingExtraError("ELMo", "train") from None
        self.path = path
        try:
            self.file: Any = h5py.File(path, "r")
        except OSError as error:
            raise self.error(f"cannot be read as HDF5 ({error})") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def error(self, message: str) -> SpansrlError:
        return FormatError(message, path=str(self.path))


class WeightFile(Hdf5File):
    """The datasets of a weight file, each read by its name and the shape that the options require."""

    def error(self, message: str) -> SpansrlError:
        return ModelError(f"{self.path}: {message}")

    def take(self, name: str, *shape: int) -> Tensor:
        data = self.file.get(name)
        if not hasattr(data, "shape"):
            raise self.error(f"the dataset '{name}' of shape {shape} is missing; is this ELMo's weight file?")
        if data.shape != shape:
            raise self.error(
                f"the dataset '{name}' has shape {data.shape}, the options require {shape};"
                " options and weights do not belong together"
            )
        return torch.from_numpy(np.asarray(data, dtype=np.float32))


class Precomputed(Hdf5File):
    """ELMo's outputs for the sentences of a data file, keyed "0", "1", …: each (layers, T, D) or (T, D)."""

    def __len__(self) -> int:
        return sum(key.isdigit() for key in self.file)

    @property
    def n_layers(self) -> int:
        return self._layers_and_width[0]

    @property
    def width(self) -> int:
        return self._layers_and_width[1]

    def layers(self, index: int, n_tokens: int) -> NDArray[np.float32]:
        """The layers (L, T, D) of a sentence of `n_tokens` tokens; (T, D) in the file is one layer."""
        data = self._dataset(index)
        shape = (self.n_layers, n_tokens, self.width)
        if data.shape != shape[-data.ndim :] or (data.ndim == 2 and self.n_layers != 1):
            raise self.error(
                f"sentence {index} has vectors of shape {data.shape}, the {n_tokens} tokens of the data"
                f" need {shape}; was the file made from this data?"
            )
        return np.asarray(data, dtype=np.float32).reshape(shape)

    @cached_property
    def _layers_and_width(self) -> tuple[int, int]:
        shape = self._dataset(0).shape
        return (1 if len(shape) == 2 else shape[0]), shape[-1]

    def _dataset(self, index: int) -> Any:
        data = self.file.get(str(index))
        if not hasattr(data, "shape"):
            raise self.error(
                f"there are no vectors for sentence {index}, only for {len(self)} sentences;"
                " was the file made from this data?"
            )
        if data.ndim not in (2, 3):
            raise self.error(f"sentence {index} has shape {data.shape}, expected (layers, tokens, width)")
        return data


def describe_weights(path: Path) -> str:
    """The published name of a weight file, if it has one, and its SHA-256."""
    digest = file_hash(path)
    return f"{PUBLIC_WEIGHTS.get(digest, 'ELMo weights of unknown origin')} (sha256 {digest})"
