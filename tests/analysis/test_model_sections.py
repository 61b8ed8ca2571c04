"""Sections 6 to 8, which look into a model: a fake with vectors chosen by hand, brute force over spans."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pytest
from cases import GOLD, SPAN, TRAIN, make_inputs, table
from hypothesis import given
from hypothesis import strategies as st

from builders import make_sentence
from spansrl.analysis import Inputs, ReportSettings, build_sections, make_system
from spansrl.analysis.decoders import compare_decoders, decoders, overlaps, repeats_core
from spansrl.analysis.embeddings import cosines, embeddings, kind_of, project
from spansrl.analysis.neighbors import neighbors, predicted_arguments
from spansrl.decoding import SpanScores, log_partition
from spansrl.inference.model import Encoding, Prepared, lengths_of, score_propositions
from spansrl.inventory import PROPBANK
from spansrl.structures import Argument, Span

ROLES = ("A0", "A1", "A2", "AM-DIR", "AM-TMP")


@dataclass
class FakeModel:
    """Scores, role rows and argument vectors as the test wants them."""

    rows: np.ndarray = None
    vectors: dict = None  # id of a list of sentences -> vectors of its arguments
    seed: int = 0
    order: str = "prob"
    roles: tuple = ROLES

    finds_predicates = False

    @property
    def model(self):
        return self

    def role_vectors(self):
        return self.rows

    def argument_vectors(self, sentences, progress):
        vectors = self.vectors[id(sentences)]
        yield vectors[:1]
        yield vectors[1:]

    def prepare(self, sentences):
        return Prepared(sentences, lengths_of(sentences))

    def encode(self, prepared, rows):
        return Encoding(prepared.sentences, lengths_of(prepared.sentences), None)

    def roles_of(self, sense):
        return self.roles

    def score_senses(self, encoding, sentence, pred):
        return None

    def score_arguments(self, encoding, sentence, pred, senses):
        lengths = encoding.lengths[sentence]
        start, end = np.zeros((2, len(pred), lengths.max(), len(ROLES)))
        for n, (length, p) in enumerate(zip(lengths.tolist(), pred.tolist(), strict=True)):
            rng = np.random.default_rng([self.seed, length, p])
            start[n, :length], end[n, :length] = rng.normal(0, 2, (2, length, len(ROLES)))
        return SpanScores(start, end, lengths, pred, log_z=log_partition(start, end, lengths))


TRAINING = [
    make_sentence("They go over it now", (1, ("A0", 0, 1), ("AM-DIR", 2, 4), ("AM-TMP", 4, 5))),
    make_sentence("Walk out", (0, ("AM-DIR", 1, 2))),
    make_sentence("It lasts", (1, ("A1", 0, 1))),
]


def with_vectors(inputs):
    """Angles in the plane: A0 at 0°, A1 at 90°, AM-DIR and AM-TMP at 180° and 270°."""
    at = {"A0": 0, "A1": 90, "AM-DIR": 180, "AM-TMP": 270}

    def vectors(sentences):
        angles = np.radians([at[arg.role] for sent in sentences for prop in sent.props for arg in prop.args])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)

    answers = inputs.systems[0].sentences
    known = {id(answers): vectors(answers), id(inputs.train): vectors(inputs.train)}
    return replace(inputs, model=FakeModel(vectors=known))


def test_neighbors_that_agree_are_counted_for_right_and_wrong_predictions():
    settings = ReportSettings(neighbors=2, min_count=1)
    section = neighbors(with_vectors(make_inputs(train=TRAINING, settings=settings)))
    rows = {row["of 2 neighbors agree"]: row for row in table(section, "consistency")}
    # AM-DIR has two training spans right there; A0, A1 and AM-TMP have one each, so the second is another.
    assert [rows[n]["correct boundaries"] for n in (0, 1, 2)] == [0, 4, 1]
    assert (rows[0]["label correct %"], rows[1]["label correct %"], rows[2]["label correct %"]) == (
        None,
        100,
        0,
    )
    assert [(rows[n]["all predicted"], rows[n]["correct %"]) for n in (0, 1, 2)] == [
        (0, None),
        (4, 100),
        (1, 0),
    ]
    right, wrong, nowhere = table(section, "consistency-means")
    assert (right["spans"], right["mean agreeing of 2"]) == (4, 1)
    assert (wrong["spans"], wrong["mean agreeing of 2"], wrong["all agree %"]) == (1, 2, 100)
    assert (nowhere["spans"], nowhere["mean agreeing of 2"]) == (0, None)
    head = "most neighbors have gold's label %"  # of two that differ, the nearer one has the vote
    assert [row[head] for row in (right, wrong, nowhere)] == [100, 0, None]


def test_misclassified_spans_are_listed_with_their_neighbors():
    settings = ReportSettings(neighbors=2, min_count=1)
    section = neighbors(with_vectors(make_inputs(train=TRAINING, settings=settings)))
    first, second = table(section, "neighbors")
    assert (first["span"], first["predicate"], first["gold"], first["predicted"]) == (
        "across the border",
        "move",
        "A2",
        "AM-DIR",
    )
    assert (first["rank"], first["label"], first["neighbor"], first["its predicate"]) == (
        1,
        "AM-DIR",
        "over it",
        "go",
    )
    assert (second["rank"], second["neighbor"], second["cosine"]) == (2, "out", pytest.approx(1))


def test_requested_spans_come_first_whether_right_or_wrong():
    settings = ReportSettings(neighbors=1, spans=("TODAY",))
    section = neighbors(with_vectors(make_inputs(train=TRAINING, settings=settings)))
    assert [row["span"] for row in table(section, "neighbors")] == ["today", "across the border"]


def test_a_long_span_is_found_by_all_of_its_words_and_an_unpredicted_one_is_noted():
    words = " ".join(f"word{k}" for k in range(30))
    gold = [make_sentence(f"Go {words}", (0, ("A1", 1, 31)))]
    settings = ReportSettings(neighbors=1, spans=(words.upper().replace(" ", "  "), "no such"))
    inputs = Inputs(gold, [make_system("span", gold, gold)], train=TRAINING, settings=settings)
    section = neighbors(with_vectors(inputs))
    (row,) = table(section, "neighbors")
    assert row["span"].startswith("word0 word1")
    assert len(row["span"]) < len(words)
    assert section.tables[-1].note.endswith("Not predicted anywhere: no such.")


@pytest.mark.parametrize(
    ("answer", "train", "lack"),
    [
        ((1,), TRAINING, "span predicts no arguments of gold's predicates."),
        ((0, ("A1", 1, 2)), TRAINING, "span predicts no arguments of gold's predicates."),
        ((1, ("A0", 0, 1)), TRAIN, "2 arguments in the training data, fewer than 3 neighbors; pass all of"),
    ],
)
def test_neighbors_are_skipped_where_there_is_nothing_to_search(answer, train, lack):
    words = " ".join(GOLD[0].tokens)
    system = make_system("span", GOLD[:1], [make_sentence(words, answer)])
    inputs = Inputs(GOLD[:1], [system], train=train, model=FakeModel(), settings=ReportSettings(neighbors=3))
    section = neighbors(inputs)
    assert section.skipped.startswith(lack.rstrip("."))
    assert section.parts == ()


def test_predictions_for_other_predicates_are_not_queries_but_keep_their_indices():
    predicted = [
        make_sentence("People start their own business", (0, ("A1", 1, 2)), (1, ("A0", 0, 1), ("A1", 3, 5))),
        *SPAN[1:],
    ]
    queries = predicted_arguments(GOLD, predicted)
    assert [place for place, _ in queries] == [1, 2, 3, 4, 5]
    assert [query.gold for _, query in queries] == ["A0", None, "A0", "A2", "AM-TMP"]


@given(st.integers(0, 1000))
def test_the_projection_keeps_distances_of_points_in_a_plane(seed):
    rng = np.random.default_rng(seed)
    flat = rng.standard_normal((6, 2))
    basis = np.linalg.qr(rng.standard_normal((5, 2)))[0]
    places, share = project(flat @ basis.T + 3)
    for a, b in combinations(range(6), 2):
        assert np.linalg.norm(places[a] - places[b]) == pytest.approx(np.linalg.norm(flat[a] - flat[b]))
    assert share.sum() == pytest.approx(1)
    assert share[0] >= share[1]


def test_the_projection_does_not_depend_on_the_sign_of_the_components():
    vectors = np.random.default_rng(3).standard_normal((5, 4))
    mirrored = np.stack([vectors, -vectors])
    places = [project(one)[0] for one in mirrored]
    assert places[0].max(axis=0) == pytest.approx(np.abs(places[0]).max(axis=0))
    assert places[1].max(axis=0) == pytest.approx(np.abs(places[1]).max(axis=0))


def test_a_single_direction_lies_on_a_line():
    places, share = project(np.outer([0.0, 1.0, 5.0], [1.0, 0.0, 0.0]))
    assert places[:, 1] == pytest.approx(0)
    assert share == pytest.approx([1, 0])


def test_label_embeddings_list_the_nearest_pairs_and_mark_kinds():
    rows = np.array([[1, 0], [0, 1], [1, 1], [0.9, 1], [-1, -1]], dtype=float)
    section = embeddings(make_inputs(model=FakeModel(rows=rows)))
    pairs = table(section, "nearest-labels")
    assert (pairs[0]["label"], pairs[0]["other label"]) in {("A0", "A2"), ("A1", "A2")}
    assert pairs[-1]["cosine"] == pytest.approx(-1)
    (picture,) = section.pictures
    assert len(picture.chart.names) == len(picture.chart.points) == 4  # AM-DIR is not in gold
    assert "TMP" in picture.chart.names
    assert [kind_of(role) for role in ("ARG2", "ARGM-LOC", "R-ARG0", "C-A1", "AA")] == [0, 1, 2, 2, 1]


def test_cosines_of_a_zero_row_are_zero():
    assert cosines(np.array([[1.0, 0], [0, 0]])).tolist() == [[1, 0], [0, 0]]


def test_too_few_frequent_labels_leave_the_embeddings_out():
    section = embeddings(
        make_inputs(model=FakeModel(rows=np.eye(5)), settings=ReportSettings(min_count=1000))
    )
    assert "--min-count" in section.skipped


def best_sum(scores, n):
    """The greatest sum of F − Null over legal sets of spans, by trying all sets of up to three spans."""
    start, end, p, size = scores.start[n], scores.end[n], scores.pred[n], scores.lengths[n]
    spans = [
        (r, i, j, start[i, r] + end[j, r] - start[p, r] - end[p, r])
        for r in range(len(ROLES))
        for i in range(size)
        for j in range(i, size)
        if not i <= p <= j
    ]
    spans = [span for span in spans if span[3] > 0]

    def legal(chosen):
        cores = [r for r, *_ in chosen if PROPBANK.role(ROLES[r]).is_core]
        apart = all(a[2] < b[1] or b[2] < a[1] for a, b in combinations(chosen, 2))
        return apart and len(cores) == len(set(cores))

    sets = (chosen for k in range(4) for chosen in combinations(spans, k))
    return max(sum(span[3] for span in chosen) for chosen in sets if legal(chosen))


@pytest.mark.parametrize("seed", range(6))
def test_the_sum_of_exact_search_is_that_of_brute_force_and_greedy_never_beats_it(seed):
    gold = [make_sentence("a b c d", (1,)), make_sentence("a b c", (0,), (2,))]
    model = FakeModel(seed=seed)
    inputs = replace(make_inputs(), gold=gold)
    found = compare_decoders(model, inputs)
    scores = score_propositions(model, gold)
    assert found.sums["exact"] == pytest.approx([best_sum(scores, n) for n in range(3)])
    assert all(g <= e + 1e-9 for g, e in zip(found.sums["greedy"], found.sums["exact"], strict=True))


@pytest.mark.parametrize(("seed", "optimal"), [(4, [True, False, True]), (2, [False, True, False])])
def test_greedy_search_is_optimal_where_it_reaches_the_greatest_sum(seed, optimal):
    model, inputs = FakeModel(seed=seed), make_inputs()
    sums, scores = (
        compare_decoders(model, inputs).sums["greedy"],
        score_propositions(model, inputs.gold),
    )
    assert [sums[n] == pytest.approx(best_sum(scores, n)) for n in range(3)] == optimal
    section = decoders(replace(inputs, model=model))
    first, *_ = table(section, "decoder-events")
    assert first == {
        "event": "greedy search is optimal",
        "predicates": sum(optimal),
        "%": 100 * sum(optimal) / 3,
    }
    short = [sent.id for sent, best in zip(inputs.gold, optimal, strict=True) if not best]
    assert [row["sentence"] for row in table(section, "greedy-not-optimal")] == short


def test_decoders_are_scored_and_their_shortfalls_counted():
    section = decoders(make_inputs(model=FakeModel(seed=4)))
    assert [row["decoder"] for row in table(section, "decoders")] == ["argmax", "greedy", "exact"]
    events = {row["event"]: row["predicates"] for row in table(section, "decoder-events")}
    found = compare_decoders(FakeModel(seed=4), make_inputs())
    assert events["spans of argmax overlap"] == sum(map(overlaps, found.answers["argmax"]))
    assert events["argmax repeats a core role"] == 0
    assert len(table(section, "greedy-not-optimal")) == 3 - events["greedy search is optimal"]


def test_overlaps_and_repeated_core_roles_are_noticed():
    def args(*triples):
        return tuple(Argument(role, Span(start, end)) for role, start, end in triples)

    assert overlaps(args(("A0", 0, 2), ("A1", 1, 3)))
    assert not overlaps(args(("A0", 0, 2), ("A1", 2, 3)))
    assert repeats_core(args(("A0", 0, 1), ("A0", 2, 3)))
    assert not repeats_core(args(("AM-TMP", 0, 1), ("AM-TMP", 2, 3)))


def test_progress_is_reported_for_every_predicate():
    seen = []
    inputs = make_inputs(model=FakeModel(), progress=lambda *told: seen.append(told))
    decoders(inputs)
    assert seen[-1] == ("Decoders compared", 3, 3)


def test_skipped_sections_name_the_missing_options():
    left = {section.name: section.skipped for section in build_sections(make_inputs())}
    assert left["neighbors"] == (
        "needs --model DIR (a span model) and --train FILE (the model's training data)"
    )
    assert left["embeddings"] == left["decoders"] == "needs --model DIR (a span model)"
    assert [name for name, line in left.items() if not line] == [
        "overall",
        "boundaries",
        "labels",
        "confusion",
        "errors",
        "examples",
    ]
    lack = build_sections(make_inputs(model_problem="x holds a CRF", train=TRAIN), ["neighbors"])
    assert lack[0].skipped == "x holds a CRF"
