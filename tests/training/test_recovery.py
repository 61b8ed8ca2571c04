"""Fine-tuning: weights recovered from ONNX graphs, roles and senses matched by name."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from builders import SENTENCES, make_network, make_sentence
from spansrl.errors import ConfigError
from spansrl.inference.directory import ModelDirectory
from spansrl.inference.loading import shipped_model
from spansrl.inference.runtime import OnnxModel
from spansrl.structures import Argument, Proposition, Sentence, Span
from spansrl.training.config import config_from_dict
from spansrl.training.export import MAX_DIFFERENCE, compare, export_model
from spansrl.training.recovery import find_trained, load_trained, settings_of_start, start_from
from spansrl.training.runs import Splits, execute, prepare_run

OWN = [
    Sentence(
        ("we", "sold", "it"),
        (Proposition(1, (Argument("ARG0", Span(0, 1)), Argument("BUYER", Span(2, 3))), sense="sell.01"),),
        pos=("PRP", "VBD", "PRP"),
    ),
    Sentence(
        ("they", "zorked", "them"),
        (Proposition(1, (Argument("ARG1", Span(2, 3)),), sense="zork.01"),),
        pos=("PRP", "VBD", "PRP"),
    ),
]


LARGE = Path(__file__).parents[2] / "models" / "large" / "src" / "spansrl_large"


@pytest.mark.parametrize(
    "directory", [shipped_model(), pytest.param(LARGE, marks=pytest.mark.long)], ids=["small", "large"]
)
def test_a_shipped_model_recovered_from_its_graphs_gives_the_same_scores(directory):
    network = load_trained(find_trained(str(directory), "training.start"))
    found = compare(network, OnnxModel.load(directory), SENTENCES)
    assert found.scores < MAX_DIFFERENCE
    assert (found.other_labels, found.propositions) == (0, 20)


def test_training_starts_from_the_shipped_model_on_a_corpus_with_other_roles_and_senses(tmp_path):
    settings = settings_of_start({"training": {"start": "small", "epochs": 1, "batch_size": 2, "rate": 1e-5}})
    config = config_from_dict(settings)
    assert config.tasks.any
    run = prepare_run(config, Splits(OWN, OWN, {}))
    source = load_trained(find_trained("small", "training.start"))
    for role in ("ARG0", "ARG1"):
        ours, theirs = (net.output.roles[net.roles.index[role]] for net in (run.model, source))
        torch.testing.assert_close(ours, theirs)
    sense = run.model.senses.index["sell.01"], source.senses.index["sell.01"]
    torch.testing.assert_close(
        run.model.tasks.sense[3].weight[sense[0]], source.tasks.sense[3].weight[sense[1]]
    )
    told = "\n".join(run.notes)
    assert "BUYER" in told
    assert "zork.01" in told
    list(execute(run, tmp_path / "run"))
    again = ModelDirectory.read(tmp_path / "run")
    assert "BUYER" in again.roles


@pytest.mark.parametrize("kind", ["span", "segmental", "label", "crf", "softmax"])
def test_rows_of_known_roles_are_copied_whatever_the_output(kind):
    old = make_network(output={"kind": kind}, seed=1)
    fewer = [make_sentence("She said so", (1, ("A1", 2, 3), ("A9", 0, 1), ("A0", 0, 1)))]
    new = make_network([*fewer, *SENTENCES[:1]], output={"kind": kind}, seed=2, embedder={"width": 12})
    source = {name: tensor for name, tensor in old.state_dict().items() if not name.startswith("embedder")}
    before = {name: tensor.clone() for name, tensor in new.state_dict().items()}
    old.embedder, new.embedder = torch.nn.Identity(), torch.nn.Identity()
    start_from(new, old, "old")
    state = new.state_dict()
    for name, kinds in new.output.row_axes.items():
        key = f"output.{name}"
        for role in ("A0", "A1", "A9"):
            scale, offset = (1, [0]) if kinds[0] == "role" else (2, [1, 2])
            for shift in offset:
                here = scale * new.roles.index[role] + shift
                if role == "A9":
                    torch.testing.assert_close(state[key][here], before[key][here])
                elif len(kinds) == 1:
                    torch.testing.assert_close(
                        state[key][here], source[key][scale * old.roles.index[role] + shift]
                    )
    if kind == "crf":
        here, there = (2 * net.roles.index["A0"] + 1 for net in (new, old))
        to_here, to_there = (2 * net.roles.index["A1"] + 2 for net in (new, old))
        assert state["output.transitions"][here, to_here] == source["output.transitions"][there, to_there]
    torch.testing.assert_close(state["encoder.mark.marks.weight"], source["encoder.mark.marks.weight"])


def test_a_word_model_starts_from_its_exported_directory(tmp_path):
    text = {
        "embedder": {"width": 6, "min_count": 1},
        "encoder": {"kind": "none", "predicate": "after", "width": 8},
        "training": {"epochs": 1, "batch_size": 4},
    }
    splits = Splits(SENTENCES, SENTENCES, {})
    list(execute(prepare_run(config_from_dict(text), splits), tmp_path / "one"))
    export_model(tmp_path / "one", tmp_path / "exported")
    starts = [str(tmp_path / name) for name in ("one", "exported")]
    runs = [
        prepare_run(config_from_dict(settings_of_start({"training": {"start": start}})), splits)
        for start in starts
    ]
    for name, tensor in runs[0].model.state_dict().items():
        torch.testing.assert_close(runs[1].model.state_dict()[name], tensor)


def test_a_start_that_does_not_exist_or_does_not_fit_is_one_clear_line(tmp_path):
    with pytest.raises(ConfigError, match="no model"):
        find_trained("tiny-model", "training.start")
    with pytest.raises(ConfigError, match="has shape"):
        start_from(make_network(encoder={"width": 8}), make_network(), "old")
