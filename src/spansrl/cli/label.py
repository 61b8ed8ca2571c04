"""`spansrl label`: arguments of given predicates, by any trained model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spansrl.cli.torch_extra import device_option, threads_option
from spansrl.formats import READABLE, WRITABLE, read_sentences, write_sentences
from spansrl.structures import Sentence

if TYPE_CHECKING:
    from spansrl.labeler import Labeler

EXAMPLES = """
\b
Examples:
  spansrl label --model runs/span-1 --predicates given data/ewt/test.jsonl > predicted.jsonl
  spansrl label --model runs/moe --predicates given --output conll05-props test.jsonl -o test.props
  spansrl evaluate data/ewt/test.jsonl predicted.jsonl
"""


@click.command(epilog=EXAMPLES)
@click.argument("files", nargs=-1, required=True)
@click.option("--model", required=True, type=click.Path(path_type=Path), help="Model directory.")
@click.option(
    "--predicates",
    type=click.Choice(["given"]),
    default="given",
    show_default=True,
    help="given: those of the input.",
)
@click.option(
    "--input", "input_format", type=click.Choice(READABLE), help="Format of the input.  [default: guessed]"
)
@click.option(
    "--output", "output_format", type=click.Choice(WRITABLE), help="Format of the output.  [default: jsonl]"
)
@click.option("-o", "--out", default="-", help="Where to write; - is standard output.  [default: -]")
@click.option(
    "--decoder",
    type=click.Choice(["greedy", "argmax", "exact"]),
    help="Span models only.  [default: the model's]",
)
@threads_option
@device_option
@click.option(
    "--precomputed", type=click.Path(path_type=Path), help="HDF5 file with ELMo vectors of this very input."
)
def command(
    files: tuple[str, ...],
    model: Path,
    predicates: str,
    input_format: str | None,
    output_format: str | None,
    out: str,
    decoder: str | None,
    threads: int | None,
    device: str,
    precomputed: Path | None,
) -> None:
    """Label the predicates of FILES (- is standard input) with a trained model.

    Only the predicates' places are taken from the input; its senses and arguments are dropped, never copied.
    """
    from spansrl.cli.torch_extra import require_torch, use_device

    require_torch("labelling with a trained model directory")
    import torch

    from spansrl.ensembles import load_labeler

    if threads:
        torch.set_num_threads(threads)
    labeler = load_labeler(model, method=decoder, device=use_device(device))  # type: ignore[arg-type]
    sentences: Iterator[Sentence] = (sent for file in files for sent in read_sentences(file, input_format))
    if precomputed is not None:
        sentences = with_precomputed(labeler, precomputed, sentences)
    losses = write_sentences(out, labeler.label(sentences), output_format, stream=True)
    if losses:
        click.echo(f"spansrl: {losses}", err=True)


def with_precomputed(labeler: Labeler, path: Path, sentences: Iterator[Sentence]) -> Iterator[Sentence]:
    """The sentences, after the labeler has been shown their vectors."""
    from spansrl.ensembles import remember_precomputed

    kept = list(sentences)
    remember_precomputed(labeler, path, kept)
    return iter(kept)
