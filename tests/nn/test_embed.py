"""Embedders: trained words, static vectors, and the mix of a frozen source's layers."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from builders import SENTENCES, label_given, make_network
from spansrl.arrays import Ragged
from spansrl.errors import DataError, FormatError, ModelError
from spansrl.inference.config import EmbedderConfig
from spansrl.nn.batch import Corpus
from spansrl.nn.embedders import Embedder, build_embedder, load_embedder
from spansrl.nn.embedders.layered import LayeredEmbedder
from spansrl.nn.embedders.precomputed import PrecomputedSource, read_precomputed_features
from spansrl.nn.embedders.words import WordEmbedder
from spansrl.training.checkpoint import load_network, save_description, save_weights

TOKENS = [("The", "cat"), ("a", "CAT", "chased", "zzz")]


def embed(embedder: Embedder, sentences, rows=None) -> torch.Tensor:
    """What becomes of the chosen sentences: (S, T, D)"""
    rows = np.arange(len(sentences)) if rows is None else np.array(rows)
    return embedder(embedder.take(embedder.prepare(sentences), rows))


# Words.


def test_words_are_lower_cased_and_rare_ones_share_the_unknown_vector():
    training = [("The", "cat", "and", "the", "dog"), ("Cat", ",", "DOG")]
    embedder = build_embedder(EmbedderConfig(width=4, min_count=2), training)
    assert embedder.width == 4
    out = embed(embedder, [("THE", "the", "and", "never", "cat")])[0]
    assert torch.equal(out[0], out[1])
    assert torch.equal(out[2], out[3])
    assert torch.equal(out[2], embedder.vectors.weight[0])
    assert len({tuple(row.tolist()) for row in out}) == 3


def test_a_word_spelled_like_the_unknown_one_is_harmless():
    embedder = WordEmbedder(["<unknown>", "cat"], 3, 0.0)
    ids = embedder.prepare([("cat", "dog", "<unknown>")]).values
    assert ids.tolist() == [2, 0, 1]


# Static vectors.


@pytest.fixture
def glove(tmp_path) -> Path:
    path = tmp_path / "glove.txt"
    path.write_text("the 1 0 0\ncat 0 1 0\nunk 9 9 9\na 0 0 1\n-lrb- 5 5 5\n", encoding="utf-8")
    return path


def test_static_vectors_are_the_files_and_strange_words_get_the_unknown_words(glove):
    embedder = build_embedder(EmbedderConfig(kind="vectors", path=str(glove)), TOKENS)
    assert embedder.width == 3
    out = embed(embedder, [*TOKENS, ("(",)])
    assert out[0, :2].tolist() == [[1, 0, 0], [0, 1, 0]]
    assert out[1].tolist() == [[0, 0, 1], [0, 1, 0], [9, 9, 9], [9, 9, 9]]
    assert out[2, 0].tolist() == [5, 5, 5]


def test_the_senna_pair_of_files_gives_the_same_vectors(glove, tmp_path):
    lines = [line.partition(" ") for line in glove.read_text().splitlines()]
    words, numbers = tmp_path / "words.lst", tmp_path / "embeddings.txt"
    words.write_text("".join(f"{word}\n" for word, _, _ in lines))
    numbers.write_text("".join(f"{rest}\n" for _, _, rest in lines))
    pair = build_embedder(EmbedderConfig(kind="vectors", path=str(numbers), words_path=str(words)), TOKENS)
    one = build_embedder(EmbedderConfig(kind="vectors", path=str(glove)), TOKENS)
    assert torch.equal(embed(pair, TOKENS)[1], embed(one, TOKENS)[1])


def make_vector_network(glove: Path, **sections):
    return make_network(embedder={"kind": "vectors", "path": str(glove)}, **sections)


def test_static_vectors_are_not_trained(glove):
    network = make_vector_network(glove)
    assert not list(network.embedder.parameters())
    assert not [name for name in network.state_dict() if name.startswith("embedder")]
    corpus = Corpus.of(SENTENCES, network.roles)
    batch = corpus.batch(np.arange(corpus.n_props))
    before = network.embedder.matrix.clone()
    network.loss(batch, network.embedder.take(network.embedder.prepare(corpus.tokens), batch.rows)).backward()
    assert all(p.grad is not None for p in network.parameters())
    assert torch.equal(network.embedder.matrix, before)
    assert not network.embedder.matrix.requires_grad


def save(network, directory: Path) -> Path:
    save_description(directory, network, {})
    save_weights(directory, network, epoch=0)
    return directory


def test_a_model_with_static_vectors_needs_no_file_but_its_own(glove, tmp_path):
    network = make_vector_network(glove)
    expected = label_given(network)
    directory = save(network, tmp_path / "model")
    glove.unlink()
    loaded = load_network(directory)
    assert label_given(loaded) == expected
    assert torch.equal(embed(loaded.embedder, TOKENS), embed(network.embedder, TOKENS))


@pytest.mark.parametrize("content", [None, b"nonsense"], ids=["missing", "damaged"])
@pytest.mark.parametrize("name", ["words.json", "vectors.safetensors"])
def test_a_missing_or_damaged_file_of_the_vectors_is_named(glove, tmp_path, name, content):
    path = save(make_vector_network(glove), tmp_path / "model") / "embedder" / name
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelError, match=name):
        load_network(tmp_path / "model")


# Layers of something frozen.


class Source:
    """Three layers of two numbers: the token's length times 1, 10 and 100, and its index."""

    n_layers, width = 3, 2

    def __init__(self) -> None:
        self.calls = 0

    def fingerprint(self) -> str:
        return "0" * 64

    def compute(self, sentences):
        self.calls += 1
        return [
            np.array(
                [[[len(token) * scale, t] for scale in (1, 10, 100)] for t, token in enumerate(tokens)],
                np.float32,
            )
            for tokens in sentences
        ]


def test_layers_are_mixed_by_learned_weights():
    embedder = LayeredEmbedder(Source(), 0.0)
    assert embed(embedder, TOKENS)[1, 2].tolist() == pytest.approx([6 * 111 / 3, 2])  # at first their mean
    with torch.no_grad():
        embedder.mix.weights.copy_(torch.tensor([0.0, 1.0, -1.0]))
        embedder.mix.gamma.fill_(2.0)
    a, b, c = np.exp([0.0, 1.0, -1.0]) / np.exp([0.0, 1.0, -1.0]).sum()
    out = embed(embedder, TOKENS)
    assert out[1, 2].tolist() == pytest.approx([2 * 6 * (a + 10 * b + 100 * c), 4], rel=1e-5)
    out[0, :2].sum().backward()
    assert (embedder.mix.weights.grad != 0).all()
    assert embedder.mix.gamma.grad != 0


def test_only_the_mix_belongs_to_the_parameters():
    assert [name for name, _ in LayeredEmbedder(Source(), 0.0).named_parameters()] == [
        "mix.weights",
        "mix.gamma",
    ]


@pytest.mark.parametrize("cached", [False, True])
def test_features_are_the_same_from_the_cache_and_in_any_batch(tmp_path, cached):
    embedder = LayeredEmbedder(Source(), 0.0)
    cache = tmp_path if cached else None
    store = embedder.prepare([("w" * k,) * k for k in range(1, 8)], cache)
    whole = embedder(embedder.take(store, np.arange(7)))
    for row in range(7):
        alone = embedder(embedder.take(store, np.array([row])))
        assert torch.equal(whole[row, : row + 1], alone[0])


def test_remembered_sentences_are_not_computed_again():
    source = Source()
    embedder = LayeredEmbedder(source, 0.0)
    store = embedder.prepare(TOKENS)
    embedder.remember(TOKENS, store)
    assert source.calls == 1
    again = embedder.prepare(TOKENS[::-1])
    assert source.calls == 1
    assert torch.equal(
        embedder(embedder.take(again, np.array([0]))), embedder(embedder.take(store, np.array([1])))
    )
    embedder.prepare([TOKENS[0], ("new",)])
    assert source.calls > 1


def test_precomputed_vectors_are_known_for_their_sentences_only():
    embedder = LayeredEmbedder(PrecomputedSource(1, 2), 0.0)
    rows = [np.full((len(tokens), 1, 2), k, np.float32) for k, tokens in enumerate(TOKENS)]
    embedder.remember(TOKENS, Ragged.of(rows, like=rows[0][:0]))
    assert embed(embedder, TOKENS)[1].tolist() == [[1, 1]] * 4
    with pytest.raises(DataError, match="no precomputed vectors for the sentence 'Something else'"):
        embedder.prepare([("Something", "else")])


def test_precomputed_vectors_of_a_corpus_stay_on_disk(tmp_path):
    sentences = [*TOKENS, TOKENS[0]]  # one of them twice, with vectors of its own
    rows = [np.full((2, len(tokens), 3), k, np.float32) for k, tokens in enumerate(sentences)]
    with h5py.File(tmp_path / "train.hdf5", "w") as file:
        for k, row in enumerate(rows):
            file.create_dataset(str(k), data=row)
    seen = []
    store = read_precomputed_features(
        tmp_path / "train.hdf5", sentences, tmp_path / "cache", lambda *done: seen.append(done)
    )
    assert isinstance(store.values, np.memmap)
    assert seen[-1][1:] == (len(sentences), len(sentences))
    in_memory = read_precomputed_features(tmp_path / "train.hdf5", sentences)
    assert np.array_equal(store.values, in_memory.values)
    embedder = LayeredEmbedder(PrecomputedSource(2, 3), 0.0)
    embedder.remember(sentences, store)
    assert embedder.prepare(sentences) is store
    assert embedder.prepare(sentences[1:2]).values.tolist() == np.moveaxis(rows[1], 0, 1).tolist()
    with pytest.raises(FormatError, match=r"no\.hdf5: cannot be read as HDF5"):
        read_precomputed_features(tmp_path / "no.hdf5", sentences, tmp_path / "cache")


# What is not there.


def test_an_embedder_without_files_says_which_is_missing(tmp_path):
    with pytest.raises(ModelError, match=r"words\.json"):
        load_embedder(EmbedderConfig(), tmp_path)
    with pytest.raises(ModelError, match="nowhere: no such directory"):
        build_embedder(EmbedderConfig(kind="transformer", path=str(tmp_path / "nowhere")), TOKENS)
