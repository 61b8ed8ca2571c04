"""Attack the program and print one table of counts and failures: `make torture`, `make torture SCALE=10`.

    python benchmarks/torture.py [--scale 1] [--only overload]

Fuzzes labeling and the readers, labels hostile files, kills corpus jobs and training, damages what they keep,
tampers with models, and attacks a real server over loopback.
It starts processes of its own and ends only those; every part is bounded in count and time. The exit code
is 1 if anything failed.
"""

from __future__ import annotations

import argparse
import platform
import random
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import chain, pairwise
from pathlib import Path

import spansrl
from measure import commit, processor, table
from spansrl.corpora.ewt import build_ewt
from spansrl.errors import SpansrlError
from spansrl.formats import READABLE, WRITABLE, read_sentences, write_sentences
from spansrl.inference.loading import shipped_model
from spansrl.structures import Document, Sentence
from torture_files import hostile_input, jobs, mutated_input
from torture_server import ATTACKS, Row, attacks

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "examples" / "sample"
LONGEST_MESSAGE = 2000
WORDS = """
The cat that she bought yesterday sold ran is was been going decision of to for in at , . ; : - — ' " ( )
$5.50 20% U.S. Mr. don't she'll http://a.example/b?c=d me@example.org #tag :-) … “ ” 😀 日本語 naïve e\u0301
picked it up called off refusal Lisbon nine million v1.2.3 9 a.m. ((( ]]] /// ___ ***
"""
WHITE = ("\u00a0", "\t", "\n", "\n\n", "\u202e")


def sentences() -> list[Sentence]:
    corpus = build_ewt(str(SAMPLE / "propbank-release"), str(SAMPLE / "UD_English-EWT"))
    return [sent for _, sent in corpus.sentences]


# Labeling


def fuzzed_texts(count: int) -> Iterator[str]:
    choose = random.Random(count)
    words = [*WORDS.split(), *WHITE]
    for _ in range(count):
        if choose.random() < 0.2:
            yield "".join(
                chr(choose.choice((32, choose.randrange(1, 0x2FFF)))) for _ in range(choose.randrange(80))
            )
        else:
            yield " ".join(choose.choices(words, k=choose.randrange(60)))


def problems_of(document: Document) -> Iterator[str]:
    """What is wrong with a labeled text."""
    for sent in document.sentences:
        start = sent.char_start or 0
        if sent.offsets is None or document.text[start : start + len(sent.text or "")] != sent.text:
            yield "the sentence is not a slice of the text"
            continue
        if any(sent.text[a:b] != token for (a, b), token in zip(sent.offsets, sent.tokens, strict=True)):
            yield "a token is not the slice at its offsets"
        for prop in sent.props:
            spans = sorted(arg.span for arg in prop.args)
            if not 0 <= prop.pred < len(sent) or not all(0 <= a < b <= len(sent) for a, b in spans):
                yield "a span is outside its sentence"
            if any(left.end > right.start for left, right in pairwise(spans)):
                yield "arguments overlap"
            probs = [prop.prob, prop.sense_prob, *(arg.prob for arg in prop.args)]
            if not all(0 <= prob <= 1 for prob in probs if prob is not None):
                yield "a probability is outside [0, 1]"


def labeling(scale: float, directory: Path) -> Iterator[Row]:
    srl = spansrl.load(threads=1)
    texts = list(fuzzed_texts(round(400 * scale)))
    row = Row("labeling fuzz: offsets, ranges, overlaps, probabilities")
    documents = list(srl.pipe(texts))
    for document in documents:
        found = list(problems_of(document))
        row.check(not found, f"{found[:1]}: {document.text!r}")
    yield row
    row = Row("alone against batched: the same labels")
    for document in random.Random(1).sample(documents, round(min(len(documents), 60 * scale))):
        row.check(labels(srl(document.text)) == labels(document), f"differs: {document.text!r}")
    yield row


def labels(document: Document) -> list[object]:
    return [
        (sent.tokens, [(p.pred, p.sense, [(a.role, a.span) for a in p.args]) for p in sent.props])
        for sent in document.sentences
    ]


# Readers and models


def mutated(content: bytes, choose: random.Random) -> bytes:
    """The content with a few bytes changed, removed, repeated or inserted."""
    data = bytearray(content)
    for _ in range(choose.randint(1, 4)):
        at = choose.randrange(len(data) + 1)
        size = choose.choice((1, 1, 2, 8, 100))
        match choose.randrange(4):
            case 0:
                data[at : at + size] = choose.randbytes(size)
            case 1:
                del data[at : at + size]
            case 2:
                data[at:at] = data[at : at + size] * choose.choice((1, 50))
            case _:
                data[at:at] = choose.choice(
                    (b"\0", b"\t", b"\n\n", b"(A1*", b"*)", b'"', b"{", b"\xff", b"NaN")
                )
    return bytes(data)


def outcome(run: Callable[[], object]) -> str:
    """Nothing if it worked or was refused in one reasonable line; else what happened."""
    try:
        run()
    except SpansrlError as error:
        message = str(error)
        if len(message) > LONGEST_MESSAGE or "\n" in message:
            return f"a message of {len(message)} characters: {message[:80]!r}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def readers(scale: float, directory: Path) -> Iterator[Row]:
    row = Row("reader mutations, all formats: read or refused in one line")
    choose = random.Random(2)
    corpus = sentences()[:20]
    originals = {}
    for name in sorted({*READABLE} & {*WRITABLE}):
        path = directory / f"original.{name}"
        write_sentences(path, corpus, name)
        originals[name] = path.read_bytes()
    for k in range(round(1000 * scale)):
        name = list(originals)[k % len(originals)]
        path = directory / "mutated"
        path.write_bytes(mutated(originals[name], choose))
        problem = outcome(lambda path=path, name=name: list(read_sentences(path, name)))
        row.check(not problem, f"{name}: {problem}")
    row.note = ", ".join(originals)
    yield row


def models(scale: float, directory: Path) -> Iterator[Row]:
    choose = random.Random(3)
    original, copy = shipped_model(), directory / "model"
    shutil.copytree(original, copy)
    files = sorted(path.relative_to(copy) for path in copy.rglob("*") if path.is_file())
    row = Row("tampered models with manifest: refused")
    for _ in range(round(30 * scale)):
        name = choose.choice(files)
        content = (original / name).read_bytes()
        (copy / name).write_bytes(mutated(content, choose))
        changed = (copy / name).read_bytes() != content
        found = outcome(lambda: spansrl.load(copy))
        harmless = name.name == "manifest.json" or not changed
        row.check(not found and (harmless or refused(copy)), f"{name}: {found or 'loaded'}")
        (copy / name).write_bytes(content)
    yield row
    (copy / "manifest.json").unlink()
    texts = [path for path in files if path.suffix == ".json" and path.name != "manifest.json"]
    row = Row("tampered JSON without manifest: works or is refused in one line")
    for _ in range(round(60 * scale)):
        name = choose.choice(texts)
        content = (original / name).read_bytes()
        damage = choose.choice(
            (mutated(content, choose), b"[" * 100_000, b"", b"null", content[: len(content) // 2])
        )
        (copy / name).write_bytes(damage)
        row.check(not (found := outcome(lambda: spansrl.load(copy)("Ann left."))), f"{name}: {found}")
        (copy / name).write_bytes(content)
    yield row


def refused(directory: Path) -> bool:
    try:
        spansrl.load(directory)
    except SpansrlError:
        return True
    return False


# Training


def training(scale: float, directory: Path) -> Iterator[Row]:
    row = Row("training killed with -9, then --resume: bit-identical")
    data = directory / "data"
    data.mkdir()
    corpus = sentences()
    for name in ("train", "dev"):
        write_sentences(data / f"{name}.jsonl", corpus)
    command = [
        sys.executable,
        "-m",
        "spansrl",
        "train",
        str(ROOT / "configs" / "tiny.toml"),
        "--data",
        str(data),
    ]
    command += ["--threads", "1", "--set", "training.epochs=30", "--set", "training.batch_size=8"]
    began = time.monotonic()
    subprocess.run(
        [*command, "--out", str(directory / "whole")], check=True, capture_output=True, timeout=600
    )
    seconds = time.monotonic() - began
    expected = weights(directory / "whole")
    choose, kills = random.Random(4), 0
    for k in range(max(1, round(2 * scale))):
        out = directory / f"killed-{k}"
        process = subprocess.Popen(
            [*command, "--out", str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(seconds * choose.uniform(0.3, 0.8))
        process.kill()
        kills += process.wait() < 0
        subprocess.run(
            [*command, "--out", str(out), "--resume"], check=False, capture_output=True, timeout=600
        )
        row.check(weights(out) == expected, "other weights than without the kill")
    row.note = f"{kills} killed in the middle; {len(expected)} files compared"
    yield row


def weights(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.rglob("*.safetensors"))}


PARTS: dict[str, Callable[[float, Path], Iterator[Row]]] = {
    "labeling": labeling,
    "readers": readers,
    "input": lambda scale, directory: mutated_input(scale, directory, mutated),
    "hostile": hostile_input,
    "jobs": lambda scale, directory: jobs(scale, directory, mutated),
    "models": models,
    "training": training,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0, help="factor for all counts")
    parser.add_argument(
        "--only", action="append", choices=[*PARTS, *ATTACKS], help="run this part; may be repeated"
    )
    arguments = parser.parse_args()
    scale, chosen = arguments.scale, set(arguments.only or [*PARTS, *ATTACKS])
    warnings.simplefilter("ignore", spansrl.errors.SpansrlWarning)
    began, rows = time.monotonic(), []
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        parts = [part(scale, directory) for name, part in PARTS.items() if name in chosen]
        for row in chain(*parts, attacks(scale, chosen)):
            rows.append(row)
            print(f"{len(row.failures)} failures in {row.count}: {row.name}", file=sys.stderr, flush=True)
    where = f"{processor()}, Python {platform.python_version()}"
    print(f"torture at {commit()}, scale {scale:g}, {time.monotonic() - began:.0f} s, {where}\n")
    print(
        table(
            ["test", "count", "failures", "note"], [[r.name, r.count, len(r.failures), r.note] for r in rows]
        )
    )
    for row in rows:
        for failure in row.failures[:5]:
            print(f"\nFAILED {row.name}: {failure}")
    sys.exit(any(row.failures for row in rows))


if __name__ == "__main__":
    main()
