"""`spansrl info`: the card of a model, or what its description says."""

from __future__ import annotations

import json
from functools import partial
from importlib.metadata import EntryPoint

import pytest

from spansrl.inference.directory import FORMAT, write_json, write_manifest

CONFIG = {"encoder": {"kind": "none", "predicate": "after"}, "tasks": {"predicates": True, "senses": True}}


@pytest.fixture
def info(spansrl):
    """Run the command beside a directory `model`."""
    return partial(spansrl, "info")


@pytest.fixture
def model(tmp_path):
    directory = tmp_path / "model"
    directory.mkdir()
    description = {
        "format": FORMAT,
        "kind": "network",
        "config": CONFIG,
        "roles": ["ARG0", "ARG1"],
        "senses": [f"go.{k:02}" for k in range(1, 1501)],
        "provenance": {"data": {"train.jsonl": "ab12"}, "commit": "c0ffee", "libraries": {"torch": "2.13.0"}},
    }
    write_json(directory / "config.json", description)
    return directory


def test_a_card_is_shown_as_it_is_but_for_its_front_matter(info, model):
    (model / "README.md").write_text("---\nlicense: x\n---\n\n# A model\n\nIt labels.\n", encoding="utf-8")
    assert info("model") == (0, "# A model\n\nIt labels.\n", "")


def test_control_characters_are_made_visible(info, model):
    (model / "README.md").write_text("red \x1b[31m\n", encoding="utf-8")
    assert info("model") == (0, "red ␛[31m\n", "")


def test_a_model_without_a_card_is_described(info, model):
    size = (model / "config.json").stat().st_size / 1e6
    assert info("model") == (
        0,
        "model       model\n"
        "family      span output over word vectors of its own, one pass per sentence\n"
        "finds       predicates, senses, arguments\n"
        "roles       2: ARG0 ARG1\n"
        "senses      1,500: go.01, go.02, go.03, …\n"
        "data        train.jsonl ab12\n"
        "commit      c0ffee\n"
        f"size        {size:.1f} MB in 1 file\n"
        "manifest    none, so damage would go unnoticed\n",
        "",
    )


def test_an_ensemble_is_described(info, model):
    description = {
        "format": FORMAT,
        "kind": "product",
        "roles": ["A0"],
        "experts": ["experts/1", "experts/2"],
    }
    write_json(model / "config.json", description)
    _, out, _ = info("model")
    assert "family      product of 2 experts\nfinds       arguments of given predicates\n" in out


def test_files_are_checked_against_the_manifest(info, model):
    write_manifest(model)
    assert info("model")[1].endswith("manifest    all files match it\n")
    content = json.loads((model / "config.json").read_text(encoding="utf-8"))
    write_json(model / "config.json", content | {"roles": ["ARG0"]})
    code, out, err = info("model")
    assert (code, out) == (1, "")
    assert (
        err
        == "spansrl: error: model/config.json: damaged or changed (SHA-256 differs); get the model again\n"
    )


def test_a_directory_that_is_not_a_model_is_refused(info, tmp_path):
    assert info("./nowhere") == (1, "", "spansrl: error: nowhere: no such model directory\n")
    code, _, err = info(".")
    assert code == 1
    assert err.startswith("spansrl: error: config.json: cannot be read")


def test_installed_models_are_listed_with_their_scores_and_speed(info, model, monkeypatch):
    (model / "README.md").write_text("# Large\n\nIt labels 12.5 sentences per second.\n", encoding="utf-8")
    write_json(model / "scores.json", {"arguments": {"f1": 84.5}, "end_to_end": {"f1": 82.0}})
    entry = EntryPoint("large", "somewhere:directory", "spansrl.models")
    monkeypatch.setattr(EntryPoint, "load", lambda self: lambda: model)
    monkeypatch.setattr("spansrl.inference.loading.entry_points", lambda group: [entry])
    code, out, _ = info()
    assert code == 0
    first, small, large, *_ = out.splitlines()
    assert first == "Installed models:"
    assert small.split()[0] == "small"
    assert large.split(maxsplit=1) == [
        "large",
        "0 MB, arguments 84.50 F1, end to end 82.00 F1, 12.5 sentences per second",
    ]
    assert info("large")[1] == "# Large\n\nIt labels 12.5 sentences per second.\n"
