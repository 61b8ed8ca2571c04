"""Run the study of experiments/study.toml: corpora, training, predictions, ensembles, analysis.

    python experiments/study.py WORK --sources DIR --minilm DIR --glove FILE [--jobs 2]
    python experiments/study.py WORK --status
    python experiments/study.py WORK --analyze
    python experiments/study.py WORK --keep experiments/results/study
    python experiments/study.py WORK --restore experiments/results/study

Everything is made in WORK by `spansrl` commands, two at a time and one thread each. Stop it with Ctrl-C
whenever you like and run the same command again: finished steps are skipped, and training resumes where it
stopped. The options of the last run are remembered in WORK. `--analyze` compares the systems that have run
so far; `--keep` copies what the report is made of: logs, records, predictions without words, and the tables
and figures of `spansrl analyze`. `--restore` takes kept logs and predictions as those of finished runs, so
that only further runs are made; ensembles need the weights, and so the runs themselves.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from spansrl.formats import read_sentences, write_sentences

ROOT = Path(__file__).resolve().parents[1]
REMEMBERED = ("study", "sources", "corpora", "minilm", "glove")  # options that the steps depend on


@dataclass(frozen=True)
class Step:
    """One command of Python; it can start when the steps of the plan that it needs are done."""

    name: str
    command: list[str]
    needs: list[str] = field(default_factory=list)

    def fingerprint(self) -> str:
        """A hash of the command: a step whose command has changed is run again."""
        return hashlib.sha256(json.dumps(self.command).encode()).hexdigest()[:16]


def main() -> None:
    options = parse_options()
    study = load_study(options.study)
    steps = list(plan(study, options))
    if options.status:
        for step in steps:
            print("done" if is_done(options.work, step) else "open", step.name)
    elif options.keep:
        keep(study, options.work, options.keep)
    elif options.restore:
        remember(options)
        restore(study, steps, options)
    else:
        remember(options)
        if options.analyze:
            steps = [step for step in steps if step.name.startswith("analyze-")]
        sys.exit(run(steps, options.work, options.jobs))


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path, help="directory for everything that is made")
    parser.add_argument("--study", type=Path, default=ROOT / "experiments" / "study.toml")
    parser.add_argument("--sources", type=Path, help="directory with the archives of EWT and MASC")
    parser.add_argument(
        "--corpora",
        type=Path,
        help="directory with the corpora, already built (default: they are built in WORK)",
    )
    parser.add_argument("--minilm", default="", help="directory of all-MiniLM-L6-v2")
    parser.add_argument("--glove", default="", help="GloVe vectors as text")
    parser.add_argument("--jobs", type=int, default=2, help="commands that run at a time")
    parser.add_argument("--status", action="store_true", help="list the steps and whether they are done")
    parser.add_argument("--analyze", action="store_true", help="compare the systems that have run so far")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="copy the results that the report needs")
    parser.add_argument("--restore", type=Path, metavar="DIR", help="take kept results as finished runs")
    work = parser.parse_args().work
    if (file := work / "options.json").is_file():
        parser.set_defaults(**json.loads(file.read_text(encoding="utf-8")))
    options = parser.parse_args()
    for name in REMEMBERED:  # absolute: the next run may start in another directory
        if value := getattr(options, name):
            setattr(options, name, type(value)(Path(value).absolute()))
    return options


def remember(options: argparse.Namespace) -> None:
    values = {name: str(value) for name in REMEMBERED if (value := getattr(options, name))}
    options.work.mkdir(parents=True, exist_ok=True)
    (options.work / "options.json").write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


def load_study(path: Path) -> dict[str, Any]:
    """The study; a short one names its `base` and gives further settings, and the seeds of each system."""
    study = tomllib.loads(path.read_text(encoding="utf-8"))
    if "base" not in study:
        return study
    base = load_study(path.parent / study["base"])
    base["settings"] = {**base.get("settings", {}), **study.get("settings", {})}
    for system in base["system"]:
        system["seeds"] = study["seeds"][system["name"]]
    return base


def plan(study: Mapping[str, Any], options: argparse.Namespace) -> Iterator[Step]:
    """All steps, the most telling first, in an order that respects what each needs."""
    corpora = options.corpora or options.work
    if options.corpora is None:
        for name in data_steps(study):
            yield Step(name, data_command(name.removeprefix("data-"), options.sources, options.work))
    for step in [*training_steps(study, options, corpora), *ensemble_steps(study, options.work, corpora)]:
        yield step
        yield label_step(study, options.work, corpora, step.name)
    yield from analysis_steps(study, options, corpora)


def training_steps(study: Mapping[str, Any], options: argparse.Namespace, corpora: Path) -> Iterator[Step]:
    """One step per system and seed, seed by seed; of each seed, the systems of the first comparison first."""
    first = study["comparison"][0]["systems"]
    runs = [(system, index) for system in study["system"] for index in range(len(system["seeds"]))]
    for system, index in sorted(runs, key=lambda run: (run[1], run[0]["name"] not in first)):
        seed = system["seeds"][index]
        sets = {**study.get("settings", {}), **system.get("settings", {}), "training.seed": seed}
        flags = [part for key, value in sets.items() for part in ("--set", setting(key, value, options))]
        model = f"{system['name']}-{seed}"
        command = [*SPANSRL, "train", str(ROOT / study["config"]), "--data", str(corpora / "ewt")]
        command += ["--out", str(options.work / model), *TRAIN_FLAGS, *flags]
        yield Step(model, command, ["data-ewt"])


def ensemble_steps(study: Mapping[str, Any], work: Path, corpora: Path) -> Iterator[Step]:
    for ensemble in study.get("ensemble", ()):
        experts = models_of(study, ensemble["experts"])
        command = [*SPANSRL, "ensemble", ensemble["kind"], *(str(work / expert) for expert in experts)]
        command += ["--out", str(work / ensemble["name"])]
        if ensemble["kind"] == "mixture":
            command += ["--data", str(corpora / "ewt"), *TRAIN_FLAGS]
        yield Step(ensemble["name"], command, experts)


def label_step(study: Mapping[str, Any], work: Path, corpora: Path, model: str) -> Step:
    files = [f"{corpora / file}={prediction(work, model, part)}" for part, file in study["parts"].items()]
    command = [LABEL, str(work / model), "--cache", str(work / "cache"), *files]
    return Step(f"label-{model}", command, [model, *data_steps(study)])


def analysis_steps(study: Mapping[str, Any], options: argparse.Namespace, corpora: Path) -> Iterator[Step]:
    """One step per comparison and part, and one for training curves; with --analyze, of what has run."""
    work = options.work

    def has_run(model: str) -> bool:
        return not options.analyze or (work / "done" / f"label-{model}").exists()

    for comparison in study.get("comparison", ()):
        for part, file in study["parts"].items():
            chosen = [
                (system, model)
                for system in comparison["systems"]
                for model in models_of(study, system)
                if has_run(model)
            ]
            if len({system for system, _ in chosen}) < 2:
                continue
            command = [*SPANSRL, "analyze", "--gold", str(corpora / file)]
            command += ["--train", str(corpora / "ewt" / "train.jsonl"), "--threads", "1"]
            for system, model in chosen:
                command += ["--pred", f"{system}={prediction(work, model, part)}"]
            weights = work / chosen[0][1]  # a restored run has none
            restored = options.analyze and not (weights / "config.json").exists()
            if part == "dev" and chosen[0][0] == comparison.get("model") and not restored:
                command += ["--model", str(weights)]
            command += ["--out", str(work / "analysis" / f"{comparison['name']}-{part}")]
            name = f"analyze-{comparison['name']}-{part}"
            yield Step(name, command, [f"label-{model}" for _, model in chosen])

    runs = [
        model for system in study["system"] for model in models_of(study, system["name"]) if has_run(model)
    ]
    command = [*SPANSRL, "analyze", *(part for run in runs for part in ("--run", str(work / run)))]
    yield Step("analyze-curves", [*command, "--out", str(work / "analysis" / "curves")], runs)


def data_steps(study: Mapping[str, Any]) -> list[str]:
    return sorted({f"data-{Path(file).parts[0]}" for file in study["parts"].values()})


def models_of(study: Mapping[str, Any], system: str) -> list[str]:
    """The names of a system's model directories; an ensemble has one."""
    seeds = {own["name"]: own["seeds"] for own in study["system"]}
    return [f"{system}-{seed}" for seed in seeds[system]] if system in seeds else [system]


SPANSRL = ["-m", "spansrl"]
LABEL = str(ROOT / "experiments" / "label_parts.py")
TRAIN_FLAGS = ["--threads", "1", "--resume"]


def data_command(corpus: str, sources: Path | None, work: Path) -> list[str]:
    archives = {
        "ewt": {"--propbank": "propbank-release-ewt.tar.xz", "--ud": "ud-english-ewt.tar.xz"},
        "masc": {"--propbank": "propbank-release-masc.tar.xz", "--tagged": "masc-tagged.tar.xz"},
    }
    flags = []
    if sources is not None:
        flags = [part for flag, name in archives[corpus].items() for part in (flag, str(sources / name))]
    return [*SPANSRL, "data", corpus, *flags, "--out", str(work / corpus)]


def setting(key: str, value: object, options: argparse.Namespace) -> str:
    if isinstance(value, bool):
        value = str(value).lower()
    return f"{key}={value}".replace("{minilm}", options.minilm).replace("{glove}", options.glove)


def prediction(work: Path, model: str, part: str) -> Path:
    return work / "predictions" / f"{model}.{part}.jsonl.gz"


def prediction_kept(kept: Path, model: str, part: str) -> Path:
    return kept / "predictions" / f"{model}.{part}.props.xz"


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
            open_ = [step for step in steps if not is_done(work, step)]
            missing = {step.name for step in open_}
            ready = [s for s in open_ if s.name not in running and missing.isdisjoint(s.needs)]
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
        command = [sys.executable, *step.command]
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
    out.mkdir(parents=True, exist_ok=True)
    (out / "study.json").write_text(json.dumps(study, indent=1) + "\n", encoding="utf-8")
    logs = [log for log in sorted(work.glob("*/log.jsonl")) if (work / "done" / log.parent.name).exists()]
    for log in logs:
        folder = out / "runs" / log.parent.name
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("log.jsonl", "run.json"):
            if (log.parent / name).is_file():
                (folder / name).write_text(without_paths((log.parent / name).read_text(encoding="utf-8")))
    for pattern in KEPT:
        for file in sorted((work / "analysis").glob(pattern)):
            target = out / file.relative_to(work / "analysis")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
    (out / "predictions").mkdir(exist_ok=True)
    for file in sorted((work / "predictions").glob("*.jsonl.gz")):
        target = prediction_kept(out, *file.name.removesuffix(".jsonl.gz").rsplit(".", 1))
        subprocess.run(
            [sys.executable, *SPANSRL, "convert", str(file), str(target), "--to", "conll05-props"],
            check=True,
        )


def restore(study: Mapping[str, Any], steps: Sequence[Step], options: argparse.Namespace) -> None:
    """Mark runs as done whose logs and predictions were kept, and put these where a run would."""
    corpora = options.corpora or options.work
    for folder in ("done", "predictions"):
        (options.work / folder).mkdir(parents=True, exist_ok=True)
    names = {step.name: step for step in steps}
    kept = (options.restore / "predictions").glob("*.props.xz")
    for model in sorted({file.name.removesuffix(".props.xz").rsplit(".", 1)[0] for file in kept}):
        files = {part: prediction_kept(options.restore, model, part) for part in study["parts"]}
        training, labeling = names.get(model), names.get(f"label-{model}")
        if training is None or labeling is None or is_done(options.work, labeling):
            continue
        if not all(file.is_file() for file in files.values()):
            continue
        if (folder := options.restore / "runs" / model).exists():  # a product is not trained
            shutil.copytree(folder, options.work / model, dirs_exist_ok=True)
        for part, file in files.items():
            with_words(corpora / study["parts"][part], file, prediction(options.work, model, part))
        mark_done(options.work, training)
        mark_done(options.work, labeling)
        print(f"restored {model}")


def with_words(corpus: Path, props: Path, out: Path) -> None:
    """Write predictions that were kept without words as those of the corpus's sentences."""
    pairs = zip(read_sentences(corpus), read_sentences(props), strict=True)
    write_sentences(out, (replace(gold, props=found.props) for gold, found in pairs))


# What the report reads; `spansrl analyze` makes the others again from what is kept.
KEPT_TABLES = """
    overall significance significance-perfect boundaries label-accuracy label-accuracy-common labels
    argument-length distance sentence-length part-of-speech seen confused-pairs repairs-* consistency-means
    nearest-labels decoders
""".split()
KEPT = (*(f"*/tables/{name}.csv" for name in KEPT_TABLES), "*/figures/label-embeddings.svg")


def without_paths(text: str) -> str:
    """A record in which files have their names only."""
    return re.sub(r'"/[^"]*/([^"/]+)"', r'"\1"', text)


if __name__ == "__main__":
    main()
