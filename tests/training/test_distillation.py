"""Learning from teachers: the loss against brute force over all spans, and a run that does it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from builders import SENTENCES as BUILT
from builders import make_network
from spansrl.errors import ConfigError
from spansrl.inference.directory import WORDS
from spansrl.nn.batch import Corpus, Gold
from spansrl.nn.outputs.span import SpanOutput, boundary_marginals, distillation_loss, span_logits, span_loss
from spansrl.structures import Argument, Proposition, Sentence, Span
from spansrl.training.config import config_from_dict
from spansrl.training.distillation import teacher_marginals
from spansrl.training.runs import Splits, execute, prepare_run

N, T, R = 3, 5, 4
LENGTHS = torch.tensor([5, 3, 1])
MASK = torch.arange(T) < LENGTHS[:, None]


def random_logits(seed: int):
    torch.manual_seed(seed)
    start, end = torch.randn(2, N, T, R, dtype=torch.float64)
    return span_logits(start.requires_grad_(), end.requires_grad_(), MASK, "last")


def spans(n: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(int(LENGTHS[n])) for j in range(i, int(LENGTHS[n]))]


def distribution(logits, n: int, r: int) -> torch.Tensor:
    return torch.stack([logits.start[n, i, r] + logits.end[n, j, r] for i, j in spans(n)]).softmax(dim=0)


def test_marginals_are_sums_over_the_spans_that_start_or_end_at_a_token():
    logits = random_logits(0)
    starts, ends = boundary_marginals(logits)
    for n in range(N):
        for r in range(R):
            prob = distribution(logits, n, r)
            for t in range(int(LENGTHS[n])):
                begins = sum(p for p, (i, _) in zip(prob, spans(n), strict=True) if i == t)
                stops = sum(p for p, (_, j) in zip(prob, spans(n), strict=True) if j == t)
                torch.testing.assert_close(starts[n, t, r], torch.as_tensor(begins))
                torch.testing.assert_close(ends[n, t, r], torch.as_tensor(stops))


def test_the_loss_is_the_cross_entropy_over_all_spans():
    teacher, student = random_logits(1), random_logits(2)
    marginals = torch.stack(boundary_marginals(teacher), dim=2).detach()
    expected = sum(
        -(distribution(teacher, n, r) * distribution(student, n, r).log()).sum()
        for n in range(N)
        for r in range(R)
    )
    torch.testing.assert_close(distillation_loss(student, marginals, MASK), expected / N)


def test_padding_of_the_teacher_never_matters_and_no_gradient_is_nan():
    student = random_logits(3)
    marginals = torch.stack(boundary_marginals(random_logits(4)), dim=2).detach()
    spoilt = marginals.clone()
    spoilt[~MASK] = 7.0
    loss = distillation_loss(student, spoilt, MASK)
    torch.testing.assert_close(loss, distillation_loss(student, marginals, MASK))
    gradients = torch.autograd.grad(loss, [student.start, student.log_z])
    assert all(
        bool(torch.isfinite(gradient[MASK] if gradient.ndim == 3 else gradient).all())
        for gradient in gradients
    )


def test_a_student_equal_to_its_teacher_has_no_gradient_left():
    student = random_logits(5)
    marginals = torch.stack(boundary_marginals(student), dim=2).detach()
    (gradient,) = torch.autograd.grad(distillation_loss(student, marginals, MASK), [student.start])
    torch.testing.assert_close(gradient, torch.zeros_like(gradient))


SENTENCES = [
    Sentence(
        ("the", "cat", "saw", "a", "dog"),
        (Proposition(2, (Argument("ARG0", Span(0, 2)), Argument("ARG1", Span(3, 5))), sense="see.01"),),
    ),
    Sentence(("it", "ran"), (Proposition(1, (Argument("ARG0", Span(0, 1)),), sense="run.02"),)),
]
SMALL = {
    "embedder": {"min_count": 1, "width": 8},
    "encoder": {"width": 8, "layers": 1, "mark_width": 4},
    "training": {"epochs": 2, "batch_size": 2},
}


def run(tmp_path, name: str, partial=(), **sections):
    config = config_from_dict({**SMALL, **sections})
    splits = Splits(SENTENCES, SENTENCES, {"train.jsonl": "x"}, partial=list(partial))
    prepared = prepare_run(config, splits, cache=tmp_path / "cache")
    list(execute(prepared, tmp_path / name))
    return [json.loads(line)["loss"] for line in (tmp_path / name / "log.jsonl").read_text().splitlines()]


def test_a_run_learns_from_teachers_and_can_start_from_a_models_weights(tmp_path):
    plain = run(tmp_path, "one")
    run(tmp_path, "two", training={**SMALL["training"], "seed": 2})
    teachers = {"teachers": f"{tmp_path / 'one'}, {tmp_path / 'two'}", "weight": 1.0}
    taught = run(tmp_path, "taught", distillation=teachers)
    assert taught != plain
    started = run(tmp_path, "started", training={**SMALL["training"], "start": str(tmp_path / "one")})
    assert started[0] < plain[0]


def test_what_several_teachers_say_is_the_mean_of_what_each_says(tmp_path):
    networks = [make_network(seed=seed) for seed in (1, 2)]
    corpus = Corpus.of(BUILT, networks[0].roles)
    first, second, both = (
        teacher_marginals(teachers, corpus, tmp_path).values.astype(np.float64)
        for teachers in (networks[:1], networks[1:], networks)
    )
    assert np.abs(first - second).max() > 0.01
    assert both == pytest.approx((first + second) / 2, abs=2e-3)  # kept in half precision


def test_the_weight_is_the_teachers_share_of_the_loss():
    network = make_network()
    network.teacher_weight = 0.25
    corpus = Corpus.of(BUILT, network.roles)
    batch = corpus.whole()
    inputs = network.embedder.take(network.embedder.prepare(corpus.tokens), batch.rows)
    mask = batch.mask()
    logits = network.output(network.token_features(batch, inputs), mask)
    teacher = torch.rand(*mask.shape, 2, len(network.roles))
    by_gold, by_teacher = span_loss(logits, batch.pred, batch.gold), distillation_loss(logits, teacher, mask)
    taught = torch.ones(batch.n_props, dtype=torch.bool)
    found = network.loss(replace(batch, teacher=teacher.flatten(2), taught=taught), inputs)
    torch.testing.assert_close(found, 0.75 * by_gold + 0.25 * by_teacher)


def test_a_teacher_with_other_roles_is_refused(tmp_path):
    run(tmp_path, "one")
    fewer = [SENTENCES[1]]
    config = config_from_dict({**SMALL, "distillation": {"teachers": str(tmp_path / "one")}})
    with pytest.raises(ConfigError, match="other roles than the training data"):
        prepare_run(config, Splits(fewer, fewer, {}), cache=tmp_path / "cache")


def test_a_teacher_that_knows_gold_is_gold():
    """The cross-entropy with gold's own marginals is the loss by gold, roles with two spans aside."""
    prop, role, first, last = torch.tensor([[0, 1, 0, 2], [0, 0, 2, 2], [1, 3, 1, 1]]).T
    gold, pred = Gold(prop, role, first, last), torch.tensor([4, 0, 0])
    logits = random_logits(6)
    marginals = SpanOutput(3, R).gold_targets(MASK, pred, gold).double()
    torch.testing.assert_close(distillation_loss(logits, marginals, MASK), span_loss(logits, pred, gold))


def test_two_spans_of_a_role_share_its_chance():
    two, none = torch.tensor([0, 0]), torch.tensor([2])
    mask, gold = (
        torch.ones(1, 5, dtype=torch.bool),
        Gold(two, two, torch.tensor([0, 3]), torch.tensor([1, 3])),
    )
    found = SpanOutput(3, 2).gold_targets(mask, none, gold)
    assert found[0, :, 0, 0].tolist() == [0.5, 0, 0, 0.5, 0]
    assert found[0, :, 1, 0].tolist() == [0, 0.5, 0, 0.5, 0]
    assert found[0, :, :, 1].tolist() == [[0, 0], [0, 0], [1, 1], [0, 0], [0, 0]]  # Null


MORE = [
    Sentence(("we", "saw", "it", "run"), (Proposition(1, (Argument("ARG1", Span(2, 4)),), type="verb"),)),
    Sentence(("a", "run"), (Proposition(1, (Argument("ARG9", Span(0, 1)),), sense="run.99"),)),
]


def test_teachers_are_not_asked_about_partial_sentences_and_gold_takes_their_place(tmp_path):
    run(tmp_path, "one")
    config = config_from_dict({**SMALL, "distillation": {"teachers": str(tmp_path / "one")}})
    cache = tmp_path / "cache"
    alone = prepare_run(config, Splits(SENTENCES, SENTENCES, {}), cache=cache).examples.corpus
    both = prepare_run(config, Splits(SENTENCES, SENTENCES, {}, partial=[MORE]), cache=cache).examples.corpus
    assert (alone.n_props, both.n_props) == (2, 4)
    taught, added = alone.whole().teacher, both.whole().teacher
    torch.testing.assert_close(added[:2], taught)
    batch = both.batch(np.array([2, 3]))
    assert batch.taught.tolist() == [False, False]
    torch.testing.assert_close(both.batch(np.array([1, 2])).teacher[0, :2], taught[1, :2])


TEXT = {
    "encoder": {"kind": "none", "predicate": "after", "width": 8},
    "tasks": {"predicates": True, "senses": True},
}


@pytest.mark.parametrize("family", [{}, {"output": {"kind": "crf"}}, TEXT], ids=["span", "crf", "text"])
def test_a_run_learns_from_partial_sentences_too(tmp_path, family):
    alone = run(tmp_path, "alone", **family)
    added = run(tmp_path, "added", partial=[MORE], **family)
    assert len(added) == len(alone) == 2
    assert np.isfinite(added).all()
    assert added != alone
    words = json.loads((tmp_path / "added" / "embedder" / WORDS).read_text())
    assert {"we", "a"} <= set(words)


def test_a_tagger_cannot_be_distilled_and_a_teacher_has_the_students_kind_of_output(tmp_path):
    run(tmp_path, "crf", output={"kind": "crf"})
    teachers = {"distillation": {"teachers": str(tmp_path / "crf")}}
    splits = Splits(SENTENCES, SENTENCES, {})
    config = config_from_dict({**SMALL, **teachers, "output": {"kind": "crf"}})
    with pytest.raises(ConfigError, match="cannot be distilled"):
        prepare_run(config, splits, cache=tmp_path / "cache")
    with pytest.raises(ConfigError, match="crf output"):
        prepare_run(config_from_dict({**SMALL, **teachers}), splits, cache=tmp_path / "cache")


def test_a_segmental_student_learns_from_a_segmental_teacher(tmp_path):
    segmental = {"output": {"kind": "segmental"}}
    alone = run(tmp_path, "one", **segmental)
    taught = run(
        tmp_path, "two", **segmental, distillation={"teachers": str(tmp_path / "one")}, partial=[MORE]
    )
    assert np.isfinite(taught).all()
    assert taught != alone
