"""Files to be scored: every format, mixed formats, bad input, and speed."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest

from spansrl.errors import DataError
from spansrl.evaluation import Counts, Score, open_for_scoring, score
from spansrl.formats import read_sentences, write_sentences
from timing import seconds

GOLD = "-\t(A0*)\t*\nkeep\t(V*)\t*\n-\t(A1*\t(A0*)\nrun\t*)\t(V*)\n\n-\n-\n\nbe\t(V*)\n-\t(A1*)\n\n"
PREDICTED = "-\t(A0*)\t*\nhold\t(V*)\t*\n-\t(A1*\t(A1*)\nrun\t*)\t(V*)\n\n-\n-\n\nbe\t(V*)\n-\t(A1*)\n\n"
BY_LEMMA, BY_INDEX = Counts(1, 1, 3), Counts(3, 1, 1)


def scored(*paths: Path, format: str | None = None) -> Score:
    files, match = open_for_scoring(paths, format)
    return score(*files, match=match)


def written(path: Path, text: str) -> Path:
    path.write_text(text, newline="")
    return path


def converted(path: Path, text: str) -> Path:
    """A file in the format of its name, made from props."""
    source = written(path.with_name(f"{path.name}.source.props"), text)
    write_sentences(path, read_sentences(source))
    return path


def test_props_are_compared_by_lemma(tmp_path: Path) -> None:
    assert (
        scored(written(tmp_path / "g.props", GOLD), written(tmp_path / "p.props", PREDICTED)).overall
        == BY_LEMMA
    )


@pytest.mark.parametrize("names", [("g.jsonl", "p.jsonl"), ("g.jsonl", "p.props"), ("g.props", "p.jsonl")])
def test_json_lines_and_mixed_formats_are_compared_by_index(names: tuple[str, str], tmp_path: Path) -> None:
    gold, predicted = names
    assert (
        scored(converted(tmp_path / gold, GOLD), converted(tmp_path / predicted, PREDICTED)).overall
        == BY_INDEX
    )


@pytest.mark.parametrize("name", ["p.conll05", "p.conll12", "p.bio", "p.jsonl.gz", "p.jsonl.xz"])
def test_any_other_format_gives_the_counts_of_json_lines(name: str, tmp_path: Path) -> None:
    assert (
        scored(written(tmp_path / "g.props", GOLD), converted(tmp_path / name, PREDICTED)).overall == BY_INDEX
    )


def test_without_a_telling_name_the_content_decides(tmp_path: Path) -> None:
    gold, predicted = written(tmp_path / "gold", GOLD), written(tmp_path / "predicted", PREDICTED)
    assert scored(gold, predicted).overall == BY_LEMMA
    lines = converted(tmp_path / "p.jsonl", PREDICTED).rename(tmp_path / "lines")
    assert scored(gold, lines).overall == BY_INDEX


def test_phrases_closed_by_name_are_found_scored_and_written_without_the_name(tmp_path: Path) -> None:
    by_name = GOLD.replace("*)", "*A0)").replace("(V*A0)", "(V*V)").replace("(A1*A0)", "(A1*A1)")
    gold = written(tmp_path / "gold", by_name.replace("run\t*A0)", "run\t*A1)"))
    assert scored(gold, written(tmp_path / "predicted", PREDICTED)).overall == BY_LEMMA
    write_sentences(tmp_path / "g.props", read_sentences(gold))
    assert (tmp_path / "g.props").read_text() == GOLD


def test_the_format_can_be_named(tmp_path: Path) -> None:
    gold, predicted = written(tmp_path / "g.bio", GOLD), written(tmp_path / "p.bio", PREDICTED)
    assert scored(gold, predicted, format="conll05-props").overall == BY_LEMMA
    with pytest.raises(DataError, match=r"unknown format 'perl'\. Choose from: jsonl, "):
        scored(gold, predicted, format="perl")


def test_compression_line_ends_and_extra_blank_lines_change_nothing(tmp_path: Path) -> None:
    gold = tmp_path / "g.props.gz"
    gold.write_bytes(gzip.compress(b"\xef\xbb\xbf\n\n" + GOLD.replace("\n\n", "\n\n\n").encode()))
    predicted = written(
        tmp_path / "p.props", PREDICTED.rstrip("\n").replace("\n", "\r\n").replace("\t", "   ")
    )
    assert scored(gold, predicted).overall == BY_LEMMA


def test_empty_files_score_zero(tmp_path: Path) -> None:
    empty = written(tmp_path / "g.props", "")
    assert scored(empty, empty) == Score()
    assert scored(empty, written(tmp_path / "p.props", PREDICTED)) == Score()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "-\t*\nkeep\t(V*)\n-\t*\n\n",
            r"sentence 1 has 2 tokens in gold \(.*g.props:1\) and 3 in predicted \(.*p:1\)",
        ),
        ("-\n-\n\n-\n\n", r"sentence 2 has 2 tokens in gold \(.*g.props:4\) and 1 in predicted \(.*p:4\)"),
        ("-\n-\n\n", r"predicted ends after 1 sentence \(.*p:1\), but gold continues \(.*g.props:4\)"),
        ("", r"predicted ends after 0 sentences, but gold continues \(.*g.props:1\)"),
        ("-\t(A0*\nkeep\t(V*)\n\n", r"p:1: '\(A0\*' is still open when the sentence ends"),
        ("-\t*\nkeep\t(V*))\n\n", r"p:2: '\(V\*\)\)' closes a phrase that was never opened"),
        ("-\t*\nkeep\tV\n\n", r"p:2: 'V' is not a bracket cell"),
        ("-\t*\nkeep\n\n", r"p:\d: .*column"),
        ("-\t*\t*\nkeep\t(V*)\t*\n\n", r"p:1: 2 columns of arguments"),
        ("run\t*\nkeep\t(V*)\n\n", r"p:2: .*keep.* no column"),
    ],
)
def test_bad_props_are_an_error_with_file_and_line(text: str, message: str, tmp_path: Path) -> None:
    gold = written(tmp_path / "g.props", "-\t*\nkeep\t(V*)\n\n-\n-\n\n")
    with pytest.raises(DataError, match=message):
        scored(gold, written(tmp_path / "p", text), format="conll05-props")


def test_bad_json_lines_are_an_error_with_file_and_line(tmp_path: Path) -> None:
    gold = written(tmp_path / "g.jsonl", '{"tokens": ["a"]}\n\n{"tokens": ["a", "b"]}\n')
    twice = '{"tokens": ["a"], "props": [{"pred": 0}, {"pred": 0}]}\n'
    with pytest.raises(DataError, match=r"p\.jsonl:1: .* two propositions for token 0; keep one of them"):
        scored(gold, written(tmp_path / "p.jsonl", twice))
    with pytest.raises(
        DataError, match=r"sentence 2 has 2 tokens in gold \(.*g.jsonl:3\) and 1 in predicted \(.*:2\)"
    ):
        scored(gold, written(tmp_path / "p.jsonl", '{"tokens": ["a"]}\n{"tokens": ["a"]}\n'))


def test_a_file_that_looks_like_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"g:2: unknown format; name it with --from: jsonl, "):
        scored(written(tmp_path / "g", "\na b c d e f g h i j k l\n"), written(tmp_path / "p", ""))


def test_five_thousand_propositions_take_less_than_a_second(tmp_path: Path) -> None:
    gold = written(tmp_path / "g.props", random_props(seed=1))
    predicted = written(tmp_path / "p.props", random_props(seed=2))
    assert scored(gold, predicted).propositions == 5000
    taken = seconds(lambda: scored(gold, predicted))
    assert taken < 2, "the aim is 1 s; the rest is for a slow or busy machine"


def random_props(seed: int) -> str:
    """2,500 sentences of 25 tokens with two predicates of about three arguments each."""
    rng = random.Random(seed)
    sentences = []
    for _ in range(2500):
        columns = [["-"] * 25]
        for pred in (5, 15):
            columns[0][pred] = "verb"
            column = ["*"] * 25
            column[pred] = "(V*)"
            for start in rng.sample([0, 7, 10, 18, 21], 3):
                column[start] = f"({rng.choice(['A0', 'A1', 'AM-TMP', 'C-A1'])}*"
                column[start + rng.randint(1, 2)] = "*)"
            columns.append(column)
        sentences.append("".join("\t".join(row) + "\n" for row in zip(*columns, strict=True)))
    return "\n".join(sentences) + "\n"
