"""ELMo against its published fixture, and against a plain NumPy transcription on tiny random weights."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from spansrl.errors import FormatError, MissingExtraError, ModelError
from spansrl.nn.embedders import elmo_embedder
from spansrl.nn.embedders.elmo import Elmo, batch_char_ids
from spansrl.nn.embedders.elmo_embedder import ElmoSource, describe_weights
from spansrl.nn.embedders.layered import LayeredEmbedder, ScalarMix
from spansrl.nn.embedders.precomputed import open_precomputed
from tiny_elmo import FILTERS, FIXTURE, make_elmo, needs_fixture, tiny_options, tiny_weights, write_files

SENTENCES = [["Cats", "sleep", "."], ["Ünïted"], ["a", "b", "a", "</S>", "x" * 70, "!"], ["Why", "?"]]


class Oracle:
    """ELMo as the paper and bilm-tf describe it, word by word and step by step, in float64."""

    def __init__(self, options: dict, weights: dict[str, np.ndarray]) -> None:
        self.cnn, self.lstm = options["char_cnn"], options["lstm"]
        self.w = {name: values.astype(np.float64) for name, values in weights.items()}

    def layers(self, tokens: list[str]) -> np.ndarray:
        words = np.array([self.word(token) for token in ["<S>", *tokens, "</S>"]])
        left, right = self.read(0, words), self.read(1, words[::-1])
        return np.array([np.hstack([a, b[::-1]])[1:-1] for a, b in zip(left, right, strict=True)])

    def word(self, token: str) -> np.ndarray:
        marks = {"<S>": [256], "</S>": [257]}
        chars = [258, *marks.get(token, token.encode()[:48]), 259]
        chars += [260] * (50 - len(chars))
        vectors = self.w["char_embed"][chars]
        found = []
        for k, (width, _) in enumerate(self.cnn["filters"]):
            windows = [vectors[i : i + width].ravel() for i in range(50 - width + 1)]
            kernel = self.w[f"CNN/W_cnn_{k}"][0].reshape(len(windows[0]), -1)
            found.append(np.max(windows @ kernel + self.w[f"CNN/b_cnn_{k}"], axis=0))
        x = np.concatenate(found)
        x = np.tanh(x) if self.cnn["activation"] == "tanh" else np.maximum(x, 0)
        for k in range(self.cnn.get("n_highway") or 0):
            gate = sigmoid(x @ self.w[f"CNN_high_{k}/W_carry"] + self.w[f"CNN_high_{k}/b_carry"])
            new = np.maximum(x @ self.w[f"CNN_high_{k}/W_transform"] + self.w[f"CNN_high_{k}/b_transform"], 0)
            x = gate * new + (1 - gate) * x
        return x @ self.w["CNN_proj/W_proj"] + self.w["CNN_proj/b_proj"]

    def read(self, direction: int, words: np.ndarray) -> list[np.ndarray]:
        layers = [words]
        for k in range(self.lstm["n_layers"]):
            output = self.run_lstm(f"RNN_{direction}/RNN/MultiRNNCell/Cell{k}/LSTMCell", layers[-1])
            skip = self.lstm.get("use_skip_connections") and k > 0
            layers.append(output + layers[-1] if skip else output)
        return layers

    def run_lstm(self, cell: str, inputs: np.ndarray) -> np.ndarray:
        hidden, memory, outputs = np.zeros(self.lstm["projection_dim"]), np.zeros(self.lstm["dim"]), []
        for x in inputs:
            gates = np.concatenate([x, hidden]) @ self.w[f"{cell}/W_0"] + self.w[f"{cell}/B"]
            i, j, f, o = np.split(gates, 4)
            memory = clip(sigmoid(f + 1) * memory + sigmoid(i) * np.tanh(j), self.lstm.get("cell_clip"))
            hidden = clip(
                (sigmoid(o) * np.tanh(memory)) @ self.w[f"{cell}/W_P_0"], self.lstm.get("proj_clip")
            )
            outputs.append(hidden)
        return np.array(outputs)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def clip(x: np.ndarray, limit: float | None) -> np.ndarray:
    return x if limit is None else np.clip(x, -limit, limit)


def run(elmo: Elmo, sentences: list[list[str]]) -> list[np.ndarray]:
    layers = elmo(*batch_char_ids(sentences)).numpy()
    return [layers[:, row, : len(tokens)] for row, tokens in enumerate(sentences)]


@pytest.fixture
def tiny(tmp_path) -> Elmo:
    options = tiny_options()
    return Elmo.from_files(*write_files(tmp_path, options, tiny_weights(options)))


# --- the published fixture


@needs_fixture
def test_the_published_sentences_give_the_published_top_layer():
    elmo = Elmo.from_files(FIXTURE / "options.json", FIXTURE / "lm_weights.hdf5")
    streams = json.loads((FIXTURE / "sentences.json").read_text(encoding="utf-8"))
    # The first sentence of each stream: the others were computed with the state after the sentence before.
    for stream, layers in enumerate(run(elmo, [texts[0].split() for texts in streams])):
        with h5py.File(FIXTURE / f"lm_embeddings_{stream}.hdf5") as file:
            expected = np.concatenate(list(file["0"]), axis=1)
        np.testing.assert_allclose(layers[2], expected, atol=1e-5, rtol=0)


@needs_fixture
def test_the_published_words_give_the_published_word_vectors():
    elmo = Elmo.from_files(FIXTURE / "options.json", FIXTURE / "lm_weights.hdf5")
    words = (FIXTURE / "vocab_test.txt").read_text(encoding="utf-8").split()
    [layers] = run(elmo, [words])
    with h5py.File(FIXTURE / "elmo_token_embeddings.hdf5") as file:
        expected = file["embedding"][...]
    np.testing.assert_allclose(layers[0], np.hstack([expected, expected]), atol=1e-5, rtol=0)


# --- against the transcription


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"lstm": {"use_skip_connections": False}},
        {"lstm": {"cell_clip": None, "proj_clip": None}},
        {"lstm": {"n_layers": 3}},
        {"char_cnn": {"activation": "tanh"}},
        {"char_cnn": {"n_highway": None}},
    ],
    ids=str,
)
def test_all_layers_equal_a_plain_transcription(tmp_path, change):
    options = tiny_options()
    for section, values in change.items():
        options[section] |= values
    weights = tiny_weights(options)
    elmo, oracle = Elmo.from_files(*write_files(tmp_path, options, weights)), Oracle(options, weights)
    for tokens, layers in zip(SENTENCES, run(elmo, SENTENCES), strict=True):
        assert layers.shape == (elmo.n_layers, len(tokens), elmo.width)
        np.testing.assert_allclose(layers, oracle.layers(tokens), atol=1e-5)


def test_clipping_matters_in_these_tests(tmp_path):
    clipped, free = tiny_options(), tiny_options()
    free["lstm"] |= {"cell_clip": None, "proj_clip": None}
    weights = tiny_weights(clipped)
    difference = Oracle(clipped, weights).layers(SENTENCES[0]) - Oracle(free, weights).layers(SENTENCES[0])
    assert np.abs(difference).max() > 0.1


def test_where_filters_are_as_many_as_the_projection_is_wide_nothing_is_projected(tmp_path):
    options = tiny_options()
    options["lstm"]["projection_dim"] = sum(count for _, count in FILTERS)
    weights = tiny_weights(options)
    oracle = Oracle(options, weights | {"CNN_proj/W_proj": np.eye(12), "CNN_proj/b_proj": np.zeros(12)})
    stored = {name: values for name, values in weights.items() if not name.startswith("CNN_proj")}
    elmo = Elmo.from_files(*write_files(tmp_path, options, stored))
    np.testing.assert_allclose(run(elmo, [["Cats"]])[0], oracle.layers(["Cats"]), atol=1e-5)


def test_many_distinct_words_are_embedded_in_parts(tiny):
    words = [f"w{n}" for n in range(1100)]
    together, alone = run(tiny, [words])[0], run(tiny, [["w0"], ["w600"], ["w1099"]])
    np.testing.assert_allclose(together[0, [0, 600, 1099]], [layers[0, 0] for layers in alone], atol=1e-5)


# --- batches and state


def test_alone_or_in_any_batch_a_sentence_has_the_same_layers(tiny):
    together, backwards = run(tiny, SENTENCES), run(tiny, SENTENCES[::-1])[::-1]
    for tokens, first, second in zip(SENTENCES, together, backwards, strict=True):
        [alone] = run(tiny, [tokens])
        np.testing.assert_allclose(first, alone, atol=1e-5)
        np.testing.assert_allclose(second, alone, atol=1e-5)


def test_padding_changes_nothing_and_comes_out_as_zero(tiny):
    chars, words, mask = batch_char_ids(SENTENCES)
    garbage = torch.where(mask, words, 5)
    assert not torch.equal(garbage, words)
    expected, found = tiny(chars, words, mask), tiny(chars, garbage, mask)
    assert torch.equal(found, expected)
    assert not found[:, 1, 1:].any()


def test_nothing_is_carried_from_call_to_call(tiny):
    for first, second in zip(run(tiny, SENTENCES), run(tiny, SENTENCES), strict=True):
        assert np.array_equal(first, second)


def test_empty_sentences_have_no_vectors(tiny):
    [empty, full] = run(tiny, [[], ["a"]])
    assert empty.shape == (3, 0, 8)
    np.testing.assert_allclose(full, run(tiny, [["a"]])[0], atol=1e-5)
    assert run(tiny, [[]])[0].shape == (3, 0, 8)


def test_elmo_is_neither_trained_nor_saved(tmp_path):
    embedder = LayeredEmbedder(ElmoSource(make_elmo(tmp_path / "elmo")), 0.0)
    assert set(embedder.state_dict()) == {"mix.weights", "mix.gamma"}
    assert not any(parameter.requires_grad for parameter in embedder.source.elmo.parameters())
    assert not embedder.source.elmo(*batch_char_ids(SENTENCES)).requires_grad


# --- files that are not what they should be


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("char_cnn.filters", None, "cannot be read as ELMo's options"),
        ("lstm", None, "cannot be read as ELMo's options"),
        ("lstm", {}, "the option 'n_layers' is missing; is this ELMo's options file?"),
        ("char_cnn.embedding", {}, "the option 'dim' is missing"),
        ("lstm.dim", "wide", "invalid literal for int() with base 10: 'wide'"),
        ("char_cnn.activation", "gelu", "the activation is 'gelu', expected relu or tanh"),
        ("char_cnn.filters", [1, 4], "cannot be read as ELMo's options"),
        ("char_cnn.max_characters_per_token", 60, "found 60 characters per token of 262, expected 50 of 262"),
        ("char_cnn.n_characters", 300, "found 50 characters per token of 300, expected 50 of 262"),
    ],
)
def test_options_that_cannot_be_used_are_refused_by_name(tmp_path, key, value, message):
    options = tiny_options()
    *sections, last = key.split(".")
    section = options
    for name in sections:
        section = section[name]
    section[last] = value
    files = write_files(tmp_path, options, tiny_weights(tiny_options()))
    with pytest.raises(ModelError) as caught:
        Elmo.from_files(*files)
    assert str(caught.value).startswith(f"{files[0]}: ")
    assert message in str(caught.value)


def test_options_that_are_not_json_or_are_missing_are_refused(tmp_path):
    path, weights = write_files(tmp_path, tiny_options(), tiny_weights(tiny_options()))
    path.write_text("{", encoding="utf-8")
    with pytest.raises(ModelError, match=r"options\.json: "):
        Elmo.from_files(path, weights)
    path.unlink()
    with pytest.raises(ModelError, match=r"options\.json: "):
        Elmo.from_files(path, weights)


@pytest.mark.parametrize("name", sorted(tiny_weights(tiny_options())))
def test_every_missing_or_misshapen_dataset_is_refused_with_its_shapes(tmp_path, name):
    options, weights = tiny_options(), tiny_weights(tiny_options())
    right = weights.pop(name).shape
    files = write_files(tmp_path, options, weights)
    with pytest.raises(ModelError) as caught:
        Elmo.from_files(*files)
    expected = f"{files[1]}: the dataset '{name}' must have shape {right} by the options, found "
    assert str(caught.value).startswith(f"{expected}none")
    files = write_files(tmp_path, options, weights | {name: np.zeros((2, 2, 2))})
    with pytest.raises(ModelError) as caught:
        Elmo.from_files(*files)
    assert str(caught.value).startswith(f"{expected}(2, 2, 2)")


@pytest.mark.parametrize("content", [None, b"not HDF5"])
def test_weights_that_are_not_hdf5_are_refused(tmp_path, content):
    options, weights = write_files(tmp_path, tiny_options(), {})
    weights.unlink()
    if content is not None:
        weights.write_bytes(content)
    with pytest.raises(FormatError, match=r"weights\.hdf5: cannot be read as HDF5"):
        Elmo.from_files(options, weights)


def test_without_h5py_the_error_has_the_install_command(tmp_path, monkeypatch):
    files = write_files(tmp_path, tiny_options(), {})
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingExtraError, match=r"ELMo needs .* pip install 'spansrl\[train\]'"):
        Elmo.from_files(*files)


def test_known_weights_are_named_and_unknown_ones_hashed(tmp_path, monkeypatch):
    path = tmp_path / "weights.hdf5"
    path.write_bytes(b"weights")
    digest = hashlib.sha256(b"weights").hexdigest()
    assert describe_weights(path) == f"ELMo weights of unknown origin (sha256 {digest})"
    monkeypatch.setitem(elmo_embedder.PUBLIC_WEIGHTS, digest, "ELMo small")
    assert describe_weights(path) == f"ELMo small (sha256 {digest})"


# --- precomputed


def test_layers_are_read_sentence_by_sentence(tiny, tmp_path):
    expected = run(tiny, [*SENTENCES, []])
    path = write_outputs(tmp_path / "x.hdf5", **{f"s{k}": layers for k, layers in enumerate(expected)})
    with open_precomputed(path) as stored:
        assert (stored.n_layers, stored.width) == (3, 8)
        for index, layers in enumerate(expected):
            np.testing.assert_array_equal(stored.layers(index, layers.shape[1]), layers)
        assert stored.layers(4, 0).shape == (3, 0, 8)


def write_outputs(path: Path, **outputs: np.ndarray) -> Path:
    with h5py.File(path, "w") as file:
        for name, values in outputs.items():
            file[name.removeprefix("s")] = values
    return path


def test_a_file_without_layers_has_one_and_other_keys_are_ignored(tmp_path):
    path = write_outputs(
        tmp_path / "x.hdf5", s0=np.ones((4, 8)), s1=np.ones((2, 8)), sentence_to_index=np.ones(1)
    )
    with open_precomputed(path) as stored:
        assert (stored.n_layers, stored.width) == (1, 8)
        assert stored.layers(1, 2).shape == (1, 2, 8)
        assert stored.layers(1, 2).dtype == np.float32


@pytest.mark.parametrize(
    ("index", "n_tokens", "message"),
    [
        (1, 5, "sentence 1 has vectors of shape (3, 4, 8), the 5 tokens of the data need (3, 5, 8)"),
        (2, 4, "sentence 2 has vectors of shape (4, 8), the 4 tokens of the data need (3, 4, 8)"),
        (3, 4, "sentence 3 has vectors of shape (3, 4, 9), the 4 tokens of the data need (3, 4, 8)"),
        (4, 4, "sentence 4 has shape (8,), expected (layers, tokens, width)"),
        (7, 4, "no vectors for sentence 7; was the file made from this data?"),
    ],
)
def test_vectors_that_do_not_fit_the_data_are_refused_with_the_sentence(tmp_path, index, n_tokens, message):
    shapes = [(3, 6, 8), (3, 4, 8), (4, 8), (3, 4, 9), (8,)]
    outputs = {f"s{k}": np.zeros(shape) for k, shape in enumerate(shapes)}
    path = write_outputs(tmp_path / "x.hdf5", **outputs)
    with open_precomputed(path) as stored, pytest.raises(FormatError) as caught:
        stored.layers(index, n_tokens)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_a_precomputed_file_that_cannot_be_read_is_refused(tmp_path):
    with (
        pytest.raises(FormatError, match=r"nowhere\.hdf5: cannot be read as HDF5"),
        open_precomputed(tmp_path / "nowhere.hdf5"),
    ):
        pass


# --- the scalar mix


def test_a_new_scalar_mix_is_the_mean_of_the_layers():
    layers = torch.randn(3, 2, 4, 5)
    torch.testing.assert_close(ScalarMix(3)(layers), layers.mean(dim=0))


def test_a_scalar_mix_is_gamma_times_the_softmax_weighted_sum_and_learns_all_of_it():
    mix, layers = ScalarMix(2).double(), torch.randn(2, 4, 5, dtype=torch.float64)
    with torch.no_grad():
        mix.weights.copy_(torch.tensor([0.0, np.log(3.0)]))
        mix.gamma.fill_(2.0)
    mixed = mix(layers)
    torch.testing.assert_close(mixed, 2 * (0.25 * layers[0] + 0.75 * layers[1]))
    (mixed**2).sum().backward()
    assert all(parameter.grad.abs().min() > 0 for parameter in mix.parameters())


def test_a_scalar_mix_refuses_another_number_of_layers():
    with pytest.raises(ModelError, match="mixes 3 layers; the vectors have 2"):
        ScalarMix(3)(torch.zeros(2, 1, 4))
