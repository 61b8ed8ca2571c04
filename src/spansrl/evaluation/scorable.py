"""What is scored: the arguments of each predicate of a sentence, with the pieces of split arguments joined.

Columns and `Sentence`s are converted to `ScoredProposition`s by the rules of the CoNLL-2005 scorer: `C-X`
continues the most recent X, or is an X if there is none; of phrases with equal spans only the innermost
exists.

Labelings of the same text with different sentences and tokens are compared by characters: a predicate is
identified by its first character, an argument by its role and its first and last character.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import NamedTuple

from spansrl.errors import DataError
from spansrl.structures import Argument, Document, Proposition, Sentence, Span
from spansrl.tags import Phrase, phrases_of

_CONTINUATION = "C-"


class Arg(NamedTuple):
    """An argument as the scorer compares it.

    `spans` are its pieces and `end` is the last one's. `shape` must agree in addition to role, start and end:
    empty for one plain piece, otherwise the pieces. Like the official scorer, `shape` takes phrases nested
    directly inside an argument for pieces of it, instead of the argument's own first piece; a piece that is
    both nested and a continuation is in it twice.
    """

    role: str
    start: int
    end: int
    spans: tuple[Span, ...]
    shape: tuple[Span, ...] = ()


class ScoredProposition(NamedTuple):
    """The arguments of one predicate, V among them, in column order."""

    args: list[Arg]
    lemma: str | None = None


class ScoredSentence(NamedTuple):
    """One sentence as it is scored: its length, its frames by predicate index, its location for messages."""

    size: int
    by_pred: Mapping[int, ScoredProposition]
    where: str = ""


@dataclass(slots=True)
class _Node:
    """A phrase that becomes an argument: its end moves as pieces are added."""

    role: str
    start: int
    end: int
    spans: list[Span]
    pieces: list[_Node] = field(default_factory=list)

    def continue_with(self, piece: _Node) -> None:
        if not self.pieces:
            self.pieces.append(_Node(self.role, self.start, self.end, self.spans[:1]))
        self.pieces.append(piece)
        self.spans += piece.spans
        self.end = piece.end

    def arg(self) -> Arg:
        shape = tuple(Span(piece.start, piece.end) for piece in self.pieces)
        return Arg(self.role, self.start, self.end, tuple(self.spans), shape)


def join_pieces(phrases: Sequence[Phrase]) -> list[Arg]:
    """Return the arguments that phrases in column order form, ordered by their first pieces."""
    heads: list[_Node] = []
    latest: dict[str, _Node] = {}
    for node in _visible_nodes(phrases):
        if node.role.startswith(_CONTINUATION):
            node.role = node.role.removeprefix(_CONTINUATION)
            if node.role in latest:
                latest[node.role].continue_with(node)
                continue
        latest[node.role] = node
        heads.append(node)
    return [node.arg() for node in heads]


def frames_of(sent: Sentence) -> ScoredSentence:
    """Return the frames of a sentence; raise DataError if two propositions share a predicate."""
    where = "" if sent.id is None else sent.id
    by_pred: dict[int, ScoredProposition] = {}
    for prop in sent.props:
        if prop.pred in by_pred:
            name = f"sentence '{where}'" if where else "a sentence"
            raise DataError(f"{name} has two propositions for token {prop.pred}; keep one of them")
        by_pred[prop.pred] = ScoredProposition(join_pieces(phrases_of(prop)), prop.lemma)
    return ScoredSentence(len(sent.tokens), by_pred, where)


def has_text(sent: Sentence) -> bool:
    """Whether the sentence has its text and the offsets of its tokens."""
    return sent.text is not None and sent.offsets is not None


def documents_of(sentences: Iterable[Sentence]) -> Iterator[Document]:
    """The documents of sentences that follow each other; their texts are joined by spaces."""
    for name, group in groupby(sentences, key=lambda sent: (sent.id or "").rpartition("#")[0]):
        placed: list[Sentence] = []
        offset = 0
        for sent in group:
            placed.append(replace(sent, char_start=offset))
            offset += len(sent.text or "") + 1
        yield Document(" ".join(sent.text or "" for sent in placed), tuple(placed), id=name)


def frames_by_characters(doc: Document) -> ScoredSentence:
    """A document's frames as those of one long sentence whose tokens are its characters."""
    props = (_in_characters(sent, prop) for sent in doc for prop in sent.props)
    by_pred = {prop.pred: ScoredProposition(join_pieces(phrases_of(prop)), prop.lemma) for prop in props}
    return ScoredSentence(len(doc.text), by_pred, doc.id or "")


def _in_characters(sent: Sentence, prop: Proposition) -> Proposition:
    base, offsets = sent.char_start or 0, sent.offsets or ()
    args = tuple(
        Argument(arg.role, Span(base + offsets[arg.start][0], base + offsets[arg.end - 1][1]))
        for arg in prop.args
    )
    return Proposition(base + offsets[prop.pred][0], args, lemma=prop.lemma)


def _visible_nodes(phrases: Sequence[Phrase]) -> list[_Node]:
    """Return the phrases with those directly inside them as pieces; of equal spans only the innermost."""
    visible: dict[tuple[int, int], _Node] = {}
    around: list[_Node] = []
    for role, start, end in phrases:
        node = _Node(role, start, end, [Span(start, end)])
        while around and around[-1].end < end:
            around.pop()
        if around:
            around[-1].pieces.append(node)
        around.append(node)
        visible[start, end] = node
    return list(visible.values())
