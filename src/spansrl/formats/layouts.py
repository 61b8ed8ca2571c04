"""The columns of every CoNLL format, as the table `LAYOUTS`, for the reader and the writer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

NOTHING: Final = "-"  # in a column that names predicates: no predicate in this row
UNNAMED: Final = "_"  # a predicate whose lemma or sense is unknown; a missing word
FORM_KEY: Final = "form"  # of Sentence.extra: the form of CoNLL-2005, except for the train form


class Kind(Enum):
    """What a column holds."""

    TOKENS = auto()  # Sentence.tokens
    POS = auto()  # Sentence.pos
    LEMMA = auto()  # Proposition.lemma; Sentence.lemmas too where rows without a predicate have one
    SENSE = auto()  # Proposition.sense
    INDEX = auto()  # 0, 1, 2, …
    CELLS = auto()  # a list in Sentence.extra, one string per token
    CONSTANT = auto()  # one string in Sentence.extra, the same in every row


@dataclass(frozen=True, slots=True)
class Column:
    """One column before or after those of the arguments."""

    name: str
    kind: Kind
    empty: str = NOTHING  # the content of an empty cell; a column of these alone is not kept
    key: str = ""  # of Sentence.extra; without one the cell is only part of the sentence's id


@dataclass(frozen=True, slots=True)
class Layout:
    """A shape of file: its columns, and how it marks predicates, senses and arguments."""

    name: str
    before: tuple[Column, ...]
    after: tuple[Column, ...] = ()
    predicate: Kind = Kind.LEMMA  # the column that is not '-' exactly in the rows of predicates
    whole_sense: bool = False  # 'keep.01' in the sense column, not '01'
    bio: bool = False
    form: str | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.before + self.after

    def __str__(self) -> str:
        names = [column.name for column in self.before] + ["ARGS…"] + [column.name for column in self.after]
        return " ".join(names)

    @property
    def has_documents(self) -> bool:
        return PART in self.before

    @property
    def predicate_index(self) -> int:
        return next(index for index, column in enumerate(self.before) if column.kind is self.predicate)

    @property
    def constant_indices(self) -> list[int]:
        return [index for index, column in enumerate(self.before) if column.kind is Kind.CONSTANT]

    def find(self, kind: Kind) -> int | None:
        """Return the index of the column of this kind, which must be before the arguments."""
        return next((index for index, column in enumerate(self.before) if column.kind is kind), None)

    def holds(self, kind: Kind) -> bool:
        return any(column.kind is kind for column in self.columns)


WORD = Column("WORD", Kind.TOKENS, UNNAMED)
NO_WORD = Column("WORD", Kind.TOKENS, "[WORD]")  # skeletons have no words
POS = Column("POS", Kind.POS)
LEMMA = Column("LEMMA", Kind.LEMMA)
FRAME = Column("FRAME", Kind.SENSE)
ROLESET = Column("ROLESET", Kind.SENSE)
INDEX = Column("INDEX", Kind.INDEX)
PARSE = Column("PARSE", Kind.CELLS, "*", "parse")
NE = Column("NE", Kind.CELLS, "*", "ner")
WORD_SENSE = Column("SENSE", Kind.CELLS, NOTHING, "word_senses")
SPEAKER = Column("SPEAKER", Kind.CELLS, NOTHING, "speakers")
COREF = Column("COREF", Kind.CELLS, NOTHING, "coref")
DOC = Column("DOC", Kind.CONSTANT, NOTHING, "document")
PART = Column("PART", Kind.CONSTANT, "0", "part")
SENT = Column("SENT", Kind.CONSTANT)

_TABLE = (
    Layout("conll05-train", (WORD, POS, PARSE, NE, FRAME, LEMMA)),
    Layout("conll05-test", (WORD, POS, PARSE, NE, LEMMA), form="test"),
    Layout("conll05-words", (WORD, LEMMA), form="words"),
    Layout("conll05-props", (LEMMA,)),
    Layout(
        "conll12",
        (DOC, PART, INDEX, WORD, POS, PARSE, LEMMA, FRAME, WORD_SENSE, SPEAKER, NE),
        (COREF,),
        predicate=Kind.SENSE,
    ),
    Layout(
        "skel",
        (DOC, SENT, INDEX, NO_WORD, POS, PARSE, LEMMA, ROLESET),
        predicate=Kind.SENSE,
        whole_sense=True,
    ),
    Layout("bio", (WORD, LEMMA, ROLESET), whole_sense=True, bio=True),
)
LAYOUTS: Final = {layout.name: layout for layout in _TABLE}
CONLL05_FORMS: Final = {"test": LAYOUTS["conll05-test"], "words": LAYOUTS["conll05-words"]}
