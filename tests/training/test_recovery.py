"""Fine-tuning: weights recovered from ONNX graphs, roles and senses matched by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from builders import SENTENCES, make_network, make_sentence
from spansrl.errors import ConfigError
from spansrl.inference.loading import load, shipped_model
from spansrl.inference.model import encode_all
from spansrl.inference.runtime import OnnxModel
from spansrl.nn.network import TorchModel
from spansrl.structures import Argument, Proposition, Sentence, Span
from spansrl.training.export import MAX_DIFFERENCE, compare, export_model
from spansrl.training.recovery import find_trained, load_trained, settings_of_start, start_from
from spansrl.training.run_config import config_from_dict
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


def with_training(config, **settings):
    return replace(config, training=replace(config.training, **settings))


LARGE = Path(__file__).parents[2] / "models" / "large" / "src" / "spansrl_large"


def test_a_shipped_model_recovered_from_its_graphs_gives_the_same_scores():
    network = load_trained(find_trained(str(LARGE), "training.start"))
    found = compare(network, OnnxModel.load(LARGE), SENTENCES)
    assert found.scores < MAX_DIFFERENCE
    assert (found.other_labels, found.propositions) == (0, 20)


def test_a_model_with_prototypes_gives_all_but_its_senses_and_frames():
    network, onnx = load_trained(find_trained("small", "training.start")), OnnxModel.load(shipped_model())
    sentence = np.repeat(np.arange(len(SENTENCES)), [len(sent.props) for sent in SENTENCES])
    pred = np.array([prop.pred for sent in SENTENCES for prop in sent.props])
    nothing = [None] * len(pred)  # without a sense, the frame adds nothing
    ours, theirs = (
        model.score_arguments(encode_all(model, [sent.tokens for sent in SENTENCES]), sentence, pred, nothing)
        for model in (TorchModel(network), onnx)
    )
    for n, length in enumerate(ours.lengths.tolist()):
        np.testing.assert_allclose(ours.start[n, :length], theirs.start[n, :length], atol=0.02)
        np.testing.assert_allclose(ours.end[n, :length], theirs.end[n, :length], atol=0.02)
    assert not network.tasks.sense[3].weight.any()


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
    assert {"ARG0", "ARGM-TMP"} < set(run.model.roles.items)
    assert {"sell.01", "zork.01", "buy.01"} < set(run.model.senses.items)
    dropped = prepare_run(with_training(config, keep_names=False), Splits(OWN[:1], OWN[:1], {}))
    assert dropped.model.roles.items == ("ARG0", "BUYER")
    assert (
        "warning: the training data has no ARG1 and ARG2: the new model cannot find them" in dropped.notes[-1]
    )


# No argument of these is an ARG0.
PATIENTS = [
    Sentence(
        ("The", "patient", "was", "admitted", "with", what, "on", day, "."),
        (
            Proposition(
                3,
                (
                    Argument("ARG1", Span(0, 2)),
                    Argument("ARGM-MNR", Span(4, 6)),
                    Argument("ARGM-TMP", Span(6, 8)),
                ),
                sense="admit.02",
            ),
        ),
        pos=("DT", "NN", "VBD", "VBN", "IN", "NN", "IN", "NNP", "."),
    )
    for what in ("pneumonia", "pain", "fever", "nausea")
    for day in ("Monday", "Friday")
]
RAW = [
    "They sold the house to a young couple last year .",
    "The committee has promised the workers a raise .",
    "My sister bought her son a bike for his birthday .",
    "We gave the children some books about animals .",
]


def test_fine_tuning_on_sentences_without_arg0_keeps_it(tmp_path):
    settings = {
        "start": "small",
        "epochs": 3,
        "batch_size": 2,
        "rate": 1e-4,
        "embedder_rate": 4e-5,
        "clip": 5.0,
    }
    config = config_from_dict(settings_of_start({"training": {**settings, "rehearse": "raw.txt"}}))
    raw = [Sentence(tuple(line.split())) for line in RAW]
    run = prepare_run(config, Splits(PATIENTS, PATIENTS, {}, raw=raw), cache=tmp_path / "cache")
    assert not any(note.startswith("warning") for note in run.notes)
    list(execute(run, tmp_path / "run"))
    text = "Ann sold the old letters to a museum."
    before, after = (
        {(arg.role, arg.span) for prop in load(model)(text).props for arg in prop.args}
        for model in ("small", str(tmp_path / "run"))
    )
    assert ("ARG0", Span(0, 1)) in after
    assert before == after


def test_sentences_without_labels_teach_nothing_of_new_roles(tmp_path):
    config = config_from_dict(
        settings_of_start({"training": {"start": "small", "batch_size": 2, "rehearse": "raw.txt"}})
    )
    raw = [Sentence(tuple(line.split())) for line in RAW]
    run = prepare_run(config, Splits(OWN, OWN, {}, raw=raw), cache=tmp_path / "cache")
    [(_, targets)] = run.examples.corpus.taught.parts
    index, n_roles = run.model.roles.index, len(run.model.roles)
    sold = targets.values[:11]  # of the first sentence's predicate, token 1
    assert sold[0, index["ARG0"]] > 0.9
    assert sold[[1, 1], [index["BUYER"], n_roles + index["BUYER"]]].tolist() == [1, 1]
    assert float(sold[:, index["BUYER"]].sum()) == 1


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
