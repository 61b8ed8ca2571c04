"""Run the study of experiments/study.toml: corpora, training, predictions, ensembles, analysis.

    python experiments/study.py WORK --sources DIR --minilm DIR --glove FILE [--jobs 2]
    python experiments/study.py WORK --status
    python experiments/study.py WORK --keep experiments/results/study

Everything is made in WORK by `spansrl` commands, two at a time and one thread each. Stop it with Ctrl-C
whenever you like and run the same command again: finished steps are skipped, and training resumes where it
stopped. `--keep` copies what the report is made of: logs, records, predictions without words, and the tables
and figures of `spansrl analyze`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Step:
    """One command; it can start when the steps it needs are done."""

    name: str
    command: list[str]
    needs: list[str] = field(default_factory=list)

    def fingerprint(self) -> str:
        """A hash of the command: a step whose command has changed is run again."""
        return hashlib.sha256(json.dumps(self.command).encode()).hexdigest()[:16]


def main() -> None:
    options = parse_options()
    study = tomllib.loads(options.study.read_text(encoding="utf-8"))
    steps = list(plan(study, options))
    if options.status:
        for step in steps:
            print("done" if is_done(options.work, step) else "open", step.name)
    elif options.keep:
        keep(study, options.work, options.keep)
    else:
        sys.exit(run(steps, options.work, options.jobs))


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path, help="directory for everything that is made")
    parser.add_argument("--study", type=Path, default=ROOT / "experiments" / "study.toml")
    parser.add_argument("--sources", type=Path, help="directory with the archives of EWT and MASC")
    parser.add_argument("--minilm", default="", help="directory of all-MiniLM-L6-v2")
    parser.add_argument("--glove", default="", help="GloVe vectors as text")
    parser.add_argument("--jobs", type=int, default=2, help="commands that run at a time")
    parser.add_argument("--status", action="store_true", help="list the steps and whether they are done")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="copy the results that the report needs")
    return parser.parse_args()


def plan(study: Mapping[str, Any], options: argparse.Namespace) -> Iterator[Step]:
    """All steps, in an order that respects what each needs."""
    work, parts = options.work, study["parts"]
    corpora = sorted({Path(part).parts[0] for part in parts.values()})
    for corpus in corpora:
        yield Step(f"data-{corpus}", data_command(corpus, options.sources, work))
    models: dict[str, list[str]] = {}  # system -> its model directories' names
    for system in study["system"]:
        models[system["name"]] = [f"{system['name']}-{seed}" for seed in system["seeds"]]
        settings = {**study.get("settings", {}), **system.get("settings", {})}
        for seed, model in zip(system["seeds"], models[system["name"]], strict=True):
            sets = {**settings, "training.seed": seed}
            flags = [part for key, value in sets.items() for part in ("--set", setting(key, value, options))]
            command = ["train", str(ROOT / study["config"]), "--data", str(work / "ewt")]
            yield Step(model, [*command, "--out", str(work / model), *TRAIN_FLAGS, *flags], ["data-ewt"])
    for ensemble in study.get("ensemble", ()):
        experts = models[ensemble["experts"]]
        models[ensemble["name"]] = [ensemble["name"]]
        command = ["ensemble", ensemble["kind"], *(str(work / expert) for expert in experts)]
        command += ["--out", str(work / ensemble["name"])]
        if ensemble["kind"] == "mixture":
            command += ["--data", str(work / "ewt"), *TRAIN_FLAGS]
        yield Step(ensemble["name"], command, experts)
    for model in [model for group in models.values() for model in group]:
        for part, file in parts.items():
            out = ["-o", str(prediction(work, model, part)), "--threads", "1", "--predicates", "given"]
            command = ["label", "--model", str(work / model), str(work / file), *out]
            yield Step(f"label-{model}-{part}", command, [model, f"data-{Path(file).parts[0]}"])
    for comparison in study.get("comparison", ()):
        for part, file in parts.items():
            chosen = [(system, model) for system in comparison["systems"] for model in models[system]]
            command = ["analyze", "--gold", str(work / file), "--train", str(work / "ewt" / "train.jsonl")]
            for system, model in chosen:
                command += ["--pred", f"{system}={prediction(work, model, part)}"]
            if part == "dev" and "model" in comparison:
                command += ["--model", str(work / models[comparison["model"]][0])]
            name = f"analyze-{comparison['name']}-{part}"
            command += ["--out", str(work / "analysis" / f"{comparison['name']}-{part}")]
            yield Step(name, command, [f"label-{model}-{part}" for _, model in chosen])


TRAIN_FLAGS = ["--threads", "1", "--resume"]


def data_command(corpus: str, sources: Path | None, work: Path) -> list[str]:
    archives = {
        "ewt": {"--propbank": "propbank-release-ewt.tar.xz", "--ud": "ud-english-ewt.tar.xz"},
        "masc": {
            "--propbank": "propbank-release-masc.tar.xz",
            "--tagged": "masc-tagged.tar.xz",
            "--split": "masc-split.tsv",
        },
    }
    flags = []
    if sources is not None:
        flags = [part for flag, name in archives[corpus].items() for part in (flag, str(sources / name))]
    return ["data", corpus, *flags, "--out", str(work / corpus)]


def setting(key: str, value: object, options: argparse.Namespace) -> str:
    if isinstance(value, bool):
        value = str(value).lower()
    return f"{key}={value}".replace("{minilm}", options.minilm).replace("{glove}", options.glove)


def prediction(work: Path, model: str, part: str) -> Path:
    return work / "predictions" / f"{model}.{part}.jsonl.gz"


def run(steps: Sequence[Step], work: Path, jobs: int) -> int:
    """Run the open steps, `jobs` at a time; returns the exit code."""
    for folder in ("done", "logs", "predictions", "analysis"):
        (work / folder).mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "SPANSRL_CACHE": str(work / "cache")}
    running: dict[str, tuple[Step, subprocess.Popen[bytes]]] = {}
    failed: list[str] = []
    try:
        while True:
            done = {step.name for step in steps if is_done(work, step)}
            ready = [
                s for s in steps if s.name not in done and s.name not in running and done >= set(s.needs)
            ]
            for step in ready[: 0 if failed else max(0, jobs - len(running))]:
                print(f"{time.strftime('%H:%M:%S')} {step.name}", flush=True)
                running[step.name] = step, start(step, work, environment)
            if not running:
                break
            time.sleep(0.2)
            for name, (step, process) in list(running.items()):
                if process.poll() is not None:
                    del running[name]
                    if process.returncode == 0:
                        mark_done(work, step)
                    else:
                        failed.append(name)
                        print(f"{name} failed; see {work / 'logs' / name}.txt", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        for _, process in running.values():
            process.send_signal(signal.SIGINT)  # training saves its state
        for _, process in running.values():
            process.wait()
        print("interrupted; run the same command again to continue", file=sys.stderr)
        return 130
    return 1 if failed else 0


def start(step: Step, work: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    with (work / "logs" / f"{step.name}.txt").open("ab") as log:
        command = [sys.executable, "-m", "spansrl", *step.command]
        # A session of its own: Ctrl-C reaches this process alone, which passes it on.
        return subprocess.Popen(
            command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment, start_new_session=True
        )


def is_done(work: Path, step: Step) -> bool:
    marker = work / "done" / step.name
    return marker.is_file() and marker.read_text() == step.fingerprint()


def mark_done(work: Path, step: Step) -> None:
    marker = work / "done" / step.name
    marker.with_suffix(".tmp").write_text(step.fingerprint())
    os.replace(marker.with_suffix(".tmp"), marker)


def keep(study: Mapping[str, Any], work: Path, out: Path) -> None:
    """Copy logs, records, tables, figures and predictions; the words of the corpora stay behind."""
    for log in sorted(work.glob("*/log.jsonl")):
        folder = out / "runs" / log.parent.name
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("log.jsonl", "run.json"):
            if (log.parent / name).is_file():
                text = (log.parent / name).read_text(encoding="utf-8").replace(f"{work.resolve()}/", "")
                (folder / name).write_text(text, encoding="utf-8")
    for folder in ("tables", "figures"):
        for file in sorted((work / "analysis").glob(f"*/{folder}/*")):
            target = out / file.relative_to(work / "analysis")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
    (out / "predictions").mkdir(parents=True, exist_ok=True)
    for file in sorted((work / "predictions").glob("*.jsonl.gz")):
        target = out / "predictions" / f"{file.name.removesuffix('.jsonl.gz')}.props.xz"
        subprocess.run(
            [sys.executable, "-m", "spansrl", "convert", str(file), str(target), "--to", "conll05-props"],
            check=True,
        )


if __name__ == "__main__":
    main()
