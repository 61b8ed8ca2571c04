"""Sentences for property tests: any at all, and those that a column file can hold."""

from __future__ import annotations

from hypothesis import strategies as st

from spansrl.structures import Argument, Proposition, Sentence, Span
from spansrl.tags import Phrase, keep_apart, keep_nested

ROLES = ("A0", "A1", "A2", "AM-TMP", "C-A1", "R-A0", "ARGM-LOC", "AA")
words = st.text(
    st.characters(blacklist_categories=("Cs",), blacklist_characters=" \t\r\n\ufeff"), min_size=1, max_size=6
)
lemmas = words.filter(lambda word: word not in ("-", "_"))


@st.composite
def spans(draw: st.DrawFn, size: int) -> Span:
    start = draw(st.integers(0, size - 1))
    return Span(start, draw(st.integers(start + 1, size)))


@st.composite
def phrases(draw: st.DrawFn, size: int, *, roles: tuple[str, ...] = ROLES) -> list[Phrase]:
    """Any phrases at all: nested, crossing, equal."""
    found = draw(st.lists(st.tuples(st.sampled_from(roles), spans(size)), max_size=6))
    return [Phrase(role, *span) for role, span in found]


@st.composite
def propositions(draw: st.DrawFn, pred: int, size: int, *, bio: bool = False) -> Proposition:
    """With spans that nest (for `bio`: stay apart); the verb is a token, several, in pieces, or missing."""
    keep = keep_apart if bio else keep_nested
    verb = draw(
        st.sampled_from([[], [Phrase("V", pred, pred + 1)]])
        | st.lists(spans(size), min_size=1, max_size=3, unique=True).map(
            lambda found: [Phrase("V" if k == 0 else "C-V", *span) for k, span in enumerate(found)]
        )
    )
    kept, _ = keep([*verb, *draw(phrases(size))])
    v = [Span(p.start, p.end) for p in kept if p.role == "V"]
    pieces = (
        sorted((Span(p.start, p.end) for p in kept if p.role == "C-V"), key=lambda s: (s[0], -s[1]))
        if v
        else []
    )
    args = sorted((p for p in kept if p.role not in ("V", "C-V")), key=lambda p: (p.start, -p.end))
    lemma = draw(lemmas)
    return Proposition(
        pred,
        tuple(Argument(p.role, Span(p.start, p.end)) for p in args),
        lemma=lemma,
        sense=draw(st.none() | st.just(f"{lemma}.01") | st.just("other.02")),
        v=None if v == [Span(pred, pred + 1)] and not pieces else (*v, *pieces),
    )


def _swapped_columns(props: list[Proposition]) -> bool:
    """The reader refuses a verb that stands on the row of another predicate only."""
    preds = [prop.pred for prop in props]
    return any(
        prop.v
        and not any(start <= prop.pred < end for start, end in prop.v)
        and any(start <= other < end for other in preds for start, end in prop.v)
        for prop in props
    )


@st.composite
def column_sentences(draw: st.DrawFn, *, bio: bool = False, number: int = 1) -> Sentence:
    """Tokens, tags, parse and propositions as merged CoNLL files hold them."""
    size = draw(st.integers(1, 6))
    preds = sorted(draw(st.sets(st.integers(0, size - 1), max_size=3)))
    props = [draw(propositions(pred, size, bio=bio)) for pred in preds]
    props = [] if _swapped_columns(props) else props
    row = st.lists(lemmas, min_size=size, max_size=size)
    parse = draw(
        st.none() | row.filter(lambda cells: set(cells) != {"*"})
    )  # all "*" is how no parse is written
    return Sentence(
        tokens=tuple(draw(st.lists(words, min_size=size, max_size=size))),
        props=tuple(props),
        id=str(number),
        pos=draw(st.none() | row.map(tuple)),
        extra={} if parse is None else {"parse": parse},
    )


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KNOWN_KEYS = {
    *(
        "id",
        "tokens",
        "pos",
        "lemmas",
        "text",
        "offsets",
        "char_start",
        "props",
        "pred",
        "lemma",
        "sense",
        "v",
    ),
    *("type", "prob", "sense_prob", "args", "role", "start", "end", "meaning"),
    *("verbnet", "framenet", "thematic", "function"),
}
probabilities = st.none() | st.floats(0, 1)
extras = st.dictionaries(
    st.text(max_size=5).filter(lambda key: key not in KNOWN_KEYS), json_values, max_size=2
)


@st.composite
def any_propositions(draw: st.DrawFn, size: int) -> Proposition:
    def argument() -> Argument:
        role = draw(st.text(min_size=1, max_size=5).filter(lambda role: role.strip() and role != "V"))
        return Argument(
            role, draw(spans(size)), draw(probabilities), draw(st.none() | st.text(max_size=5)), draw(extras)
        )

    return Proposition(
        draw(st.integers(0, size - 1)),
        tuple(argument() for _ in range(draw(st.integers(0, 3)))),
        lemma=draw(st.none() | st.text(max_size=5)),
        sense=draw(st.none() | st.text(max_size=5)),
        v=draw(st.none() | st.lists(spans(size), max_size=3).map(tuple)),
        type=draw(st.none() | st.text(max_size=5)),
        prob=draw(probabilities),
        sense_prob=draw(probabilities),
        extra=draw(extras),
    )


@st.composite
def any_sentences(draw: st.DrawFn) -> Sentence:
    """Whatever the wire format can hold, lone surrogates and empty sentences included."""
    anything = st.text(st.characters(), max_size=4)
    tokens = draw(st.lists(anything, max_size=5))
    size = len(tokens)
    row = st.none() | st.lists(anything, min_size=size, max_size=size).map(tuple)
    text = draw(st.none() | st.text(max_size=10))
    limit = 10 if text is None else len(text)
    pair = st.tuples(st.integers(0, limit), st.integers(0, limit)).map(lambda ends: (min(ends), max(ends)))
    return Sentence(
        tokens=tuple(tokens),
        props=tuple(draw(st.lists(any_propositions(size), max_size=3))) if size else (),
        id=draw(st.none() | anything),
        pos=draw(row),
        lemmas=draw(row),
        text=text,
        offsets=draw(st.none() | st.lists(pair, min_size=size, max_size=size).map(tuple)),
        char_start=draw(st.none() | st.integers(0, 9)),
        extra=draw(extras),
    )
