"""Measure how senses are chosen without a model: the figures of docs/frames.md and of spansrl/senses.py.

    python experiments/sense_scores.py data/ewt [--frames ../shared/data/propbank-frames.tar.xz]

The directory is that of `spansrl data ewt`: train.jsonl gives the inventory, dev.jsonl and test.jsonl the
predicates, their types by gold tags. Frames are what `spansrl frames` takes, by default those in use. In
place of a model's scores, the most frequent candidate is the best. The ways to choose a sense are numbered
as in docs/frames.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from spansrl.formats import read_sentences
from spansrl.inference.lexicon import learn_lexicon
from spansrl.inventory import PROPBANK, FrameIndex, load_frames
from spansrl.inventory.install import read_frames
from spansrl.inventory.particles import multiword_spans
from spansrl.inventory.senses import SenseInventory
from spansrl.language.english.lemmas import predicate_type
from spansrl.structures import Proposition, Sentence

SPLITS = ("dev", "test")

T = TypeVar("T")
Share = tuple[int, int]  # how many, of how many
Figures = dict[tuple[str, str], Share]  # by what is counted, and what holds of it


@dataclass(frozen=True, slots=True)
class Case:
    """A gold predicate, and what is known of its sense before a model is asked."""

    sent: Sentence
    prop: Proposition
    sense: str  # the right one
    type: str | None
    lemma: str
    seen: bool  # training saw the word or its lemma
    candidates: tuple[str, ...]  # senses that it saw with them, or else with a related word
    in_frames: tuple[str, ...]
    guess: str  # the most frequent candidate, or else the first sense of the stem
    guess_with_frames: str

    @property
    def treebank_lemma(self) -> str | None:
        """The gold lemma."""
        return None if self.sent.lemmas is None else self.sent.lemmas[self.prop.pred].lower()

    @property
    def frames_alone(self) -> list[str]:
        """What frames could add to the candidates."""
        return [sense for sense in self.in_frames if sense not in self.candidates]


def cases(sentences: Iterable[Sentence], inventory: SenseInventory, frames: FrameIndex) -> Iterator[Case]:
    """The predicates of the sentences that have a sense."""
    for sent in sentences:
        for prop in sent.props:
            if prop.sense:
                yield _case(sent, prop, prop.sense, inventory, frames)


def _case(
    sent: Sentence, prop: Proposition, sense: str, inventory: SenseInventory, frames: FrameIndex
) -> Case:
    word, type = sent.tokens[prop.pred], predicate_type(sent, prop)
    lemma, ids = inventory.lemmatizer.lemma(word, type), inventory.candidates(word, type)
    logits = np.zeros(len(inventory))
    logits[list(ids[:1])] = 1
    return Case(
        sent=sent,
        prop=prop,
        sense=sense,
        type=type,
        lemma=lemma,
        seen=bool(inventory.seen(word, type)),
        candidates=tuple(inventory.senses[k] for k in ids),
        in_frames=frames.rolesets(lemma, type),
        guess=inventory.choose(sent.tokens, prop.pred, type, logits)[0],
        guess_with_frames=inventory.choose(sent.tokens, prop.pred, type, logits, frames)[0],
    )


def figures(found: Sequence[Case], frames: FrameIndex) -> Figures:
    """All that is measured of a split's predicates."""
    seen = [case for case in found if case.seen]
    unseen = [case for case in found if not case.seen]
    return _of_all(found, frames) | _of_seen(seen) | _of_unseen(unseen) | _of_spans(found, frames)


def _of_all(found: Sequence[Case], frames: FrameIndex) -> Figures:
    wanted: dict[str, Callable[[Case], bool]] = {
        "lemma equals that of Universal Dependencies": lambda c: c.lemma == c.treebank_lemma,
        "the right sense is among the candidates (1 and 3)": lambda c: c.sense in c.candidates,
        "the most frequent candidate is right": lambda c: c.sense in c.candidates[:1],
        "most frequent candidate, else 4": lambda c: c.sense == c.guess,
        "most frequent candidate, else 2 to 4, with frames": lambda c: c.sense == c.guess_with_frames,
        "the frames have the right sense": lambda c: c.sense in frames,
    }
    return {("all predicates", what): _share(found, holds) for what, holds in wanted.items()}


def _of_seen(seen: Sequence[Case]) -> Figures:
    wanted: dict[str, Callable[[Case], bool]] = {
        "the right sense is among the candidates (1)": lambda c: c.sense in c.candidates,
        "the right sense is in the frames alone": lambda c: c.sense in c.frames_alone,
        "the first sense in the frames alone is right": lambda c: c.sense in c.frames_alone[:1],
    }
    return {("word or lemma seen", what): _share(seen, holds) for what, holds in wanted.items()}


def _of_unseen(unseen: Sequence[Case]) -> Figures:
    in_frames = [case for case in unseen if case.in_frames]
    related = [case for case in unseen if case.candidates]
    out: Figures = {
        ("unseen, in the frames", "their first sense is right (2)"): _share(
            in_frames, lambda c: c.sense == c.in_frames[0]
        ),
        ("unseen, a related word seen", "the right sense is among the candidates (3)"): _share(
            related, lambda c: c.sense in c.candidates
        ),
    }
    for type in ("verb", "noun", "adjective"):
        others = [case for case in unseen if not case.candidates and case.type == type]
        row = f"unseen, no related word seen, {type}", "the first sense of the stem is right (4)"
        out[row] = _share(others, lambda c: c.sense == c.guess)
    return out


def _of_spans(found: Sequence[Case], frames: FrameIndex) -> Figures:
    core = [
        (case.sense, arg.role)
        for case in found
        for arg in case.prop.args
        if PROPBANK.role(PROPBANK.role(arg.role).base).is_core
    ]
    verbs = [(case.prop.v, multiword_spans(case.sent.tokens, case.prop.pred, case.sense)) for case in found]
    return _of_links(found, frames) | {
        ("core arguments, with R- and C-", "the frames rule them out"): _share(
            core, lambda pair: frames.rules_out(*pair)
        ),
        ("verbs with pieces by their sense", "their pieces are just these"): _share(
            [pair for pair in verbs if pair[1]], lambda pair: pair[0] == pair[1]
        ),
    }


def _of_links(found: Sequence[Case], frames: FrameIndex) -> Figures:
    """The gold senses and core arguments for which there are names in other resources."""
    out: Figures = {}
    for type in ("verb", "noun", "adjective"):
        own = [case for case in found if case.type == type]
        core = [
            (case.sense, arg.role)
            for case in own
            for arg in case.prop.args
            if PROPBANK.role(arg.role).is_core
        ]
        out |= {
            (f"{type}s", "a VerbNet class"): _share(own, lambda c: bool(frames.links(c.sense).verbnet)),
            (f"{type}s", "just one"): _share(own, lambda c: len(frames.links(c.sense).verbnet) == 1),
            (f"{type}s", "a unique FrameNet frame"): _share(
                own, lambda c: frames.links(c.sense).framenet is not None
            ),
            (f"core arguments of {type}s", "a VerbNet role"): _share(
                core, lambda pair: frames.thematic(*pair) is not None
            ),
            (f"core arguments of {type}s", "a function tag"): _share(
                core, lambda pair: frames.function(*pair) is not None
            ),
        }
    return out


def _share(items: Iterable[T], holds: Callable[[T], bool]) -> Share:
    found = [holds(item) for item in items]
    return sum(found), len(found)


def _cell(right: int, of: int) -> str:
    return f"{100 * right / of:.1f} % ({right:,} of {of:,})" if of else "none"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--frames")
    options = parser.parse_args()
    frames = load_frames() if options.frames is None else read_frames(options.frames).index
    inventory = learn_lexicon(list(read_sentences(options.data / "train.jsonl")))
    print(f"{len(inventory):,} senses in training, {len(frames):,} in the frames\n")
    columns = [
        figures(list(cases(read_sentences(options.data / f"{split}.jsonl"), inventory, frames)), frames)
        for split in SPLITS
    ]
    print(f"| of | share | {' | '.join(SPLITS)} |\n| --- | --- |{' --- |' * len(SPLITS)}")
    for of, what in columns[0]:
        print(f"| {of} | {what} | {' | '.join(_cell(*column[of, what]) for column in columns)} |")


if __name__ == "__main__":
    main()
