"""Ray Data on this machine: the same bytes as the local engine, whatever is killed; Label in a pipeline."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="needs the extra cluster")
pytest.importorskip("ray", reason="needs the extra cluster")

from spansrl.inference.loading import shipped_model

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shipped_model().is_dir(), reason="no model in the package"),
]
# Ray leaves threads and sockets behind, and warns; a process of its own keeps them out of the other tests.
LABEL = """
import json, sys
import ray
from spansrl.integrations.ray import Label

ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
texts = ["Ann sold the letters.", "", "Nobody asked Bob."]
ds = ray.data.from_items([{"n": n, "body": text} for n, text in enumerate(texts)], override_num_blocks=1)
labeled = ds.map_batches(
    Label,
    fn_constructor_kwargs={"text": "body", "frames": False},
    batch_size=2,
    num_cpus=1,
    compute=ray.data.ActorPoolStrategy(size=1),
)
print(json.dumps(sorted(labeled.take_all(), key=lambda row: row["n"])))
"""


def environment(**more):
    return os.environ | {"PYTHONPATH": str(ROOT / "src"), "RAY_USAGE_STATS_ENABLED": "0"} | more


def corpus(folder, *arguments):
    command = [sys.executable, "-m", "spansrl", "corpus", "in.txt", "--lines", "--shard-chars", "400"]
    return subprocess.Popen(
        [*command, "--no-frames", *arguments],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process):
    out, err = process.communicate(timeout=150)
    assert process.returncode == 0, err
    return out + err


def actors_of(pid):
    """The processes of actors that label, among those that a driver started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes()
        except OSError:
            continue
        if b"ray::ShardActor" in command and pid in ancestors(int(path.parent.name)):
            found.append(int(path.parent.name))
    return found


def ancestors(pid):
    found = set()
    while pid > 1:
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            break
        found.add(pid)
    return found


def content(out):
    return {path.name: path.read_bytes() for path in [*out.glob("rows/*"), out / "errors.jsonl"]}


def test_ray_gives_the_same_bytes_although_an_actor_is_killed_and_the_driver_too(tmp_path):
    lines = [f"Ann sold {k} letters to Bob after he had asked." for k in range(300)]
    (tmp_path / "in.txt").write_bytes("\n".join([*lines, ""]).encode() + b"caf\xe9\n")
    local = corpus(tmp_path, "--out", "local", "--workers", "1")
    finished(local)
    ray = corpus(tmp_path, "--out", "ray", "--workers", "2", "--engine", "ray")
    progress = tmp_path / "ray" / "progress"
    killed = []
    deadline = time.monotonic() + 100
    while len(killed) < 2 and ray.poll() is None and time.monotonic() < deadline:
        if len(list(progress.glob("*.json"))) > 2 * len(killed):
            if not killed and (actors := actors_of(ray.pid)):
                killed.append(actors[0])
                os.kill(actors[0], signal.SIGKILL)
            elif killed:
                killed.append(ray.pid)
                ray.kill()
        time.sleep(0.01)
    ray.communicate()
    assert len(killed) == 2, "nothing was killed"
    assert not (tmp_path / "ray" / "errors.jsonl").exists()
    said = finished(corpus(tmp_path, "--out", "ray", "--workers", "1", "--resume"))  # engines can be mixed
    assert "301 documents" in said
    assert content(tmp_path / "ray") == content(tmp_path / "local")
    assert len(content(tmp_path / "ray")) > 10


def test_label_adds_a_typed_column_to_a_dataset():
    done = subprocess.run(
        [sys.executable, "-c", LABEL],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first, empty, last = json.loads(done.stdout.splitlines()[-1])
    assert [(row["sense"], row["role"], row["text"]) for row in first["srl"]] == [
        ("sell.01", "ARG0", "Ann"),
        ("sell.01", "ARG1", "the letters"),
    ]
    assert (empty["body"], empty["srl"]) == ("", [])
    assert last["srl"][0]["word"] == "asked"
