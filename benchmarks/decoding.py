"""How long decoding takes: microseconds of CPU time per predicate, as a table.

    python benchmarks/decoding.py [--repeat 20]

*trained* scores are made so that each predicate has about four candidates, as a trained model has on EWT: a
few planted arguments, some with rivals of another boundary or role, over noise that stays below Null.
*untrained* scores are noise, so that most spans are candidates: the worst case.
"""

from __future__ import annotations

import argparse
import resource
from collections.abc import Callable, Sequence

import numpy as np

from measure import cpu_seconds, origin
from spansrl.decoding import DECODERS, Decoder, SpanScores, bio_transitions, log_partition, viterbi
from spansrl.inventory import PROPBANK, RoleTable

CORE = [f"ARG{k}" for k in range(6)]


def roles_of(count: int) -> list[str]:
    """Role names: six core roles, modifiers for the rest."""
    return CORE + [f"ARGM-{k}" for k in range(count - len(CORE))]


def with_log_z(start: np.ndarray, end: np.ndarray, pred: np.ndarray) -> SpanScores:
    """Full-length scores in single precision, as a network gives them."""
    lengths = np.full(len(pred), start.shape[1])
    start, end = start.astype(np.float32), end.astype(np.float32)
    return SpanScores(start, end, lengths, pred, log_z=log_partition(start, end, lengths))


def untrained(rng: np.random.Generator, N: int, T: int, R: int) -> SpanScores:
    """Noise: nearly every span of every role may beat Null."""
    start, end = rng.normal(size=(2, N, T, R))
    return with_log_z(start, end, rng.integers(T, size=N))


def trained(rng: np.random.Generator, N: int, T: int, R: int) -> SpanScores:
    """Null far above the noise; planted above Null, arguments that do not overlap, and rivals to some."""
    start, end = rng.normal(size=(2, N, T, R))
    pred = rng.integers(T, size=N)
    start[np.arange(N), pred] += 8
    end[np.arange(N), pred] += 8
    frequency = 1 / np.arange(1, R + 1)
    for n, p in enumerate(pred):
        count = rng.integers(1, 5)
        bounds = np.sort(rng.choice(np.delete(np.arange(T), p), size=2 * count, replace=False))
        roles = rng.choice(R, p=frequency / frequency.sum(), size=count, replace=False)
        for first, last, role in zip(bounds[::2], bounds[1::2], roles, strict=True):
            last = first if first < p < last else last
            start[n, first, role] += 9
            end[n, last, role] += 9
            if rng.random() < 0.4:  # the boundary is not sure
                end[n, max(last - 1, first), role] += 8.5
            if rng.random() < 0.15:  # the role is not sure
                start[n, first, R - 1 - role] += 8.5
                end[n, last, R - 1 - role] += 8.5
    return with_log_z(start, end, pred)


def candidates(scores: SpanScores) -> float:
    """Candidates a predicate, counted one by one."""
    total = 0
    for start, end, length, p in zip(scores.start, scores.end, scores.lengths, scores.pred, strict=True):
        above = (start[:, None] + end[None] > start[p] + end[p]).any(axis=2)
        i, j = np.nonzero(above)
        keep = (i <= j) & (j < length) & ~((i <= p) & (p <= j))
        total += int((start[i[keep]] + end[j[keep]] > start[p] + end[p]).sum())
    return total / len(scores.pred)


def seconds(run: Callable[[], object], repeat: int) -> float:
    """The shortest CPU time of `repeat` runs, after one to warm up."""
    run()
    return min(cpu_seconds(run) for _ in range(repeat))


def time_spans(name: str, scores: SpanScores, repeat: int, decoders: Sequence[Decoder] = DECODERS) -> None:
    """One line per decoder."""
    N, T, R = scores.start.shape
    table = RoleTable(list(map(PROPBANK.role, roles_of(R))))
    per_pred = f"{candidates(scores):.1f}"
    for decoder in decoders:
        taken = seconds(lambda decoder=decoder: scores.decode(table, decoder=decoder), repeat)  # type: ignore[misc]
        args = sum(map(len, scores.decode(table, decoder=decoder))) / N
        print(f"{name:10} {decoder:11} {N:4} {T:4} {R:4} {per_pred:>12} {args:6.1f} {taken / N * 1e6:14.1f}")


def time_viterbi(rng: np.random.Generator, N: int, T: int, R: int, repeat: int) -> None:
    """Free and BIO-constrained transitions over 2R + 1 tags."""
    tags = ["O"] + [f"{prefix}-{role}" for role in roles_of(R) for prefix in "BI"]
    K = len(tags)
    emissions = rng.normal(size=(N, T, K)).astype(np.float32)
    transitions = rng.normal(size=(K, K)).astype(np.float32)
    first = np.zeros(K, dtype=np.float32)
    allowed, _ = bio_transitions(tags)
    constrained = np.where(allowed, transitions, np.float32(-np.inf))
    for name, matrix in {"free": transitions, "BIO": constrained}.items():
        taken = seconds(lambda m=matrix: viterbi(emissions, m, first, lengths=np.full(N, T)), repeat)  # type: ignore[misc]
        print(f"{name:10} {'viterbi':8} {N:4} {T:4} {R:4} {'':>12} {'':6} {taken / N * 1e6:14.1f}")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--repeat", type=int, default=20, help="runs of which the shortest counts")
    repeat = parser.parse_args().repeat
    rng = np.random.default_rng(0)
    print(f"Decoding; {origin()}\n")
    columns = ("scores", "decoder", "N", "T", "R", "candidates", "args", "µs/predicate")
    print("{:10} {:8} {:>4} {:>4} {:>4} {:>12} {:>6} {:>14}".format(*columns))
    time_spans("trained", trained(rng, 64, 25, 58), repeat)
    time_spans("untrained", untrained(rng, 64, 25, 58), 1)
    # Without "constrained", which takes more than a minute when every span is a candidate.
    time_spans("untrained", untrained(rng, 4, 500, 59), 1, ("greedy", "argmax", "exact"))
    time_viterbi(rng, 64, 25, 58, max(1, repeat // 5))
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
