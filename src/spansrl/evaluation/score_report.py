"""Scores as text: what srl-eval.pl prints with -noW and with -noW -C, and other reports in its style."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from spansrl.evaluation.counts import NONE, Counts, EndToEnd, Score
from spansrl.evaluation.significance import Comparison
from spansrl.tags import VERB

_RULE = "-" * 60
_WIDE_RULE = "-" * 68
_PERCENT_HEAD = f"{'prec.':>6}  {'rec.':>6}  {'F1':>6}"
_COUNTS_HEAD = f"{'corr.':>6}  {'excess':>6}  {'missed':>6}   {_PERCENT_HEAD}"


def official_report(score: Score, confusion: bool = False) -> str:
    """Return what the official scorer prints, with `confusion` also what its option -C adds."""
    lines = [
        f"Number of Sentences    :      {score.sentences:6d}",
        f"Number of Propositions :      {score.propositions:6d}",
        f"Percentage of perfect props : {score.perfect_percent:6.2f}",
        "",
        _row("", _COUNTS_HEAD),
        _RULE,
        _counts_row("Overall", score.overall),
        "-" * 10,
        *(_counts_row(role, score.roles[role]) for role in sorted(score.roles) if role != VERB),
        _RULE,
        *([_counts_row(VERB, score.verb)] if VERB in score.roles else []),
        _RULE,
    ]
    if confusion:
        lines += _unlabeled_lines(score) + _matrix_lines(score)
    return _text(lines)


def end_to_end_report(result: EndToEnd, confusion: bool = False) -> str:
    """Return both directions as the official scorer prints them, then their precision, recall and F1."""
    return _text(
        [
            "==== Gold against predicted: its recall is the recall",
            official_report(result.forward, confusion),
            "==== Predicted against gold: its recall is the precision",
            official_report(result.backward, confusion),
            "==== End to end",
            _row("", _PERCENT_HEAD),
            _row("Overall", _percentages(result)),
        ]
    )


def breakdown_report(by: str, bins: Mapping[str, Counts]) -> str:
    """Return one row per bin, then the sum of all but V."""
    overall = sum((counts for name, counts in bins.items() if name != VERB), Counts())
    return _text(
        [
            _row(by, _COUNTS_HEAD),
            _RULE,
            *(_counts_row(name, counts) for name, counts in bins.items() if name != VERB),
            _RULE,
            _counts_row("Overall", overall),
            *([_counts_row(VERB, bins[VERB])] if VERB in bins else []),
        ]
    )


def comparison_report(comparison: Comparison, name_a: str = "A", name_b: str = "B") -> str:
    """Return both F1, their difference with its interval, and both p-values."""
    c, p = comparison, comparison.randomization_p
    return _text(
        [
            f"F1 of A                   : {c.f1_a:6.2f}  {name_a}",
            f"F1 of B                   : {c.f1_b:6.2f}  {name_b}",
            f"A - B                     : {c.difference:+6.2f}  95 % interval {c.low:+.2f} to {c.high:+.2f}",
            f"Paired bootstrap          : p = {c.bootstrap_p:.4f}",
            *([] if p is None else [f"Approximate randomization : p = {p:.4f}"]),
            f"Sentences: {c.sentences}, samples: {c.samples}, seed: {c.seed}",
        ]
    )


def _text(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"


def _row(name: str, rest: str) -> str:
    return f"{name:>10}   {rest}"


def _counts_row(name: str, counts: Counts) -> str:
    numbers = f"{counts.correct:6d}  {counts.excess:6d}  {counts.missed:6d}"
    return _row(name, f"{numbers}   {_percentages(counts)}")


def _percentages(result: Counts | EndToEnd) -> str:
    return f"{result.precision:6.2f}  {result.recall:6.2f}  {result.f1:6.2f}"


def _unlabeled_lines(score: Score) -> list[str]:
    return [
        _WIDE_RULE,
        _row("", f"{_COUNTS_HEAD}  {'lAcc':>6}"),
        f"{_counts_row('Unlabeled', score.unlabeled)}  {score.label_accuracy:6.2f}",
        _WIDE_RULE,
    ]


def _matrix_lines(score: Score) -> list[str]:
    """Return one row per gold role and one column per predicted role; number -1 is "no argument"."""
    seen = {role for pair in score.confusion for role in pair}
    roles = [NONE, *sorted(seen - {NONE})]
    numbers = range(-1, len(roles) - 1)
    lines = [
        "",
        "---- Confusion Matrix: (one row for each correct role, with the distribution of predictions)",
        " " * 13 + _cells(numbers),
    ]
    for number, gold in zip(numbers, roles, strict=True):
        row = _cells(score.confusion.get((gold, predicted), 0) for predicted in roles)
        lines.append(f"{number:2d}: {gold:<8} {row}")
    return lines


def _cells(numbers: Iterable[int]) -> str:
    return "".join(f"{number:4d} " for number in numbers)
