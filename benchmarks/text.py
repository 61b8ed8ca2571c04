"""Text in, frames out: rate, start, memory, size, and where the time goes.

python benchmarks/text.py [--data data/ewt/test.jsonl] [--model MODEL_DIRECTORY] [--sentences 200] [--install]

The rate is set against a BERT-base BIO tagger of Hugging Face's with random weights, which reads the sentence
once for each predicate with that predicate marked, as AllenNLP's did. It is spared all but the network: word
pieces are cut beforehand, predicates are gold, and tags are not decoded. Both take turns on the same
sentences with the same number of threads, so that other work on the machine weighs on both. Without --data
the sentences are those of the sample, again and again.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import subprocess
import sys
import tempfile
import time
import venv
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

import spansrl
from measure import machine, peak_memory, peak_of_process, table
from spansrl.decoding import spans
from spansrl.formats import read_sentences
from spansrl.inference import pipeline as pipeline_module
from spansrl.inference import runtime
from spansrl.inference.inputs.pieces import load_tokenizer
from spansrl.inference.loading import shipped_model
from spansrl.structures import Sentence

ROOT = Path(__file__).resolve().parents[1]
TEXT = "She kept a cat in the garden until Tuesday."
ROUNDS = 3
STARTS = 7
TAGGER_TOKENS = 512  # rows × pieces that the tagger reads at once; more made it slower
Timed = Callable[[], Any]


def sentences_of(data: str | None, number: int) -> list[Sentence]:
    """The sentences to label, drawn by chance but always the same ones."""
    if data is not None:
        found = list(read_sentences(data))
        return random.Random(1).sample(found, min(number, len(found)))
    from serving import SAMPLE
    from spansrl.corpora.ewt import build_ewt

    corpus = build_ewt(str(SAMPLE / "propbank-release"), str(SAMPLE / "UD_English-EWT"))
    return list(itertools.islice(itertools.cycle(sent for _, sent in corpus.sentences), number))


def in_seconds(run: Timed) -> float:
    """The time that a call takes."""
    before = time.perf_counter()
    run()
    return time.perf_counter() - before


# The tagger that we are compared with.


def tagger(sentences: Sequence[Sentence], model: Path, roles: int) -> Timed:
    """A pass of the BERT tagger over every predicate of the sentences."""
    import torch
    from transformers import BertConfig, BertForTokenClassification

    bert = BertForTokenClassification(BertConfig(num_labels=2 * roles + 1)).eval()
    batches = [
        {name: torch.tensor(rows) for name, rows in batch.items()} for batch in marked_rows(sentences, model)
    ]

    def run() -> None:
        with torch.inference_mode():
            for batch in batches:
                bert(**batch).logits.argmax(-1)

    return run


def marked_rows(sentences: Sequence[Sentence], model: Path) -> Iterator[dict[str, list[list[int]]]]:
    """A row a predicate, its pieces marked by the segment as in AllenNLP; rows of a length go together."""
    tokenizer = load_tokenizer(model / "embedder")
    rows: list[tuple[list[int], list[int]]] = []
    for sent in sentences:
        pieces = tokenizer.encode(list(sent.tokens), is_pretokenized=True)
        rows += [(pieces.ids, [int(word == prop.pred) for word in pieces.word_ids]) for prop in sent.props]
    rows.sort(key=lambda row: len(row[0]))
    while rows:
        size = max(1, TAGGER_TOKENS // len(rows[-1][0]))
        taken, rows = rows[-size:], rows[:-size]
        width = len(taken[-1][0])
        yield {
            "input_ids": [ids + [0] * (width - len(ids)) for ids, _ in taken],
            "token_type_ids": [marks + [0] * (width - len(ids)) for ids, marks in taken],
            "attention_mask": [[1] * len(ids) + [0] * (width - len(ids)) for ids, _ in taken],
        }


def rates(sentences: Sequence[Sentence], model: Path, threads: int) -> list[str]:
    """Sentences a second of ours and of the tagger, their ratio, and that of processor time; medians."""
    import torch

    torch.set_num_threads(threads)
    srl = spansrl.load(model, threads=threads)
    other = tagger(sentences, model, len(srl.model.roles))
    list(srl.label(sentences))  # warm up
    ours, theirs, rounds = [], [], []
    for _ in range(ROUNDS):
        began = time.process_time()
        ours.append(in_seconds(lambda: list(srl.label(sentences))))
        between = time.process_time()
        theirs.append(in_seconds(other))
        rounds.append((time.process_time() - between) / (between - began))
    ratio = median(slow / fast for fast, slow in zip(ours, theirs, strict=True))
    per_second = [f"{len(sentences) / median(times):.1f}" for times in (ours, theirs)]
    return [f"{threads}", *per_second, f"{ratio:.1f}", f"{median(rounds):.1f}"]


# Where the time goes.


def shares(sentences: Sequence[Sentence], model: Path) -> list[list[str]]:
    """Seconds and shares of the parts of labelling, with one thread."""
    srl = spansrl.load(model, threads=1)
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
            before = time.perf_counter()
            try:
                return function(*args, **options)
            finally:
                spent[part] += time.perf_counter() - before

        return call

    list(srl.label(sentences))  # warm up
    with ExitStack() as stack:
        for part, owner, name in parts:
            stack.enter_context(mock.patch.object(owner, name, timed(part, getattr(owner, name))))
        whole = in_seconds(lambda: list(srl.label(sentences)))
    spent["the rest"] = whole - sum(spent.values())
    return [[part, f"{time:.3f}", f"{time / whole:.1%}"] for part, time in spent.items()]


# Start, memory, size.


def start(model: Path) -> tuple[float, float]:
    """Median seconds of the whole command `spansrl label` and of importing torch; they take turns."""
    label = [sys.executable, "-m", "spansrl", "label", "--model", str(model), TEXT]
    torch = [sys.executable, "-c", "import torch"]
    times = [(command_seconds(label), command_seconds(torch)) for _ in range(STARTS + 1)]
    ours, theirs = zip(*times[1:], strict=True)
    return median(ours), median(theirs)


def command_seconds(command: list[str]) -> float:
    """The time of a process from start to end."""
    return in_seconds(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL))


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
    parser.add_argument("--data", help="sentences with gold predicates")
    parser.add_argument("--model", type=Path, default=shipped_model(), help="default: the shipped one")
    parser.add_argument("--sentences", type=int, default=200, help="how many; default: 200")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--install", action="store_true", help="measure the size of an install (a minute)")
    parser.add_argument("--memory-only", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    sentences = sentences_of(options.data, options.sentences)
    if options.memory_only:  # a process of its own
        for _ in spansrl.load(options.model).label(sentences):
            pass
        print(json.dumps(peak_of_process()))
        return
    n_props = sum(len(sent.props) for sent in sentences)
    print(f"{len(sentences)} sentences, {n_props} gold predicates; {machine()}\n")
    rows = [rates(sentences, options.model, threads) for threads in options.threads]
    header = ["threads", "ours, sentences a second", "BERT-base tagger", "ratio", "ratio of processor time"]
    print(table(header, rows), "\n")
    print(table(["part", "seconds", "share"], shares(sentences, options.model)), "\n")
    ours, torch = start(options.model)
    data = ["--data", options.data] if options.data else []
    memory = peak_memory(
        __file__, "--memory-only", "--model", options.model, "--sentences", options.sentences, *data
    )
    facts = [
        ["`spansrl label` of a sentence, whole command", f"{ours:.2f} s", f"import torch: {torch:.2f} s"],
        ["peak memory of labelling", f"{memory / 1e6:.0f} MB", "500 MB"],
    ]
    if options.install:
        facts.append(["base install with model", f"{installed_size() / 1e6:.0f} MB", "350 MB"])
    print(table(["what", "found", "to stay below"], facts))


if __name__ == "__main__":
    main()
