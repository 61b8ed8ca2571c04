"""What corpus builders share: sentences with their splits, an audit of them, and the files to write.

An `Audit` counts the sentences of each split, collects what was dropped and why, and finds identical
sentences in more than one split. Nothing in it depends on where the sources are stored.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from spansrl.checks import Json
from spansrl.errors import DataError
from spansrl.formats.jsonl import jsonl_lines
from spansrl.formats.text_files import open_outputs
from spansrl.language.english.lemmas import predicate_type
from spansrl.structures import PREDICATE_TYPES, Proposition, Sentence

AUDIT_FILE = "audit.json"
SHARED_WORDS = 8  # two sentences that share this many words in a row count as similar
DOCUMENT_KEY = "document"  # of Sentence.extra; the same that the CoNLL-2012 reader uses
OTHER = "other"
KINDS = (*PREDICATE_TYPES, OTHER)


class Note(NamedTuple):
    """Something that a builder left out or changed: what, where and why."""

    what: str
    where: str
    reason: str


@dataclass(slots=True)
class SplitCounts:
    documents: set[str] = field(default_factory=set)
    sentences: int = 0
    tokens: int = 0
    arguments: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    roles: Counter[str] = field(default_factory=Counter)

    def add(self, sent: Sentence) -> None:
        self.sentences += 1
        self.tokens += len(sent)
        if DOCUMENT_KEY in sent.extra:
            self.documents.add(sent.extra[DOCUMENT_KEY])
        for prop in sent.props:
            self.kinds[kind_of(prop, sent)] += 1
            self.arguments += len(prop.args)
            self.roles.update(arg.role for arg in prop.args)

    @property
    def propositions(self) -> int:
        return self.kinds.total()

    def to_dict(self) -> Json:
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
    """Return the type of the predicate; without part-of-speech tags it counts as a verb."""
    return predicate_type(sent, prop) or ("verb" if sent.pos is None else OTHER)


class Audit:
    """The audit of one corpus, filled while it is being built."""

    def __init__(self, corpus: str, splits: Iterable[str]) -> None:
        self.corpus = corpus
        self.sources: dict[str, Json] = {}
        self.splits = {split: SplitCounts() for split in splits}
        self.dropped: list[Note] = []
        self.repaired: list[Note] = []
        self.checks: dict[str, Counter[bool]] = {}
        self._by_digest: dict[bytes, list[tuple[str, str]]] = {}

    def count(self, split: str, sent: Sentence) -> None:
        self.splits[split].add(sent)
        # A digest, so that a large corpus is not held in memory.
        digest = hashlib.blake2b("\0".join(sent.tokens).encode(), digest_size=12).digest()
        self._by_digest.setdefault(digest, []).append((split, sent.id or ""))

    def drop(self, what: str, where: str, reason: str) -> None:
        """Record something in the source that is not in the corpus."""
        self.dropped.append(Note(what, where, reason))

    def drop_sentence(self, sent: Sentence, reason: str, of_props: str) -> None:
        """Record a sentence and its propositions; `of_props` is the reason for the propositions."""
        self.drop("sentence", sent.id or "?", reason)
        for prop in sent.props:
            self.drop("proposition", f"{sent.id or '?'}:{prop.pred}", of_props)

    def repair(self, what: str, where: str, reason: str) -> None:
        """Record something that was kept with a change."""
        self.repaired.append(Note(what, where, reason))

    def check(self, what: str, passed: bool) -> None:
        self.checks.setdefault(what, Counter())[passed] += 1

    def duplicate_groups(self) -> list[list[str]]:
        """Return groups of identical sentences in more than one split, as ``split:id``."""
        return [
            [f"{split}:{name}" for split, name in group]
            for group in self._by_digest.values()
            if len({split for split, _ in group}) > 1
        ]

    def keep_splits(self, found: Collection[str]) -> None:
        """Leave out the splits that the source does not have, and record them."""
        for split in [split for split in self.splits if split not in found]:
            del self.splits[split]
            self.drop("split", split, "not in the source")

    def to_dict(self) -> Json:
        groups = self.duplicate_groups()
        inside = Counter(name.partition(":")[0] for group in groups for name in group)
        return {
            "corpus": self.corpus,
            "sources": self.sources,
            "splits": {split: counts.to_dict() for split, counts in self.splits.items()},
            "dropped": _listed(self.dropped),
            "repaired": _listed(self.repaired),
            **({"checks": self._checks()} if self.checks else {}),
            "duplicates_across_splits": {
                "groups": len(groups),
                "sentences": {split: inside[split] for split in self.splits},
                "ids": groups,
            },
        }

    def _checks(self) -> Json:
        return {what: {"passed": n[True], "total": n.total()} for what, n in self.checks.items()}


def by_reason(notes: Iterable[Note]) -> Counter[tuple[str, str]]:
    return Counter((note.what, note.reason) for note in notes)


def _listed(notes: list[Note]) -> Json:
    groups: dict[tuple[str, str], list[str]] = {}
    for note in notes:
        groups.setdefault((note.what, note.reason), []).append(note.where)
    return {
        "total": len(notes),
        "groups": [
            {"what": what, "reason": reason, "count": len(where), "where": where}
            for (what, reason), where in groups.items()
        ],
    }


@dataclass(frozen=True, slots=True)
class CorpusSplits:
    """Sentences with the names of their splits, to be iterated once; then the audit is complete."""

    sentences: Iterator[tuple[str, Sentence]]
    audit: Audit


def write_corpus(corpus: CorpusSplits, folder: Path) -> None:
    """Write ``SPLIT.jsonl`` for every split and ``audit.json`` atomically."""
    splits = list(corpus.audit.splits)
    names = [*(f"{split}.jsonl" for split in splits), AUDIT_FILE]
    with _made(folder), open_outputs(folder, names) as (*split_outputs, account):
        outputs = dict(zip(splits, split_outputs, strict=True))
        for split, sent in corpus.sentences:
            corpus.audit.count(split, sent)
            for line in jsonl_lines([sent]):
                outputs[split].write(f"{line}\n".encode())
        text = json.dumps(corpus.audit.to_dict(), ensure_ascii=False, indent=1)
        account.write(f"{text}\n".encode())


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """Create the folder, and remove it again if the block fails and it did not exist before."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder}: cannot be created: {error.strerror or error}") from error
    try:
        yield
    except BaseException:
        for path in missing:
            path.rmdir()
        raise


def word_runs(tokens: tuple[str, ...]) -> set[tuple[str, ...]]:
    """Return the words of every eight tokens in a row, or of all tokens if they are fewer."""
    words = [token.lower() for token in tokens]
    last = max(0, len(words) - SHARED_WORDS)
    return {tuple(words[k : k + SHARED_WORDS]) for k in range(last + 1)}
