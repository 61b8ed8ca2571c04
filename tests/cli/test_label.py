"""`spansrl label` and `spansrl ensemble`: from model directories to labelled files."""

from __future__ import annotations

import json
import sys

import pytest

from builders import SENTENCES, make_network
from spansrl.checkpoint import save_description, save_weights
from spansrl.cli import main
from spansrl.formats import read_sentences, write_sentences
from spansrl.labeler import Labeler
from spansrl.model.network import TorchScorer


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    """Run a command in a directory that holds in.jsonl and the models one and two."""
    monkeypatch.chdir(tmp_path)
    write_sentences("in.jsonl", SENTENCES)
    for seed, name in ((1, "one"), (2, "two")):
        network = make_network(seed=seed)
        save_description(tmp_path / name, network, {})
        save_weights(tmp_path / name, network, epoch=0)

    def run(*args):
        monkeypatch.setattr(sys, "argv", ["spansrl", *args])
        with pytest.raises(SystemExit) as stopped:
            main()
        return stopped.value.code or 0, *capsys.readouterr()

    return run


def test_the_output_is_the_labelers_in_order(call, tmp_path):
    assert call("label", "--model", "one", "--threads", "1", "in.jsonl", "-o", "out.jsonl") == (0, "", "")
    expected = list(Labeler(TorchScorer(make_network(seed=1))).label(SENTENCES))
    found = list(read_sentences(tmp_path / "out.jsonl"))
    assert [sent.tokens for sent in found] == [sent.tokens for sent in SENTENCES]
    for mine, theirs in zip(found, expected, strict=True):
        spans = [[(arg.role, arg.span) for arg in prop.args] for prop in mine.props]
        assert spans == [[(arg.role, arg.span) for arg in prop.args] for prop in theirs.props]


def test_json_lines_go_to_standard_output(call):
    code, out, err = call("label", "--model", "one", "in.jsonl")
    lines = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert [len(line["tokens"]) for line in lines] == [len(sent) for sent in SENTENCES]


def test_what_a_format_cannot_hold_is_said_in_one_line(call, tmp_path):
    code, _, err = call("label", "--model", "one", "in.jsonl", "--output", "conll05-props", "-o", "out.props")
    assert code == 0
    assert err.startswith("spansrl: ")
    assert err.count("\n") == 1
    assert len(list(read_sentences(tmp_path / "out.props"))) == len(SENTENCES)


def test_a_product_is_made_once_and_labels(call):
    assert call("ensemble", "product", "one", "two", "--out", "both") == (0, "", "")
    assert call("label", "--model", "both", "in.jsonl", "-o", "out.jsonl")[0] == 0
    assert call("ensemble", "product", "one", "two", "--out", "both") == (
        1,
        "",
        "spansrl: error: both: holds a model already; choose another --out\n",
    )


def test_a_mixture_is_trained_and_finished_once(call, tmp_path):
    (tmp_path / "data").mkdir()
    for split in ("train", "dev"):
        write_sentences(f"data/{split}.jsonl", SENTENCES)
    command = ["ensemble", "mixture", "one", "two", "--data", "data", "--out", "moe", "--cache", "cache"]
    code, _, err = call(*command, "--set", "training.epochs=2", "--threads", "1")
    assert code == 0
    assert "epoch 2" in err
    assert call("label", "--model", "moe", "in.jsonl", "-o", "out.jsonl")[0] == 0
    code, _, err = call(*command, "--set", "training.epochs=2", "--resume")
    assert (code, err) == (0, "moe: this run is finished; nothing to do\n")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--model", "nowhere", "in.jsonl"], "nowhere: no such model directory"),
        (["--model", "one", "missing.jsonl"], "missing.jsonl: cannot be read: No such file or directory"),
        (["--model", "one", "--device", "nonsense", "in.jsonl"], "--device nonsense: not usable here"),
    ],
)
def test_errors_are_one_line(call, args, message):
    code, out, err = call("label", *args)
    assert (code, out) == (1, "")
    assert err.startswith(f"spansrl: error: {message}")
    assert err.count("\n") == 1


def test_precomputed_vectors_need_a_model_over_elmo(call, tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "vectors.hdf5", "w") as file:
        for k, sent in enumerate(SENTENCES):
            file.create_dataset(str(k), data=[[[0.0, 1.0]] * len(sent)])
    code, _, err = call("label", "--model", "one", "--precomputed", "vectors.hdf5", "in.jsonl")
    assert code == 1
    assert "precomputed vectors are for models over ELMo" in err
