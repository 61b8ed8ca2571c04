"""Statement and Part: the values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from spansrl.checks import Json
from spansrl.errors import shortened
from spansrl.structures import Proposition, Span, Words

FIELDS = ("subject", "object", "time", "place", "manner", "cause")


@dataclass(frozen=True, slots=True, repr=False)
class Part:
    """A field of a statement: words of the sentence.

    `text` has no preposition in front and no relative clause at the end; `preposition` is the one that was
    removed. `start` and `end` are token indices, `char_start` and `char_end` offsets in the document (in the
    sentence, if its own offset is unknown). `refers_to` is what a pronoun stands for: "speaker", "hearer", or
    what Document.with_coreference found. `role` is the role in the proposition; a subject that was taken from
    another proposition of the sentence is `borrowed`.
    """

    text: str
    role: str
    start: int
    end: int
    char_start: int | None
    char_end: int | None
    head: str
    short: str
    preposition: str
    is_pronoun: bool
    is_clause: bool
    refers_to: str | None
    prob: float | None
    conjuncts: tuple[Part, ...] = ()
    borrowed: bool = False

    @classmethod
    def of(
        cls,
        words: Words,
        spans: Sequence[Span],
        *,
        short: Sequence[Span],
        head: int,
        conjuncts: Sequence[Span] = (),
        **known: Any,
    ) -> Part:
        """Cut the part out of its sentence; several spans are pieces of one argument."""
        start, end = min(span.start for span in spans), max(span.end for span in spans)
        chars: tuple[int | None, int | None] = (None, None)
        if words.offsets is not None:
            base = words.char_start or 0
            chars = base + words.offsets[start][0], base + words.offsets[end - 1][1]
        text = " ".join(words.of(*span) for span in spans)
        brief = " ".join(words.of(*span) for span in short)
        part = cls(text, known.pop("role"), start, end, *chars, words.tokens[head], brief, **known)
        if len(conjuncts) < 2:
            return part
        alone = known | {"role": part.role, "is_pronoun": False, "refers_to": None}
        split = (cls.of(words, [span], short=[span], head=span.end - 1, **alone) for span in conjuncts)
        return replace(part, conjuncts=tuple(split))

    @property
    def name(self) -> str:
        """What the part is called in a graph: what it refers to, or its short form."""
        return self.refers_to or self.short

    def to_dict(self) -> Json:
        known = ("text", "role", "start", "end", "char_start", "char_end", "head", "short", "preposition")
        out = {key: value for key in known if (value := getattr(self, key)) not in (None, "")}
        flags = {key: True for key in ("is_pronoun", "is_clause", "borrowed") if getattr(self, key)}
        found = {} if self.refers_to is None else {"refers_to": self.refers_to}
        return out | flags | found | ({} if self.prob is None else {"prob": float(self.prob)})

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, repr=False)
class Statement:
    """Who did what to whom: a proposition as subject, relation and object, derived by rules.

    `relation` is the base form of the predicate with its particle and the preposition of the object
    ("depend on"), or "be" and the participle in a passive without agent ("be sold"). `others` are the
    arguments that are in no other field. `negated` says that the sentence denies it; `denied_by` is a verb
    that does so by its meaning ("fail"). `context` is "said", "if", "want", "question" or "imperative" where
    the sentence does not simply assert it. `prob` is the product of the probabilities of predicate, subject
    and object.
    """

    prop: Proposition
    subject: Part | None
    relation: str
    object: Part | None = None
    others: tuple[Part, ...] = ()
    time: Part | None = None
    place: Part | None = None
    manner: Part | None = None
    cause: Part | None = None
    negated: bool = False
    denied_by: str | None = None
    modal: str | None = None
    voice: str | None = None
    context: str | None = None
    prob: float | None = None
    relation_span: tuple[int | None, int | None] = (None, None)
    id: str | None = None  # of the document
    sentence: int = 0  # its number in the document
    sentence_text: str = ""

    def __str__(self) -> str:
        negation = "not " if self.negated else ""
        return f"{self.subject or '-'} | {negation}{self.relation} | {self.object or '-'}"

    def __repr__(self) -> str:
        return f"<Statement {shortened(str(self), 80)}>"

    def split(self) -> Iterator[Statement]:
        """One statement per coordinated subject and object; itself where nothing is coordinated."""
        for subject in (self.subject and self.subject.conjuncts) or (self.subject,):
            for found in (self.object and self.object.conjuncts) or (self.object,):
                yield replace(self, subject=subject, object=found)

    def row(self) -> Json:
        """The statement as a flat dictionary with the keys of STATEMENT_COLUMNS."""
        out: Json = dict.fromkeys(STATEMENT_COLUMNS)
        for name in FIELDS:
            part = getattr(self, name)
            if part is not None:
                out[name] = part.text
                out[f"{name}_start"], out[f"{name}_end"] = part.char_start, part.char_end
        for name, part in (("subject", self.subject), ("object", self.object)):
            if part is not None:
                out[f"{name}_head"], out[f"{name}_short"] = part.head, part.short
                out[f"{name}_refers_to"] = part.refers_to
        out["others"] = (
            "; ".join(
                f"{part.role}: {part.preposition} {part.text}".replace(":  ", ": ") for part in self.others
            )
            or None
        )
        out["relation_start"], out["relation_end"] = self.relation_span
        for name in (
            "relation",
            "negated",
            "denied_by",
            "modal",
            "voice",
            "context",
            "prob",
            "id",
            "sentence",
        ):
            out[name] = getattr(self, name)
        out["text"] = self.sentence_text
        for name in ("pred", "lemma", "sense", "type"):
            out[name] = getattr(self.prop, name)
        return out

    def to_dict(self) -> Json:
        """The statement as JSON, with every part in full."""
        out: Json = {"relation": self.relation, "pred": self.prop.pred, "negated": self.negated}
        out |= {name: part.to_dict() for name in FIELDS if (part := getattr(self, name)) is not None}
        names = ("denied_by", "modal", "voice", "context", "prob")
        out |= {name: value for name in names if (value := getattr(self, name)) is not None}
        if self.relation_span[0] is not None:
            out["char_start"], out["char_end"] = self.relation_span
        return out | ({"others": [part.to_dict() for part in self.others]} if self.others else {})


# Column -> type. Offsets are those of the document.
STATEMENT_COLUMNS: dict[str, type] = {
    "id": str,
    "sentence": int,
    **dict.fromkeys(("subject", "relation", "object", "others", "time", "place", "manner", "cause"), str),
    "negated": bool,
    **dict.fromkeys(("denied_by", "modal", "voice", "context"), str),
    **{f"{name}_{kind}": str for name in ("subject", "object") for kind in ("head", "short", "refers_to")},
    **dict.fromkeys(("lemma", "sense", "type"), str),
    "pred": int,
    "prob": float,
    **{f"{name}_{edge}": int for name in ("subject", "relation", *FIELDS[1:]) for edge in ("start", "end")},
    "text": str,
}
