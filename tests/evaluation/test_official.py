"""The text of the official scorer, to the character."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from spansrl.evaluation import Counts, Score, official_report, open_for_scoring, score
from spansrl.formats import read_sentences, write_sentences

SCORER = Path(__file__).resolve().parents[3] / "shared" / "data" / "scorer"


class Case(NamedTuple):
    """A pair of props files with the text that the official scorer prints for them, worked out by hand."""

    gold: str
    predicted: str
    report: str
    added_by_confusion: str = ""  # with a ~ after spaces that end a line


def rows(text: str) -> str:
    """The text with each line's cells as they stand in a props file."""
    return "".join("\t".join(line.split()) + "\n" for line in text.strip("\n").split("\n")) + "\n"


HEAD = "              corr.  excess  missed    prec.    rec.      F1\n" + "-" * 60 + "\n"

# One predicate missing in predicted, one with another lemma, one that only predicted has.
PREDICATES = Case(
    gold=rows("""
        -     (A0*)  *      *
        give  (V*)   *      *
        -     (A1*)  (A0*)  *
        take  *      (V*)   *
        go    *      *      (V*)
    """),
    predicted=rows("""
        be    (V*)   *      *
        give  *      (V*)   *
        -     *      (A1*)  (A0*)
        steal *      *      (V*)
        -     *      *      *
    """),
    report="""\
Number of Sentences    :           1
Number of Propositions :           3
Percentage of perfect props :  33.33

"""
    + HEAD
    + """\
   Overall        1       0       2   100.00   33.33   50.00
----------
        A0        0       0       2     0.00    0.00    0.00
        A1        1       0       0   100.00  100.00  100.00
------------------------------------------------------------
         V        1       0       2   100.00   33.33   50.00
------------------------------------------------------------
""",
)

# Pieces: the second C-A1 goes to the second A1; C-V makes V longer; C-AM-LOC has nothing to continue.
PIECES = Case(
    gold=rows("""
        -     (A1*)
        pick  (V*)
        -     (C-A1*)
        -     (A1*)
        -     (C-A1*)
        -     (C-V*)
        -     (C-AM-LOC*)
    """),
    predicted=rows("""
        -     (A1*)
        pick  (V*)
        -     (C-A1*)
        -     (A1*
        -     *)
        -     (C-V*)
        -     (AM-LOC*)
    """),
    report="""\
Number of Sentences    :           1
Number of Propositions :           1
Percentage of perfect props :   0.00

"""
    + HEAD
    + """\
   Overall        2       1       1    66.67   66.67   66.67
----------
        A1        1       1       1    50.00   50.00   50.00
    AM-LOC        1       0       0   100.00  100.00  100.00
------------------------------------------------------------
         V        1       0       0   100.00  100.00  100.00
------------------------------------------------------------
""",
    added_by_confusion="""\
--------------------------------------------------------------------
              corr.  excess  missed    prec.    rec.      F1    lAcc
 Unlabeled        2       1       1    66.67   66.67   66.67  100.00
--------------------------------------------------------------------

---- Confusion Matrix: (one row for each correct role, with the distribution of predictions)
               -1    0    1    2 ~
-1: -NONE-      0    1    0    0 ~
 0: A1          1    1    0    0 ~
 1: AM-LOC      0    0    1    0 ~
 2: V           0    0    0    1 ~
""",
)

# A0 and A1 cover the same token: the inner A1 alone exists. A phrase inside A2 makes it unlike a plain A2.
NESTING = Case(
    gold=rows("""
        -     (A0(A1*))
        see   (V*)
        -     (A2(AM-TMP*)
        -     *)
        -     (A3*
        -     (AM-LOC*)
        -     *)
    """),
    predicted=rows("""
        -     (A1*)
        see   (V*)
        -     (A2*
        -     *)
        -     (A3*
        -     (AM-MNR*)
        -     *)
    """),
    report="""\
Number of Sentences    :           1
Number of Propositions :           1
Percentage of perfect props :   0.00

"""
    + HEAD
    + """\
   Overall        2       2       3    50.00   40.00   44.44
----------
        A1        1       0       0   100.00  100.00  100.00
        A2        0       1       1     0.00    0.00    0.00
        A3        1       0       0   100.00  100.00  100.00
    AM-LOC        0       0       1     0.00    0.00    0.00
    AM-MNR        0       1       0     0.00    0.00    0.00
    AM-TMP        0       0       1     0.00    0.00    0.00
------------------------------------------------------------
         V        1       0       0   100.00  100.00  100.00
------------------------------------------------------------
""",
    added_by_confusion="""\
--------------------------------------------------------------------
              corr.  excess  missed    prec.    rec.      F1    lAcc
 Unlabeled        3       1       2    75.00   60.00   66.67   66.67
--------------------------------------------------------------------

---- Confusion Matrix: (one row for each correct role, with the distribution of predictions)
               -1    0    1    2    3    4    5    6 ~
-1: -NONE-      0    0    1    0    0    0    0    0 ~
 0: A1          0    1    0    0    0    0    0    0 ~
 1: A2          1    0    0    0    0    0    0    0 ~
 2: A3          0    0    0    1    0    0    0    0 ~
 3: AM-LOC      0    0    0    0    0    1    0    0 ~
 4: AM-MNR      0    0    0    0    0    0    0    0 ~
 5: AM-TMP      1    0    0    0    0    0    0    0 ~
 6: V           0    0    0    0    0    0    0    1 ~
""",
)

# V takes part in the matrix, but in neither the overall nor the unlabeled figures; a second V is read.
VERBS = Case(
    gold=rows("""
        -     (A0*)
        do    (V*)
        -     (V*)

        -
    """),
    predicted=rows("""
        -     (V*)
        do    (V*)
        -     (A1*)

        -
    """),
    report="""\
Number of Sentences    :           2
Number of Propositions :           1
Percentage of perfect props :   0.00

"""
    + HEAD
    + """\
   Overall        0       1       1     0.00    0.00    0.00
----------
        A0        0       0       1     0.00    0.00    0.00
        A1        0       1       0     0.00    0.00    0.00
------------------------------------------------------------
         V        1       1       1    50.00   50.00   50.00
------------------------------------------------------------
""",
    added_by_confusion="""\
--------------------------------------------------------------------
              corr.  excess  missed    prec.    rec.      F1    lAcc
 Unlabeled        0       0       0     0.00    0.00    0.00    0.00
--------------------------------------------------------------------

---- Confusion Matrix: (one row for each correct role, with the distribution of predictions)
               -1    0    1    2 ~
-1: -NONE-      0    0    0    0 ~
 0: A0          0    0    0    1 ~
 1: A1          0    0    0    0 ~
 2: V           0    0    1    1 ~
""",
)

# Of equal spans the inner phrase alone exists, on both sides; no C-A0 continues the hidden A0.
EQUAL_SPANS = Case(
    gold=rows("""
        do    (A0(V*))
        -     (C-A0*)
        -     (A1(A2*))
    """),
    predicted=rows("""
        do    (V(A0*))
        -     (A0*)
        -     (A2*)
    """),
    report="""\
Number of Sentences    :           1
Number of Propositions :           1
Percentage of perfect props :   0.00

"""
    + HEAD
    + """\
   Overall        2       1       0    66.67  100.00   80.00
----------
        A0        1       1       0    50.00  100.00   66.67
        A2        1       0       0   100.00  100.00  100.00
------------------------------------------------------------
         V        0       0       1     0.00    0.00    0.00
------------------------------------------------------------
""",
    added_by_confusion="""\
--------------------------------------------------------------------
              corr.  excess  missed    prec.    rec.      F1    lAcc
 Unlabeled        2       0       0   100.00  100.00  100.00  100.00
--------------------------------------------------------------------

---- Confusion Matrix: (one row for each correct role, with the distribution of predictions)
               -1    0    1    2 ~
-1: -NONE-      0    0    0    0 ~
 0: A0          0    1    0    0 ~
 1: A2          0    0    1    0 ~
 2: V           0    1    0    0 ~
""",
)

# A piece inside its own argument is predicted in vain, even as gold has it; in gold it counts as once there.
OWN_PIECES = Case(
    gold=rows("""
        -     (A1*
        do    (V*)
        -     (C-A1*))

        do    (V*)
        -     (A1*
        -     (C-A1*))
    """),
    predicted=rows("""
        -     (A1*
        do    (V*)
        -     (C-A1*))

        do    (V*)
        -     (A1*
        -     (AM-TMP*))
    """),
    report="""\
Number of Sentences    :           2
Number of Propositions :           2
Percentage of perfect props :   0.00

"""
    + HEAD
    + """\
   Overall        1       2       1    33.33   50.00   40.00
----------
        A1        1       1       1    50.00   50.00   50.00
    AM-TMP        0       1       0     0.00    0.00    0.00
------------------------------------------------------------
         V        2       0       0   100.00  100.00  100.00
------------------------------------------------------------
""",
)

# The A0 inside A1 ends with its C-A0, for A1 too: so the A1 of the first sentence are not the same.
INNER_ENDS = Case(
    gold=rows("""
        -     (A1*
        -     (A0*)
        -     *)
        do    (V*)
        -     (C-A0*)

        -     (A1*
        -     (A0*)
        -     *)
        do    (V*)
        -     (C-A0*)
    """),
    predicted=rows("""
        -     (A1*
        -     (A0*)
        -     *)
        do    (V*)
        -     (A0*)

        -     (A1*
        -     (A0*)
        -     *)
        do    (V*)
        -     (C-A0*)
    """),
    report="""\
Number of Sentences    :           2
Number of Propositions :           2
Percentage of perfect props :  50.00

"""
    + HEAD
    + """\
   Overall        2       3       2    40.00   50.00   44.44
----------
        A0        1       2       1    33.33   50.00   40.00
        A1        1       1       1    50.00   50.00   50.00
------------------------------------------------------------
         V        2       0       0   100.00  100.00  100.00
------------------------------------------------------------
""",
)

# Phrases closed by name, as in CoNLL-2004, are those closed without.
CLOSED_BY_NAME = Case(
    gold=rows("""
        -     (A0(AM-LOC*AM-LOC)
        -     *A0)
        do    (V*V)
    """),
    predicted=rows("""
        -     (A0(AM-LOC*)
        -     *)
        do    (V*)
    """),
    report="""\
Number of Sentences    :           1
Number of Propositions :           1
Percentage of perfect props : 100.00

"""
    + HEAD
    + """\
   Overall        2       0       0   100.00  100.00  100.00
----------
        A0        1       0       0   100.00  100.00  100.00
    AM-LOC        1       0       0   100.00  100.00  100.00
------------------------------------------------------------
         V        1       0       0   100.00  100.00  100.00
------------------------------------------------------------
""",
)

NOTHING = Case(
    gold="-\n-\n\n",
    predicted="-\n-\n\n",
    report="""\
Number of Sentences    :           1
Number of Propositions :           0
Percentage of perfect props :   0.00

"""
    + HEAD
    + """\
   Overall        0       0       0     0.00    0.00    0.00
----------
------------------------------------------------------------
------------------------------------------------------------
""",
    added_by_confusion="""\
--------------------------------------------------------------------
              corr.  excess  missed    prec.    rec.      F1    lAcc
 Unlabeled        0       0       0     0.00    0.00    0.00    0.00
--------------------------------------------------------------------

---- Confusion Matrix: (one row for each correct role, with the distribution of predictions)
               -1 ~
-1: -NONE-      0 ~
""",
)

CASES = {
    "predicates": PREDICATES,
    "pieces": PIECES,
    "nesting": NESTING,
    "verbs": VERBS,
    "equal spans": EQUAL_SPANS,
    "own pieces": OWN_PIECES,
    "inner ends": INNER_ENDS,
    "closed by name": CLOSED_BY_NAME,
    "nothing": NOTHING,
}


def score_files(gold: Path, predicted: Path) -> Score:
    files, match = open_for_scoring([gold, predicted])
    return score(*files, match=match)


def written(folder: Path, case: Case) -> tuple[Path, Path]:
    gold, predicted = folder / "gold.props", folder / "predicted.props"
    gold.write_text(case.gold)
    predicted.write_text(case.predicted)
    return gold, predicted


@pytest.mark.parametrize("name", CASES)
def test_the_report_is_what_the_official_scorer_prints(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    assert official_report(score_files(*written(tmp_path, case))) == case.report


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.added_by_confusion])
def test_confusion_adds_what_the_option_c_adds(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    result = score_files(*written(tmp_path, case))
    assert official_report(result, confusion=True) == case.report + case.added_by_confusion.replace("~", "")


@pytest.mark.parametrize("name", ["pieces", "nesting", "equal spans", "own pieces", "inner ends"])
def test_json_lines_made_of_props_give_the_report_of_the_props(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    converted = []
    for path in written(tmp_path, case):
        converted.append(path.with_suffix(".jsonl"))
        write_sentences(converted[-1], read_sentences(path))
    assert official_report(score_files(*converted)) == case.report


@pytest.mark.skipif(not SCORER.is_dir(), reason="the scorer's cases are not beside the repository")
@pytest.mark.parametrize("suffix", ["official", "official-C"])
def test_the_reports_of_the_real_script_are_met_to_the_character(suffix: str) -> None:
    expected = sorted(SCORER.glob(f"*.{suffix}.txt"))
    assert expected
    for path in expected:
        name = path.name.removesuffix(f".{suffix}.txt")
        result = score_files(SCORER / f"{name}.gold.props", SCORER / f"{name}.pred.props")
        assert official_report(result, confusion=suffix == "official-C") == path.read_text(), name


def test_an_f1_on_the_edge_rounds_as_in_the_script() -> None:
    # F1 is 78.125; computed from precision 75.757… and recall 80.645… it prints as 78.12.
    report = official_report(Score(1, 1, 0, {"A0": Counts(25, 8, 6)}))
    assert "        A0       25       8       6    75.76   80.65   78.12\n" in report


def test_long_role_names_widen_their_line_only() -> None:
    result = Score(1, 1, 0, {"R-ARGM-TMP-X": Counts(1, 0, 0)}, {("R-ARGM-TMP-X", "R-ARGM-TMP-X"): 1})
    lines = official_report(result, confusion=True).splitlines()
    assert "R-ARGM-TMP-X        1       0       0   100.00  100.00  100.00" in lines
    assert lines[-1] == " 0: R-ARGM-TMP-X    0    1 "
