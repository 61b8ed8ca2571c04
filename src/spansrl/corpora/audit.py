"""What a corpus builder found and what it lost, counted while the sentences pass by.

An `Audit` counts sentences split by split, collects what was dropped and why, and finds identical sentences that
stand in more than one split. `write_corpus` writes the splits and the audit, all or nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from spansrl.structures import Json, Proposition, Sentence

KINDS = ("verb", "auxiliary", "noun", "adjective", "other")
AUXILIARIES = frozenset({"be.03", "have.01", "do.01"})
_KIND_OF_TAG = {"V": "verb", "N": "noun", "J": "adjective"}


class Loss(NamedTuple):
    """One thing that a builder left out: what it was, where it stood, and why it could not be kept."""

    what: str
    where: str
    reason: str


@dataclass(slots=True)
class SplitCounts:
    """The figures of one split; they add up."""

    documents: set[str] = field(default_factory=set)
    sentences: int = 0
    tokens: int = 0
    arguments: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    roles: Counter[str] = field(default_factory=Counter)

    def add(self, sent: Sentence) -> None:
        """Count one more sentence."""
        self.sentences += 1
        self.tokens += len(sent)
        if "doc" in sent.extra:
            self.documents.add(sent.extra["doc"])
        for prop in sent.props:
            self.kinds[kind_of(prop, sent)] += 1
            self.arguments += len(prop.args)
            self.roles.update(arg.role for arg in prop.args)

    @property
    def propositions(self) -> int:
        """How many predicates there are, of whatever kind."""
        return self.kinds.total()

    def to_dict(self) -> Json:
        """The figures as audit.json has them."""
        return {
            "documents": len(self.documents),
            "sentences": self.sentences,
            "tokens": self.tokens,
            "propositions": self.propositions,
            "propositions_by_kind": {kind: self.kinds[kind] for kind in KINDS},
            "arguments": self.arguments,
            "roles": dict(sorted(self.roles.items())),
        }


def kind_of(prop: Proposition, sent: Sentence) -> str:
    """The predicate's part of speech, in words; auxiliaries are known by their rolesets."""
    if prop.sense in AUXILIARIES:
        return "auxiliary"
    return "verb" if sent.pos is None else _KIND_OF_TAG.get(sent.pos[prop.pred][:1], "other")


class Audit:
    """The account of one corpus, filled while it is being built."""

    def __init__(self, corpus: str, splits: Iterable[str]) -> None:
        self.corpus = corpus
        self.sources: dict[str, Json] = {}
        self.splits = {split: SplitCounts() for split in splits}
        self.dropped: list[Loss] = []
        self.repaired: list[Loss] = []
        self._places: dict[bytes, list[tuple[str, str]]] = {}

    def passing(self, split: str, sents: Iterable[Sentence]) -> Iterator[Sentence]:
        """The same sentences, counted on their way."""
        counts = self.splits[split]
        for sent in sents:
            counts.add(sent)
            # A digest, so that a large corpus is not held in memory.
            digest = hashlib.blake2b("\0".join(sent.tokens).encode(), digest_size=12).digest()
            self._places.setdefault(digest, []).append((split, sent.id or ""))
            yield sent

    def drop(self, what: str, where: str, reason: str) -> None:
        """Note something that is not in the corpus although the source has it."""
        self.dropped.append(Loss(what, where, reason))

    def repair(self, what: str, where: str, reason: str) -> None:
        """Note something that was kept, but not just as the source has it."""
        self.repaired.append(Loss(what, where, reason))

    def duplicate_groups(self) -> list[list[str]]:
        """Ids of identical sentences that stand in more than one split, a list a group, as ``split:id``."""
        return [
            [f"{split}:{name}" for split, name in places]
            for places in self._places.values()
            if len({split for split, _ in places}) > 1
        ]

    def to_dict(self) -> Json:
        """The whole account as audit.json has it."""
        groups = self.duplicate_groups()
        inside = Counter(place.partition(":")[0] for group in groups for place in group)
        return {
            "corpus": self.corpus,
            "sources": self.sources,
            "splits": {split: counts.to_dict() for split, counts in self.splits.items()},
            "dropped": _listed(self.dropped),
            "repaired": _listed(self.repaired),
            "duplicates_across_splits": {
                "groups": len(groups),
                "sentences": {split: inside[split] for split in self.splits},
                "ids": groups,
            },
        }


def by_reason(losses: Iterable[Loss]) -> Counter[tuple[str, str]]:
    """How often each kind of thing was lost for each reason."""
    return Counter((loss.what, loss.reason) for loss in losses)


def _listed(losses: list[Loss]) -> Json:
    """Losses grouped by kind and reason, each group with the places it happened at."""
    places: dict[tuple[str, str], list[str]] = {}
    for loss in losses:
        places.setdefault((loss.what, loss.reason), []).append(loss.where)
    return {
        "total": len(losses),
        "groups": [
            {"what": what, "reason": reason, "count": len(where), "where": where}
            for (what, reason), where in places.items()
        ],
    }


def write_corpus(folder: Path, splits: Mapping[str, Iterable[Sentence]], audit: Audit) -> None:
    """Write ``SPLIT.jsonl`` for every split and ``audit.json``; on an error no file is left or changed."""
    folder.mkdir(parents=True, exist_ok=True)
    waiting: dict[Path, Path] = {}
    try:
        for split, sents in splits.items():
            final = folder / f"{split}.jsonl"
            waiting[final] = _temporary(final)
            with waiting[final].open("w", encoding="utf-8", newline="\n") as out:
                for sent in audit.passing(split, sents):
                    out.write(_line(sent.to_dict()))
        final = folder / "audit.json"
        waiting[final] = _temporary(final)
        text = json.dumps(audit.to_dict(), ensure_ascii=False, indent=1)
        waiting[final].write_text(text + "\n", encoding="utf-8", newline="\n")
    except BaseException:
        for temporary in waiting.values():
            temporary.unlink(missing_ok=True)
        raise
    for final, temporary in waiting.items():
        temporary.replace(final)


def _temporary(final: Path) -> Path:
    return final.with_name(f".{final.name}.part")


def _line(data: Mapping[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False) + "\n"
