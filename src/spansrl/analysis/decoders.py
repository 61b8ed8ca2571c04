"""Section 8: argmax, greedy and exact search on the same scores.

Exact search maximizes the sum of F(i, j, r) − F(p, p, r) over legal sets of spans; greedy search is optimal
where it reaches that sum. Argmax has no constraints, so its spans may overlap.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from spansrl.analysis.report_inputs import Inputs, SpanModel, predicate_name, span_text
from spansrl.analysis.tables import Section, Table, columns
from spansrl.decoding import Decoder
from spansrl.evaluation import score
from spansrl.evaluation.counts import percent
from spansrl.inference.batching import batches_by_length
from spansrl.inference.model import score_propositions
from spansrl.inventory import PROPBANK, RoleTable
from spansrl.structures import Argument, Sentence

NAME, TITLE = "decoders", "Decoders compared"
DECODERS: tuple[Decoder, ...] = ("argmax", "greedy", "exact")
_BATCH_TOKENS = 8192  # propositions × tokens scored at once
_TIE = 1e-5  # sums of single-precision scores that differ by a smaller share are equal

Args = tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class DecoderComparison:
    """The arguments that each decoder finds for each gold predicate, in order, and their total score."""

    answers: dict[Decoder, list[Args]]
    sums: dict[Decoder, list[float]]


def decoders(inputs: Inputs) -> Section:
    assert inputs.model is not None
    found = compare_decoders(inputs.model, inputs)
    intro = "Three decoders on the same scores of the model."
    parts = (_scores(inputs, found), _shortfalls(found), _differing(inputs, found))
    return Section(NAME, TITLE, intro, parts)


def compare_decoders(model: SpanModel, inputs: Inputs) -> DecoderComparison:
    """Score every gold predicate once and decode its scores with every decoder."""
    roles = model.model.roles
    index = {role: k for k, role in enumerate(roles)}
    table = RoleTable(list(map(PROPBANK.role, roles)))
    props = [replace(sent, props=(prop,)) for sent in inputs.gold for prop in sent.props]
    answers: dict[Decoder, list[Args]] = {decoder: [()] * len(props) for decoder in DECODERS}
    sums = {decoder: [0.0] * len(props) for decoder in DECODERS}
    done = 0
    for rows in batches_by_length([len(sent) for sent in props], limit=_BATCH_TOKENS):
        scores = score_propositions(model.model, [props[k] for k in rows])
        for decoder in DECODERS:
            decoded = scores.decode(table, decoder=decoder, order=model.order)
            for n, (k, args) in enumerate(zip(rows, decoded, strict=True)):
                answers[decoder][k] = args
                spans = np.array(
                    [(n, index[arg.role], arg.start, arg.end - 1) for arg in args], dtype=np.intp
                )
                # The sum that exact search maximizes.
                sums[decoder][k] = float(scores.gain(*spans.reshape(-1, 4).T).sum())
        done += len(rows)
        inputs.progress("Decoders compared", done, len(props))
    return DecoderComparison(answers, sums)


def overlaps(args: Args) -> bool:
    return any(a.start < b.end and b.start < a.end for a, b in combinations(args, 2))


def repeats_core(args: Args) -> bool:
    core = [arg.role for arg in args if PROPBANK.role(arg.role).is_core]
    return len(core) != len(set(core))


def _scores(inputs: Inputs, found: DecoderComparison) -> Table:
    rows = []
    for decoder in DECODERS:
        answers = iter(found.answers[decoder])
        labeled = [
            replace(sent, props=tuple(replace(prop, args=next(answers)) for prop in sent.props))
            for sent in inputs.gold
        ]
        result = score(inputs.gold, labeled)
        counts = result.overall
        rows.append((decoder, counts.precision, counts.recall, counts.f1, result.perfect_percent))
    names = ("decoder", "precision", "recall", "F1", "perfect props %")
    return Table("decoders", "Official score of each decoder", columns(*names), tuple(rows))


def _shortfalls(found: DecoderComparison) -> Table:
    argmax, greedy, exact = (found.answers[decoder] for decoder in DECODERS)
    total = len(exact)
    events = {
        "greedy search is optimal": _optimal(found).count(True),
        "greedy and exact search give the same arguments": sum(map(_same, greedy, exact)),
        "argmax and exact search give the same arguments": sum(map(_same, argmax, exact)),
        "spans of argmax overlap": sum(map(overlaps, argmax)),
        "argmax repeats a core role": sum(map(repeats_core, argmax)),
    }
    return Table(
        "decoder-events",
        "How often they agree, and how often argmax breaks a constraint",
        columns("event", "predicates", "%"),
        tuple((name, n, percent(n, total)) for name, n in events.items()),
        note=f"Of {total} predicates. Argmax takes at most one span per role, so it never repeats a role.",
    )


def _optimal(found: DecoderComparison) -> list[bool]:
    return [
        greedy >= exact - _TIE * max(1.0, abs(exact))
        for greedy, exact in zip(found.sums["greedy"], found.sums["exact"], strict=True)
    ]


def _same(a: Args, b: Args) -> bool:
    return {(arg.role, arg.span) for arg in a} == {(arg.role, arg.span) for arg in b}


def _differing(inputs: Inputs, found: DecoderComparison) -> Table:
    props = [(sent, prop) for sent in inputs.gold for prop in sent.props]
    rows = []
    for k, (optimal, (sent, prop)) in enumerate(zip(_optimal(found), props, strict=True)):
        if not optimal:
            texts = [_written(sent, found.answers[decoder][k]) for decoder in ("greedy", "exact")]
            gap = found.sums["exact"][k] - found.sums["greedy"][k]
            rows.append((sent.id, predicate_name(sent, prop), *texts, gap))
    names = ("sentence", "predicate", "greedy", "exact", "sum that greedy misses")
    return Table(
        "greedy-not-optimal", "Where greedy search is not optimal", columns(*names), tuple(rows), shown=10
    )


def _written(sent: Sentence, args: Args) -> str:
    return " ".join(f"[{arg.role} {span_text(sent, *arg.span, 30)}]" for arg in args)
