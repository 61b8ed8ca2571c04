"""A tiny model for plain text: sentences that teach predicates, senses and arguments."""

from __future__ import annotations

from pathlib import Path

import torch

from builders import make_config, make_prop, tagged
from spansrl.inference.directory import write_json
from spansrl.inference.lexicon import LEXICON, learn_lexicon, lexicon_to_dict
from spansrl.inventory.roles import roles_in
from spansrl.nn.batch import Batch, Corpus
from spansrl.nn.embedders import build_embedder
from spansrl.nn.network import Network
from spansrl.training.checkpoint import save_description, save_weights

TOYS = (
    tagged(
        "They/PRP/they called/VBD/call it/PRP/it off/RP/off ././.",
        make_prop(1, ("ARG0", 0, 1), ("ARG1", 2, 3), sense="call_off.06", v=((1, 2), (3, 4))),
    ),
    tagged(
        "They/PRP/they called/VBD/call us/PRP/we yesterday/NN/yesterday ././.",
        make_prop(1, ("ARG0", 0, 1), ("ARG1", 2, 3), ("ARGM-TMP", 3, 4), sense="call.02"),
    ),
    tagged(
        "She/PRP/she is/VBZ/be keeping/VBG/keep cats/NNS/cat ././.",
        make_prop(1, sense="be.03"),
        make_prop(2, ("ARG0", 0, 1), ("ARG1", 3, 4), sense="keep.01"),
    ),
    tagged(
        "A/DT/a good/JJ/good call/NN/call helps/VBZ/help",
        make_prop(1, ("ARG1", 2, 3), sense="good.02"),
        make_prop(2, sense="call.03"),
        make_prop(3, ("ARG0", 0, 3), sense="help.01"),
    ),
    tagged("Yes/UH/yes ././."),
)
SENSES = tuple(sorted({prop.sense for sent in TOYS for prop in sent.props}))
TASKS = {
    "encoder": {"kind": "none", "predicate": "after", "attention_layers": 1, "attention_heads": 2},
    "tasks": {"predicates": True, "senses": True},
}


def make_text_network(seed: int = 1, **sections: dict) -> Network:
    """An untrained network with all heads, in eval mode."""
    torch.manual_seed(seed)
    config = make_config(**{**TASKS, **sections})
    embedder = build_embedder(config.embedder, [sent.tokens for sent in TOYS])
    return Network(config, roles_in(TOYS), embedder, SENSES).eval()


def inputs_of(network: Network, rows) -> tuple[Batch, object]:
    """Some of the sentences with all of their propositions."""
    corpus = Corpus.of(TOYS, network.roles, inventory=learn_lexicon(TOYS))
    batch = corpus.sentence_batch(rows)
    return batch, network.embedder.take(network.embedder.prepare(corpus.tokens), batch.rows)


def train(network: Network, rows, steps: int) -> list[float]:
    """The loss at every step."""
    batch, inputs = inputs_of(network, rows)
    optimizer = torch.optim.Adam(network.parameters(), 0.02)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = network.loss(batch, inputs)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def save(network: Network, directory: Path) -> Path:
    """A model directory with a lexicon."""
    save_description(directory, network, {})
    save_weights(directory, network, epoch=0)
    write_json(directory / LEXICON, lexicon_to_dict(learn_lexicon(TOYS)))
    return directory
