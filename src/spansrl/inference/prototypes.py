"""Senses by prototypes, and roles that know the frame: a table beside the graphs of an exported model.

A sense's prototype is the mean vector of its labeled occurrences, drawn towards a vector of its definition; a
predicate has the sense whose prototype is nearest among those that its word can have. A numbered role's
vector comes from its function tag, its VerbNet role, its description and the other roles of the sense; the
arguments' graph adds it to the role's own weights. Rolesets that training never saw get both from their
examples and descriptions, by the exported encoder.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from spansrl.arrays import IntArray
from spansrl.errors import ModelError
from spansrl.inference.batching import batches_by_length
from spansrl.inference.directory import write_bytes
from spansrl.inference.model import Encoding, Floats, Prepared, Tokens
from spansrl.inventory.frame_files import Roleset
from spansrl.inventory.senses import FEATURES
from spansrl.structures import Sentence

PROTOTYPES = "prototypes.npz"
NUMBERS = "012345"  # of the roles that have a vector
_TAGS = "PPT PAG GOL PRD MNR DIR VSP LOC EXT CAU COM PRP SRC SE1 TMP SE2 AXS ADJ DOM ANC SCL ADV".split()
_THEMATIC = (
    "agent theme patient destination experiencer stimulus instrument recipient source result topic location "
    "co_patient attribute beneficiary initial_location co_agent co_theme product goal material trajectory "
    "predicate asset initial_state extent pivot value causer cause"
).split()
_COMPANIONS = "PAG PPT GOL VSP DIR PRD".split()  # tags of the sense's other roles
_WORD = re.compile(r"[A-Za-z0-9]+(?:['-][A-Za-z]+)*|[^\sA-Za-z0-9]")
_LONGEST = 40  # words of a definition that are read
_ENCODED_AT_ONCE = 2048
_STORED_HALF = ("vectors", "role_vectors", "projection", "gloss", "role_input")
_SMALL = 1e-6


class Encoder(Protocol):
    """The part of a model that gives tokens their vectors."""

    def prepare(self, sentences: Sequence[Tokens]) -> Prepared: ...

    def encode(self, prepared: Prepared, rows: IntArray) -> Encoding: ...


@dataclass(frozen=True, slots=True, eq=False)
class Prototypes:
    """V senses; D is the width of the encoder, k that of prototypes, r that of role vectors."""

    vectors: Floats  # (V, k) of unit length
    bias: Floats  # (V,) for senses with and without occurrences
    role_vectors: Floats  # (M, r), of which the first is zero
    role_index: IntArray  # (V, 6) the vector of each numbered role
    projection: Floats  # (D, k) of occurrences
    shift: Floats  # (k,)
    gloss: Floats  # (2D, k) of definitions
    role_input: Floats  # (d, r) of what the frames say about a role
    gloss_center: Floats  # (2, D)
    role_center: Floats  # (D,)
    weights: Floats  # of `FEATURES`
    numbers: Floats  # scale, occurrences that a definition counts for, and what having any and log n add

    @classmethod
    def read(cls, path: Path) -> Prototypes:
        """Read the table of a model directory."""
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
                found = cls(**{name: _full(file[name]) for name in cls.names()})
            found._check()
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise ModelError(f"{path}: damaged prototypes ({error}); get the model again") from error
        return found

    @classmethod
    def names(cls) -> tuple[str, ...]:
        return tuple(field.name for field in fields(cls))

    def _check(self) -> None:
        (V, k), (D, _), (M, r) = self.vectors.shape, self.projection.shape, self.role_vectors.shape
        shapes = {
            "bias": (V,),
            "role_index": (V, len(NUMBERS)),
            "projection": (D, k),
            "shift": (k,),
            "gloss": (2 * D, k),
            "role_input": (role_width(D), r),
            "gloss_center": (2, D),
            "role_center": (D,),
            "weights": (len(FEATURES),),
            "numbers": (4,),
        }
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise ValueError(f"'{name}' has the shape {getattr(self, name).shape}, expected {shape}")
        if not all(np.isfinite(getattr(self, name)).all() for name in self.names()):
            raise ValueError("not all numbers are finite")
        if V and not 0 <= self.role_index.min() <= self.role_index.max() < M:
            raise ValueError("a role has no vector")

    def save(self, path: Path) -> None:
        """Write the table; large arrays are stored in half precision."""
        content = io.BytesIO()
        arrays = {name: getattr(self, name) for name in self.names()}
        for name in _STORED_HALF:
            arrays[name] = arrays[name].astype(np.float16)
        np.savez_compressed(content, **arrays | {"role_index": self.role_index.astype(np.int32)})
        write_bytes(path, content.getvalue())

    def scores(self, vectors: Floats) -> Floats:
        """Vectors of predicates (N, D) -> scores of all senses (N, V)"""
        return np.asarray(self.numbers[0] * (self._projected(vectors) @ self.vectors.T) + self.bias)

    def roles(self, senses: IntArray) -> Floats:
        """The vectors (N, 6, r) of the roles of N senses; those of −1 are zero."""
        return self.role_vectors[np.where(senses[:, None] < 0, 0, self.role_index[senses])]

    def _projected(self, vectors: Floats) -> Floats:
        return _unit(_unit(vectors) @ self.projection + self.shift)

    def extended(
        self, encoder: Encoder, rolesets: Sequence[Roleset], examples: Sequence[Sentence]
    ) -> Prototypes:
        """The table with further senses: their definitions, and their examples' predicates."""
        sums = np.zeros((len(rolesets), self.projection.shape[0]), np.float32)
        counts = np.zeros(len(rolesets), np.float32)
        number = {roleset.id: k for k, roleset in enumerate(rolesets)}
        for sent, vectors in zip(examples, encode(encoder, [sent.tokens for sent in examples]), strict=True):
            for prop in sent.props:
                if prop.sense in number:
                    sums[number[prop.sense]] += _unit(vectors[prop.pred])
                    counts[number[prop.sense]] += 1
        glosses = normalized_glosses(encode_glosses(encoder, rolesets), self.gloss_center)
        means = np.asarray(sums / np.maximum(counts, 1)[:, None], dtype=np.float32)
        vectors, bias = prototypes(self, means, counts, glosses)
        inputs, index = role_inputs(rolesets, *encode_descriptions(encoder, rolesets), self.role_center)
        return replace(
            self,
            vectors=np.concatenate([self.vectors, vectors]),
            bias=np.concatenate([self.bias, bias]),
            role_vectors=np.concatenate([self.role_vectors, inputs[1:] @ self.role_input]),
            role_index=np.concatenate(
                [self.role_index, np.where(index > 0, index + len(self.role_vectors) - 1, 0)]
            ),
        )


def prototypes(table: Prototypes, means: Floats, counts: Floats, glosses: Floats) -> tuple[Floats, Floats]:
    """Prototypes and biases of senses: mean vectors (V, D), their numbers (V,), definitions (V, 2D)."""
    _, kappa, known, log_count = table.numbers.tolist()
    seen = counts[:, None]
    own = (means @ table.projection + table.shift) * (seen > 0) * seen / (seen + kappa)
    vectors = _unit(own + glosses @ table.gloss * (kappa / (seen + kappa)))
    return vectors, (known * (counts > 0) + log_count * np.log1p(counts)).astype(np.float32)


def encode(encoder: Encoder, sentences: Sequence[Tokens]) -> list[Floats]:
    """The vectors (T, D) of the tokens of each sentence."""
    out: list[Floats] = [np.zeros((0, 0), np.float32)] * len(sentences)
    for first in range(0, len(sentences), _ENCODED_AT_ONCE):
        part = sentences[first : first + _ENCODED_AT_ONCE]
        prepared = encoder.prepare(part)
        for rows in batches_by_length(prepared.costs, limit=256):
            vectors = encoder.encode(prepared, np.array(rows)).vectors
            for row, own in zip(rows, vectors, strict=True):
                out[first + row] = own[: len(part[row])].copy()
    return out


def encode_glosses(encoder: Encoder, rolesets: Sequence[Roleset]) -> Floats:
    """(V, 2, D): the word of a sense before its definition, and the mean of the definition's words."""
    texts = []
    for roleset in rolesets:
        aliases = sorted(roleset.aliases, key=lambda alias: "vnj".find(alias[0]) % 4)
        head, *rest = (aliases[0][1] if aliases else roleset.id.rpartition(".")[0]).split("_")
        words = [head or roleset.id, ":", *filter(None, rest), *_WORD.findall(roleset.name)]
        texts.append(words[:_LONGEST])
    means = (
        np.stack([own[0], own[2:].mean(0) if len(own) > 2 else own.mean(0)]) for own in encode(encoder, texts)
    )
    return np.array(list(means), dtype=np.float32)


def normalized_glosses(glosses: Floats, center: Floats) -> Floats:
    """(V, 2, D) -> (V, 2D)"""
    return _unit(glosses - center).reshape(len(glosses), -1)


def encode_descriptions(encoder: Encoder, rolesets: Sequence[Roleset]) -> tuple[Mapping[str, int], Floats]:
    """The descriptions of all roles, and the mean vector of the words of each."""
    texts = sorted({text for roleset in rolesets for text in roleset.roles.values() if _WORD.search(text)})
    found = encode(encoder, [_WORD.findall(text)[:_LONGEST] for text in texts])
    return {text: k for k, text in enumerate(texts)}, np.array([own.mean(0) for own in found], np.float32)


def role_width(width: int) -> int:
    """How many numbers describe a role for an encoder of this width."""
    return len(_TAGS) + len(_THEMATIC) + len(NUMBERS) * (1 + len(_COMPANIONS)) + width


def role_inputs(
    rolesets: Sequence[Roleset], texts: Mapping[str, int], means: Floats, center: Floats
) -> tuple[Floats, IntArray]:
    """What the frames say about each role (M, d), the first row being zero, and the row of each (V, 6)."""
    rows = [np.zeros(role_width(len(center)), np.float32)]
    index = np.zeros((len(rolesets), len(NUMBERS)), np.int64)
    described = _unit(means - center) if len(means) else means
    for v, roleset in enumerate(rolesets):
        companions = [
            value
            for number in NUMBERS
            for value in (
                number in roleset.roles,
                *(roleset.functions.get(number) == tag for tag in _COMPANIONS),
            )
        ]
        for n, number in enumerate(NUMBERS):
            if number in roleset.roles:
                tags = [roleset.functions.get(number) == tag for tag in _TAGS]
                thematic = [roleset.thematic.get(number) == role for role in _THEMATIC]
                text = texts.get(roleset.roles[number])
                description = np.zeros(len(center)) if text is None else described[text]
                rows.append(
                    np.array([*tags, *thematic, *(0.5 * np.array(companions)), *description], np.float32)
                )
                index[v, n] = len(rows) - 1
    return np.stack(rows), index


def _unit(vectors: Floats) -> Floats:
    size = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(size, _SMALL), dtype=np.float32)


def _full(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if array.dtype.kind == "i":
        return array.astype(np.int64)
    if array.dtype.kind != "f":
        raise ValueError("an array is not of numbers")
    return array.astype(np.float32)
