"""spansrl.load: a toy model on torch and exported, and everything that can be wrong with a directory."""

from __future__ import annotations

import builtins
import copy
import json
import os
import pickle
import re
import shutil
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

from fake_model import assert_same_labels, check_legal
from spansrl.errors import ConfigError, MissingExtraError, ModelError, SpansrlWarning
from spansrl.inference.calibration import Calibration, Curve
from spansrl.inference.directory import (
    ARGUMENTS_GRAPH,
    ENCODER_GRAPH,
    MANIFEST,
    write_json,
    write_manifest,
)
from spansrl.inference.lexicon import LEXICON
from spansrl.inference.loading import CALIBRATION, find_model, load, read_calibration, shipped_model
from spansrl.inference.runtime import OnnxModel, token_inputs
from spansrl.inventory import INVENTORIES, FrameIndex, KnownInventory
from spansrl.language import LANGUAGES, English
from spansrl.nn.network import TorchModel
from spansrl.structures import PREDICATE_TYPES, Proposition, Sentence
from spansrl.training.export import export_model
from toy_text_model import SENSES, TOYS, make_text_network, save, train

TEXT = "They called it off. She is keeping cats.\n\nA good call helps! Yes. Unseen words vanish, don't they?"


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    network = make_text_network()
    train(network, np.arange(len(TOYS)), 100)
    directory = save(network, tmp_path_factory.mktemp("toy") / "trained")
    write_json(directory / CALIBRATION, Calibration(arguments=Curve(0.5, 0.1)).to_dict())
    return directory


@pytest.fixture(scope="module")
def exported(trained, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("toy") / "exported"
    export_model(trained, out)
    write_manifest(out)
    return out


def test_int8_products_need_an_exported_model(trained, exported):
    assert load(exported, threads=1, precision="int8")(TEXT).props
    with pytest.raises(ConfigError, match="int8 needs an exported model; write one with `spansrl export`"):
        load(trained, precision="int8")


def test_an_exported_model_labels_text_as_torch_does(trained, exported):
    ours, theirs = load(exported, threads=1, frames=False), load(trained, threads=1, frames=False)
    assert isinstance(ours.model, OnnxModel)
    assert isinstance(theirs.model, TorchModel)
    found, expected = ours(TEXT), theirs(TEXT)
    assert_same_labels(found.sentences, expected.sentences)
    props = [prop for sent in found.sentences for prop in sent.props]
    assert {"keep.01", "be.03", "good.02"} <= {prop.sense for prop in props}
    assert all(prop.type in PREDICATE_TYPES for prop in props)
    for sent in found.sentences:
        check_legal(sent)


def test_an_exported_model_says_the_same_alone_and_batched(exported):
    srl = load(exported, threads=1, frames=False)
    sentences = [Sentence(sent.tokens) for sent in TOYS] + [Sentence(("cats",) * 40)]
    assert_same_labels(list(srl.label(sentences)), [next(srl.label([sent])) for sent in sentences])


def test_what_the_directory_holds_is_used(exported):
    srl = load(exported, frames=False)
    assert srl.senses.senses == SENSES
    assert srl.calibration.arguments == Curve(0.5, 0.1)
    assert (srl.decoder, srl.order) == ("greedy", "prob")
    assert load(exported, frames=False, decoder="exact").decoder == "exact"


def test_a_directory_without_lexicon_and_calibration_gives_neither_senses_nor_other_chances(
    exported, tmp_path
):
    bare = shutil.copytree(exported, tmp_path / "bare")
    for name in (LEXICON, CALIBRATION, MANIFEST):
        (bare / name).unlink()
    srl = load(bare, frames=False)
    assert srl.senses is None
    assert srl.calibration == Calibration()
    assert {prop.sense for sent in srl(TEXT).sentences for prop in sent.props} == {None}


def test_without_torch_an_exported_model_loads_and_a_trained_one_says_what_to_install(
    trained, exported, monkeypatch
):
    real = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.partition(".")[0] in ("torch", "transformers"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    assert load(exported, frames=False)("They called us.").sentences[0].props
    with pytest.raises(MissingExtraError, match=r"spansrl\[train\]"):
        load(trained)


def refusal(directory: Path) -> str:
    with pytest.raises(ModelError) as caught:
        load(directory, frames=False)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_directory_that_is_none_is_refused(tmp_path):
    assert refusal(tmp_path / "nowhere") == f"{tmp_path / 'nowhere'}: no such model directory"
    assert "is this a model directory?" in refusal(tmp_path)


@pytest.mark.parametrize("name", [ENCODER_GRAPH, ARGUMENTS_GRAPH, LEXICON, CALIBRATION, "config.json"])
def test_what_the_manifest_lists_must_be_there_unchanged(exported, tmp_path, name):
    copy = shutil.copytree(exported, tmp_path / "copy")
    content = bytearray((copy / name).read_bytes())
    content[len(content) // 2] ^= 1
    (copy / name).write_bytes(content)
    assert refusal(copy).startswith(f"{copy / name}: damaged or changed")
    (copy / name).unlink()
    assert refusal(copy).startswith(f"{copy / name}: is missing")


def test_without_a_manifest_a_graph_that_is_none_is_still_refused(exported, tmp_path):
    copy = shutil.copytree(exported, tmp_path / "copy")
    (copy / MANIFEST).unlink()
    (copy / ENCODER_GRAPH).write_bytes(b"no graph")
    assert refusal(copy).startswith(f"{copy / ENCODER_GRAPH}: not a graph that can be run")
    shutil.copyfile(exported / ENCODER_GRAPH, copy / ENCODER_GRAPH)
    (copy / ARGUMENTS_GRAPH).unlink()
    assert refusal(copy).startswith(f"{copy / ARGUMENTS_GRAPH}: no such graph")


def test_a_damaged_calibration_is_refused_with_its_file(tmp_path):
    (tmp_path / CALIBRATION).write_text("{}")
    with pytest.raises(ModelError, match=r"calibration\.json: calibration: damaged"):
        read_calibration(tmp_path)


@pytest.mark.parametrize("words", [{"a": 1}, ["a", 1], None])
def test_words_that_are_no_list_are_refused(exported, tmp_path, words):
    config = load(exported, frames=False).model.directory.network_config.embedder
    (tmp_path / "words.json").write_text(json.dumps(words))
    with pytest.raises(ModelError, match=r"words\.json: must be a list of words"):
        token_inputs(config, tmp_path)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"threads": 0}, "threads is 0; expected 1 or more, or None for all cores"),
        ({"threads": -1}, "threads is -1; expected 1 or more"),
        ({"threads": "2"}, "threads is '2'; expected 1 or more"),
        ({"threads": 1.5}, "threads is 1.5; expected 1 or more"),
        ({"threads": True}, "threads is True; expected 1 or more"),
        ({"decoder": "foo"}, "unknown decoder 'foo'. Choose from: greedy, argmax, exact"),
        ({"decoder": ["exact"]}, "unknown decoder ['exact']. Choose from: greedy, argmax, exact"),
        ({"frames": "frames.jsonl"}, "frames is 'frames.jsonl'; expected True, False or a FrameIndex"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_before_anything_is_loaded(tmp_path, setting, message):
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}"):
        load(tmp_path, **setting)


def test_an_exported_model_runs_on_the_cpu_only(exported):
    with pytest.raises(ConfigError, match="device is 'cuda', but exported models run on the CPU"):
        load(exported, frames=False, device="cuda")


@pytest.mark.parametrize("device", ["nonsense", "cuda:99", "meta"])
def test_a_device_that_torch_cannot_use_is_refused(trained, device):
    with pytest.raises(ConfigError, match=rf"^device {device}: not usable here \("):
        load(trained, frames=False, device=device)


def test_a_number_of_threads_may_be_numpys_own(exported):
    assert load(exported, frames=False, threads=np.int64(2)).threads == 2


def test_roles_cannot_be_ruled_out_without_frames(exported):
    with pytest.raises(ConfigError, match=r"rule_out_roles needs PropBank frames; leave out frames=False$"):
        load(exported, frames=False, rule_out_roles=True)


def test_the_shipped_model_stands_in_the_package():
    assert shipped_model().parts[-3:] == ("spansrl", "assets", "model")


def test_given_predicates_may_repeat(exported):
    sent = Sentence(TOYS[0].tokens, (Proposition(1), Proposition(0), Proposition(1)))
    (found,) = load(exported, frames=False).label([sent], predicates="given")
    assert [prop.pred for prop in found.props] == [1, 0, 1]
    assert found.props[0] == found.props[2]


def test_a_model_that_is_not_installed_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setattr("spansrl.inference.loading.entry_points", lambda group: [])
    with pytest.raises(
        ModelError, match=r"no model 'large' is installed.*pip install ./models/large"
    ) as caught:
        load("large")
    assert "\n" not in str(caught.value)
    with pytest.raises(ModelError, match="no model 'huge' is installed"):
        load("huge")


def test_an_installed_model_is_loaded_by_its_name(exported, monkeypatch):
    entry = EntryPoint("large", "somewhere:directory", "spansrl.models")
    monkeypatch.setattr(EntryPoint, "load", lambda self: lambda: str(exported))
    monkeypatch.setattr("spansrl.inference.loading.entry_points", lambda group: [entry])
    assert load("large", frames=False).model.directory.path == exported


def test_a_directory_with_the_name_of_an_installed_model_is_mentioned(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small").mkdir()
    with pytest.warns(SpansrlWarning, match=r"'small' is the installed model; write \./small for"):
        assert find_model("small") == find_model()
    assert find_model("./small") == Path("small")


def test_a_model_states_its_language_and_its_inventory(exported, tmp_path, monkeypatch):
    class Shouting(English):
        name = "shouting"

        def looks_right(self, tokens):
            return all(map(str.isupper, tokens))

    directory = shutil.copytree(exported, tmp_path / "model")
    (directory / "manifest.json").unlink(missing_ok=True)
    path = directory / "config.json"
    config = json.loads(path.read_text())
    assert (config["language"], config["inventory"]) == ("english", "propbank")
    path.write_text(json.dumps({key: config[key] for key in config if key not in ("language", "inventory")}))
    assert load(directory, frames=False).language.name == "english"
    path.write_text(json.dumps(config | {"language": "shouting"}))
    with pytest.raises(ModelError, match=r"config\.json: unknown language 'shouting'; known: english"):
        load(directory)
    for wrong in (["english"], {"a": 1}, None, 3):
        path.write_text(json.dumps(config | {"inventory": wrong}))
        with pytest.raises(ModelError, match=r"config\.json: unknown inventory .*; known: propbank"):
            load(directory)
    path.write_text(json.dumps(config | {"language": "shouting"}))
    monkeypatch.setitem(LANGUAGES, "shouting", Shouting)
    monkeypatch.setitem(INVENTORIES, "toy", KnownInventory(FrameIndex({}, {}, {}), FrameIndex.of))
    srl = load(directory, frames=False)
    with pytest.warns(SpansrlWarning, match="this text does not look like Shouting"):
        srl("They called us, and then she came.")
    path.write_text(json.dumps(config | {"inventory": "toy"}))
    assert load(directory, frames=False).inventory is INVENTORIES["toy"].bare


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda srl: pickle.loads(pickle.dumps(srl))])
def test_a_pipeline_can_be_copied_and_pickled(exported, copied):
    srl = load(exported, threads=1, frames=False)
    assert copied(srl)(TEXT) == srl(TEXT)


def tampered(exported: Path, tmp_path: Path) -> Path:
    copy = shutil.copytree(exported, tmp_path / "copy")
    (copy / MANIFEST).unlink()
    return copy


@pytest.mark.parametrize("name", ["config.json", LEXICON, CALIBRATION, MANIFEST])
@pytest.mark.parametrize("content", ["[" * 200_000, "{", "null", "1", '"x"', "[]"])
def test_json_that_is_nothing_of_ours_is_refused(exported, tmp_path, name, content):
    copy = tampered(exported, tmp_path)
    (copy / name).write_text(content)
    refusal(copy)


@pytest.mark.parametrize("name", ["config.json", LEXICON, CALIBRATION, MANIFEST, ENCODER_GRAPH])
def test_a_pipe_in_the_place_of_a_file_does_not_block(exported, tmp_path, name):
    copy = tampered(exported, tmp_path)
    (copy / name).unlink(missing_ok=True)
    os.mkfifo(copy / name)
    refusal(copy)


def test_graphs_in_each_others_place_are_refused(exported, tmp_path, capfd):
    copy = tampered(exported, tmp_path)
    shutil.copyfile(exported / ENCODER_GRAPH, copy / ARGUMENTS_GRAPH)
    assert "the graph has no output" in refusal(copy)
    assert capfd.readouterr().out == ""


def test_a_graph_that_fails_when_it_runs_is_a_model_error(exported, tmp_path, capfd):
    onnx = pytest.importorskip("onnx")
    copy = tampered(exported, tmp_path)
    proto = onnx.load(copy / ARGUMENTS_GRAPH)
    for tensor in proto.graph.initializer:
        if tensor.name.endswith("distance.weight"):
            del tensor.dims[:]
            tensor.dims.extend([1, 1])
            tensor.raw_data = tensor.raw_data[:4]
    onnx.save(proto, copy / ARGUMENTS_GRAPH)
    with pytest.raises(ModelError) as caught:
        load(copy, frames=False)(TEXT)
    assert "\n" not in str(caught.value)
    assert "EP Error" not in "".join(capfd.readouterr())
