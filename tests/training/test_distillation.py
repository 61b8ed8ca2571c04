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
from spansrl.nn.batch import Corpus, Gold, Teacher
from spansrl.nn.network import TorchModel
from spansrl.nn.outputs.span import SpanOutput, boundary_marginals, distillation_loss, span_logits, span_loss
from spansrl.structures import Argument, Proposition, Sentence, Span
from spansrl.training import distillation
from spansrl.training.checkpoint import load_network
from spansrl.training.distillation import Teachers
from spansrl.training.export import export_model
from spansrl.training.run_config import config_from_dict
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
    marginals = torch.cat(boundary_marginals(teacher), dim=2).detach()
    expected = sum(
        -(distribution(teacher, n, r) * distribution(student, n, r).log()).sum()
        for n in range(N)
        for r in range(R)
    )
    torch.testing.assert_close(distillation_loss(student, marginals, MASK), expected / N)


def test_padding_of_the_teacher_never_matters_and_no_gradient_is_nan():
    student = random_logits(3)
    marginals = torch.cat(boundary_marginals(random_logits(4)), dim=2).detach()
    damaged = marginals.clone()
    damaged[~MASK] = 7.0
    loss = distillation_loss(student, damaged, MASK)
    torch.testing.assert_close(loss, distillation_loss(student, marginals, MASK))
    gradients = torch.autograd.grad(loss, [student.start, student.log_z])
    assert all(
        bool(torch.isfinite(gradient[MASK] if gradient.ndim == 3 else gradient).all())
        for gradient in gradients
    )


def test_a_student_equal_to_its_teacher_has_no_gradient_left():
    student = random_logits(5)
    marginals = torch.cat(boundary_marginals(student), dim=2).detach()
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


def test_an_exported_model_teaches_as_its_run_does(tmp_path):
    fast = {"kind": "none", "predicate": "after", "width": 8}
    run(tmp_path, "one", encoder=fast)
    export_model(tmp_path / "one", tmp_path / "exported")
    by_run, by_export, by_int8 = (
        run(
            tmp_path,
            f"by-{name}-{precision}",
            encoder=fast,
            distillation={"teachers": str(tmp_path / name), "precision": precision},
        )
        for name, precision in (("one", "full"), ("exported", "full"), ("exported", "int8"))
    )
    assert by_export == pytest.approx(by_run, rel=1e-3)  # kept in half precision
    assert by_int8 == pytest.approx(by_run, rel=1e-2)
    assert by_int8 != by_export
    with pytest.raises(ConfigError, match=r"distillation\.precision = 'int8' needs exported teachers"):
        run(
            tmp_path,
            "refused",
            encoder=fast,
            distillation={"teachers": str(tmp_path / "one"), "precision": "int8"},
        )


def test_a_teacher_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"distillation\.teachers: .*nobody"):
        run(tmp_path, "taught", distillation={"teachers": "nobody"})


def test_the_predictions_of_several_teachers_are_averaged(tmp_path):
    models = [TorchModel(make_network(seed=seed)) for seed in (1, 2)]
    first, second, both = (
        Teachers(models, models[0].network).lessons(BUILT, tmp_path, None).targets.values.astype(np.float64)
        for models in (models[:1], models[1:], models)
    )
    assert np.abs(first - second).max() > 0.01
    assert both == pytest.approx((first + second) / 2, abs=2e-3)  # kept in half precision


def test_the_weight_is_the_teachers_share_of_the_loss():
    network = make_network()
    corpus = Corpus.of(BUILT, network.roles)
    batch = corpus.batch(np.arange(corpus.n_props))
    inputs = network.embedder.take(network.embedder.prepare(corpus.tokens), batch.rows)
    mask = batch.mask()
    logits = network.output(network.token_features(batch, inputs), mask)
    teacher = torch.rand(*mask.shape, 2 * len(network.roles))
    gold = network.output.gold_targets(mask, batch.pred, batch.gold)
    by_gold, by_teacher = (distillation_loss(logits, targets, mask) for targets in (gold, teacher))
    quarter = Teacher(teacher, torch.full((batch.n_props,), 0.25))
    found = network.loss(replace(batch, teacher=quarter), inputs)
    torch.testing.assert_close(found, 0.75 * by_gold + 0.25 * by_teacher)


def test_a_teacher_with_other_roles_is_refused(tmp_path):
    run(tmp_path, "one")
    fewer = [SENTENCES[1]]
    config = config_from_dict({**SMALL, "distillation": {"teachers": str(tmp_path / "one")}})
    with pytest.raises(ConfigError, match="other roles than the training data"):
        prepare_run(config, Splits(fewer, fewer, {}), cache=tmp_path / "cache")


def test_a_teacher_that_predicts_gold_has_the_loss_of_gold():
    """The cross-entropy with gold's own marginals is the loss by gold, roles with two spans aside."""
    prop, role, first, last = torch.tensor([[0, 1, 0, 2], [0, 0, 2, 2], [1, 3, 1, 1]]).T
    gold, pred = Gold(prop, role, first, last), torch.tensor([4, 0, 0])
    logits = random_logits(6)
    marginals = SpanOutput(3, R).gold_targets(MASK, pred, gold).double()
    torch.testing.assert_close(distillation_loss(logits, marginals, MASK), span_loss(logits, pred, gold))


def test_two_spans_of_a_role_share_its_probability():
    two, none = torch.tensor([0, 0]), torch.tensor([2])
    mask, gold = (
        torch.ones(1, 5, dtype=torch.bool),
        Gold(two, two, torch.tensor([0, 3]), torch.tensor([1, 3])),
    )
    found = SpanOutput(3, 2).gold_targets(mask, none, gold)
    starts, ends = found[0].chunk(2, dim=1)  # (T, R) each
    assert starts[:, 0].tolist() == [0.5, 0, 0, 0.5, 0]
    assert ends[:, 0].tolist() == [0, 0.5, 0, 0.5, 0]
    assert starts[:, 1].tolist() == ends[:, 1].tolist() == [0, 0, 1, 0, 0]  # Null


MORE = [
    Sentence(("we", "saw", "it", "run"), (Proposition(1, (Argument("ARG1", Span(2, 4)),), type="verb"),)),
    Sentence(("a", "run"), (Proposition(1, (Argument("ARG9", Span(0, 1)),), sense="run.99"),)),
]


def test_partial_sentences_are_learned_from_gold_alone(tmp_path):
    run(tmp_path, "one")
    config = config_from_dict({**SMALL, "distillation": {"teachers": str(tmp_path / "one")}})
    cache = tmp_path / "cache"
    alone = prepare_run(config, Splits(SENTENCES, SENTENCES, {}), cache=cache).examples.corpus
    both = prepare_run(config, Splits(SENTENCES, SENTENCES, {}, partial=[MORE]), cache=cache).examples.corpus
    assert (alone.n_props, both.n_props) == (2, 4)
    taught, added = alone.batch(np.arange(alone.n_props)).teacher, both.batch(np.arange(both.n_props)).teacher
    torch.testing.assert_close(added.targets[:2], taught.targets)
    assert added.weight.tolist() == [0.5, 0.5, 0, 0]
    torch.testing.assert_close(both.batch(np.array([1, 2])).teacher.targets[0, :2], taught.targets[1, :2])


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


@pytest.mark.parametrize("kind", ["label", "crf", "softmax"])
def test_an_output_that_cannot_be_distilled_is_refused_with_what_to_do(tmp_path, kind):
    run(tmp_path, "teacher", output={"kind": kind})
    teachers = {"distillation": {"teachers": str(tmp_path / "teacher")}}
    splits = Splits(SENTENCES, SENTENCES, {})
    config = config_from_dict({**SMALL, **teachers, "output": {"kind": kind}})
    message = rf"^distillation\.teachers: models with {kind} output .* set output\.kind = span or segmental"
    with pytest.raises(ConfigError, match=message):
        prepare_run(config, splits, cache=tmp_path / "cache")
    with pytest.raises(ConfigError, match=rf"{kind} output, but output\.kind is 'span'"):
        prepare_run(config_from_dict({**SMALL, **teachers}), splits, cache=tmp_path / "cache")


def test_a_segmental_student_learns_from_a_segmental_teacher(tmp_path):
    segmental = {"output": {"kind": "segmental"}}
    alone = run(tmp_path, "one", **segmental)
    taught = run(
        tmp_path, "two", **segmental, distillation={"teachers": str(tmp_path / "one")}, partial=[MORE]
    )
    assert np.isfinite(taught).all()
    assert taught != alone


RAW = [Sentence(("the", "dog", "ran")), Sentence(("it",)), Sentence(("a", "dog", "saw", "the", "cat"))]


def taught_run(tmp_path, **distillation):
    """A trained teacher, and a student's run that is ready to learn from it and from RAW."""
    run(tmp_path, "teacher", partial=[MORE], **TEXT)
    config = config_from_dict(
        {**SMALL, **TEXT, "distillation": {"teachers": str(tmp_path / "teacher"), **distillation}}
    )
    splits = Splits(SENTENCES, SENTENCES, {}, partial=[MORE], raw=RAW)
    return prepare_run(config, splits, cache=tmp_path / "cache")


def test_raw_sentences_have_the_teachers_distributions_and_no_gold(tmp_path, monkeypatch):
    monkeypatch.setattr(distillation, "_found", every_second_token)
    corpus = taught_run(tmp_path, raw="raw.jsonl", weight=0.25).examples.corpus
    teacher = load_network(tmp_path / "teacher")
    rows = np.array([0, 4, 5, 6])  # one sentence with gold, then RAW
    batch = corpus.sentence_batch(rows)
    assert batch.pred.tolist() == [2, 1, 1, 3]
    assert batch.teacher.weight.tolist() == [0.25, 1, 1, 1]
    assert set(batch.gold.prop.tolist()) == {0}
    with torch.inference_mode():
        inputs = teacher.embedder.take(teacher.embedder.prepare(corpus.tokens), rows)
        x = teacher.embedder(inputs)
        classes = teacher.tasks.predicates(x).softmax(-1)
        h = teacher.encoder(x, batch)
        targets = teacher.output.targets(teacher.scores(h, batch))
    inside = torch.arange(5) < batch.sentence_lengths[:, None]
    found = batch.tasks.types
    assert found[0].argmax(-1).tolist() == [0, 0, 1, 0, 0]  # gold
    torch.testing.assert_close(found[1:][inside[1:]], classes[1:][inside[1:]], atol=1e-3, rtol=0)
    assert float(found[~inside].abs().sum()) == 0
    mask = batch.mask()
    torch.testing.assert_close(batch.teacher.targets[mask], targets[mask], atol=1e-3, rtol=0)


def every_second_token(classes, lengths):
    pairs = [(s, t) for s, length in enumerate(lengths.tolist()) for t in range(1, length, 2)]
    sentence, pred = np.array(pairs).T
    return sentence, pred


def test_a_student_learns_from_raw_text_and_its_teachers_run_once(tmp_path):
    student = taught_run(tmp_path, raw="raw.jsonl", weight=1.0)
    losses = [event.step.loss for event in execute(student, tmp_path / "student")]
    assert np.isfinite(losses).all()
    files = sorted((tmp_path / "cache").glob("lessons-*/*.npz"))
    assert len(files) == 2  # about the training data, and about the raw sentences
    before = [file.stat().st_mtime_ns for file in files]
    taught_again = prepare_run(
        config_from_dict(
            {**SMALL, **TEXT, "distillation": {"teachers": str(tmp_path / "teacher"), "raw": "raw.jsonl"}}
        ),
        Splits(SENTENCES, SENTENCES, {}, partial=[MORE], raw=RAW),
        cache=tmp_path / "cache",
    )
    assert [file.stat().st_mtime_ns for file in files] == before
    assert taught_again.examples.corpus.n_props == student.examples.corpus.n_props


def test_raw_text_in_which_teachers_find_no_predicate_teaches_that_there_is_none(tmp_path, monkeypatch):
    none = np.zeros(0, np.int64)
    monkeypatch.setattr(distillation, "_found", lambda classes, lengths: (none, none))
    student = taught_run(tmp_path, raw="raw.jsonl")
    assert student.examples.corpus.n_props == 4  # those with gold
    losses = [event.step.loss for event in execute(student, tmp_path / "student")]
    assert np.isfinite(losses).all()


def test_targets_of_raw_text_stay_on_disk(tmp_path):
    (_, own), (_, raw) = taught_run(tmp_path, raw="raw.jsonl").examples.corpus.taught.parts
    assert isinstance(own.values, np.memmap)
    assert isinstance(raw.values, np.memmap) or not len(raw.values)


def test_chunks_make_no_difference(tmp_path, monkeypatch):
    whole = taught_run(tmp_path, raw="raw.jsonl").examples.corpus
    monkeypatch.setattr(distillation, "CHUNK", 2)
    monkeypatch.setattr(distillation, "BATCH", 4)
    parts = taught_run(tmp_path / "again", raw="raw.jsonl").examples.corpus
    assert parts.prop_pred.tolist() == whole.prop_pred.tolist()
    for name in ("prop_offsets", "prop_sentence", "lengths"):
        assert getattr(parts, name).tolist() == getattr(whole, name).tolist()
    for (first, own), (same, other) in zip(parts.taught.parts, whole.taught.parts, strict=True):
        assert first == same
        assert own.values == pytest.approx(other.values, abs=2e-3)
    assert parts.tasks.raw.classes.values == pytest.approx(whole.tasks.raw.classes.values, abs=2e-3)


def test_raw_text_needs_teachers():
    with pytest.raises(ConfigError, match=r"distillation.raw needs distillation.teachers"):
        config_from_dict({**SMALL, **TEXT, "distillation": {"raw": "raw.jsonl"}})


def test_senses_that_a_teacher_does_not_know_are_not_among_its_candidates(tmp_path, monkeypatch):
    run(tmp_path, "other", **TEXT)  # without the senses of MORE
    config = config_from_dict(
        {**SMALL, **TEXT, "distillation": {"teachers": str(tmp_path / "other"), "raw": "raw.jsonl"}}
    )
    monkeypatch.setattr(distillation, "_found", every_second_token)
    raw_text = [Sentence(("dogs", "ran")), Sentence(("we", "run"))]
    splits = Splits(SENTENCES, SENTENCES, {}, partial=[MORE], raw=raw_text)
    student = prepare_run(config, splits, cache=tmp_path)
    raw = student.examples.corpus.tasks.raw
    teacher = load_network(tmp_path / "other")
    new = set(student.model.senses.items) - set(teacher.senses.items)
    assert new
    offered = {student.model.senses.items[k] for k in raw.candidates[raw.candidates >= 0]}
    assert offered
    assert offered <= set(teacher.senses.items)
    assert list(execute(student, tmp_path / "student"))[-1].step.dev is not None
