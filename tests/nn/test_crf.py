"""The CRF against enumeration of all tag sequences, in double precision, values and gradients."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from builders import role_table
from oracles import all_paths, all_spans
from spansrl.decoding import TagScores, bio_transitions
from spansrl.nn.batch import Gold
from spansrl.nn.outputs.crf import CrfOutput, TagLogits, chain_log_partition, crf_loss, path_score
from spansrl.nn.outputs.tagging import gold_tags
from spansrl.structures import Span
from spansrl.tags import phrases_from_bio

ROLES = ("A0", "AM-TMP")
TABLE = role_table(ROLES)
TAGS = ("O", "B-A0", "I-A0", "B-AM-TMP", "I-AM-TMP")
KINDS = ("free", "bio")


def make_mask(lengths: list[int]) -> torch.Tensor:
    return torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]


def make_gold(*args: tuple[int, int, int, int]) -> Gold:
    """Arguments as (proposition, role, first, last)."""
    return Gold(*torch.tensor(args, dtype=torch.long).reshape(-1, 4).T)


def make_output(kind: str, *, width: int = 3, n_roles: int = 2, seed: int = 0) -> CrfOutput:
    torch.manual_seed(seed)
    output = CrfOutput(width, n_roles, kind).double()
    with torch.no_grad():
        output.first.normal_()
        output.emit.bias.normal_()
    return output


def random_h(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()


def is_legal(path: tuple[int, ...], kind: str) -> bool:
    """Whether every I-r follows B-r or I-r; decided by the names of the tags, not by their numbers."""
    names = [TAGS[k] for k in path]
    stray = [b for a, b in pairwise(["O", *names]) if b[0] == "I" and a[2:] != b[2:]]
    return kind == "free" or not stray


def brute_scores(logits: TagLogits, n: int, length: int, kind: str) -> dict[tuple[int, ...], torch.Tensor]:
    """The score of every legal tag sequence of one proposition, term by term."""
    emissions = logits.emissions[n]
    return {
        path: logits.first[path[0]]
        + sum(emissions[t, tag] for t, tag in enumerate(path))
        + sum(logits.transitions[a, b] for a, b in pairwise(path))
        for path in all_paths(length, len(TAGS))
        if is_legal(path, kind)
    }


def brute_log_z(logits: TagLogits, lengths: list[int], kind: str) -> torch.Tensor:
    return torch.stack(
        [
            torch.stack(list(brute_scores(logits, n, length, kind).values())).logsumexp(0)
            for n, length in enumerate(lengths)
        ]
    )


def assert_same_gradients(one: torch.Tensor, other: torch.Tensor, inputs: tuple[torch.Tensor, ...]) -> None:
    expected = torch.autograd.grad(other, inputs, retain_graph=True)
    for found, wanted in zip(torch.autograd.grad(one, inputs, retain_graph=True), expected, strict=True):
        torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lengths", [[1], [4], [1, 3], [3, 1, 2]], ids=str)
def test_log_z_and_its_gradient_are_those_of_a_sum_over_all_tag_sequences(kind, lengths):
    output, h = make_output(kind), random_h(len(lengths), max(lengths), 3)
    logits = output(h)
    fast, brute = chain_log_partition(logits, make_mask(lengths)), brute_log_z(logits, lengths, kind)
    torch.testing.assert_close(fast, brute)
    weights = torch.arange(1.0, len(lengths) + 1, dtype=torch.float64)
    inputs = (h, output.emit.weight, output.emit.bias, output.first)
    if max(lengths) > 1:
        inputs += (output.transitions,)
    assert_same_gradients((fast * weights).sum(), (brute * weights).sum(), inputs)


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_of_log_z_is_the_probability_of_each_tag(kind):
    output, lengths = make_output(kind), [4, 2]
    logits = output(random_h(2, 4, 3))
    log_z = chain_log_partition(logits, make_mask(lengths))
    (found,) = torch.autograd.grad(log_z.sum(), logits.emissions, retain_graph=True)
    expected = torch.zeros_like(found)
    for n, length in enumerate(lengths):
        scores = brute_scores(logits, n, length, kind)
        probs = torch.stack(list(scores.values())).softmax(0)
        for path, prob in zip(scores, probs, strict=True):
            expected[n, torch.arange(length), torch.tensor(path)] += prob
    torch.testing.assert_close(found, expected)


def test_the_gradient_of_log_z_agrees_with_finite_differences():
    mask = make_mask([4, 2, 1])

    def log_z(emissions, transitions, first):
        return chain_log_partition(TagLogits(emissions, transitions, first), mask)

    assert gradcheck(log_z, (random_h(3, 4, 3), random_h(3, 3, seed=1), random_h(3, seed=2)))


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_of_the_loss_agrees_with_finite_differences(kind):
    output, mask = make_output(kind), make_mask([3, 2])
    tags = torch.tensor([[1, 2, 0], [0, 3, 0]])

    def loss(h, transitions, first):
        parameters = {"transitions": transitions, "first": first}
        return crf_loss(torch.func.functional_call(output, parameters, (h,)), tags, mask)

    assert gradcheck(loss, (random_h(2, 3, 3), output.transitions, output.first))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tags", [[1, 2, 2, 0], [0, 0, 0, 0], [3, 1, 2, 3]], ids=str)
def test_the_loss_is_the_negative_log_probability_of_the_tags(kind, tags):
    output, h = make_output(kind), random_h(2, 4, 3)
    logits, lengths = output(h), [4, 2]
    rows = torch.tensor([tags, [*tags[:2], 0, 0]])
    loss = crf_loss(logits, rows, make_mask(lengths))
    scores = [brute_scores(logits, n, length, kind) for n, length in enumerate(lengths)]
    log_probs = [
        scores[n][tuple(tags[:length])] - torch.stack(list(scores[n].values())).logsumexp(0)
        for n, length in enumerate(lengths)
    ]
    brute = -(log_probs[0] + log_probs[1]) / 2
    torch.testing.assert_close(loss, brute)
    assert_same_gradients(loss, brute, (h, output.transitions, output.first, output.emit.weight))


@pytest.mark.parametrize("kind", KINDS)
def test_the_probabilities_of_all_legal_tag_sequences_sum_to_one(kind):
    logits, mask = make_output(kind)(random_h(1, 3, 3)), make_mask([3])
    log_z = chain_log_partition(logits, mask)
    paths = [path for path in all_paths(3, len(TAGS)) if is_legal(path, kind)]
    scores = torch.stack([path_score(logits, torch.tensor([path]), mask) for path in paths])
    torch.testing.assert_close(torch.exp(scores - log_z).sum(), torch.ones((), dtype=torch.float64))


@pytest.mark.parametrize("kind", KINDS)
def test_padding_changes_neither_the_loss_nor_gradients_and_gets_none(kind):
    output, h = make_output(kind), random_h(2, 5, 3)
    tags = torch.tensor([[1, 2, 0, 0, 0], [0, 1, 2, 2, 3]])
    padded = crf_loss(output(h), tags, make_mask([2, 5]))
    apart = crf_loss(output(h[:1, :2]), tags[:1, :2], make_mask([2]))
    apart = (apart + crf_loss(output(h[1:]), tags[1:], make_mask([5]))) / 2
    torch.testing.assert_close(padded, apart)
    assert_same_gradients(padded, apart, (h, *output.parameters()))
    (gradient,) = torch.autograd.grad(padded, h)
    assert (gradient[0, 2:] == 0).all()


def test_the_bio_constrained_loss_and_its_gradient_are_finite_and_forbidden_moves_get_none():
    output, h = make_output("bio"), random_h(3, 6, 3)
    gold = make_gold((0, 0, 0, 2), (0, 1, 4, 5), (1, 1, 0, 0))
    mask = make_mask([6, 1, 3])
    loss = crf_loss(output(h), gold_tags(gold, mask, torch.tensor([3, 0, 2])), mask)
    assert torch.isfinite(loss)
    loss.backward()
    for parameter in (h, *output.parameters()):
        assert torch.isfinite(parameter.grad).all()
    assert (output.transitions.grad[~output.legal] == 0).all()
    assert (output.first.grad[~output.legal_first] == 0).all()


def test_a_long_sentence_with_large_scores_overflows_nowhere():
    logits = TagLogits(
        *(50 * random_h(*shape, seed=k) for k, shape in enumerate([(1, 500, 5), (5, 5), (5,)]))
    )
    log_z = chain_log_partition(logits, make_mask([500]))
    by_tag, by_move = torch.autograd.grad(log_z.sum(), (logits.emissions, logits.transitions))
    torch.testing.assert_close(by_tag.sum(2), torch.ones(1, 500, dtype=torch.float64))  # one tag a token
    torch.testing.assert_close(by_move.sum().item(), 499.0)


def test_single_precision_agrees_with_double():
    output, h, mask = make_output("bio"), random_h(2, 40, 3), make_mask([40, 17])
    tags = torch.zeros(2, 40, dtype=torch.long)
    double = crf_loss(output(h), tags, mask)
    single = crf_loss(output.float()(h.float()), tags, mask)
    assert single.dtype == torch.float32
    torch.testing.assert_close(single.double(), double, rtol=1e-5, atol=1e-5)


def test_the_forbidden_moves_are_those_of_the_decoder():
    legal, legal_first = bio_transitions(TAGS)
    output = CrfOutput(3, 2, "bio")
    assert output.legal.numpy().tolist() == legal.tolist()
    assert output.legal_first.numpy().tolist() == legal_first.tolist()
    assert CrfOutput(3, 2, "free").legal.all()


# Gold tags.


def plain_tags(args: list[tuple[int, int, int]], length: int, pred: int) -> list[str]:
    """The tags of arguments (role, first, last), written plainly: a token belongs to its innermost one."""
    owner: list[int | None] = [None] * length
    for k, (_, first, last) in sorted(enumerate(args), key=lambda item: item[1][1] - item[1][2]):
        owner[first : last + 1] = [k] * (last + 1 - first)
    owner[pred] = None
    tags = []
    for t, k in enumerate(owner):
        goes_on = t > 0 and owner[t - 1] == k
        tags.append("O" if k is None else ("I-" if goes_on else "B-") + ROLES[args[k][0]])
    return tags


def tags_of(args: list[tuple[int, int, int]], length: int, pred: int) -> list[str]:
    ids = gold_tags(make_gold(*((0, *arg) for arg in args)), make_mask([length]), torch.tensor([pred]))
    return [TAGS[k] for k in ids[0].tolist()]


@st.composite
def separate_arguments(draw, length: int, pred: int) -> list[tuple[int, int, int]]:
    """Arguments that overlap neither each other nor the predicate, in any order."""
    spans = [(i, j) for i, j in all_spans(length) if not i <= pred <= j]
    chosen: list[tuple[int, int]] = []
    for i, j in draw(st.permutations(spans))[:6]:
        if all(j < a or b < i for a, b in chosen):
            chosen.append((i, j))
    return [(draw(st.integers(0, 1)), i, j) for i, j in chosen]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_gold_tags_are_what_one_would_write_by_hand_and_read_back_as_the_arguments(data):
    length = data.draw(st.integers(1, 7))
    pred = data.draw(st.integers(0, length - 1))
    args = data.draw(separate_arguments(length, pred))
    tags = tags_of(args, length, pred)
    assert tags == plain_tags(args, length, pred)
    expected = sorted((first, last + 1, ROLES[role]) for role, first, last in args)
    assert sorted((start, end, role) for role, start, end in phrases_from_bio(tags)) == expected


@pytest.mark.parametrize("inner_first", [False, True])
def test_of_nested_arguments_the_inner_one_is_kept_whatever_their_order(inner_first):
    args = [(0, 0, 5), (1, 2, 3)][:: -1 if inner_first else 1]
    expected = ["B-A0", "I-A0", "B-AM-TMP", "I-AM-TMP", "B-A0", "I-A0", "O"]
    assert tags_of(args, 7, 6) == plain_tags(args, 7, 6) == expected


@pytest.mark.parametrize("inner_first", [False, True])
def test_nested_arguments_may_begin_together(inner_first):
    args = [(0, 0, 2), (1, 0, 0)][:: -1 if inner_first else 1]
    assert tags_of(args, 4, 3) == ["B-AM-TMP", "B-A0", "I-A0", "O"]


def test_the_predicate_is_tagged_o_even_within_an_argument():
    assert tags_of([(0, 0, 3)], 4, 1) == ["B-A0", "O", "B-A0", "I-A0"]
    assert tags_of([(0, 1, 2)], 4, 1) == ["O", "O", "B-A0", "O"]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_gold_tags_are_legal_whatever_the_arguments(data):
    length = data.draw(st.integers(1, 6))
    spans = [(role, i, j) for role in range(2) for i, j in all_spans(length)]
    args = data.draw(st.lists(st.sampled_from(spans), max_size=5))
    pred = data.draw(st.integers(0, length - 1))
    tags = tags_of(args, length, pred)
    assert is_legal(tuple(TAGS.index(tag) for tag in tags), "bio")
    assert tags[pred] == "O"
    covered = {t for _, first, last in args for t in range(first, last + 1)} - {pred}
    assert {t for t, tag in enumerate(tags) if tag != "O"} == covered


def test_gold_tags_of_a_batch_stay_in_their_rows():
    gold = make_gold((1, 1, 0, 1), (0, 0, 2, 2))
    tags = gold_tags(gold, make_mask([3, 2, 1]), torch.tensor([0, 0, 0]))
    assert tags.tolist() == [[0, 0, 1], [0, 3, 0], [0, 0, 0]]


# Decoding.


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_decoding_gives_the_best_of_all_tag_sequences_with_the_predicate_as_o(kind, seed):
    lengths, preds = [4, 3, 1], [1, 2, 0]
    logits = make_output(kind, seed=seed)(3 * random_h(3, 4, 3, seed=seed))
    scores = TagScores(
        *(part.detach().numpy() for part in (logits.emissions, logits.transitions, logits.first)),
        lengths=np.array(lengths),
        pred=np.array(preds),
    )
    for n, found in enumerate(scores.decode(TABLE)):
        paths = brute_scores(logits, n, lengths[n], kind)
        best = max((path for path in paths if path[preds[n]] == 0), key=lambda path: paths[path].item())
        phrases = phrases_from_bio([TAGS[k] for k in best])
        assert [(arg.role, arg.span) for arg in found] == [
            (role, Span(start, end)) for role, start, end in phrases
        ]
