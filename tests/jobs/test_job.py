"""Whole jobs with real processes: killed workers and drivers, Ctrl-C, a full disk, changed input."""

from __future__ import annotations

import csv
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from job_fakes import content, errors_of, in_process, load_dying, load_fake, rows_of

from spansrl.errors import ConfigError, DataError, SpansrlError
from spansrl.jobs import InputOptions, Job, LabelOptions, run
from spansrl.jobs.output import JobDirectory, locked
from spansrl.jobs.worker import run_local

DRIVER = Path(__file__).with_name("job_fakes.py")
ROOT = Path(__file__).resolve().parents[2]


def write_corpus(path, texts):
    path.write_text("".join(json.dumps({"id": f"d{k}", "text": text}) + "\n" for k, text in enumerate(texts)))
    return path


def texts(number, *extra):
    return [f"Ann{k} sold letter {k}. Bob{k} left" for k in range(number)] + list(extra)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A corpus with bad documents, and the job that an undisturbed run with one worker makes of it."""
    folder = tmp_path_factory.mktemp("corpus")
    path = write_corpus(folder / "in.jsonl", texts(40, "NONE", "RAISE", *["SLOW it"] * 12))
    with path.open("a") as file:
        file.write('{broken\n{"id": "d3", "text": "again"}\n')
    job = Job((str(path),), folder / "whole", input=InputOptions(id="id"), shard_chars=200)
    run(job, workers=1, load=load_fake)
    return job


def children_of(pid):
    """The worker processes of a driver."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
            command = path.with_name("cmdline").read_bytes()
        except OSError:
            continue
        if int(fields[1]) == pid and b"spawn_main" in command and fields[0] != "Z":
            found.append(int(path.parent.name))
    return found


def drive(job, out, mode="new", workers=2):
    arguments = [*job.inputs, str(out), mode, str(workers)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(DRIVER.parent)])}
    return subprocess.Popen(
        [sys.executable, str(DRIVER), *arguments], env=environment, start_new_session=True
    )


def wait_for(condition, process=None):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "timed out"
        assert process is None or process.poll() is None, "the driver ended too early"
        time.sleep(0.01)


def receipts(out):
    return list(Path(out).glob("progress/*.json"))


def assert_same(job, out):
    assert content(out) == content(job.out)
    manifests = [json.loads((folder / "manifest.json").read_text()) for folder in (out, job.out)]
    assert manifests[0]["counts"] == manifests[1]["counts"]
    assert {manifest["status"] for manifest in manifests} == {"complete"}
    assert not (out / "progress").exists()
    assert not list(out.rglob("*.tmp"))


def test_every_id_is_in_the_rows_or_the_errors_exactly_once(corpus):
    lines = Path(corpus.inputs[0]).read_text().splitlines()
    ids = [json.loads(line)["id"] for line in lines if not line.startswith("{b")]
    errors = errors_of(corpus.out)
    labeled = {row["id"] for row in rows_of(corpus.out)}
    assert [error["reason"].split(":")[0] for error in errors] == [
        "labeling failed",
        "not JSON",
        "the id is already used at " + corpus.inputs[0],
    ]
    assert labeled | {"d41"} == set(ids)
    assert "d41" not in labeled
    positions = [(row["id"], row["sentence"], row["pred"], row["role"]) for row in rows_of(corpus.out)]
    assert len(positions) == len(set(positions))


def test_the_number_of_workers_does_not_change_a_byte(corpus, tmp_path):
    run(replace(corpus, out=tmp_path / "out"), workers=3, load=load_fake)
    assert_same(corpus, tmp_path / "out")


def test_a_killed_worker_is_replaced(corpus, tmp_path):
    out = tmp_path / "out"
    killed = []

    def engine(task, shards, workers):
        for receipt in run_local(task, shards, workers):
            found = children_of(os.getpid())  # none where the last one is just being replaced
            if found and len(killed) < 3:
                killed.append(found[-1])
                os.kill(found[-1], signal.SIGKILL)
            yield receipt

    run(replace(corpus, out=out), workers=2, load=load_fake, engine=engine)
    assert len(killed) == 3
    assert_same(corpus, out)


@pytest.mark.parametrize("moment", ["start", "first shard", "later"])
def test_a_killed_driver_is_resumed(corpus, tmp_path, moment):
    out = tmp_path / "out"
    driver = drive(corpus, out)
    reached = {
        "start": lambda: (out / "manifest.json").exists(),
        "first shard": lambda: len(receipts(out)) >= 1,
        "later": lambda: len(receipts(out)) >= 5,
    }
    wait_for(reached[moment], driver)
    workers = children_of(driver.pid)
    driver.kill()
    driver.wait()
    assert not (out / "errors.jsonl").exists()
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))  # they end with the driver
    before = {path.name: path.stat().st_mtime_ns for path in receipts(out)}
    again = drive(corpus, out, "resume", workers=1)
    assert again.wait(60) == 0
    assert moment == "start" or before
    assert_same(corpus, out)


def test_ctrl_c_ends_the_workers_and_the_job_can_be_resumed(corpus, tmp_path):
    out = tmp_path / "out"
    driver = drive(corpus, out)
    wait_for(lambda: len(receipts(out)) >= 2, driver)
    workers = children_of(driver.pid)
    os.killpg(driver.pid, signal.SIGINT)  # as a terminal does: to the workers too
    assert driver.wait(20) != 0
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    run(replace(corpus, out=out), resume=True, workers=2, load=load_fake)
    assert_same(corpus, out)


@pytest.mark.long
def test_drivers_and_workers_killed_at_random_lose_and_double_nothing(corpus, tmp_path):
    out, chance = tmp_path / "out", random.Random(1)
    for number in range(20):
        driver = drive(corpus, out, "new" if number == 0 else "resume", workers=chance.choice((1, 2, 3)))
        time.sleep(chance.uniform(0.1, 3.0))
        workers = children_of(driver.pid)
        if workers and chance.random() < 0.5:
            os.kill(chance.choice(workers), signal.SIGKILL)
            time.sleep(chance.uniform(0.0, 1.0))
        driver.kill()
        driver.wait()
        if (out / "errors.jsonl").exists():
            break
    assert drive(corpus, out, "resume").wait(120) == 0
    assert_same(corpus, out)


def test_resuming_labels_only_what_is_missing(corpus, tmp_path):
    out = tmp_path / "out"
    seen = []

    def noting(task, shards, workers):
        for receipt in run_local(task, shards, workers):
            seen.append(receipt.shard)
            yield receipt

    stop_after(1, replace(corpus, out=out))
    done = {int(path.stem.split("-")[1]) for path in receipts(out)}
    run(replace(corpus, out=out), workers=1, load=load_fake, engine=noting, resume=True)
    assert done
    assert not done & set(seen)
    assert_same(corpus, out)


def test_a_document_that_kills_its_worker_becomes_an_error(tmp_path):
    path = write_corpus(tmp_path / "in.jsonl", ["Ann sold it", "KILL", "Bob left"])
    job = Job((str(path),), tmp_path / "out", input=InputOptions(id="id"))
    status = run(job, workers=1, load=load_fake)
    assert status.errors == 1
    assert [error["id"] for error in errors_of(job.out)] == ["d1"]
    assert {row["id"] for row in rows_of(job.out)} == {"d0", "d2"}


def test_workers_that_die_at_the_start_are_one_clear_error(tmp_path):
    path = write_corpus(tmp_path / "in.jsonl", texts(2))
    with pytest.raises(SpansrlError, match="workers die while they load the model"):
        run(Job((str(path),), tmp_path / "out"), workers=2, load=load_dying)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system needs root")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_is_one_line_and_the_job_can_be_resumed(corpus, tmp_path, small_disk):
    out = small_disk / "out"
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * 1_000_000)
    with pytest.raises(SpansrlError, match="No space left on device") as stopped:
        run(replace(corpus, out=out), workers=2, load=load_fake)
    assert "\n" not in str(stopped.value)
    assert "--resume" in str(stopped.value)
    filler.unlink()
    run(replace(corpus, out=out), workers=2, load=load_fake, resume=True)
    assert_same(corpus, out)


def test_a_complete_job_is_not_run_again(corpus):
    def never(task, shards, workers):
        raise AssertionError

    before = content(corpus.out)
    status = run(corpus, resume=True, engine=never)
    assert content(corpus.out) == before
    assert status.documents == 56


def test_a_directory_with_a_job_is_not_overwritten(corpus):
    with pytest.raises(ConfigError, match="--resume"):
        run(corpus)


def test_a_directory_with_other_files_is_refused(corpus, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    with pytest.raises(ConfigError, match=r"thesis\.tex"):
        run(replace(corpus, out=tmp_path / "mine"))


def test_two_jobs_do_not_share_a_directory(corpus):
    with locked(JobDirectory(corpus.out)), pytest.raises(DataError, match="another job"):
        run(corpus, resume=True)


def stop_after(number, job, **options):
    """Run a job that is interrupted after a number of shards."""

    def engine(task, shards, workers):
        with closing(run_local(task, shards, workers)) as found:
            yield from islice(found, number)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(job, workers=1, load=load_fake, engine=engine, **options)


@pytest.fixture
def begun(corpus, tmp_path):
    """A job that was stopped after its first shard."""
    path = shutil.copy(corpus.inputs[0], tmp_path)
    job = replace(corpus, inputs=(str(path),), out=tmp_path / "begun")
    stop_after(1, job)
    assert receipts(job.out)
    return job


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("rows", {"labels": LabelOptions(rows="sentence")}),
        ("predicates", {"labels": LabelOptions(predicates=("verb",))}),
        ("max_chars", {"input": InputOptions(id="id", max_chars=7)}),
        ("shard_chars", {"shard_chars": 7}),
        ("to", {"to": "parquet"}),
    ],
)
def test_a_job_is_not_resumed_with_other_settings(begun, name, change):
    with pytest.raises(ConfigError, match=f"the setting '{name}' changed since the job began") as refused:
        run(replace(begun, **change), resume=True, load=load_fake)
    assert len(str(refused.value)) < 300


def change(path, old, new):
    """Replace text of the same length and keep the time of the file."""
    times = os.stat(path)
    content = Path(path).read_text()
    assert old in content
    Path(path).write_text(content.replace(old, new))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_a_job_is_not_resumed_with_other_content_of_the_same_size_and_time(begun):
    change(begun.inputs[0], "Ann0", "Eve0")
    with pytest.raises(DataError, match=r"the input changed .*in\.jsonl:1\); start a new job") as refused:
        run(begun, resume=True, load=load_fake)
    assert "--resume" not in str(refused.value)


def test_what_is_not_labeled_yet_may_change(begun, corpus, tmp_path):
    change(begun.inputs[0], "Ann39", "Eve39")
    run(begun, resume=True, workers=1, load=load_fake)
    whole = replace(begun, out=tmp_path / "whole")
    run(whole, workers=1, load=load_fake)
    assert_same(whole, begun.out)


def test_a_job_is_not_resumed_with_less_input(begun):
    lines = Path(begun.inputs[0]).read_text().splitlines(keepends=True)
    stop_after(5, begun, resume=True)
    Path(begun.inputs[0]).write_text("".join(lines[:5]))
    with pytest.raises(DataError, match="the input changed"):
        run(begun, resume=True, load=load_fake)


def test_a_complete_job_is_not_resumed_with_other_input(begun):
    run(begun, resume=True, workers=1, load=load_fake)
    run(begun, resume=True, workers=1, load=load_fake)
    change(begun.inputs[0], "Ann39", "Eve39")
    with pytest.raises(DataError, match="the input changed"):
        run(begun, resume=True, load=load_fake)


def test_a_job_is_not_resumed_with_another_model(begun):
    manifest = begun.out / "manifest.json"
    values = json.loads(manifest.read_text())
    values["fingerprints"]["model"] = "0" * 64
    manifest.write_text(json.dumps(values))
    with pytest.raises(ConfigError, match="the model changed"):
        run(begun, resume=True, load=load_fake)


def test_too_many_errors_stop_the_job(tmp_path):
    path = write_corpus(tmp_path / "in.jsonl", ["RAISE"] * 20)
    job = Job((str(path),), tmp_path / "out", input=InputOptions(id="id"), shard_chars=10)
    with pytest.raises(SpansrlError, match="more than --max-errors 3") as stopped:
        run(job, max_errors=3, load=load_fake, engine=in_process)
    assert "cannot label this" in str(stopped.value)
    assert len(errors_of(job.out)) == 4
    assert run(job, resume=True, max_errors=20, load=load_fake, engine=in_process).errors == 20


def test_too_many_unreadable_documents_stop_the_job_and_are_listed(tmp_path):
    path = write_corpus(tmp_path / "in.jsonl", texts(3))
    with path.open("a") as file:
        file.write("{broken\n")
    job = Job((str(path),), tmp_path / "out")
    with pytest.raises(SpansrlError, match=r"1 bad document.*in\.jsonl:4: not JSON"):
        run(job, max_errors=0, load=load_fake)
    assert [error["where"] for error in errors_of(job.out)] == [f"{path}:4"]
    assert run(job, resume=True, workers=1, load=load_fake).errors == 1


def test_a_column_that_no_file_has_is_refused_before_the_job_begins(tmp_path):
    path = write_corpus(tmp_path / "in.jsonl", texts(5))
    (tmp_path / "in.csv").write_text("id,Body\n1,Ann left.\n")
    for inputs in ((str(tmp_path / "in.csv"),), (str(path), str(tmp_path / "in.csv"))):
        job = Job(inputs, tmp_path / "out", InputOptions(text="words"))
        with pytest.raises(
            DataError, match=r"no column 'words'; found id, \w+\. Name it.* --text (Body|text)"
        ):
            run(job, load=load_fake)
        assert not job.out.exists()
    job = Job((str(tmp_path / "in.csv"), str(path)), tmp_path / "out")  # one of two files has it
    assert run(job, workers=1, load=load_fake).errors == 1


def test_damaged_receipts_are_labeled_again(begun, corpus):
    done = min(receipts(begun.out))
    whole = done.read_bytes()
    directory = JobDirectory(begun.out)
    assert directory.receipt(0)
    for damaged in (b"", b"{", b"[]", b'{"shard": 0}', whole.replace(b":", b";"), b"\xff", b"null"):
        done.write_bytes(damaged)
        assert directory.receipt(0) is None
    run(begun, resume=True, workers=1, load=load_fake)
    assert len(rows_of(begun.out)) == len(rows_of(corpus.out))


@pytest.mark.parametrize("damaged", [b"", b"null", b"[]", b"{}", b'{"format": "spansrl-corpus-3"}', b"\xff"])
def test_a_damaged_manifest_is_one_clear_line(begun, damaged):
    (begun.out / "manifest.json").write_bytes(damaged)
    with pytest.raises(DataError, match=r"manifest\.json: .*start a new job") as refused:
        run(begun, resume=True, load=load_fake)
    assert "\n" not in str(refused.value)


def test_reasons_are_bounded_and_readable(tmp_path):
    long = "\ud800" + "x" * 5_000_000
    (tmp_path / "a.jsonl").write_text(json.dumps({long: 1}) + "\n" + json.dumps({"text": "Ann left"}))
    (tmp_path / "b.csv").write_text("id," + "x" * 5_000_000 + "\n1,y\n")
    (tmp_path / "c.csv").write_bytes(b"id,\xfcber\n1,Ann left.\n")
    job = Job((str(tmp_path / "?.*"),), tmp_path / "out")
    status = run(job, workers=1, load=load_fake)
    assert (status.documents, status.errors) == (4, 3)
    assert (job.out / "errors.jsonl").stat().st_size < 3000
    assert (job.out / "manifest.json").stat().st_size < 3000
    assert "--encoding latin-1" in errors_of(job.out)[2]["reason"]


def test_a_training_run_whose_weights_changed_is_another_model(begun, tmp_path):
    model = tmp_path / "run"
    (model / "embedder").mkdir(parents=True)
    for name in (
        "config.json",
        "weights.safetensors",
        "state.safetensors",
        "log.jsonl",
        "embedder/words.json",
    ):
        (model / name).write_text(name)
    job = replace(begun, labels=LabelOptions(str(model)), out=tmp_path / "own")
    stop_after(1, job)
    (model / "log.jsonl").write_text("an epoch more, which was not better")
    stop_after(1, job, resume=True)
    (model / "weights.safetensors").write_text("other weights")
    with pytest.raises(ConfigError, match="the model changed since the job began"):
        run(job, resume=True, load=load_fake)


def test_a_document_that_kills_its_worker_costs_no_other(tmp_path):
    path = write_corpus(tmp_path / "in.jsonl", ["SLOW it", "KILL", "Bob left", "SLOW them", *["SLOW"] * 8])
    job = Job((str(path),), tmp_path / "out", input=InputOptions(id="id"), shard_chars=1)
    assert run(job, workers=3, load=load_fake).errors == 1
    assert [error["id"] for error in errors_of(job.out)] == ["d1"]


def test_csv_has_the_same_rows_as_json_lines(corpus, tmp_path):
    out = tmp_path / "out"
    run(replace(corpus, out=out, to="csv"), load=load_fake, engine=in_process)
    tables = [path.read_text().splitlines() for path in sorted(out.glob("rows/*.csv"))]
    found = [row for table in tables for row in csv.DictReader(table)]
    assert found == [{k: "" if v is None else str(v) for k, v in row.items()} for row in rows_of(corpus.out)]
    with pytest.raises(ConfigError, match="CSV"):
        run(replace(corpus, out=tmp_path / "other", to="csv", labels=LabelOptions(rows="sentence")))


def test_parquet_has_the_same_rows_as_json_lines(corpus, tmp_path):
    pytest.importorskip("pyarrow", reason="needs the extra corpus")
    import pyarrow.parquet as pq

    for rows in ("argument", "sentence"):
        found = {}
        for to in ("jsonl", "parquet"):
            out = tmp_path / f"{rows}-{to}"
            run(
                replace(corpus, out=out, to=to, labels=LabelOptions(rows=rows)),
                load=load_fake,
                engine=in_process,
            )
            found[to] = (
                rows_of(out)
                if to == "jsonl"
                else [row for path in sorted(out.glob("rows/*")) for row in pq.read_table(path).to_pylist()]
            )
        assert found["jsonl"] == found["parquet"]
        schemas = {str(pq.read_schema(path)) for path in out.glob("rows/*")}
        assert len(schemas) == 1


def test_the_manifest_says_what_was_done(corpus):
    manifest = json.loads((corpus.out / "manifest.json").read_text())
    assert manifest["counts"]["documents"] == 56
    assert manifest["counts"]["errors"] == 3
    assert manifest["counts"]["rows"] == len(rows_of(corpus.out))
    assert set(manifest["fingerprints"]) == {"input", "model", "frames"}
    assert manifest["version"]


def test_the_status_estimates_the_time_left(corpus, tmp_path):
    left = []
    run(
        replace(corpus, out=tmp_path / "out"),
        load=load_fake,
        engine=in_process,
        on_status=lambda status: left.append((status.documents, status.seconds_left)),
    )
    assert left[0] == (0, None)
    assert left[-1] == (56, 0.0)
    assert all(seconds > 0 for _, seconds in left[1:-1])
