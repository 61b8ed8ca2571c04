"""Exported models over ELMo: the numbers and labels of torch, alone and batched, without torch."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from builders import SENTENCES as PLAIN_SENTENCES
from builders import label_given, make_network
from spansrl.decoding import SpanScores
from spansrl.formats import read_sentences, write_sentences
from spansrl.inference.model import score_propositions
from spansrl.inference.runtime import OnnxModel
from spansrl.nn.network import TorchModel
from spansrl.structures import Proposition, Sentence
from spansrl.training import export
from spansrl.training.checkpoint import save_description, save_weights
from test_base_install import spansrl
from tiny_elmo import FIXTURE, make_elmo, needs_fixture

pytest.importorskip("onnxscript")
pytestmark = pytest.mark.slow  # three exports

CLOSE = {"rtol": 0, "atol": 1e-4}
HEADS = {
    "span": {"encoder": {"kind": "none", "predicate": "after"}},
    "crf": {"encoder": {"kind": "bilstm", "predicate": "input"}, "output": {"kind": "crf"}},
}
WORDS = ["Cats", "sleep", "x" * 70, "", "Ünïted", "<S>", "</S>", "\ud800", "🐈", "Cats", ".", "kept"]


def sentence(length: int) -> Sentence:
    """Words of all kinds, with a predicate at either end."""
    tokens = tuple(WORDS[(length + place) % len(WORDS)] for place in range(length))
    return Sentence(tokens, tuple(Proposition(pred) for pred in sorted({0, length - 1})))


SENTENCES = [sentence(length) for length in (7, *range(1, 21), 3)]


@dataclass(frozen=True)
class Pair:
    """The same random network on torch and on ONNX Runtime."""

    torch: TorchModel
    onnx: OnnxModel
    directory: Path


@pytest.fixture(
    scope="module", params=["tiny", pytest.param("published", marks=[needs_fixture, pytest.mark.long])]
)
def elmo(request, tmp_path_factory):
    """A directory with options.json and weights.hdf5."""
    directory = tmp_path_factory.mktemp("elmo") / "files"
    if request.param == "tiny":
        return make_elmo(directory)
    directory.mkdir()
    shutil.copyfile(FIXTURE / "options.json", directory / "options.json")
    shutil.copyfile(FIXTURE / "lm_weights.hdf5", directory / "weights.hdf5")
    return directory


@pytest.fixture(scope="module")
def elmo_once(elmo):
    """Exports ELMo itself for the first head only: its graph does not depend on the head."""
    real, ready = export.to_onnx, []

    def once(graph) -> bytes:
        if isinstance(graph.module, export.ArgumentsGraph):
            return real(graph)
        if not ready:
            ready.append(real(graph))
        return ready[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(export, "to_onnx", once)
        yield


@pytest.fixture(scope="module", params=HEADS)
def models(request, elmo, elmo_once, tmp_path_factory):
    """Exported from a model directory that holds ELMo itself."""
    root = tmp_path_factory.mktemp("model")
    network = make_network(embedder={"kind": "elmo", "path": str(elmo)}, **HEADS[request.param])
    save_description(root / "run", network, {})
    save_weights(root / "run", network, epoch=0)
    exported = export.export_model(root / "run", root / "out")
    shutil.rmtree(root / "run")
    return Pair(TorchModel(exported), OnnxModel.load(root / "out", threads=1), root / "out")


def scores_of(model, sentences) -> list[list[np.ndarray]]:
    """For each proposition the scores of its own tokens."""
    scores = score_propositions(model, sentences)
    parts = [scores.start, scores.end] if isinstance(scores, SpanScores) else [scores.emissions]
    return [[part[n, :length] for part in parts] for n, length in enumerate(scores.lengths)]


def spans(sentences) -> list:
    return [[(arg.role, arg.span) for arg in prop.args] for sent in sentences for prop in sent.props]


def test_scores_are_those_of_torch_at_every_length(models):
    ours, theirs = scores_of(models.onnx, SENTENCES), scores_of(models.torch, SENTENCES)
    assert {len(parts[0]) for parts in ours} == set(range(1, 21))
    for found, expected in zip(ours, theirs, strict=True):
        for part, right in zip(found, expected, strict=True):
            np.testing.assert_allclose(part, right, **CLOSE)


def test_a_sentence_has_the_same_scores_alone_as_in_a_batch(models):
    together = scores_of(models.onnx, SENTENCES)
    alone = [parts for sent in SENTENCES for parts in scores_of(models.onnx, [sent])]
    for found, expected in zip(together, alone, strict=True):
        for part, right in zip(found, expected, strict=True):
            np.testing.assert_allclose(part, right, rtol=0, atol=1e-5)


def test_labels_are_those_of_torch(models):
    expected = spans(label_given(models.torch, SENTENCES))
    assert any(expected)
    assert spans(label_given(models.onnx, SENTENCES)) == expected
    assert spans(label_given(models.onnx, [sent])[0] for sent in SENTENCES) == expected


def test_the_base_install_gives_them_too(models, tmp_path):
    given, found = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    write_sentences(given, PLAIN_SENTENCES)
    done = spansrl("label", "--model", models.directory, given, "--to", "jsonl", "--out", found)
    assert (done.returncode, done.stderr) == (0, "")
    assert spans(read_sentences(found)) == spans(label_given(models.torch, PLAIN_SENTENCES))


def test_the_graphs_hold_all_of_elmo_and_do_not_name_the_machine_they_were_made_on(models):
    assert not list((models.directory / "embedder").iterdir())
    content = (models.directory / "encoder.onnx").read_bytes()
    assert b"Scan" in content
    assert b".py" not in content
