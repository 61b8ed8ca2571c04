"""The official CoNLL-2005 score as counts that add up, end-to-end scores, breakdowns and significance.

    >>> from spansrl.evaluation import official_report, score
    >>> print(official_report(score(gold_sentences, predicted_sentences)))

docs/scoring.md defines what is counted. `frames` holds what is compared, `counts` the score, `report` its
text; `files` reads files; `breakdown` and `significance` go beyond the official score.
"""

from spansrl.evaluation.breakdown import BREAKDOWNS, breakdown
from spansrl.evaluation.counts import Counts, EndToEnd, Score, end_to_end, score
from spansrl.evaluation.score_report import (
    breakdown_report,
    comparison_report,
    end_to_end_report,
    official_report,
)
from spansrl.evaluation.scored_files import evaluate, open_for_scoring
from spansrl.evaluation.significance import (
    Comparison,
    adjust_holm,
    compare,
    compare_counts,
    perfect_counts,
    sentence_counts,
    sum_by_document,
)

__all__ = [
    "BREAKDOWNS",
    "Comparison",
    "Counts",
    "EndToEnd",
    "Score",
    "adjust_holm",
    "breakdown",
    "breakdown_report",
    "compare",
    "compare_counts",
    "comparison_report",
    "end_to_end",
    "end_to_end_report",
    "evaluate",
    "official_report",
    "open_for_scoring",
    "perfect_counts",
    "score",
    "sentence_counts",
    "sum_by_document",
]
