"""Every output layer against enumeration, in double precision: values, gradients and marginals."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
import torch

import oracles
from builders import role_table
from spansrl.decoding import ARRAYS, SCORES, make_scores
from spansrl.inference.config import OutputConfig
from spansrl.nn.batch import Gold
from spansrl.nn.outputs import OUTPUTS
from spansrl.nn.outputs.label import LabelOutput, label_loss, sum_of_normalizers
from spansrl.nn.outputs.segmental import SegmentalLogits, SegmentalOutput, log_partition, marginals
from spansrl.nn.outputs.softmax import SoftmaxOutput
from spansrl.nn.outputs.tagging import gold_tags

T, R, D = 4, 2, 3
LENGTHS, PRED = torch.tensor([4, 3]), torch.tensor([2, 0])
MASK = torch.arange(T) < LENGTHS[:, None]
ROLES = ("A0", "AM-TMP")
TABLE = role_table(ROLES)


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def make_gold(*rows: tuple[int, int, int, int]) -> Gold:
    return Gold(*torch.tensor(rows, dtype=torch.long).reshape(-1, 4).T)


GOLD = make_gold((0, 0, 0, 1), (0, 1, 3, 3), (1, 1, 1, 2))


def labelings(n: int) -> list[tuple[oracles.Labeled, ...]]:
    spans = [
        oracles.Labeled(i, j, r)
        for i, j in oracles.all_spans(int(LENGTHS[n]))
        for r in range(R)
        if not i <= PRED[n] <= j
    ]
    return list(oracles.legal_sets(spans, [False] * R))


def labeling_score(logits: SegmentalLogits, n: int, labeling) -> torch.Tensor:
    covered = {t for i, j, _ in labeling for t in range(i, j + 1)}
    parts = [logits.start[n, i, r] + logits.end[n, j, r] for i, j, r in labeling]
    parts += [logits.outside[n, t] for t in range(int(LENGTHS[n])) if t not in covered]
    return torch.stack(parts).sum()


def segmental_logits(seed: int = 1) -> SegmentalLogits:
    parts = [random(2, T, R, seed=seed), random(2, T, R, seed=seed + 1), random(2, T, seed=seed + 2)]
    for part in parts:
        part[~MASK] = 50.0
    return SegmentalLogits(*(part.requires_grad_() for part in parts))


def test_the_segmental_partition_and_its_gradient_are_those_of_all_labelings():
    logits = segmental_logits()
    parts = logits.start, logits.end, logits.outside
    found = log_partition(logits, MASK, PRED)
    expected = torch.stack(
        [
            torch.stack([labeling_score(logits, n, one) for one in labelings(n)]).logsumexp(0)
            for n in range(len(PRED))
        ]
    )
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
    weights = torch.tensor([1.0, 2.5], dtype=torch.float64)
    ours = torch.autograd.grad((found * weights).sum(), parts, retain_graph=True)
    theirs = torch.autograd.grad((expected * weights).sum(), parts)
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)


def test_segmental_marginals_are_sums_over_labelings():
    logits = segmental_logits(seed=7)
    starts, ends, outside = marginals(logits, MASK, PRED)
    for n in range(len(PRED)):
        every = labelings(n)
        prob = torch.stack([labeling_score(logits, n, one) for one in every]).softmax(0)
        for t in range(int(LENGTHS[n])):
            for r in range(R):
                begins = sum(
                    p for p, one in zip(prob, every, strict=True) if any(s[0] == t and s[2] == r for s in one)
                )
                stops = sum(
                    p for p, one in zip(prob, every, strict=True) if any(s[1] == t and s[2] == r for s in one)
                )
                torch.testing.assert_close(starts[n, t, r], torch.as_tensor(begins, dtype=torch.float64))
                torch.testing.assert_close(ends[n, t, r], torch.as_tensor(stops, dtype=torch.float64))
            free = sum(
                p for p, one in zip(prob, every, strict=True) if not any(i <= t <= j for i, j, _ in one)
            )
            torch.testing.assert_close(outside[n, t, 0], torch.as_tensor(free, dtype=torch.float64))


def test_the_segmental_loss_is_minus_the_log_probability_of_the_gold_labeling():
    output = SegmentalOutput(D, R).double()
    h = random(2, T, D)
    logits = output(h, MASK)
    gold = [[oracles.Labeled(0, 1, 0), oracles.Labeled(3, 3, 1)], [oracles.Labeled(1, 2, 1)]]
    expected = -sum(
        labeling_score(logits, n, gold[n])
        - torch.stack([labeling_score(logits, n, one) for one in labelings(n)]).logsumexp(0)
        for n in range(2)
    )
    torch.testing.assert_close(output.gold_loss(h, MASK, PRED, GOLD), expected / 2)


def test_segmental_distillation_is_the_cross_entropy_over_all_labelings():
    teacher, student = SegmentalOutput(D, R).double(), SegmentalOutput(D, R).double()
    h = random(2, T, D)
    arrays = {name: array.detach().numpy() for name, array in teacher.arrays(h, MASK).items()}
    targets = teacher.targets(make_scores("segmental", arrays, LENGTHS.numpy(), PRED.numpy()))
    expected = 0.0
    for n in range(2):
        own, other = (
            torch.stack([labeling_score(output(h, MASK), n, one) for one in labelings(n)]).log_softmax(0)
            for output in (teacher, student)
        )
        expected = expected - (own.exp() * other).sum()
    torch.testing.assert_close(student.teacher_loss(h, MASK, PRED, targets), expected / 2)


def test_nested_gold_arguments_make_a_legal_labeling():
    output = SegmentalOutput(D, R).double()
    nested = make_gold((1, 0, 1, 2), (1, 1, 2, 2), (0, 0, 0, 3))  # the last one covers its predicate
    targets = output.gold_targets(MASK, PRED, nested)
    starts, ends, outside = targets[:, :, :R], targets[:, :, R : 2 * R], targets[:, :, -1]
    assert starts[1].nonzero().tolist() == [[1, 0], [2, 1]]
    assert ends[1].nonzero().tolist() == [[1, 0], [2, 1]]
    assert starts[0].nonzero().tolist() == [[0, 0], [3, 0]]
    assert ends[0].nonzero().tolist() == [[1, 0], [3, 0]]
    assert outside[0].tolist() == [0, 0, 1, 0]


def label_by_enumeration(start, end, gold: Gold) -> torch.Tensor:
    roles: dict[tuple[int, int, int], list[int]] = {}
    for n, r, i, j in zip(
        *(part.tolist() for part in (gold.prop, gold.role, gold.first, gold.last)), strict=True
    ):
        roles.setdefault((n, i, j), []).append(r)
    total = torch.zeros((), dtype=torch.float64)
    for n in range(len(PRED)):
        for i, j in oracles.all_spans(int(LENGTHS[n])):
            log_p = torch.cat([torch.zeros(1, dtype=torch.float64), start[n, i] + end[n, j]]).log_softmax(0)
            for choice in [r + 1 for r in roles.get((n, i, j), [])] or [0]:
                total = total - log_p[choice]
    return total / len(PRED)


@pytest.mark.parametrize(
    "gold",
    [GOLD, make_gold((0, 0, 0, 1), (0, 1, 0, 1), (1, 1, 1, 2)), make_gold()],
    ids=["one", "two", "none"],
)
def test_the_label_loss_and_its_gradient_are_those_of_all_spans(gold):
    start, end = random(2, T, R, seed=3).requires_grad_(), random(2, T, R, seed=4).requires_grad_()
    found, expected = label_loss(start, end, MASK, gold), label_by_enumeration(start, end, gold)
    torch.testing.assert_close(found, expected)
    for a, b in zip(*(torch.autograd.grad(x, (start, end)) for x in (found, expected)), strict=True):
        torch.testing.assert_close(a, b)


def test_chunks_of_the_label_loss_add_up(monkeypatch):
    start, end = random(5, T, R, seed=5), random(5, T, R, seed=6)
    mask = torch.ones(5, T, dtype=torch.bool)
    whole = sum_of_normalizers(start, end, mask)
    monkeypatch.setattr("spansrl.nn.outputs.label.PAIRS", 2 * T * T)
    torch.testing.assert_close(sum_of_normalizers(start, end, mask), whole)


def test_the_softmax_loss_is_the_sum_over_tokens():
    output = SoftmaxOutput(D, R).double()
    h = random(2, T, D)
    tags = gold_tags(GOLD, MASK, PRED)
    log_p = output.emit(h).log_softmax(2)
    expected = -sum(log_p[n, t, tags[n, t]] for n in range(2) for t in range(int(LENGTHS[n])))
    torch.testing.assert_close(output.gold_loss(h, MASK, PRED, GOLD), expected / 2)


def test_softmax_decodes_the_best_bio_sequence():
    output = SoftmaxOutput(D, R).double()
    arrays = {
        name: array.detach().numpy() for name, array in output.arrays(random(2, T, D) * 3, MASK).items()
    }
    found = make_scores("softmax", arrays, LENGTHS.numpy(), PRED.numpy()).decode(TABLE)
    for n in range(2):
        best, answer = -math.inf, ()
        for path in product(range(1 + 2 * R), repeat=int(LENGTHS[n])):
            legal = all(
                tag % 2 or not tag or (t and path[t - 1] in (tag, tag - 1)) for t, tag in enumerate(path)
            )
            score = sum(arrays["emissions"][n, t, tag] for t, tag in enumerate(path))
            if legal and path[PRED[n]] == 0 and score > best:
                best, answer = score, path
        tags = [0] * int(LENGTHS[n])
        for arg in found[n]:
            r = ROLES.index(arg.role)
            tags[arg.start : arg.end] = [1 + 2 * r, *[2 + 2 * r] * (arg.end - arg.start - 1)]
        assert tuple(tags) == answer


# What every output promises


def test_the_tables_of_outputs_and_scores_have_the_same_kinds():
    assert list(OUTPUTS) == list(SCORES) == list(ARRAYS)


@pytest.mark.parametrize("kind", OUTPUTS)
def test_arrays_have_their_names_and_padding_never_matters(kind):
    torch.manual_seed(0)
    output = OUTPUTS[kind].of(OutputConfig(kind=kind, span_end="next"), D, R).double()
    h = random(2, T, D)
    arrays = output.arrays(h, MASK)
    assert set(arrays) == ARRAYS[kind]
    spoiled = h.clone()
    spoiled[~MASK] = 1e3
    loss, other = (output.gold_loss(x, MASK, PRED, GOLD) for x in (h, spoiled))
    torch.testing.assert_close(loss, other)
    answers = [
        make_scores(
            kind,
            {name: part.detach().numpy() for name, part in output.arrays(x, MASK).items()},
            LENGTHS.numpy(),
            PRED.numpy(),
        ).decode(TABLE)
        for x in (h, spoiled)
    ]
    assert answers[0] == answers[1]


@pytest.mark.parametrize("kind", OUTPUTS)
def test_the_loss_has_a_gradient_that_numbers_confirm(kind):
    torch.manual_seed(1)
    output = OUTPUTS[kind].of(OutputConfig(kind=kind), D, R).double()
    h = random(2, T, D, seed=9).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: output.gold_loss(x, MASK, PRED, GOLD), h)


@pytest.mark.parametrize(("kind", "transitions"), [*((kind, "free") for kind in OUTPUTS), ("crf", "bio")])
def test_learning_one_example_makes_gold_the_answer(kind, transitions):
    torch.manual_seed(2)
    output = OUTPUTS[kind].of(OutputConfig(kind=kind, transitions=transitions), 6, R)
    h = torch.randn(2, T, 6)
    optimizer = torch.optim.Adam(output.parameters(), 0.1)
    for _ in range(200):
        optimizer.zero_grad()
        output.gold_loss(h, MASK, PRED, GOLD).backward()
        optimizer.step()
    arrays = {name: part.detach().numpy() for name, part in output.arrays(h, MASK).items()}
    scores = make_scores(kind, arrays, LENGTHS.numpy(), PRED.numpy())
    gold = [{("A0", (0, 2)), ("AM-TMP", (3, 4))}, {("AM-TMP", (1, 3))}]
    for decoder in ("greedy", "argmax", "exact"):
        found = scores.decode(TABLE, decoder=decoder)
        assert [{(arg.role, tuple(arg.span)) for arg in args} for args in found] == gold
        probs = [arg.prob for args in found for arg in args if arg.prob is not None]
        assert np.isfinite(probs).all()
        assert min(probs, default=1) > 0.5


def test_label_rows_are_the_papers():
    assert set(dict(LabelOutput(D, R).named_parameters())) == {"roles"}
