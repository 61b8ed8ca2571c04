"""New heads for a frozen encoder: what they learn from toys, and a user's own rolesets without torch."""

from __future__ import annotations

import copy
import json
import pickle
import shutil
from dataclasses import replace

import numpy as np
import pytest

import spansrl
from spansrl.cli import cli
from spansrl.errors import DataError, ModelError
from spansrl.inference.directory import file_hash, write_json
from spansrl.inference.model import encode_all
from spansrl.inference.prototypes import PROTOTYPES, Prototypes
from spansrl.inference.runtime import OnnxModel
from spansrl.inventory.frame_files import Roleset
from spansrl.inventory.frame_index import FrameIndex
from spansrl.training.export import export_model
from spansrl.training.heads import HeadSettings, LabeledCorpus, train_heads
from tiny_bert import make_bert
from toy_text_model import SENSES, TOYS, make_text_network, save, train

pytestmark = pytest.mark.slow  # exports
ROLESETS = [
    *(Roleset(sense, "do something", {"0": "doer", "1": "thing done"}, [("v", sense.partition(".")[0])],
              {"0": "PAG", "1": "PPT"}, {"0": "agent"}) for sense in SENSES),
]  # fmt: skip
SETTINGS = HeadSettings(width=8, role_width=4, sense_epochs=60, sense_rate=0.02, rate=0.01, frame_rate=0.05)
PARTS = [LabeledCorpus("toys", TOYS * 8, is_natural=True)]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    root = tmp_path_factory.mktemp("source")
    embedder = {"kind": "transformer", "path": str(make_bert(root / "bert")), "finetune": True}
    network = make_text_network(embedder=embedder)
    train(network, np.arange(len(TOYS)), 15)
    export_model(save(network, root / "model"), root / "out")
    return root / "out"


@pytest.fixture(scope="module")
def trained(source, tmp_path_factory):
    root = tmp_path_factory.mktemp("heads")
    train_heads(source, root / "out", root / "work", PARTS, ROLESETS, SETTINGS, provenance={"toys": True})
    return root


def hashes(directory):
    return {path.name: file_hash(path) for path in directory.rglob("*") if path.is_file()}


def test_the_encoder_stays_and_the_senses_of_the_toys_are_learned(source, trained):
    assert file_hash(trained / "out" / "encoder.onnx") == file_hash(source / "encoder.onnx")
    srl = spansrl.load(trained / "out", frames=FrameIndex.of(ROLESETS), threads=1)
    labeled = list(srl.label(TOYS, predicates="given"))
    pairs = [
        (p.sense, q.sense)
        for a, b in zip(labeled, TOYS, strict=True)
        for p, q in zip(a.props, b.props, strict=True)
    ]
    assert sum(ours == gold for ours, gold in pairs) >= len(pairs) - 1
    assert all(0 <= prop.sense_prob <= 1 for sent in labeled for prop in sent.props if prop.sense)
    assert json.loads((trained / "out" / "config.json").read_text())["provenance"]["heads"] == {"toys": True}


def test_the_same_call_continues_and_ends_with_the_same_bytes(source, trained, tmp_path):
    train_heads(
        source, tmp_path / "out", trained / "work", PARTS, ROLESETS, SETTINGS, provenance={"toys": True}
    )
    assert hashes(tmp_path / "out") == hashes(trained / "out")
    (trained / "work" / "arguments.safetensors").unlink()
    train_heads(
        source, tmp_path / "again", trained / "work", PARTS, ROLESETS, SETTINGS, provenance={"toys": True}
    )
    assert hashes(tmp_path / "again") == hashes(trained / "out")
    with pytest.raises(DataError, match="made from other sentences"):
        train_heads(
            source, tmp_path / "other", trained / "work", [replace(PARTS[0], sentences=TOYS)], ROLESETS
        )


def test_arguments_depend_on_the_sense_and_only_in_numbered_roles(trained):
    model = OnnxModel.load(trained / "out", threads=1)
    encoding = encode_all(model, [TOYS[0].tokens])
    at = np.array([0]), np.array([1])
    known, unknown = (model.score_arguments(encoding, *at, [sense]) for sense in ("call.02", None))
    changed = np.abs(known.start - unknown.start).max(axis=(0, 1)) > 1e-6
    assert {role for role, is_changed in zip(model.roles, changed, strict=True) if is_changed} == {
        "ARG0",
        "ARG1",
    }
    assert model.score_senses(encoding, *at).shape == (1, len(model.senses))


def test_scores_do_not_depend_on_the_batch(trained):
    model = OnnxModel.load(trained / "out", threads=1)
    encoding = encode_all(model, [sent.tokens for sent in TOYS])
    sentence, pred = np.array([0, 1, 2, 2]), np.array([1, 1, 1, 2])
    together = model.score_senses(encoding, sentence, pred)
    for row in range(4):
        alone = model.score_senses(encoding, sentence[[row]], pred[[row]])
        np.testing.assert_allclose(alone[0], together[row], rtol=1e-4, atol=1e-4)


FRAME = """<?xml version="1.0"?><frameset><predicate lemma="florp"><roleset id="florp.01" name="keep cats">
<aliases><alias pos="v">florp</alias></aliases>
<roles><role n="0" f="PAG" descr="keeper"><rolelinks>
<rolelink resource="VerbNet">agent</rolelink></rolelinks></role>
<role n="1" f="PPT" descr="cats"/></roles>
<example><text>She florps cats .</text><propbank><rel relloc="1">florps</rel></propbank></example>
</roleset></predicate></frameset>"""


def test_a_roleset_of_the_user_has_its_sense_and_roles_at_once(trained, tmp_path, monkeypatch):
    from click.testing import CliRunner

    monkeypatch.setenv("SPANSRL_HOME", str(tmp_path / "home"))
    (tmp_path / "frames").mkdir()
    (tmp_path / "frames" / "florp.xml").write_text(FRAME)
    assert CliRunner().invoke(cli, ["frames", str(tmp_path / "frames")]).exit_code == 0
    srl = spansrl.load(trained / "out", threads=1)
    (prop,) = next(
        iter(
            srl.label(
                [replace(TOYS[2], tokens=("She", "is", "florping", "cats", "."), props=TOYS[2].props[1:])],
                predicates="given",
            )
        )
    ).props
    assert prop.sense == "florp.01"
    assert prop.lemma == "florp"
    model = srl.model
    assert "florp.01" in model.senses
    assert "florp.01" not in model.directory.senses
    assert srl.inventory.meaning("florp.01", "ARG1") == "cats"
    assert "keep.01" in srl.inventory, "those in the package stay"
    vector = model.prototypes.roles(np.array([model.senses.index("florp.01")]))[0]
    assert np.abs(vector[:2]).min(axis=1).max() > 0
    assert not vector[2:].any()
    again = pickle.loads(pickle.dumps(copy.copy(model)))
    assert again.senses == model.senses
    np.testing.assert_array_equal(again.prototypes.vectors, model.prototypes.vectors)


@pytest.mark.parametrize("damage", ["cut", "shape", "missing", "nan", "senses", "object"])
def test_damaged_prototypes_are_refused(trained, tmp_path, damage):
    table = Prototypes.read(trained / "out" / PROTOTYPES)
    path = tmp_path / PROTOTYPES
    if damage == "cut":
        path.write_bytes((trained / "out" / PROTOTYPES).read_bytes()[:-100])
    elif damage == "missing":
        np.savez(path, vectors=table.vectors)
    elif damage == "object":
        np.savez(path, **{name: getattr(table, name) for name in table.names()} | {"bias": np.array([None])})
    else:
        changes = {
            "shape": {"bias": table.bias[1:]},
            "nan": {"shift": np.full_like(table.shift, np.nan)},
            "senses": {"role_index": table.role_index + 10**6},
        }
        replace(table, **changes[damage]).save(path)
    with pytest.raises(ModelError, match="get the model again"):
        Prototypes.read(path)


def test_other_outputs_are_refused(source, tmp_path):
    changed = tmp_path / "model"
    shutil.copytree(source, changed)
    config = json.loads((changed / "config.json").read_text())
    config["config"]["output"]["kind"] = "segmental"
    (changed / "manifest.json").unlink(missing_ok=True)
    write_json(changed / "config.json", config)
    with pytest.raises(DataError, match="new heads need"):
        train_heads(changed, tmp_path / "out", tmp_path / "work", PARTS, ROLESETS, SETTINGS)
