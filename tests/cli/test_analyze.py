"""`spansrl analyze`: what it writes, what it leaves out, what it refuses."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from cases import CRF, GOLD, SPAN

from builders import SENTENCES, make_network
from spansrl.analysis import SECTIONS
from spansrl.cli import analyze, main
from spansrl.formats import write_sentences
from spansrl.inference.directory import ENCODER_GRAPH
from spansrl.inference.loading import load
from spansrl.training.checkpoint import WEIGHTS, save_description, save_weights
from test_base_install import spansrl


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPANSRL_CACHE", str(tmp_path / "cache"))
    for name, sentences in (("gold", GOLD), ("span", SPAN), ("crf", CRF)):
        write_sentences(f"{name}.jsonl", sentences)
    return tmp_path


@pytest.fixture
def call(files, monkeypatch, capsys):
    def run(*args):
        monkeypatch.setattr(sys, "argv", ["spansrl", "analyze", *args])
        with pytest.raises(SystemExit) as stopped:
            main()
        out, err = capsys.readouterr()
        assert out == ""
        return stopped.value.code or 0, err

    return run


def test_the_sections_of_the_option_are_those_of_the_library():
    assert analyze.SECTIONS == SECTIONS


def test_a_report_is_written_and_skipped_sections_are_listed(call, files):
    code, err = call(
        "--gold", "gold.jsonl", "--pred", "span.jsonl", "--pred", "b=crf.jsonl", "--out", "report"
    )
    written = [path for path in (files / "report").rglob("*") if path.is_file()]
    assert code == 0
    assert err.splitlines() == [
        "neighbors skipped: needs --model DIR (a span model) and --train FILE (the model's training data)",
        "embeddings skipped: needs --model DIR (a span model)",
        "decoders skipped: needs --model DIR (a span model)",
        f"{Path('report', 'report.html')}: written, with {len(written) - 1} more files",
    ]
    table = (files / "report" / "tables" / "label-accuracy.csv").read_text(encoding="utf-8").splitlines()
    assert table[1:] == ["span,5,1,80.00,", "b,5,2,60.00,+20.00"]


def test_one_file_beside_the_report_is_one_file(capsys):
    analyze._report(Path("report"), [], 2)
    assert capsys.readouterr().err.endswith("written, with 1 more file\n")


def test_one_section_can_be_written_alone(call, files):
    code, _ = call("--gold", "gold.jsonl", "--pred", "span.jsonl", "--only", "boundaries", "--out", "report")
    assert code == 0
    assert sorted(path.name for path in (files / "report" / "tables").iterdir()) == [
        "boundaries.csv",
        "boundaries.tex",
        "label-accuracy-by-label.csv",
        "label-accuracy-by-label.tex",
        "label-accuracy.csv",
        "label-accuracy.tex",
    ]


@pytest.fixture
def models(files):
    for kind in ("span", "crf"):
        network = make_network(output={"kind": kind})
        save_description(files / kind, network, {})
        save_weights(files / kind, network, epoch=0)
    write_sentences("train.jsonl", SENTENCES)
    write_sentences("own.jsonl", load(files / "span").label(SENTENCES, predicates="given"))


def test_a_model_and_its_training_data_fill_every_section(call, files, models):
    code, err = call(
        *("--gold", "train.jsonl", "--pred", "own.jsonl", "--model", "span", "--train", "train.jsonl"),
        *(
            "--min-count",
            "1",
            "--samples",
            "20",
            "--threads",
            "1",
            "--distance",
            "euclidean",
            "--out",
            "report",
        ),
    )
    assert (code, err.count("\n")) == (0, 1)
    decoders = (files / "report" / "tables" / "decoders.csv").read_text(encoding="utf-8")
    overall = (files / "report" / "tables" / "overall.csv").read_text(encoding="utf-8").splitlines()
    (greedy,) = [line for line in decoders.splitlines() if line.startswith("greedy,")]
    assert greedy.split(",")[1:4] == overall[1].split(",")[1:4]


def test_a_crf_is_analysed_without_the_sections_that_look_inside(call, models):
    code, err = call(
        *("--gold", "train.jsonl", "--pred", "own.jsonl", "--model", "crf", "--train", "train.jsonl"),
        *("--samples", "20", "--out", "report"),
    )
    assert code == 0
    assert err.count("crf holds a tagger") == 3


def test_an_exported_model_is_analysed_without_the_sections_that_look_inside(call, files, models):
    (files / "span" / WEIGHTS).rename(files / "span" / ENCODER_GRAPH)
    code, err = call(
        *("--gold", "train.jsonl", "--pred", "own.jsonl", "--model", "span", "--train", "train.jsonl"),
        *("--samples", "20", "--out", "report"),
    )
    assert code == 0
    assert err.count("span is an exported model") == 3


def test_a_model_is_not_loaded_for_sections_that_do_not_look_into_it(call):
    code, _ = call(
        "--gold", "gold.jsonl", "--pred", "span.jsonl", "--model", "no", "--only", "labels", "--out", "r"
    )
    assert code == 0


def test_columns_without_words_can_be_analysed_too(call, files):
    for name, sentences in (("gold", GOLD), ("span", SPAN)):
        write_sentences(f"{name}.props", sentences)
    code, _ = call("--gold", "gold.props", "--pred", "span.props", "--out", "report")
    assert code == 0
    assert "span,80.00," in (files / "report" / "tables" / "overall.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("--run", "absent", "--pred", "span.jsonl"), 1, "cannot be read"),
        (("--pred", "span.jsonl", "--pred", "./span.jsonl"), 2, "two systems are called 'span'"),
        (("--pred", "=span.jsonl"), 2, "give a file, or a name and a file as NAME=FILE"),
        (("--pred", "-", "--train", "-"), 2, "only one file can be -"),
        (("--pred", "span.jsonl", "--only", "nothing"), 2, "'nothing' is not one of"),
        (("--pred", "absent.jsonl"), 1, "absent.jsonl: cannot be read"),
        (("--pred", "short.jsonl"), 1, "short: predicted ends after 1 sentence"),
        (("--pred", "span.jsonl", "--model", "no"), 1, "no: no such model directory"),
    ],
)
def test_wrong_usage_and_wrong_input_are_one_line_errors(call, args, code, message):
    write_sentences("short.jsonl", SPAN[:1])
    found, err = call("--gold", "gold.jsonl", "--out", "report", *args)
    assert found == code
    assert message in " ".join(err.split())


def test_the_base_install_makes_the_tables_and_names_the_extra_for_models(files):
    common = ("analyze", "--gold", "gold.jsonl", "--pred", "span.jsonl", "--samples", "10", "--out", "report")
    assert spansrl(*common).returncode == 0
    assert "no figures: figures need matplotlib" in spansrl(*common).stderr
    done = spansrl(*common, "--model", "span")
    assert done.returncode == 1
    assert "spansrl[train]" in done.stderr


def test_files_with_one_name_are_runs_of_one_system(call, files):
    code, _ = call(
        *("--gold", "gold.jsonl", "--pred", "a=span.jsonl", "--pred", "a=crf.jsonl", "--pred", "b=crf.jsonl"),
        *("--samples", "50", "--out", "report"),
    )
    assert code == 0
    heads, *rows = (files / "report" / "tables" / "overall.csv").read_text(encoding="utf-8").splitlines()
    found = [dict(zip(heads.split(","), row.split(","), strict=True)) for row in rows]
    assert [(row["system"], row["runs"], row["F1"]) for row in found] == [
        ("a", "2", "61.36"),
        ("b", "1", "50.00"),
    ]


def test_training_curves_are_drawn_from_the_logs_of_runs(call, files):
    pytest.importorskip("matplotlib")
    for name in ("one", "two"):
        (files / name).mkdir()
        lines = [json.dumps({"epoch": k, "loss": 1 / k, "dev_f1": 50.0 + k}) for k in (1, 2, 3)]
        (files / name / "log.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    code, _ = call("--run", "one", "--run", "two", "--out", "report")
    assert code == 0
    assert {path.name for path in (files / "report" / "figures").iterdir()} == {
        "curves.svg",
        "curves.pdf",
        "curves.png",
    }
    assert "one,3,3,53.00,53.00,0.33" in (files / "report" / "tables" / "runs.csv").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize("args", [(), ("--gold", "gold.jsonl"), ("--pred", "span.jsonl")])
def test_something_to_analyze_is_needed(call, args):
    code, err = call("--out", "report", *args)
    assert code == 2
    assert "--gold and --pred" in err
