"""Transformers, with a tiny random BERT: pooling against a plain computation, windows, cache, fine-tuning."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from builders import SENTENCES, label_given, make_network
from spansrl.errors import ModelError
from spansrl.inference.config import EmbedderConfig
from spansrl.inference.inputs.pieces import MOST_PIECES
from spansrl.nn.batch import Corpus
from spansrl.nn.embedders import build_embedder
from spansrl.nn.embedders.transformer import PieceInput, Transformer, TransformerSource
from spansrl.training.checkpoint import load_network, save_description, save_weights
from tiny_bert import WINDOW, make_bert, make_tokenizer, tokenizers, transformers

NO_PIECES = "\u200d"  # the normalizer takes it away
TOKENS = [
    ("The", "cats", "chased", "unlikely", "cat", "."),
    ("Unlikely",),
    ("cat", NO_PIECES, "strange", "the"),
]
LONG = ("The", "cats", "chased", "unlikely", "cat", ".", "unlikely") * 7  # 98 pieces
POOLING = pytest.mark.parametrize("pooling", ["mean", "first"])


@pytest.fixture(scope="module")
def bert(tmp_path_factory) -> Path:
    return make_bert(tmp_path_factory.mktemp("bert"))


def pieces_of(token: str) -> list[int]:
    tokenizer = make_tokenizer()
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer.encode([token], is_pretokenized=True, add_special_tokens=False).ids


def read_pieces_of(token: str) -> list[int]:
    """The pieces that are read for a token: those of '?' where it has none."""
    return pieces_of(token) or pieces_of("?")


def plain_layers(directory: Path, pieces: list[int]) -> torch.Tensor:
    """Every layer's vectors of some pieces, read by themselves: (L, P, D)"""
    model = transformers.BertModel.from_pretrained(directory).eval()
    with torch.no_grad():
        states = model(torch.tensor([[2, *pieces, 3]]), output_hidden_states=True).hidden_states
    return torch.stack(states)[:, 0, 1:-1]


def plain_vectors(directory: Path, tokens, pooling: str) -> torch.Tensor:
    """Every layer's vector of every token (T, L, D), where each run of tokens that fits is read by itself."""
    runs: list[list[list[int]]] = [[]]
    for token in tokens:
        pieces = read_pieces_of(token)
        if sum(map(len, runs[-1])) + len(pieces) > WINDOW - 2:
            runs.append([])
        runs[-1].append(pieces)
    out = []
    for run in runs:
        layers = plain_layers(directory, [piece for pieces in run for piece in pieces])
        begin = 0
        for pieces in run:
            own = layers[:, begin : begin + (len(pieces) if pooling == "mean" else 1)]
            out.append(own.mean(1))
            begin += len(pieces)
    return torch.stack(out)


def read(directory: Path, sentences, pooling: str = "mean") -> torch.Tensor:
    transformer = Transformer(directory, pooling=pooling).eval()
    with torch.no_grad():
        return transformer(PieceInput.of(transformer.prepare(sentences).take(np.arange(len(sentences)))))


# Vectors of tokens.


@POOLING
def test_a_tokens_vector_is_pooled_from_its_pieces_in_every_layer(bert, pooling):
    assert [len(pieces_of(token)) for token in TOKENS[0]] == [1, 2, 2, 3, 1, 1]
    out = read(bert, TOKENS, pooling)
    assert out.shape == (3, 6, 3, 8)
    for k, tokens in enumerate(TOKENS):
        torch.testing.assert_close(
            out[k, : len(tokens)], plain_vectors(bert, tokens, pooling), rtol=1e-5, atol=1e-5
        )


def test_the_two_ways_of_pooling_differ_where_a_token_has_several_pieces(bert):
    mean, first = (read(bert, TOKENS[:1], pooling)[0] for pooling in ("mean", "first"))
    same = [torch.allclose(mean[t], first[t]) for t in range(6)]
    assert same == [True, False, False, False, True, True]


@POOLING
def test_a_token_without_pieces_is_read_as_a_question_mark(bert, pooling):
    assert pieces_of(NO_PIECES) == []
    odd, plain = (read(bert, [("cat", token, "the"), (token,)], pooling) for token in (NO_PIECES, "?"))
    assert torch.equal(odd, plain)
    assert (odd[0] != 0).any(-1).all()


@POOLING
def test_a_sentence_longer_than_the_encoder_is_read_in_windows_cut_between_tokens(bert, pooling):
    transformer = Transformer(bert, pooling=pooling).eval()
    assert transformer.tokenizer.window == WINDOW
    store = transformer.prepare([LONG])
    assert len(store.pieces) > 5
    assert store.pieces.lengths.max() <= WINDOW
    torch.testing.assert_close(
        read(bert, [LONG], pooling)[0], plain_vectors(bert, LONG, pooling), rtol=1e-5, atol=1e-5
    )


def test_of_a_token_with_very_many_pieces_the_first_are_read_where_not_all_fit(bert):
    token = "cat" + "s" * 40
    assert len(pieces_of(token)) == 41
    the, cat = pieces_of("the"), pieces_of("cat")
    layers = plain_layers(bert, [*the, *pieces_of(token)[:MOST_PIECES], *cat])
    out = read(bert, [("the", token, "cat")])[0]
    torch.testing.assert_close(out[1], layers[:, 1 : 1 + MOST_PIECES].mean(1), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(out[2], layers[:, -1], rtol=1e-5, atol=1e-5)


@POOLING
def test_vectors_are_the_same_alone_and_in_any_batch(bert, pooling):
    transformer = Transformer(bert, pooling=pooling).eval()
    sentences = [*TOKENS, LONG, ("cat",)]
    store = transformer.prepare(sentences)
    with torch.no_grad():
        for rows in ([0, 1, 2, 3, 4], [4, 3], [2, 0, 1]):
            batched = transformer(PieceInput.of(store.take(np.array(rows))))
            for k, row in enumerate(rows):
                alone = transformer(PieceInput.of(transformer.prepare([sentences[row]]).take(np.array([0]))))[
                    0
                ]
                torch.testing.assert_close(batched[k, : len(sentences[row])], alone, rtol=1e-5, atol=1e-5)


def test_with_byte_pieces_every_token_begins_a_word(tmp_path, bert):
    shutil.copytree(bert, tmp_path / "bytes")
    vocab = {piece: k for k, piece in enumerate(["<s>", "</s>", "c", "a", "Ġ", "Ġc", "Ġca"])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocab, [("Ġ", "c"), ("Ġc", "a")]))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.save(str(tmp_path / "bytes" / "tokenizer.json"))
    store = Transformer(tmp_path / "bytes").prepare([("ca", "cac")])
    assert store.pieces.values.tolist() == [vocab["Ġca"], vocab["Ġca"], vocab["c"]]


def test_loading_prints_nothing(bert, capfd):
    Transformer(bert)
    assert capfd.readouterr() == ("", "")


# Frozen.


def test_cached_features_are_the_live_ones_up_to_half_precision(bert, tmp_path):
    embedder = build_embedder(EmbedderConfig(kind="transformer", path=str(bert)), TOKENS)
    sentences = [*TOKENS, LONG]
    live, cached = embedder.prepare(sentences), embedder.prepare(sentences, tmp_path)
    assert cached.values.dtype == np.float16
    np.testing.assert_allclose(cached.values.astype(np.float32), live.values, rtol=1e-3, atol=1e-3)
    assert live.values.shape == (sum(map(len, sentences)), 3, 8)


def test_the_cache_is_keyed_by_weights_tokenizer_and_pooling(bert, tmp_path):
    copy = shutil.copytree(bert, tmp_path / "copy")
    other = make_bert(tmp_path / "other", seed=1)
    retokenized = shutil.copytree(bert, tmp_path / "retokenized")
    changed = make_tokenizer()
    changed.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=False)
    changed.save(str(retokenized / "tokenizer.json"))
    keys = {
        TransformerSource(directory, pooling).fingerprint()
        for directory, pooling in [(bert, "mean"), (bert, "first"), (other, "mean"), (retokenized, "mean")]
    }
    assert len(keys) == 4
    assert TransformerSource(copy, "mean").fingerprint() in keys


def make_transformer_network(directory: Path, *, finetune: bool, **sections):
    embedder = {"kind": "transformer", "path": str(directory), "finetune": finetune}
    return make_network(embedder=embedder, **sections)


def inputs_of(network):
    corpus = Corpus.of(SENTENCES, network.roles)
    batch = corpus.batch(np.arange(corpus.n_props))
    return batch, network.embedder.take(network.embedder.prepare(corpus.tokens), batch.rows)


def spans(sentences) -> list:
    return [[[(arg.role, arg.span) for arg in prop.args] for prop in sent.props] for sent in sentences]


def save(network, directory: Path) -> Path:
    save_description(directory, network, {})
    save_weights(directory, network, epoch=0)
    return directory


@pytest.mark.parametrize("finetune", [False, True], ids=["frozen", "fine-tuned"])
def test_every_parameter_gets_a_gradient_and_a_frozen_encoder_has_none(bert, finetune):
    network = make_transformer_network(
        bert, finetune=finetune, encoder={"kind": "none", "predicate": "after"}
    )
    network.loss(*inputs_of(network)).backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
    assert any("transformer" in name for name, _ in network.named_parameters()) == finetune


@pytest.mark.parametrize("finetune", [False, True], ids=["frozen", "fine-tuned"])
def test_labels_do_not_depend_on_how_the_input_is_batched(bert, finetune):
    network = make_transformer_network(bert, finetune=finetune)
    expected = spans(label_given(network, encoder_batch=1, scoring_batch=1))
    assert any(args for props in expected for args in props)
    assert spans(label_given(network)) == expected
    assert spans(label_given(network, SENTENCES[::-1])) == expected[::-1]


@pytest.mark.parametrize("half", [False, True], ids=["from single precision", "from half precision"])
@pytest.mark.parametrize("finetune", [False, True], ids=["frozen", "fine-tuned"])
def test_a_model_directory_is_complete_by_itself(tmp_path, finetune, half):
    origin = make_bert(tmp_path / "bert", half=half)
    network = make_transformer_network(origin, finetune=finetune)
    optimizer = torch.optim.Adam(network.parameters(), 0.01)
    batch, inputs = inputs_of(network)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = network.loss(batch, inputs)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    expected = label_given(network)
    directory = save(network, tmp_path / "model")
    assert (directory / "embedder" / "model.safetensors").exists() != finetune  # the weights are there once
    shutil.rmtree(origin)
    loaded = load_network(directory)
    assert all(parameter.dtype == torch.float32 for parameter in loaded.parameters())
    assert label_given(loaded) == expected
    assert label_given(load_network(save(loaded, tmp_path / "again"))) == expected


def test_dropout_inside_a_fine_tuned_encoder_is_a_setting(bert):
    config = EmbedderConfig(
        kind="transformer", path=str(bert), finetune=True, dropout=0.5, inner_dropout=0.25
    )
    embedder = build_embedder(config, [])
    inside = [module.p for module in embedder.transformer.modules() if isinstance(module, torch.nn.Dropout)]
    assert inside
    assert set(inside) == {0.25}


def test_fine_tuning_changes_the_encoder(bert):
    network = make_transformer_network(bert, finetune=True).train()
    before = {name: p.detach().clone() for name, p in network.embedder.transformer.named_parameters()}
    optimizer = torch.optim.Adam(network.parameters(), 0.01)
    network.loss(*inputs_of(network)).backward()
    optimizer.step()
    for name, parameter in network.embedder.transformer.named_parameters():
        assert not torch.equal(parameter, before[name]), name


# What is not there.


@pytest.mark.parametrize("name", ["tokenizer.json", "config.json", "model.safetensors"])
def test_an_incomplete_encoder_is_refused_with_its_directory(bert, tmp_path, name):
    broken = shutil.copytree(bert, tmp_path / "broken")
    (broken / name).unlink()
    with pytest.raises(ModelError, match="broken: ") as caught:
        Transformer(broken)
    assert "\n" not in str(caught.value)
