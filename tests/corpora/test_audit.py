from hypothesis import given
from hypothesis import strategies as st

from spansrl.corpora.corpus import KINDS, Audit, SplitCounts, kind_of
from spansrl.structures import Argument, Proposition, Sentence, Span

TAGS = ["VBD", "NN", "JJR", "RB", "MD"]


@st.composite
def sents(draw):
    size = draw(st.integers(1, 4))
    preds = draw(st.lists(st.integers(0, size - 1), max_size=3))
    args = st.lists(st.builds(Argument, st.sampled_from(["ARG0", "ARG1"]), st.just(Span(0, 1))), max_size=2)
    senses = st.sampled_from(["be.03", "run.01", None])
    return Sentence(
        tokens=tuple(draw(st.lists(st.sampled_from("ab"), min_size=size, max_size=size))),
        pos=tuple(draw(st.lists(st.sampled_from(TAGS), min_size=size, max_size=size))),
        props=tuple(Proposition(pred, tuple(draw(args)), sense=draw(senses)) for pred in preds),
        id=str(draw(st.integers(0, 99))),
    )


def counted(some):
    counts = SplitCounts()
    for sent in some:
        counts.add(sent)
    return counts.to_dict()


@given(st.lists(sents(), max_size=6), st.lists(sents(), max_size=6))
def test_counts_of_a_whole_are_the_sum_of_its_parts(one, other):
    whole, first, second = counted(one + other), counted(one), counted(other)
    for key in ("sentences", "tokens", "propositions", "arguments"):
        assert whole[key] == first[key] + second[key]
    assert whole["propositions"] == sum(whole["propositions_by_kind"].values())
    assert whole["arguments"] == sum(whole["roles"].values())


@given(st.lists(st.tuples(st.sampled_from(["train", "dev"]), sents()), max_size=12))
def test_duplicates_are_sentences_with_equal_words_in_different_splits(placed):
    audit = Audit("x", ["train", "dev"])
    for split, sent in placed:
        audit.count(split, sent)
    splits = {}
    for split, sent in placed:
        splits.setdefault(sent.tokens, []).append(f"{split}:{sent.id}")
    expected = [places for places in splits.values() if len({p.partition(":")[0] for p in places}) == 2]
    assert audit.duplicate_groups() == expected


def test_predicate_types_are_counted_by_tag_and_auxiliaries_by_roleset():
    sent = Sentence(tokens=("x",) * 5, pos=tuple(TAGS))
    found = [kind_of(Proposition(place, sense="run.01"), sent) for place in range(5)]
    assert found == ["verb", "noun", "adjective", "other", "other"]
    assert kind_of(Proposition(0, sense="have.01"), sent) == "auxiliary"
    assert kind_of(Proposition(0), Sentence(tokens=("x",))) == "verb"
    assert set(found) | {"auxiliary"} == set(KINDS)
