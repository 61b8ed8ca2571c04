"""Text in, frames out: CPU time against other networks, where it goes, start-up, and size.

python benchmarks/text.py [--data data/ewt/dev.jsonl] [--model MODEL_DIRECTORY] [--sentences 60] [--install]

benchmarks/peers.py describes what spansrl is compared with. All take turns on the same sentences, so that
other work on the machine affects them alike. spansrl does everything: it cuts word pieces, finds predicates
and senses, and decodes. The peers run their network only. --data is a file of sentences with gold predicates,
by default the everyday set.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
import venv
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from operator import truediv
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

import torch

import peers
import spansrl
from flops import operations, single_precision
from measure import EVERYDAY, ROOT, cpu_seconds, machine, matmul_rate, table
from spansrl.decoding import spans
from spansrl.formats import read_sentences
from spansrl.inference import pipeline as pipeline_module
from spansrl.inference import runtime
from spansrl.inference.loading import shipped_model
from spansrl.inference.pipeline import Pipeline
from spansrl.structures import Sentence

TEXT = "She kept a cat in the garden until Tuesday."
HEADER = ["network", "sentences per CPU second", "spansrl is … times as fast", "with int8"]
ROUNDS = 3
STARTS = 3


def contenders(sentences: Sequence[Sentence], model: Path) -> dict[str, peers.Run]:
    """What spansrl is compared with, by name: a pass over the sentences for each."""
    rows, alone = peers.tagger_batches(sentences, model), peers.sentence_batches(sentences, model)
    kinds = (
        ("BERT-base BIO tagger, one pass per predicate", peers.Tagger, list(rows)),
        ("span ranking over BERT-base, one pass per sentence", peers.SpanRanking, list(alone)),
    )
    folder = peers.cache()
    found = {
        f"{name}, ONNX Runtime {precision}": peers.on_onnxruntime(graph, batches)
        for name, network, batches in kinds
        for precision, graph in peers.exported(network, folder).items()
    }
    return found | {"spaCy's tagger and parser (another task)": peers.spacy_run(sentences)}


def compare(srl: Pipeline, others: dict[str, peers.Run], sentences: Sequence[Sentence]) -> str:
    """Rates of all contenders, and the share of the machine's floating-point rate that spansrl reaches."""
    assert isinstance(srl.model, runtime.OnnxModel)
    spent: defaultdict[str, list[float]] = defaultdict(list)
    peaks = []
    int8 = spansrl.load(srl.model.directory, threads=1, precision="int8")
    own: dict[str, peers.Run] = {
        "spansrl": lambda: list(srl.label(sentences)),
        "spansrl, int8": lambda: list(int8.label(sentences)),
    }
    runs = own | others
    own["spansrl, int8"]()  # warm up
    for _ in range(ROUNDS):
        for name, run in runs.items():
            spent[name].append(cpu_seconds(run))
        peaks.append(matmul_rate(single_precision))
    rows = [
        [
            name,
            f"{len(sentences) / median(times):.1f}",
            *(f"{median(map(truediv, times, spent[ours])):.1f}" for ours in own),
        ]
        for name, times in spent.items()
    ]
    count, peak = operations(srl, sentences), median(peaks)
    rate = count / median(spent["spansrl"])
    return (
        f"{table(HEADER, rows)}\n\n"
        f"spansrl needs {count / len(sentences) / 1e9:.2f} GFLOP of matrix products per sentence (without\n"
        f"padding) and does {rate / 1e9:.1f} per CPU second: {rate / peak:.0%} of the {peak / 1e9:.1f} of a\n"
        f"large product in the same run.\n"
    )


# Where the time goes.


def shares(srl: Pipeline, sentences: Sequence[Sentence]) -> list[list[str]]:
    """CPU seconds and shares of the parts of labeling."""
    assert isinstance(srl.model, runtime.OnnxModel)
    parts = [
        ("word pieces", srl.model, "prepare"),
        ("encoder", srl.model, "_encoder"),
        ("arguments and senses, network", srl.model, "_arguments"),
        ("log Z", spans, "log_partition"),
        ("decoding", spans.SpanScores, "decode"),
        ("choice of senses, lemmas", pipeline_module.Pipeline, "_sense"),
    ]
    spent: Counter[str] = Counter()

    def timed(part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            before = time.process_time()
            try:
                return function(*args, **options)
            finally:
                spent[part] += time.process_time() - before

        return call

    with ExitStack() as stack:
        for part, owner, name in parts:
            stack.enter_context(mock.patch.object(owner, name, timed(part, getattr(owner, name))))
        whole = cpu_seconds(lambda: list(srl.label(sentences)))
    spent["the rest"] = whole - sum(spent.values())
    return [[part, f"{time:.3f}", f"{time / whole:.1%}"] for part, time in spent.items()]


# Start-up and size.


def start(model: Path) -> tuple[float, float]:
    """Median CPU seconds of the whole command `spansrl label` and of importing torch; they take turns."""
    label = [sys.executable, "-m", "spansrl", "label", "--model", str(model), TEXT]
    torch = [sys.executable, "-c", "import torch"]
    times = [(command_seconds(label), command_seconds(torch)) for _ in range(STARTS + 1)]
    ours, theirs = zip(*times[1:], strict=True)
    return median(ours), median(theirs)


def command_seconds(command: list[str]) -> float:
    """The CPU time of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def installed_size() -> float:
    """Bytes of what `pip install` of this project puts into a fresh environment, the model included."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        (packages,) = Path(folder).glob("lib/python*/site-packages")
        before = bytes_below(packages)
        install = [f"{folder}/bin/python", "-m", "pip", "install", "--quiet", str(ROOT)]
        subprocess.run(install, check=True)
        return bytes_below(packages) - before


def bytes_below(folder: Path) -> int:
    """What the files below a folder take on the disk."""
    return sum(512 * path.stat().st_blocks for path in folder.rglob("*") if path.is_file())


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=EVERYDAY, help="sentences with gold predicates")
    parser.add_argument("--model", type=Path, default=shipped_model(), help="default: the one in the package")
    parser.add_argument("--sentences", type=int, default=60, help="how many; default: 60")
    parser.add_argument("--install", action="store_true", help="measure the size of an install (a minute)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    found = list(read_sentences(options.data))
    sentences = random.Random(1).sample(found, min(options.sentences, len(found)))
    n_props = sum(len(sent.props) for sent in sentences)
    srl = spansrl.load(options.model, threads=1)
    list(srl.label(sentences))  # warm up
    print(f"{len(sentences)} sentences ({options.data.name}), {n_props} gold predicates; {machine()}\n")
    print(compare(srl, contenders(sentences, options.model), sentences))
    print(table(["part", "CPU seconds", "share"], shares(srl, sentences)), "\n")
    ours, theirs = start(options.model)
    facts = [
        ["`spansrl label` of a sentence, whole command", f"{ours:.2f} CPU s", f"import torch: {theirs:.2f}"]
    ]
    if options.install:
        facts.append(["base install with model", f"{installed_size() / 1e6:.0f} MB", "350 MB"])
    print(table(["what", "found", "to stay below"], facts))


if __name__ == "__main__":
    main()
