"""Statements: who did what to whom, as rows and graphs, derived from propositions by documented rules."""

from collections.abc import Iterable
from dataclasses import replace

from spansrl.language.english.phrases import PhraseParse
from spansrl.statements.coreference import with_coreference as with_coreference
from spansrl.statements.graphs import Statements as Statements
from spansrl.statements.graphs import write_neo4j as write_neo4j
from spansrl.statements.rules import SentenceView, statement_in
from spansrl.statements.values import STATEMENT_COLUMNS as STATEMENT_COLUMNS
from spansrl.statements.values import Part as Part
from spansrl.statements.values import Statement as Statement
from spansrl.structures import Proposition, Sentence, Span, Words


def statement_of(prop: Proposition, words: Words) -> Statement:
    """The statement of a proposition, with the sentence that it is bound to."""
    props = {other.pred: other for other in words.props} | {prop.pred: prop}
    if not words.first:
        return statement_in(SentenceView(words, [props[pred] for pred in sorted(props)]), prop)
    shifted = {pred: _shifted(props[pred], words.first) for pred in sorted(props)}
    view = SentenceView(words._replace(first=0), list(shifted.values()))
    return replace(statement_in(view, shifted[prop.pred]), prop=prop)


def _shifted(prop: Proposition, first: int) -> Proposition:
    """A proposition whose indices count from the first token of its sentence."""

    def moved(span: Span) -> Span:
        return Span(span.start - first, span.end - first)

    args = tuple(replace(arg, span=moved(arg.span)) for arg in prop.args)
    v = None if prop.v is None else tuple(map(moved, prop.v))
    return replace(prop, pred=prop.pred - first, args=args, v=v)


def statements_of(
    sentences: Iterable[Sentence], *, split: bool = False, id: str | None = None, first: int = 0
) -> Statements:
    """The statements of sentences, which are numbered from `first`; `id` is that of their document.

    Auxiliaries have none, nor do predicates without subject and object, unless they are commands.
    """
    found: list[Statement] = []
    for number, sent in enumerate(sentences, first):
        words = sent.props[0].words if sent.props else None
        if words is None:
            continue
        view = SentenceView(words, sent.props)
        for prop in sent.props:
            if view.types[prop.pred] != "auxiliary":
                one = statement_in(view, prop, number, id if sent.id is None else sent.id)
                if one.subject or one.object or one.context == "imperative":
                    found += one.split() if split else [one]
    return Statements(found)


def parsed(words: Words, span: Span) -> PhraseParse:
    """A span of the sentence as a phrase."""
    return SentenceView(words, words.props).parse(span)
