"""Sentences to draw: some by hand, and whatever hypothesis can think of."""

from __future__ import annotations

from hypothesis import strategies as st

from spansrl.structures import Argument, Proposition, Sentence, Span


def sentence(words: str, *props: Proposition) -> Sentence:
    """Blank-separated words; one that begins with ~ stands right behind the one before."""
    text, offsets = "", []
    for word in words.split():
        text += "" if word.startswith("~") or not text else " "
        offsets.append((len(text), len(text) + len(word.removeprefix("~"))))
        text += word.removeprefix("~")
    tokens = tuple(text[start:end] for start, end in offsets)
    return Sentence(tokens, props, text=text, offsets=tuple(offsets))


def prop(pred: int, sense: str | None, *args: tuple[str, int, int], **more) -> Proposition:
    """A proposition with arguments as (role, start, end)."""
    return Proposition(
        pred, tuple(Argument(role, Span(start, end)) for role, start, end in args), sense=sense, **more
    )


CAT = sentence(
    "The cat that chased the mouse slept yesterday ~.",
    prop(3, "chase.01", ("ARG0", 0, 2), ("R-ARG0", 2, 3), ("ARG1", 4, 6)),
    prop(6, "sleep.01", ("ARG0", 0, 6), ("ARGM-TMP", 7, 8)),
)
PICKED = sentence(
    "They picked it up", prop(1, "pick.04", ("ARG0", 0, 1), ("ARG1", 2, 3), v=(Span(1, 2), Span(3, 4)))
)
NESTED = sentence("we saw him leave", prop(1, "see.01", ("ARG0", 0, 1), ("ARG1", 2, 4), ("ARG2", 2, 3)))
HEBREW = sentence("הילד אמר שלום", prop(1, "אמר.01", ("ARG0", 0, 1), ("ARG1", 2, 3)))
HOSTILE = Sentence(
    ("<script>alert(1)</script>", "\x1b[31mred", '"&\x00\ud800', "saw"),
    (
        Proposition(
            3,
            (
                Argument("<b>", Span(0, 1), meaning="<i>\x1b\"'"),
                Argument("\x1b]0;x\x07", Span(1, 3)),
            ),
            sense="</style>",
        ),
    ),
)
LONG = sentence(
    "By the way the committee on international trade , which had not met since the spring of 1998 ~, decided "
    "quickly to postpone its decision until next week ~.",
    prop(12, "meet.03", ("ARG0", 3, 8), ("R-ARG0", 9, 10), ("ARGM-NEG", 11, 12), ("ARGM-TMP", 13, 18)),
    prop(19, "decide.01", ("ARGM-DIS", 0, 3), ("ARG0", 3, 18), ("ARGM-MNR", 20, 21), ("ARG1", 21, 28)),
    prop(22, "postpone.01", ("ARG0", 3, 18), ("ARG1", 23, 25), ("ARGM-TMP", 25, 28)),
    prop(24, "decision.01", ("ARG0", 23, 24)),
)
SENTENCES = {
    "cat": CAT,
    "picked": PICKED,
    "nested": NESTED,
    "hebrew": HEBREW,
    "hostile": HOSTILE,
    "long": LONG,
    "no proposition": Sentence(("Nothing", "here")),
    "no argument": sentence("It rained ~.", prop(1, "rain.01")),
    "no word": Sentence(()),
    "empty words": Sentence(("", " ", "a"), (prop(0, None, ("A0", 1, 2)),)),
    "no verb marked": sentence("a b", prop(0, None, ("A1", 0, 2), v=())),
    "long word": sentence("see https://example.org/" + "a" * 200 + " now", prop(0, "see.01", ("ARG1", 1, 3))),
    "wide": sentence("猫 が 鼠 を 追いかけた 👩‍🔬", prop(4, "追いかける.01", ("A0", 0, 2), ("A1", 2, 4))),
}

ROLES = ["A0", "ARG1", "R-ARG1", "C-A1", "ARGM-TMP", "AM-LOC", "ARGM-MOD", "x", "<&>"]


@st.composite
def sentences(draw) -> Sentence:
    """Any words, any spans: nested, crossing, many lanes."""
    tokens = tuple(draw(st.lists(st.text(max_size=12), min_size=1, max_size=12)))
    size = len(tokens)
    spans = st.tuples(st.integers(0, size - 1), st.integers(1, size)).map(
        lambda pair: Span(min(pair), max(max(pair), min(pair) + 1))
    )
    meanings = st.none() | st.text(max_size=30)
    args = st.lists(st.builds(Argument, st.sampled_from(ROLES), spans, meaning=meanings), max_size=4).map(
        tuple
    )
    verbs = st.none() | st.lists(spans, max_size=2).map(tuple)
    names = st.none() | st.sampled_from(["keep.01", "追.01"]) | st.text(min_size=1, max_size=8)
    props = st.builds(Proposition, pred=st.integers(0, size - 1), args=args, sense=names, v=verbs)
    return Sentence(tokens, tuple(draw(st.lists(props, max_size=4))))
