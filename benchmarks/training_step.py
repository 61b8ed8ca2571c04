"""One training step of the paper's 4 × 300 BiLSTM: how near it comes to the machine's matrix product.

    python benchmarks/training_step.py [--threads 1] [--output crf]

Batch 64, T = 25, over seven mixed layers of width 384 (a frozen MiniLM's). The rate counts the products of
LSTMs, connections and output, forward and backward; everything else the step does is time lost.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import torch

from measure import machine, matmul_rate, table
from spansrl.arrays import Ragged, offsets_of
from spansrl.nn.batch import Corpus
from spansrl.nn.embedders.layered import LayeredEmbedder
from spansrl.nn.network import Network
from spansrl.nn.outputs import OUTPUTS
from spansrl.structures import Argument, Proposition, Sentence, Span
from spansrl.training.loop import make_optimizer
from spansrl.training.run_config import Config, config_from_dict

N, T, LAYERS, WIDTH, ROLES = 64, 25, 7, 384, 58


class RandomSource:
    """Stands in for a frozen encoder: features are drawn once, as a cache would hold them."""

    n_layers, width = LAYERS, WIDTH

    def fingerprint(self) -> str:
        """Not cached."""
        return "random"

    def compute(self, sentences: Sequence[Sequence[str]]) -> list[np.ndarray]:
        """Not asked for."""
        raise TypeError("the benchmark draws its features itself")


def corpus(network: Network, n_sentences: int) -> Corpus:
    """Sentences of T tokens, each with one predicate and three arguments."""
    rng = np.random.default_rng(1)
    sentences = []
    for _ in range(n_sentences):
        spans = [Span(2, 5), Span(8, 9), Span(12, 20)]
        roles = rng.choice(ROLES, size=3, replace=False)
        args = tuple(Argument(f"R{role:02d}", span) for role, span in zip(roles, spans, strict=True))
        sentences.append(Sentence(tokens=("w",) * T, props=(Proposition(6, args),)))
    return Corpus.of(sentences, network.roles)


def flops(config: Config) -> float:
    """Floating-point operations of the products in one step."""
    h = config.encoder.width
    total, width = 0, WIDTH + config.encoder.mark_width
    for _ in range(config.encoder.layers):
        total += 2 * N * T * (width + h) * 4 * h + 2 * N * T * (width + h) * h
        width = h
    outputs = 1 + 2 * ROLES  # about as many columns for every kind of output
    return 3.0 * (total + 2 * N * T * h * outputs)  # backward: once for the weights, once for the inputs


def main() -> None:
    """Print where the step's time goes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--output", choices=list(OUTPUTS), default="span")
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    config = config_from_dict({"output": {"kind": options.output}, "training": {"batch_size": N}})
    network = Network(config, [f"R{k:02d}" for k in range(ROLES)], LayeredEmbedder(RandomSource(), 0.0))
    data = corpus(network, 4 * N)
    features = np.random.default_rng(2).normal(size=(4 * N * T, LAYERS, WIDTH)).astype(np.float16)
    store = Ragged(features, offsets_of([T] * (4 * N)))
    before = matmul_rate(torch.randn)
    times = timed_steps(network, data, store, options.steps)
    step = sum(times.values())
    peak = (before + matmul_rate(torch.randn)) / 2
    print(f"One training step, 4 × 300 BiLSTM, {options.output}, batch {N}, T = {T}; {machine()}\n")
    print(
        table(["part", "ms", "share"], [[k, f"{1e3 * v:.1f}", f"{v / step:.1%}"] for k, v in times.items()])
    )
    prepared = times["data preparation"] + times["loss, forward and backward"]
    rate = flops(config) / step
    print(f"\nstep {1e3 * step:.0f} ms: {rate / 1e9:.1f} GFLOP/s, {rate / peak:.0%} of the {peak / 1e9:.1f}")
    print(f"of a 1024³ matrix product; data preparation and loss {prepared / step:.1%} of the step")


def timed_steps(network: Network, data: Corpus, store: Ragged, steps: int) -> dict[str, float]:
    """Median seconds of each part of a step."""
    optimizer = make_optimizer(network, network.config.training)
    found: defaultdict[str, list[float]] = defaultdict(list)
    for number in range(steps + 2):
        clock = Clock()
        props = data.epoch_items(N, seed=1, epoch=number, by_sentence=False)[number % 4]
        clock.mark("shuffle")
        batch = data.batch(props)
        inputs = network.embedder.take(store, batch.rows)
        clock.mark("data preparation")
        optimizer.zero_grad()
        h = network.token_features(batch, inputs)
        clock.mark("network, forward")
        seen = h.detach().requires_grad_()
        network.output.loss(seen, batch).backward()
        clock.mark("loss, forward and backward")
        assert seen.grad is not None
        h.backward(seen.grad)
        clock.mark("network, backward")
        optimizer.step()
        clock.mark("optimizer")
        if number >= 2:
            for part, spent in clock.parts.items():
                found[part].append(spent)
    del found["shuffle"]  # once per epoch, not once per step
    return {part: sorted(values)[len(values) // 2] for part, values in found.items()}


class Clock:
    """CPU seconds between marks."""

    def __init__(self) -> None:
        self.parts: dict[str, float] = {}
        self.last = time.process_time()

    def mark(self, part: str) -> None:
        """What has passed since the last mark was spent on this part."""
        now = time.process_time()
        self.parts[part] = now - self.last
        self.last = now


if __name__ == "__main__":
    main()
