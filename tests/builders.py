"""Small sentences, settings and networks, made by hand; imports torch only to build a network."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from spansrl.inference.config import OutputConfig
from spansrl.inference.pipeline import Pipeline
from spansrl.inventory import PROPBANK, RoleTable, roles_in
from spansrl.structures import Argument, Proposition, Sentence, Span

if TYPE_CHECKING:
    from spansrl.nn.network import Network
    from spansrl.training.run_config import Config


def role_table(names) -> RoleTable:
    """The roles of all propositions, PropBank's."""
    return RoleTable(list(map(PROPBANK.role, names)))


def make_prop(pred: int, *args: tuple[str, int, int], **more) -> Proposition:
    """A proposition with arguments as (role, start, end), half-open."""
    return Proposition(pred, tuple(Argument(role, Span(start, end)) for role, start, end in args), **more)


def make_sentence(text: str, *props: tuple) -> Sentence:
    """A sentence of blank-separated tokens; a proposition is (pred, (role, start, end), …)."""
    return Sentence(tuple(text.split()), tuple(make_prop(*prop) for prop in props))


def tagged(text: str, *props) -> Sentence:
    """A sentence of word/TAG/lemma; propositions by make_prop."""
    words, tags, lemmas = zip(*(item.split("/") for item in text.split()), strict=True)
    return Sentence(words, props, pos=tags, lemmas=lemmas)


SENTENCES = (
    make_sentence("The cat chased a mouse", (2, ("A0", 0, 2), ("A1", 3, 5))),
    make_sentence(
        "She said that he left the house yesterday",
        (1, ("A0", 0, 1), ("A1", 2, 8)),
        (4, ("A0", 3, 4), ("A1", 5, 7), ("AM-TMP", 7, 8)),
    ),
    make_sentence("Go"),
    make_sentence("Stop", (0,)),
    make_sentence("Run home now", (0, ("A4", 1, 2), ("AM-TMP", 2, 3))),
    make_sentence("What he wanted vanished", (2, ("A1", 0, 1), ("A0", 1, 2)), (3, ("A1", 0, 3))),
    make_sentence(
        "Yesterday she gave him a book in June",
        (2, ("AM-TMP", 0, 1), ("A0", 1, 2), ("A2", 3, 4), ("A1", 4, 6), ("AM-TMP", 6, 8)),
    ),
    make_sentence(
        "He tried to open the door and failed",
        (1, ("A0", 0, 1), ("A1", 2, 6)),
        (3, ("A0", 0, 1), ("A1", 4, 6)),
        (7, ("A0", 0, 1)),
    ),
    make_sentence("It rained", (1,)),
    make_sentence(
        "The house that Jack built fell quickly",
        (4, ("A1", 0, 2), ("R-A1", 2, 3), ("A0", 3, 4)),
        (5, ("A1", 0, 5), ("AM-MNR", 6, 7)),
    ),
    make_sentence("In June a mouse ate the book", (4, ("AM-TMP", 0, 2), ("A0", 2, 4), ("A1", 5, 7))),
    make_sentence("The door opened", (2, ("A1", 0, 2))),
    make_sentence("Quickly , Jack opened the door", (3, ("AM-MNR", 0, 1), ("A0", 2, 3), ("A1", 4, 6))),
    make_sentence(
        "He left and she stayed home",
        (1, ("A0", 0, 1)),
        (4, ("A1", 3, 4), ("A3", 5, 6)),
    ),
    make_sentence("Give Jack a book", (0, ("A2", 1, 2), ("A1", 2, 4))),
)
"""Twenty propositions: predicates at either end, one token only, no arguments, one role twice, relatives."""


def make_config(**sections: dict) -> Config:
    """Small widths and no dropout, but for what is given."""
    from spansrl.training.run_config import config_from_dict

    raw = {
        "embedder": {"width": 12, "min_count": 1},
        "encoder": {"layers": 2, "width": 16, "mark_width": 4, "dropout": 0.0, "max_distance": 4},
    }
    for name, values in sections.items():
        raw[name] = raw.get(name, {}) | values
    return config_from_dict(raw)


def make_network(sentences=SENTENCES, *, seed: int = 1, **sections: dict) -> Network:
    """A network for the sentences, in eval mode."""
    import torch

    from spansrl.nn.embedders import build_embedder
    from spansrl.nn.network import Network

    torch.manual_seed(seed)
    config = make_config(**sections)
    embedder = build_embedder(config.embedder, [sent.tokens for sent in sentences])
    return Network(config, roles_in(sentences), embedder).eval()


def label_given(model, sentences=SENTENCES, **settings) -> list[Sentence]:
    """Sentences with the arguments that a network or model finds for their predicates."""
    from spansrl.nn.network import Network, TorchModel

    model = TorchModel(model) if isinstance(model, Network) else model
    pipeline = replace(Pipeline.plain(model, OutputConfig()), **settings)
    return list(pipeline.label(sentences, predicates="given"))


NETWORKS = {
    f"{output}-{encoder}-{predicate}": {
        "output": {"kind": output},
        "encoder": {"kind": encoder, "predicate": predicate},
    }
    for output in ("span", "crf")
    for encoder, predicate in (("bilstm", "input"), ("bilstm", "after"), ("none", "after"))
}
"""Every way of putting a network together, as sections of its config."""
