"""`spansrl corpus` with the model in the package, on very short texts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spansrl.cli import corpus
from spansrl.inference.loading import shipped_model

pytestmark = pytest.mark.skipif(not shipped_model().is_dir(), reason="no model in the package")

TEXTS = ("Ann sold the letters.", "Nobody asked Bob why. He kept them.", "Yes.")


def rows_of(out):
    return [
        json.loads(line)
        for path in sorted(Path(out).glob("rows/*.jsonl"))
        for line in path.read_text().splitlines()
    ]


@pytest.fixture
def news(tmp_path):
    folder = tmp_path / "news"
    folder.mkdir()
    for k, text in enumerate(TEXTS):
        (folder / f"{k}.txt").write_text(text)
    (folder / "bad.txt").write_bytes(b"caf\xe9")
    (folder / "picture.png").touch()
    return folder


def test_a_folder_becomes_rows_errors_and_a_manifest(spansrl, news):
    code, out, err = spansrl("corpus", "news", "--out", "out", "--workers", 1, "--no-frames")
    assert (code, out) == (0, "")
    assert "4 documents, 4 sentences" in err
    assert "1 error in out/errors.jsonl" in err
    assert "skipped 1 file " in err
    assert "0:00:0" in err
    assert "including start-up" in err
    rows = rows_of("out")
    assert {row["id"] for row in rows} == {"news/0.txt", "news/1.txt", "news/2.txt"}
    assert [(row["sense"], row["role"], row["text"]) for row in rows][:2] == [
        ("sell.01", "ARG0", "Ann"),
        ("sell.01", "ARG1", "the letters"),
    ]
    (error,) = map(json.loads, Path("out/errors.jsonl").read_text().splitlines())
    assert error == {
        "id": "news/bad.txt",
        "where": "news/bad.txt",
        "reason": "not UTF-8: byte 0xe9 at byte 4; the encoding is probably latin-1: "
        "use --encoding latin-1, or convert it with iconv",
    }
    assert json.loads(Path("out/manifest.json").read_text())["status"] == "complete"
    before = Path("out/rows/part-00000.jsonl").stat().st_mtime_ns
    assert spansrl("corpus", "news", "--out", "out", "--no-frames")[0] == 1
    assert spansrl("corpus", "news", "--out", "out", "--no-frames", "--resume")[0] == 0
    assert Path("out/rows/part-00000.jsonl").stat().st_mtime_ns == before


def test_progress_is_printed_where_there_is_no_terminal(spansrl, news, monkeypatch):
    monkeypatch.setattr(corpus, "_SECONDS_BETWEEN_LINES", 0)
    code, _, err = spansrl("corpus", "news", "--out", "out", "--workers", 1, "--shard-chars", 20)
    assert code == 0
    first, *_, last = [line for line in err.splitlines() if "sentences/s" in line]
    assert first == "0% of the input, 0 documents, 0 sentences/s, 0 errors"
    assert last.startswith("100% of the input, 4 documents, ")
    assert last.endswith(" sentences/s, 1 error, 0:00:00 left")


def test_only_what_was_requested_is_in_the_rows(spansrl, tmp_path):
    (tmp_path / "a.txt").write_text("The sale of the letters surprised Ann.")
    options = (
        "--predicates",
        "nouns",
        "--min-prob",
        "0.5",
        "--decoder",
        "exact",
        "--model",
        "small",
        "--no-frames",
    )
    code, _, err = spansrl("corpus", "a.txt", "-o", "out", "--workers", 1, *options)
    assert code == 0, err
    assert {row["type"] for row in rows_of("out")} == {"noun"}
    assert all(row["prob"] is None or row["prob"] >= 0.5 for row in rows_of("out"))


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("missing.txt",), 1, "missing.txt: no such file or directory"),
        (("news", "--address", "auto"), 2, "--address needs --engine ray"),
        (("news", "--predicates", "1,2"), 2, "types"),
        (("news", "--model", "nowhere"), 1, "nowhere"),
        (
            ("table.csv",),
            1,
            "table.csv:1: no column 'text'; found id, body. Name it, for example --text body",
        ),
        (("news", "--to", "csv", "--rows", "sentence"), 1, "--rows argument"),
        (("news", "--max-errors", "0"), 1, "1 bad document, more than --max-errors 0"),
        ((), 2, "INPUT"),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_one_clear_line(spansrl, news, arguments, code, message):
    Path("table.csv").write_text("id,body\n1,Ann left.\n")
    found = spansrl("corpus", *arguments, "--out", "out")
    assert found[0] == code
    assert message in found[2]
    assert "Traceback" not in found[2]
    assert not {"missing.txt", "table.csv"} & {*arguments} or not Path("out").exists()


def test_one_file_in_another_encoding_does_not_stop_the_others(spansrl, tmp_path):
    (tmp_path / "l.csv").write_bytes(b"id,\xfcber\n1,Ann left.\n")
    (tmp_path / "ok.jsonl").write_text('{"text": "Ann left."}\n')
    assert spansrl("corpus", "l.csv", "ok.jsonl", "--out", "out", "--no-frames", "--workers", 1)[0] == 0
    (error,) = map(json.loads, Path("out/errors.jsonl").read_text().splitlines())
    assert (error["where"], "--encoding latin-1" in error["reason"]) == ("l.csv:1", True)
    (tmp_path / "l.csv").write_bytes(b"id,text\n1,\xdcber left.\n")
    options = ("--encoding", "latin-1", "--out", "named", "--no-frames", "--workers", 1, "--to", "csv")
    assert spansrl("corpus", "l.csv", *options)[0] == 0
    assert "\u00dcber" in Path("named/rows/part-00000.csv").read_text(encoding="utf-8")
    assert spansrl("corpus", "l.csv", "--encoding", "rot13", "--out", "other")[0] == 2


def test_a_job_without_any_good_document_fails(spansrl, tmp_path):
    (tmp_path / "bad.txt").write_bytes(b"caf\xe9")
    code, _, err = spansrl("corpus", "bad.txt", "--out", "out", "--no-frames", "--workers", 1)
    assert code == 1
    assert "no document could be labeled; see out/errors.jsonl" in err


def test_a_fifo_in_a_folder_is_skipped_with_a_line(spansrl, news):
    os.mkfifo(news / "pipe.txt")
    code, _, err = spansrl("corpus", "news", "--out", "out", "--workers", 1, "--no-frames")
    assert code == 0
    assert "warning: news/pipe.txt: skipped: a FIFO" in err


@pytest.mark.slow
def test_ctrl_c_ends_with_130_and_resuming_gives_the_same_bytes(tmp_path):
    lines = "".join(f"Ann sold {k} letters to Bob.\n" for k in range(200))
    (tmp_path / "in.txt").write_text(lines)
    base = [
        sys.executable,
        "-m",
        "spansrl",
        "corpus",
        "in.txt",
        "--lines",
        "--shard-chars",
        "300",
        "--workers",
        "2",
    ]

    environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2] / "src")}

    def start(*arguments):
        return subprocess.Popen(
            [*base, *arguments],
            cwd=tmp_path,
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    job = start("--out", "cut")
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("cut/progress/*.json")):
        assert time.monotonic() < deadline
        assert job.poll() is None, job.stderr.read()
        time.sleep(0.01)
    os.killpg(job.pid, signal.SIGINT)
    _, err = job.communicate(timeout=60)
    assert job.returncode == 130
    assert err == "spansrl: interrupted; run the same command with --resume to continue\n"
    for out, *more in (("cut", "--resume"), ("whole",)):
        job = start("--out", out, *more)
        _, err = job.communicate(timeout=120)
        assert job.returncode == 0, err
    files = [
        {path.name: path.read_bytes() for path in (tmp_path / out / "rows").iterdir()}
        for out in ("cut", "whole")
    ]
    assert files[0] == files[1]
    assert len(files[0]) > 3
