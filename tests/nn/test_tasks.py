"""Predicates and senses: labels by hand, the loss against plain loops, and a toy model that learns."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from builders import SENTENCES, make_prop, tagged
from spansrl.inference.lexicon import learn_lexicon
from spansrl.inference.pipeline import Pipeline
from spansrl.inventory.particles import are_near
from spansrl.language.english.lemmas import predicate_type
from spansrl.nn.network import TorchModel
from spansrl.nn.tasks import IGNORED, TaskGold, TaskHeads, TaskLabels
from spansrl.structures import Sentence
from spansrl.training.checkpoint import load_network
from toy_text_model import SENSES, TOYS, inputs_of, make_text_network, save, train

ALL = np.arange(len(TOYS))
CLITICS = (
    tagged("It/PRP/it 's/VBZ/be fine/JJ/fine", make_prop(1, sense="be.01")),
    tagged("It/PRP/it ’s/VBZ/be here/RB/here", make_prop(1, sense="be.02")),
    tagged("It/PRP/it ’s/VBZ/be raining/VBG/rain", make_prop(1, sense="be.03")),
)


def classes(gold: TaskGold) -> list[list[int]]:
    """The class of every token; IGNORED where there is none."""
    return torch.where(gold.types.sum(-1) > 0, gold.types.argmax(-1), IGNORED).tolist()


def chosen(gold: TaskGold) -> list[int]:
    """The index of every gold sense among its candidates; IGNORED where there is none."""
    return [row.index(1) if 1 in row else IGNORED for row in gold.sense.tolist()]


def labels() -> TaskLabels:
    return TaskLabels.of(TOYS, learn_lexicon(TOYS))


def names(ids, senses=SENSES) -> list[str]:
    return [senses[k] for k in ids if k >= 0]


def test_tokens_have_the_class_of_their_predicates_type_or_none():
    gold = labels().take(ALL, np.arange(7))
    assert classes(gold) == [
        [0, 1, 0, 0, 0],
        [0, 1, 0, 0, 0],
        [0, 4, 1, 0, 0],  # is: an auxiliary by its sense
        [0, 3, 2, 1, IGNORED],
        [0, 0, IGNORED, IGNORED, IGNORED],
    ]


def test_an_unknown_type_is_read_from_the_part_of_speech():
    sent = tagged("It/PRP/it is/VBZ/be here/RB/here", make_prop(1, sense="be.02", type="copula"))
    gold = TaskLabels.of([sent], learn_lexicon([sent]), [Sentence(sent.tokens, sent.props)])
    assert gold.types.padded(np.arange(2)).tolist() == [[0, 1, 0], [IGNORED] * 3]


def test_a_partial_sentence_has_senses_and_says_nothing_about_which_tokens_are_predicates():
    partial = [
        Sentence(("He", "called", "it", "keeping"), (make_prop(1, sense="call.02", type="verb"),)),
        Sentence(("A", "call"), (make_prop(1, sense="call.03"),)),  # of unknown type
    ]
    found = TaskLabels.of(TOYS, learn_lexicon(TOYS), partial)
    gold = found.take(np.array([len(TOYS), len(TOYS) + 1]), np.array([7, 8]))
    assert classes(gold) == [[IGNORED] * 4] * 2
    assert [names(row) for row in gold.candidates.tolist()] == [
        ["call.02", "call_off.06", "call.03"],
        ["call.03", "call.02", "call_off.06"],
    ]
    assert chosen(gold) == [0, 0]
    assert classes(found.take(ALL, np.arange(7))) == classes(labels().take(ALL, np.arange(7)))


def test_candidates_are_the_senses_of_the_form_and_of_the_lemma():
    gold = labels().take(ALL, np.arange(7))
    called, called_again, is_, keeping, good, call, helps = gold.candidates.tolist()
    assert names(called) == names(called_again) == ["call.02", "call_off.06", "call.03"]
    assert names(call) == ["call.03", "call.02", "call_off.06"]
    assert [names(row) for row in (is_, keeping, good, helps)] == [
        ["be.03"],
        ["keep.01"],
        ["good.02"],
        ["help.01"],
    ]
    # Where there is nothing to choose, there is nothing to learn.
    assert chosen(gold) == [1, 0, IGNORED, IGNORED, IGNORED, 0, IGNORED]


def test_what_labeling_chooses_is_a_candidate_of_training_whatever_the_model_predicts():
    sentences = (*TOYS, *CLITICS)
    inventory = learn_lexicon(sentences)
    props = [(sent, prop) for sent in sentences for prop in sent.props]
    offered = TaskLabels.of(sentences, inventory).candidates.tolist()
    for (sent, prop), row in zip(props, offered, strict=True):
        type = predicate_type(sent, prop)
        chosen = {
            inventory.choose(sent.tokens, prop.pred, type, logits)[0] for logits in 9 * np.eye(len(inventory))
        }
        fitting = {sense for sense in names(row, inventory.senses) if are_near(sense, sent.tokens, prop.pred)}
        assert chosen == fitting


def test_auxiliaries_have_candidates_of_their_own_and_apostrophes_are_all_alike():
    inventory = learn_lexicon(CLITICS)
    found = TaskLabels.of(CLITICS, inventory)
    assert [names(row, inventory.senses) for row in found.candidates.tolist()] == [
        ["be.01", "be.02"],
        ["be.01", "be.02"],
        ["be.03"],
    ]
    assert found.sense.tolist() == [0, 1, IGNORED]


def test_senses_that_the_inventory_does_not_have_are_not_learned():
    some = TaskLabels.of(TOYS, learn_lexicon((TOYS[0], *TOYS[2:])))  # without call.02
    assert some.sense.tolist() == [0, IGNORED, IGNORED, IGNORED, IGNORED, 0, IGNORED]


def test_a_sense_that_the_type_of_its_predicate_rules_out_is_not_learned():
    odd = tagged("It/PRP/it 's/VBZ/be raining/VBG/rain", make_prop(1, sense="be.03", type="verb"))
    assert TaskLabels.of([odd], learn_lexicon(CLITICS)).sense.tolist() == [IGNORED]


@torch.no_grad()
def plain_loss(heads: TaskHeads, x, sentence, pred, gold: TaskGold) -> float:
    """−log P of every token's class and of every ambiguous predicate's sense, one by one."""
    total = 0.0
    for s, row in enumerate(classes(gold)):
        for t, wanted in enumerate(row):
            if wanted != IGNORED:
                total -= math.log(torch.softmax(heads.predicate(x[s, t]), 0)[wanted])
    for n, wanted in enumerate(chosen(gold)):
        if wanted != IGNORED:
            own = [k for k in gold.candidates[n].tolist() if k >= 0]
            logits = heads.sense(x[sentence[n], pred[n]])[own]
            total -= math.log(torch.softmax(logits, 0)[wanted])
    return total


@pytest.mark.parametrize("rows", [[0], [0, 1, 2, 3, 4], [2, 4], [4], [3, 0]])
def test_the_loss_is_the_negative_log_likelihood_of_what_is_gold(rows):
    network = make_text_network().double()
    batch, _ = inputs_of(network, np.array(rows))
    torch.manual_seed(5)
    x = torch.randn(len(rows), int(batch.sentence_lengths.max()), network.embedder.width, dtype=torch.float64)
    found = network.tasks.loss(x, batch.sentence, batch.pred, batch.tasks)
    assert found.item() == pytest.approx(
        plain_loss(network.tasks, x, batch.sentence, batch.pred, batch.tasks)
    )


def test_the_loss_of_a_corpus_without_senses_is_that_of_its_predicates():
    network = make_text_network().double()
    gold = TaskLabels.of(SENTENCES[:1], learn_lexicon(TOYS)).take(np.array([0]), np.array([0]))
    assert gold.candidates.shape == (1, 0)
    x = torch.randn(1, 5, network.embedder.width, dtype=torch.float64)
    zero, two = torch.tensor([0]), torch.tensor([2])
    loss = network.tasks.loss(x, zero, two, gold)
    assert loss.item() == pytest.approx(plain_loss(network.tasks, x, zero, two, gold))


def test_padding_does_not_change_the_loss():
    network = make_text_network().double()
    alone = sum(
        network.tasks.loss(network.embedder(inputs), batch.sentence, batch.pred, batch.tasks).item()
        for batch, inputs in (inputs_of(network, np.array([row])) for row in ALL)
    )
    batch, inputs = inputs_of(network, ALL)
    together = network.tasks.loss(network.embedder(inputs), batch.sentence, batch.pred, batch.tasks)
    assert together.item() == pytest.approx(alone)


def test_every_parameter_gets_a_gradient():
    network = make_text_network()
    network.loss(*inputs_of(network, ALL)).backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.abs().sum() > 0, name


def test_sentences_without_predicates_teach_that_there_are_none():
    network = make_text_network()
    losses = train(network, np.array([4]), 20)
    assert 0 < losses[-1] < losses[0]


def test_a_toy_model_learns_all_of_it_and_is_the_same_after_saving(tmp_path):
    network = make_text_network()
    losses = train(network, ALL, 150)
    # Without context, the two senses of "called" are even chances for two of seven propositions.
    assert losses[-1] < 2 * math.log(2) / 7 + 0.02 < losses[0]
    bare = [Sentence(sent.tokens) for sent in TOYS]
    found = list(Pipeline(TorchModel(network)).label(bare))
    assert [[prop.pred for prop in sent.props] for sent in found] == [[1], [1], [1, 2], [1, 2, 3], []]
    assert [[p.type for p in sent.props] for sent in found][2:4] == [
        ["auxiliary", "verb"],
        ["adjective", "noun", "verb"],
    ]
    for sent, gold in zip(found, TOYS, strict=True):
        for prop, expected in zip(sent.props, gold.props, strict=True):
            assert [(arg.role, arg.span) for arg in prop.args] == [
                (arg.role, arg.span) for arg in expected.args
            ]
    loaded = load_network(save(network, tmp_path))
    assert list(Pipeline(TorchModel(loaded)).label(bare)) == found
