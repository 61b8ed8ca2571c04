"""What holds for any sentences: sums of parts, symmetry, and agreement with brute force."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from spansrl.evaluation import Counts, Score, breakdown, end_to_end, score
from spansrl.evaluation.counts import NONE, pair
from spansrl.evaluation.scorable import Arg, ScoredProposition, ScoredSentence, join_pieces
from spansrl.formats.conll import read_conll
from spansrl.formats.layouts import LAYOUTS
from spansrl.formats.text_files import Line
from spansrl.structures import Sentence
from spansrl.tags import Phrase, column_from_phrases, keep_nested, phrases_from_column

ROLES = ("A0", "A1", "C-A0", "C-A1", "R-A0", "C-R-A0", "AM-TMP", "V", "C-V")
ARGUMENT_ROLES = tuple(role for role in ROLES if role != "V")

quickly = settings(max_examples=60, deadline=None)


@st.composite
def columns(draw: st.DrawFn, size: int, roles: tuple[str, ...] = ROLES, verb: int | None = None) -> list[str]:
    """A bracket column with any nesting, equal spans too; with a V at the token `verb`, if one is named."""
    places = st.integers(0, size - 1)
    found = draw(st.lists(st.tuples(st.sampled_from(roles), places, places), max_size=6))
    phrases = [Phrase(role, min(a, b), max(a, b) + 1) for role, a, b in found]
    if verb is not None:
        phrases.insert(draw(st.integers(0, len(phrases))), Phrase("V", verb, verb + 1))
    return column_from_phrases(keep_nested(phrases)[0], size)


@st.composite
def framed(draw: st.DrawFn, size: int, roles: tuple[str, ...] = ROLES) -> ScoredSentence:
    """A sentence of this size with frames at any of its tokens."""
    preds = draw(st.sets(st.integers(0, size - 1), max_size=3))
    cells = {pred: draw(columns(size, roles)) for pred in sorted(preds)}
    lemmas = st.sampled_from(["keep", "hold"])
    frames = {
        pred: ScoredProposition(join_pieces(phrases_from_column(column)), draw(lemmas))
        for pred, column in cells.items()
    }
    return ScoredSentence(size, frames)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[ScoredSentence, ScoredSentence]:
    """Gold and predicted of one sentence, which may have nothing in common but their length."""
    size = draw(st.integers(1, 6))
    gold = draw(framed(size))
    predicted = draw(framed(size))
    kept = {pred: frame for pred, frame in gold.by_pred.items() if draw(st.booleans())}
    return gold, ScoredSentence(size, {**predicted.by_pred, **kept})


@st.composite
def same_predicates(draw: st.DrawFn) -> tuple[ScoredSentence, ScoredSentence]:
    """Gold and predicted of one sentence with the same predicates, and with nothing that no one can match."""
    size = draw(st.integers(1, 6))
    gold, other = draw(framed(size)), draw(framed(size))
    borrowed = list(other.by_pred.values()) or [ScoredProposition([])]
    predicted = {
        pred: ScoredProposition(_matchable(borrowed[place % len(borrowed)].args), frame.lemma)
        for place, (pred, frame) in enumerate(gold.by_pred.items())
    }
    plain = {
        pred: ScoredProposition(_matchable(frame.args), frame.lemma) for pred, frame in gold.by_pred.items()
    }
    return ScoredSentence(size, plain), ScoredSentence(size, predicted)


def _matchable(args: list[Arg]) -> list[Arg]:
    """The arguments without those that another one hides, or that hold a piece twice."""
    distinct = {(arg.start, arg.end): arg for arg in args}
    return [arg for arg in distinct.values() if not _holds_a_piece_twice(arg)]


def _holds_a_piece_twice(arg: Arg) -> bool:
    return len(set(arg.shape)) < len(arg.shape)


def _swapped(counts: Counts) -> Counts:
    return Counts(counts.correct, counts.missed, counts.excess)


@quickly
@given(st.lists(pairs(), max_size=4))
def test_gold_against_itself_misses_only_what_holds_a_piece_twice(
    sents: list[tuple[ScoredSentence, ScoredSentence]],
) -> None:
    for frame in (frame for gold, _ in sents for frame in gold.by_pred.values()):
        visible = {(arg.start, arg.end): arg for arg in frame.args}.values()
        missed = pair(frame.args, frame.args).missed
        assert missed == [arg for arg in visible if _holds_a_piece_twice(arg)]


@quickly
@given(st.lists(same_predicates(), max_size=4))
def test_gold_against_itself_is_perfect_where_everything_can_be_matched(
    sents: list[tuple[ScoredSentence, ScoredSentence]],
) -> None:
    gold = [gold for gold, _ in sents]
    result = score(gold, gold, match="lemma")
    assert result.perfect == result.propositions
    for counts in (result.overall, result.unlabeled):
        assert counts.f1 == (100 if counts.correct else 0)
    assert all(expected == found for expected, found in result.confusion)


@quickly
@given(st.lists(pairs(), max_size=5), st.integers(0, 5), st.sampled_from(["index", "lemma"]))
def test_the_counts_of_a_whole_are_the_sum_of_its_parts(
    sents: list[tuple[ScoredSentence, ScoredSentence]], cut: int, match: str
) -> None:
    def counted(part: list[tuple[ScoredSentence, ScoredSentence]]) -> Score:
        return score([gold for gold, _ in part], [found for _, found in part], match=match)

    assert counted(sents[:cut]) + counted(sents[cut:]) == counted(sents)
    assert sum((counted([sent]) for sent in sents), Score()) == counted(sents)


@quickly
@given(st.lists(same_predicates(), max_size=4))
def test_swapping_gold_and_predicted_swaps_excess_and_missed(
    sents: list[tuple[ScoredSentence, ScoredSentence]],
) -> None:
    gold, predicted = [gold for gold, _ in sents], [found for _, found in sents]
    there, back = score(gold, predicted), score(predicted, gold)
    assert {role: _swapped(counts) for role, counts in there.roles.items()} == back.roles
    assert {(found, role): n for (role, found), n in there.confusion.items()} == back.confusion
    assert there.perfect == back.perfect
    both = end_to_end(gold, predicted)
    assert (both.forward, both.backward) == (there, back)
    assert (both.precision, both.recall) == (there.overall.precision, there.overall.recall)


@quickly
@given(st.lists(pairs(), max_size=4))
def test_every_breakdown_adds_up_to_the_whole(sents: list[tuple[ScoredSentence, ScoredSentence]]) -> None:
    gold, predicted = [gold for gold, _ in sents], [found for _, found in sents]
    whole = score(gold, predicted).overall
    for by in ("length", "distance"):
        assert sum(breakdown(gold, predicted, by=by).values(), Counts()) == whole


@quickly
@given(st.lists(pairs(), max_size=4), st.sampled_from(["index", "lemma"]))
def test_scores_hold_together(sents: list[tuple[ScoredSentence, ScoredSentence]], match: str) -> None:
    result = score([gold for gold, _ in sents], [found for _, found in sents], match=match)
    by_gold = {
        role: sum(n for (gold, _), n in result.confusion.items() if gold == role) for role in result.roles
    }
    by_found = {
        role: sum(n for (_, found), n in result.confusion.items() if found == role) for role in result.roles
    }
    assert (NONE, NONE) not in result.confusion
    for role, counts in result.roles.items():
        assert counts.correct + counts.missed == by_gold[role]
        assert counts.correct + counts.excess == by_found[role]
    assert result.perfect <= result.propositions


@quickly
@given(st.integers(1, 6).flatmap(lambda size: st.tuples(columns(size), columns(size))), st.booleans())
def test_matching_agrees_with_brute_force(both: tuple[list[str], list[str]], same_role: bool) -> None:
    gold, predicted = (join_pieces(phrases_from_column(column)) for column in both)
    found = pair(gold, predicted, same_role=same_role)
    expected = brute_force(*both, same_role=same_role)
    shown = (
        [((g.role, g.start, g.end), (p.role, p.start, p.end)) for g, p in found.matched],
        [(arg.role, arg.start, arg.end) for arg in found.excess],
        sorted((arg.role, arg.start, arg.end) for arg in found.missed),
    )
    assert shown == expected


@quickly
@given(st.data())
def test_json_lines_and_props_give_the_same_counts(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 6))
    preds = data.draw(st.sets(st.integers(0, size - 1), max_size=3))
    as_columns, as_sentences = [], []
    for _ in ("gold", "predicted"):
        frames, rows = {}, [["keep" if place in preds else "-"] for place in range(size)]
        for pred in sorted(preds):
            column = data.draw(columns(size, ARGUMENT_ROLES, verb=pred))
            frames[pred] = ScoredProposition(join_pieces(phrases_from_column(column)), "keep")
            rows = [[*row, cell] for row, cell in zip(rows, column, strict=True)]
        lines = [Line(number, " ".join(row)) for number, row in enumerate(rows, start=1)]
        (sent,) = read_conll(lines, LAYOUTS["conll05-props"])
        as_columns.append([ScoredSentence(size, frames)])
        as_sentences.append([Sentence.from_dict(sent.to_dict())])
    assert score(*as_columns, match="lemma") == score(*as_sentences)


def brute_force(
    gold: list[str], predicted: list[str], *, same_role: bool
) -> tuple[list[object], list[object], list[object]]:
    """Matching by comparing everything with everything, from the bracket columns themselves."""
    gold_args, predicted_args = tree_arguments(gold), tree_arguments(predicted)
    extents = [arg[1:3] for arg in gold_args]
    free = [arg for place, arg in enumerate(gold_args) if arg[1:3] not in extents[place + 1 :]]
    matched, excess = [], []
    for arg in predicted_args:
        partners = [
            other
            for other in free
            if other[1:3] == arg[1:3]
            and sorted(set(other[3])) == sorted(arg[3])
            and (not same_role or other[0] == arg[0])
        ]
        if partners:
            matched.append((partners[0][:3], arg[:3]))
            free.remove(partners[0])
        else:
            excess.append(arg[:3])
    return matched, excess, sorted(arg[:3] for arg in free)


def tree_arguments(column: list[str]) -> list[tuple[str, int, int, list[tuple[int, int]]]]:
    """Role, start, end and pieces, by building the tree of brackets and walking it from the top."""
    root: list[object] = ["", 0, None, []]
    path = [root]
    for place, cell in enumerate(column):
        left, right = cell.split("*")
        for role in left.split("(")[1:]:
            node = [role, place, None, []]
            path[-1][3].append(node)
            path.append(node)
        for _ in right:
            path.pop()[2] = place + 1
    found: list[list[object]] = []

    def walk(node: list[object]) -> None:
        role, start, end, children = node
        inside = list(children)
        is_hidden = any(child[1:3] == [start, end] for child in inside)
        heads = [arg for arg in found if role[:2] == "C-" and arg[0] == role[2:]]
        if heads and not is_hidden:
            head = heads[-1]
            head[3] += [node] if head[3] else [["", *head[1:3]], node]
            head[2] = end
        elif not is_hidden:
            node[0] = role.removeprefix("C-")
            found.append(node)
        for child in inside:
            walk(child)

    for child in root[3]:
        walk(child)
    return [(role, start, end, [tuple(piece[1:3]) for piece in pieces]) for role, start, end, pieces in found]
