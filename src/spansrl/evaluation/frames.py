"""What is scored: the arguments of each predicate of a sentence, with the pieces of split arguments joined.

Files and `Sentence`s differ in how they hold a proposition; here they become the same thing, a `Frame`, built
by the rules of the CoNLL-2005 scorer: `C-X` continues the most recent X, and without one it is an X itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from spansrl.errors import DataError
from spansrl.structures import Proposition, Sentence, Span
from spansrl.tags import VERB, VERB_PIECE, Phrase, in_column_order

_CONTINUATION = "C-"


class Arg(NamedTuple):
    """An argument as the scorer sees it.

    `spans` are its pieces and `end` is the last one's. `shape` is what has to agree beside role, start and
    end: empty for one plain piece, else the set of pieces. The official scorer takes phrases nested directly
    inside an argument for pieces of it, in place of the argument's own first piece, and so does `shape`.
    """

    role: str
    start: int
    end: int
    spans: tuple[Span, ...]
    shape: frozenset[Span] = frozenset()


class Frame(NamedTuple):
    """The arguments of one predicate, V among them, in column order."""

    args: list[Arg]
    lemma: str | None = None


class Frames(NamedTuple):
    """One sentence as it is scored: its length, its frames by predicate index, and for messages its place."""

    size: int
    by_pred: Mapping[int, Frame]
    where: str = ""


def join_pieces(phrases: Sequence[Phrase]) -> list[Arg]:
    """The arguments that phrases in column order make up, each where its first piece stands."""
    args: list[Arg] = []
    latest: dict[str, int] = {}  # role -> place in `args`
    inner = _directly_inside(phrases)
    for place, (role, start, end) in enumerate(phrases):
        span = Span(start, end)
        if role.startswith(_CONTINUATION):
            role = role.removeprefix(_CONTINUATION)
            if role in latest:
                head = args[latest[role]]
                shape = (head.shape or {head.spans[0]}) | {span}
                args[latest[role]] = Arg(role, head.start, end, (*head.spans, span), frozenset(shape))
                continue
        latest[role] = len(args)
        args.append(Arg(role, start, end, (span,), frozenset(inner.get(place, ()))))
    return args


def frames_of(sent: Sentence) -> Frames:
    """The frames of a sentence; raises DataError if two propositions share a predicate."""
    where = "" if sent.id is None else sent.id
    by_pred: dict[int, Frame] = {}
    for prop in sent.props:
        if prop.pred in by_pred:
            name = f"sentence '{where}'" if where else "a sentence"
            raise DataError(f"{name} has two propositions for token {prop.pred}; keep one of them")
        by_pred[prop.pred] = Frame(join_pieces(in_column_order(_phrases(prop))), prop.lemma)
    return Frames(len(sent.tokens), by_pred, where)


def _phrases(prop: Proposition) -> list[Phrase]:
    verb = [Phrase(VERB_PIECE if k else VERB, *span) for k, span in enumerate(prop.verb_spans)]
    return verb + [Phrase(arg.role, arg.span.start, arg.span.end) for arg in prop.args]


def _directly_inside(phrases: Sequence[Phrase]) -> dict[int, list[Span]]:
    """For the place of each phrase that holds others: their spans, without those that are deeper still."""
    inside: dict[int, list[Span]] = {}
    around: list[int] = []
    for place, (_, start, end) in enumerate(phrases):
        while around and phrases[around[-1]].end < end:
            around.pop()
        if around:
            inside.setdefault(around[-1], []).append(Span(start, end))
        around.append(place)
    return inside
