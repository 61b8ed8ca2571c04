"""The score as text, exactly as srl-eval.pl prints it with ``-noW``, and with ``-noW -C``."""

from __future__ import annotations

from collections.abc import Iterable

from spansrl.evaluation.counts import NONE, Counts, Score
from spansrl.tags import VERB

_RULE = "-" * 60
_WIDE_RULE = "-" * 68
TABLE_HEAD = f"{'':>10}   {'corr.':>6}  {'excess':>6}  {'missed':>6}   {'prec.':>6}  {'rec.':>6}  {'F1':>6}"


def official_report(score: Score, confusion: bool = False) -> str:
    """What the official scorer prints; with `confusion` also what its option -C adds."""
    lines = [
        f"Number of Sentences    :      {score.sentences:6d}",
        f"Number of Propositions :      {score.propositions:6d}",
        f"Percentage of perfect props : {score.perfect_percent:6.2f}",
        "",
        TABLE_HEAD,
        _RULE,
        table_row("Overall", score.overall),
        "-" * 10,
        *(table_row(role, score.roles[role]) for role in sorted(score.roles) if role != VERB),
        _RULE,
        *([table_row(VERB, score.verb)] if VERB in score.roles else []),
        _RULE,
    ]
    if confusion:
        lines += _unlabelled_lines(score) + _matrix_lines(score)
    return "\n".join(lines) + "\n"


def table_row(name: str, counts: Counts) -> str:
    """One line of the table of counts and percentages."""
    return (
        f"{name:>10}   {counts.correct:6d}  {counts.excess:6d}  {counts.missed:6d}   "
        f"{counts.precision:6.2f}  {counts.recall:6.2f}  {counts.f1:6.2f}"
    )


def _unlabelled_lines(score: Score) -> list[str]:
    return [
        _WIDE_RULE,
        f"{TABLE_HEAD}  {'lAcc':>6}",
        f"{table_row('Unlabeled', score.unlabelled)}  {score.label_accuracy:6.2f}",
        _WIDE_RULE,
    ]


def _matrix_lines(score: Score) -> list[str]:
    """One row a gold role, one column a predicted role; number -1 is "no argument there"."""
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
