"""`spansrl export`: models of every family, the same on ONNX Runtime as on torch."""

from __future__ import annotations

import copy
import logging
import re
import shutil
from functools import partial

import numpy as np
import pytest
import torch

from builders import SENTENCES, label_given, make_config, make_network
from nn.test_transformer import make_bert
from spansrl.cli import export
from spansrl.errors import ModelError
from spansrl.formats import write_sentences
from spansrl.inference.loading import load
from spansrl.inference.model import score_propositions
from spansrl.inference.runtime import OnnxModel
from spansrl.inventory.roles import roles_in
from spansrl.nn.embedders import build_embedder
from spansrl.nn.network import Network
from spansrl.structures import Sentence
from spansrl.training.checkpoint import load_network, save_description, save_weights
from spansrl.training.export import export_model, portable

pytest.importorskip("onnxscript")

SENSES = ("chase.01", "leave.01", "open.01")
HEADS = {
    "span-marked": {"encoder": {"kind": "bilstm", "predicate": "input"}},
    "span-once": {"encoder": {"kind": "none", "predicate": "after"}},
    "span-next": {"encoder": {"kind": "none", "predicate": "after"}, "output": {"span_end": "next"}},
    "crf-marked": {"encoder": {"kind": "bilstm", "predicate": "input"}, "output": {"kind": "crf"}},
    "crf-once": {"encoder": {"kind": "bilstm", "predicate": "after"}, "output": {"kind": "crf"}},
    "text": {
        "encoder": {"kind": "none", "predicate": "after", "attention_layers": 1},
        "tasks": {"predicates": True, "senses": True},
    },
}

# Every head and every way to embed tokens, but not each with each: an export takes seconds.
FAMILIES = [
    ("words", "span-marked"),
    pytest.param("words", "crf-once", marks=pytest.mark.long),
    ("vectors", "span-next"),
    pytest.param("vectors", "crf-marked", marks=pytest.mark.long),
    pytest.param("frozen", "span-once", marks=pytest.mark.long),
    ("frozen", "text"),
    ("tuned", "crf-once"),
    pytest.param("tuned", "text", marks=pytest.mark.long),  # in tests/inference/test_runtime.py, too
]


@pytest.fixture(scope="module", autouse=True)
def quiet():
    """Torch tells every step of an export, and pytest would keep it all."""
    logging.disable(logging.INFO)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture
def call(spansrl):
    """Run the command in an empty directory."""
    return partial(spansrl, "export")


def save(network: Network, directory) -> None:
    save_description(directory, network, {})
    save_weights(directory, network, epoch=0)


def network_over(embedder: dict, sections: dict) -> Network:
    """A random network; with senses, where the sections want them."""
    torch.manual_seed(3)
    config = make_config(embedder=embedder, **sections)
    built = build_embedder(config.embedder, [sent.tokens for sent in SENTENCES])
    senses = SENSES if config.tasks.senses else ()
    return Network(config, roles_in(SENTENCES), built, senses).eval()


def check_same_labels(torch_model, exported) -> None:
    """Sentences of all lengths, alone and together."""
    expected = label_given(load_network(torch_model))
    model = OnnxModel.load(exported, threads=1)
    together = label_given(model)
    alone = [label_given(model, [sent])[0] for sent in SENTENCES]
    assert spans(together) == spans(expected)
    assert spans(alone) == spans(expected)
    assert any(spans(expected))


def spans(sentences) -> list:
    return [[(arg.role, arg.span) for arg in prop.args] for sent in sentences for prop in sent.props]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A model that is trained, so to speak."""
    directory = tmp_path_factory.mktemp("runs") / "run"
    save(make_network(**HEADS["span-once"]), directory)
    return directory


@pytest.fixture(scope="module")
def graphs(run, tmp_path_factory):
    """Its graphs: exporting takes seconds, so it is done once."""
    out = tmp_path_factory.mktemp("graphs") / "exported"
    export_model(run, out)
    return out


@pytest.fixture
def ready(monkeypatch):
    """A function that lets the command find graphs ready-made, with the network to compare them with."""

    def use(graphs, network: Network) -> None:
        def copied(source, out):
            shutil.copytree(graphs, out, dirs_exist_ok=True)
            return network

        monkeypatch.setattr("spansrl.training.export.export_model", copied)

    return use


def test_an_exported_model_names_what_it_was_made_from_without_the_paths_of_the_machine():
    paths = {
        "embedder": {"kind": "transformer", "path": "/home/me/minilm/", "precomputed": ""},
        "training": {"start": "~/runs/first", "partial": "../more/train.jsonl", "seed": 2},
        "distillation": {"teachers": "/runs/one, runs/two", "raw": "/texts/raw.jsonl"},
    }
    before = copy.deepcopy(paths)
    assert portable({"format": 1, "config": paths}) == {
        "format": 1,
        "config": {
            "embedder": {"kind": "transformer", "path": "minilm", "precomputed": ""},
            "training": {"start": "first", "partial": "train.jsonl", "seed": 2},
            "distillation": {"teachers": "one,two", "raw": "raw.jsonl"},
        },
    }
    assert paths == before


def test_a_model_appears_checked_and_sealed(call, tmp_path, run, graphs, ready):
    ready(graphs, load_network(run))
    write_sentences("dev.jsonl", SENTENCES)
    code, out, err = call(str(run), "--out", "made/model", "--check", "dev.jsonl")
    assert (code, out) == (0, "")
    assert re.fullmatch(
        r"made/model: 0\.\d MB; same labels as torch for 20 predicates, scores differ by \S+ at most\n", err
    )
    check_same_labels(run, tmp_path / "made/model")
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == ["model"]
    graph = tmp_path / "made/model/arguments.onnx"
    graph.write_bytes(graph.read_bytes()[:-1] + b"\0")
    with pytest.raises(ModelError, match="damaged or changed"):
        load(tmp_path / "made/model")


def test_an_existing_directory_is_not_overwritten(call, tmp_path, run):
    (tmp_path / "model").mkdir()
    message = "spansrl: error: model: exists already; choose another --out, or remove it first\n"
    assert call(str(run), "--out", "model") == (1, "", message)
    assert list((tmp_path / "model").iterdir()) == []


def test_a_model_that_differs_does_not_appear(call, tmp_path, run, graphs, ready):
    ready(graphs, make_network(seed=2, **HEADS["span-once"]))
    code, out, err = call(str(run), "--out", "model")
    assert (code, out) == (1, "")
    assert "not exported, because ONNX Runtime differs from torch: scores by " in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "head"), FAMILIES)
def test_every_model_family_labels_as_with_torch(call, tmp_path, kind, head):
    if kind == "vectors":
        words = sorted({token.lower() for sent in SENTENCES for token in sent.tokens})
        numbers = np.random.default_rng(0).normal(size=(len(words), 6)).round(3)
        rows = (" ".join([word, *map(str, row)]) for word, row in zip(words, numbers.tolist(), strict=True))
        (tmp_path / "vectors.txt").write_text("\n".join(rows) + "\n", encoding="utf-8")
        embedder = {"kind": "vectors", "path": str(tmp_path / "vectors.txt")}
    elif kind in ("frozen", "tuned"):
        pooling = "first" if kind == "tuned" else "mean"
        bert = make_bert(tmp_path / "bert")
        embedder = {"kind": "transformer", "path": str(bert), "finetune": kind == "tuned", "pooling": pooling}
    else:
        embedder = {"kind": "words"}
    save(network_over(embedder, HEADS[head]), tmp_path / "run")
    code, _, err = call("run", "--out", "exported")
    assert code == 0, err
    shutil.rmtree(tmp_path / "bert", ignore_errors=True)
    check_same_labels(tmp_path / "run", tmp_path / "exported")
    if head == "text":
        check_same_predicates(tmp_path / "run", tmp_path / "exported")


def check_same_predicates(torch_model, exported) -> None:
    bare = [Sentence(sent.tokens) for sent in SENTENCES]
    ours, theirs = (list(load(path).label(bare)) for path in (torch_model, exported))
    assert [[(p.pred, p.type) for p in sent.props] for sent in theirs] == [
        [(p.pred, p.type) for p in sent.props] for sent in ours
    ]


@pytest.mark.slow
def test_rounded_weights_are_smaller_and_give_almost_the_same_scores(call, tmp_path, ready):
    save(make_network(encoder={"width": 64}), tmp_path / "run")
    ready(tmp_path / "graphs", export_model(tmp_path / "run", tmp_path / "graphs"))
    sizes, starts = [], []
    for precision in ("full", "half", "int8"):
        code, _, err = call("run", "--out", precision, "--weights", precision)
        assert code == 0, err
        graphs = [tmp_path / precision / name for name in ("encoder.onnx", "arguments.onnx")]
        sizes.append(sum(path.stat().st_size for path in graphs))
        starts.append(score_propositions(OnnxModel.load(tmp_path / precision), SENTENCES[:2]).start)
    full, half, int8 = sizes
    assert int8 < 0.8 * half < 0.6 * full
    np.testing.assert_allclose(starts[1], starts[0], atol=1e-2)
    np.testing.assert_allclose(starts[2], starts[0], atol=0.1)


def test_what_cannot_be_exported_is_said_in_one_line(call, tmp_path, run):
    write_sentences("bare.jsonl", [Sentence(("Hi",))])
    assert call("nowhere", "--out", "model") == (1, "", "spansrl: error: nowhere: no such model directory\n")
    assert call(str(run), "--out", "model", "--check", "bare.jsonl") == (
        1,
        "",
        "spansrl: error: bare.jsonl: no predicates in its first 500 sentences; check with other ones\n",
    )
    assert not (tmp_path / "model").exists()


def test_the_sentences_of_our_own_have_predicates_at_either_end():
    sentences = export.sample()
    assert {prop.pred for sent in sentences for prop in sent.props} >= {0, 1}
    assert all(not token.endswith("*") for sent in sentences for token in sent.tokens)
    assert len({len(sent) for sent in sentences}) > 3
