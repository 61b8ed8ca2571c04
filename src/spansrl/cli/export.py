"""`spansrl export`: a trained model for ONNX Runtime, checked against torch before it appears."""

from __future__ import annotations

import logging
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spansrl.cli import options
from spansrl.errors import ConfigError, ModelError, counted
from spansrl.formats import read_sentences
from spansrl.formats.atomic import atomic_directory
from spansrl.structures import Proposition, Sentence

if TYPE_CHECKING:
    from spansrl.training.onnx_weights import Precision

EXAMPLES = """
\b
Examples:
  spansrl export runs/span-1 --out models/span-1
  spansrl export runs/text-1 --out models/text --weights int8 --calibrate data/ewt/dev.jsonl
  spansrl label --model models/text "They kept it."
"""
CHECKED = 500  # sentences of --check that both must label alike

# Sentences of different lengths, for when no others are given; predicates have a star.
SAMPLE = """
Stop* !
It rained* .
She kept* a cat in the garden until Tuesday .
The committee 's decision* to sell* the house , which Jack built* , surprised* nobody who knew* him .
In June , after a long winter , he gave* her the book that she had* wanted* , and left* .
`` Do* n't go* there , '' said* the old man at the door ; nobody listened* , as nobody ever did* .
"""


@click.command(epilog=EXAMPLES)
@click.argument("model", metavar="MODEL_DIR", type=options.PATH)
@options.out("Directory to create.")
@options.choice(
    "--weights",
    ["full", "half", "int8"],
    "How weights are stored: half has half the size and int8 a quarter, rounded. "
    "Computation is in single precision.",
)
@options.path("--check", help=f"Compare on the first {CHECKED} sentences of this file.  [default: a sample]")
@options.path(
    "--calibrate", help="Development data to fit the probabilities and the threshold for predicates."
)
def command(model: Path, out: Path, weights: Precision, check: Path | None, calibrate: Path | None) -> None:
    """Write a trained model for ONNX Runtime, which needs no torch.

    MODEL_DIR is a single model, not an ensemble, and not one that needs precomputed vectors. The exported
    model is compared with torch: only if the labels are the same and the scores differ by at most 1e-4 does
    the directory --out appear, with a manifest of its files. With --weights half or int8, the weights are
    rounded after this check.
    """
    options.require_torch("spansrl export")
    from spansrl.evaluation.calibrate import recalibrate
    from spansrl.inference.directory import write_manifest
    from spansrl.inference.runtime import OnnxModel
    from spansrl.training.export import MAX_DIFFERENCE, compare, export_model
    from spansrl.training.onnx_weights import store_weights

    logging.getLogger("onnxscript").setLevel(logging.ERROR)  # it warns about what it cannot optimize
    sentences = sample() if check is None else list(islice(read_sentences(check), CHECKED))
    if not any(sent.props for sent in sentences):
        raise ConfigError(f"{check}: no predicates in its first {CHECKED} sentences; check with other ones")
    with atomic_directory(out) as partial:
        network = export_model(model, partial)
        found = compare(network, OnnxModel.load(partial), sentences)
        if found.scores > MAX_DIFFERENCE or found.other_labels:
            raise ModelError(
                f"{model}: not exported, because ONNX Runtime differs from torch: "
                f"scores by {found.scores:.1e}, "
                f"arguments of {found.other_labels} of {found.propositions} predicates"
            )
        if weights != "full":
            store_weights(partial, weights)
        if calibrate is not None:
            gold = list(read_sentences(calibrate))
            if not any(prop.args for sent in gold for prop in sent.props):
                raise ConfigError(f"{calibrate}: no arguments to fit a calibration on")
            recalibrate(partial, gold)
        write_manifest(partial)
        size = sum(path.stat().st_size for path in partial.rglob("*") if path.is_file())
    click.echo(
        f"{out}: {size / 1e6:.1f} MB; same labels as torch for {counted(found.propositions, 'predicate')}, "
        f"scores differ by {found.scores:.0e} at most",
        err=True,
    )


def sample() -> list[Sentence]:
    """The sentences of SAMPLE with their predicates."""
    rows = [line.split() for line in SAMPLE.strip().splitlines()]
    return [
        Sentence(
            tuple(word.removesuffix("*") for word in row),
            tuple(Proposition(k) for k, word in enumerate(row) if word.endswith("*")),
        )
        for row in rows
    ]
