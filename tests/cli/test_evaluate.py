"""`spansrl evaluate`: exit codes and exact text."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import spansrl
from spansrl.cli import main

GOLD = "-\t(A0*)\nkeep\t(V*)\n-\t(A1*\n-\t*)\n\n-\t(A0*)\ngo\t(V*)\n\n"
PREDICTED = "-\t(A0*)\nkeep\t(V*)\n-\t(A2*\n-\t*)\n\nbe\t(V*)\t*\ngo\t*\t(V*)\n\n"
REPORT = """\
Number of Sentences    :           2
Number of Propositions :           2
Percentage of perfect props :   0.00

              corr.  excess  missed    prec.    rec.      F1
------------------------------------------------------------
   Overall        1       1       2    50.00   33.33   40.00
----------
        A0        1       0       1   100.00   50.00   66.67
        A1        0       0       1     0.00    0.00    0.00
        A2        0       1       0     0.00    0.00    0.00
------------------------------------------------------------
         V        2       0       0   100.00  100.00  100.00
------------------------------------------------------------
"""
CONFUSION = """\
--------------------------------------------------------------------
              corr.  excess  missed    prec.    rec.      F1    lAcc
 Unlabeled        2       0       1   100.00   66.67   80.00   50.00
--------------------------------------------------------------------

---- Confusion Matrix: (one row for each correct role, with the distribution of predictions)
               -1    0    1    2    3 ~
-1: -NONE-      0    0    0    0    0 ~
 0: A0          1    1    0    0    0 ~
 1: A1          0    0    0    1    0 ~
 2: A2          0    0    0    0    0 ~
 3: V           0    0    0    0    2 ~
""".replace("~", "")


class Result(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Run the command in a directory that holds gold.props and pred.props."""
    monkeypatch.chdir(tmp_path)
    Path("gold.props").write_text(GOLD)
    Path("pred.props").write_text(PREDICTED)

    def call(*args: str, stdin: str = "") -> Result:
        monkeypatch.setattr(sys, "argv", ["spansrl", "evaluate", *args])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        with pytest.raises(SystemExit) as stopped:
            main()
        return Result(stopped.value.code or 0, *capsys.readouterr())

    return call


def test_it_prints_what_the_official_scorer_prints(run: Run) -> None:
    assert run("gold.props", "pred.props") == (0, REPORT, "")


def test_confusion_adds_unlabeled_score_and_matrix(run: Run) -> None:
    assert run("gold.props", "pred.props", "--confusion") == (0, REPORT + CONFUSION, "")


def test_one_file_may_come_from_standard_input(run: Run) -> None:
    assert run("gold.props", "-", stdin=PREDICTED) == (0, REPORT, "")
    assert run("-", "pred.props", stdin=GOLD) == (0, REPORT, "")


def test_json_holds_all_counts(run: Run) -> None:
    code, out, err = run("gold.props", "pred.props", "--json")
    data = json.loads(out)
    assert (code, err, out[-1]) == (0, "", "\n")
    assert (data["sentences"], data["propositions"], data["perfect"]) == (2, 2, 0)
    assert data["overall"]["f1"] == pytest.approx(40)
    assert data["confusion"]["A0"] == {"-NONE-": 1, "A0": 1}


def test_end_to_end_prints_both_directions_and_the_f1_of_the_two(run: Run) -> None:
    code, out, _ = run("gold.props", "pred.props", "--end-to-end")
    assert code == 0
    first, second = "==== Gold against predicted: its recall is the recall\n", "==== Predicted against gold"
    assert out.startswith(first + REPORT + "\n" + second)
    # Predicted against gold: 1 of its 2 arguments is right; recall 1 of 3.
    assert out.endswith(
        "\n==== End to end\n              prec.    rec.      F1\n   Overall    50.00   33.33   40.00\n"
    )
    data = json.loads(run("gold.props", "pred.props", "--end-to-end", "--json").out)
    assert (data["precision"], data["recall"]) == (50, pytest.approx(100 / 3))
    assert data["predicted_against_gold"]["propositions"] == 3


def test_by_prints_a_row_for_each_bin(run: Run) -> None:
    assert run("gold.props", "pred.props", "--by", "length").out == (
        "    length    corr.  excess  missed    prec.    rec.      F1\n"
        "------------------------------------------------------------\n"
        "         1        1       0       1   100.00   50.00   66.67\n"
        "         2        0       1       1     0.00    0.00    0.00\n"
        "       3-5        0       0       0     0.00    0.00    0.00\n"
        "      6-10        0       0       0     0.00    0.00    0.00\n"
        "       11+        0       0       0     0.00    0.00    0.00\n"
        "------------------------------------------------------------\n"
        "   Overall        1       1       2    50.00   33.33   40.00\n"
    )
    assert run("gold.props", "pred.props", "--by", "role").out.splitlines()[-1].split()[:4] == [
        "V",
        "2",
        "0",
        "0",
    ]
    data = json.loads(run("gold.props", "pred.props", "--by", "distance", "--json").out)
    assert list(data) == ["0", "1-2", "3-6", "7+"]
    assert data["0"]["missed"] == 2


def test_against_compares_two_systems(run: Run) -> None:
    code, out, _ = run(
        "gold.props", "gold.props", "--against", "pred.props", "--samples", "99", "--seed", "3"
    )
    assert code == 0
    assert out.startswith(
        "F1 of A                   : 100.00  gold.props\nF1 of B                   :  40.00  pred.props\n"
    )
    assert out.endswith("Sentences: 2, samples: 99, seed: 3\n")
    again = run(
        "gold.props", "gold.props", "--against", "pred.props", "--samples", "99", "--seed", "3", "--json"
    )
    assert json.loads(again.out)["difference"] == 60


def test_another_number_of_tokens_names_both_files_and_lines(run: Run) -> None:
    Path("short.props").write_text("-\t(A0*)\nkeep\t(V*)\n-\t*\n\n")
    assert run("gold.props", "short.props") == (
        1,
        "",
        "spansrl: error: sentence 1 has 4 tokens in gold (gold.props:1) and 3 in predicted (short.props:1); "
        "both must hold the same sentences in the same order\n",
    )


def test_too_few_sentences_are_one_line_and_exit_code_1(run: Run) -> None:
    assert run("gold.props", "-", stdin=PREDICTED[: PREDICTED.index("be")]) == (
        1,
        "",
        "spansrl: error: predicted ends after 1 sentence (<stdin>:1), but gold continues (gold.props:6); "
        "predict every sentence of gold\n",
    )


def test_a_comparison_on_an_empty_file_names_it(run: Run) -> None:
    Path("empty.jsonl").touch()
    assert run("empty.jsonl", "gold.props", "--against", "pred.props") == (
        1,
        "",
        "spansrl: error: empty.jsonl: no sentences to compare the systems on\n",
    )


def test_a_missing_file_is_one_line_and_exit_code_1(run: Run) -> None:
    code, out, err = run("gold.props", "none.props")
    assert (code, out) == (1, "")
    assert err == "spansrl: error: none.props: cannot be read: No such file or directory; check the path\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--by", "role", "--end-to-end"],
            "--end-to-end and --by cannot be combined; run the command once for each",
        ),
        (
            ["--by", "role", "--confusion"],
            "--confusion and --by cannot be combined; run the command once for each",
        ),
        (
            ["--against", "b", "--confusion"],
            "--confusion and --against cannot be combined; run the command once for each",
        ),
        (["--against", "-"], "only one file can be - (standard input)"),
    ],
)
def test_options_that_do_not_fit_together_are_usage_errors(
    options: list[str], message: str, run: Run
) -> None:
    code, out, err = run("gold.props", "-" if "-" in options else "pred.props", *options)
    assert (code, out) == (2, "")
    assert err.endswith(f"Error: {message}\n")


def test_several_predictions_are_scored_one_after_the_other(run: Run) -> None:
    code, out, _ = run("gold.props", "pred.props", "gold.props")
    assert code == 0
    assert out.startswith(f"pred.props\n\n{REPORT}\ngold.props\n\n")
    code, out, _ = run("gold.props", "pred.props", "gold.props", "--json")
    assert list(json.loads(out)) == ["pred.props", "gold.props"]


def test_python_gives_the_same_counts(run: Run) -> None:
    _, out, _ = run("gold.props", "pred.props", "--json")
    assert spansrl.evaluate("gold.props", "pred.props").to_dict() == json.loads(out)


def test_help_shows_examples(run: Run) -> None:
    code, out, _ = run("--help")
    assert code == 0
    assert "spansrl evaluate dev.jsonl span.jsonl --against crf.jsonl --seed 7\n" in out
