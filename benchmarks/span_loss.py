"""The exact span softmax in linear time against scoring every span vector, forward and backward.

    python benchmarks/span_loss.py

Both compute the same loss from the same token vectors h: B = 8 propositions, R = 59 roles, width 300.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable

import torch
from torch import Tensor

from measure import added_memory, machine, peak_memory, seconds, table
from spansrl.nn.batch import Gold
from spansrl.nn.outputs.span import SpanOutput, span_loss

B, R, D = 8, 59, 300


def linear_loss(h: Tensor, output: SpanOutput, pred: Tensor, gold: Gold) -> Tensor:
    """Ours: two scores a token and role."""
    mask = torch.ones(h.shape[:2], dtype=torch.bool)
    return span_loss(output(h, mask), pred, gold)


def every_span_loss(h: Tensor, output: SpanOutput, pred: Tensor, gold: Gold) -> Tensor:
    """The plain way: a vector for each of the T(T+1)/2 spans, each scored for each role."""
    T = h.shape[1]
    first, last = torch.triu_indices(T, T)
    vectors = torch.cat([h[:, first] + h[:, last], h[:, first] - h[:, last]], dim=2)  # (B, spans, 2D)
    scores = vectors @ output.roles.T  # (B, spans, R)
    log_p = scores - scores.logsumexp(dim=1, keepdim=True)
    place = torch.zeros(T, T, dtype=torch.long)
    place[first, last] = torch.arange(len(first))
    props = torch.arange(len(h))
    absent = torch.ones(len(h), output.roles.shape[0], dtype=torch.bool)
    absent[gold.prop, gold.role] = False
    null = log_p[props, place[pred, pred]]  # (B, R)
    return -(log_p[gold.prop, place[gold.first, gold.last], gold.role].sum() + null[absent].sum()) / len(h)


LOSSES = {"linear": linear_loss, "every span": every_span_loss}


def case(loss: Callable[..., Tensor], T: int) -> Callable[[], Tensor]:
    """One forward and backward pass over random token vectors."""
    torch.manual_seed(1)
    h = torch.randn(B, T, D, requires_grad=True)
    output = SpanOutput(D, R)
    pred = torch.randint(T, (B,))
    first = torch.randint(T, (3 * B,))
    last = torch.minimum(first + 2, torch.tensor(T - 1))
    gold = Gold(torch.arange(B).repeat_interleave(3), torch.arange(3).repeat(B), first, last)

    def run() -> Tensor:
        h.grad = output.roles.grad = None
        value = loss(h, output, pred, gold)
        value.backward()
        return value.detach()

    return run


def main() -> None:
    """Print the table, or, in a process of its own, the memory of one case."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--memory", nargs=2, metavar=("LOSS", "T"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.memory:
        name, size = options.memory
        print(json.dumps(added_memory(case(LOSSES[name], 4), case(LOSSES[name], int(size)))))
        return
    rows = []
    for T in (25, 50, 100, 200, 400):
        sizes = {
            name: seconds(case(loss, T)) for name, loss in LOSSES.items() if T <= 200 or name == "linear"
        }
        memory = {name: peak_memory(__file__, "--memory", name, T) for name in sizes}
        assert T > 200 or torch.allclose(case(linear_loss, T)(), case(every_span_loss, T)(), rtol=1e-4)
        rows.append([T, *(_cells(sizes, 1e3)), *(_cells(memory, 1 / 2**20))])
    print(f"Span loss, forward and backward, B = {B}, R = {R}, d = {D}; {machine()}\n")
    print(
        table(
            [
                "T",
                "linear, ms",
                "every span, ms",
                "times faster",
                "linear, MB",
                "every span, MB",
                "times smaller",
            ],
            rows,
        )
    )


def _cells(values: dict[str, float], scale: float) -> list[str]:
    ours, theirs = values["linear"], values.get("every span")
    if theirs is None:
        return [f"{ours * scale:.2f}", "–", "–"]
    return [f"{ours * scale:.2f}", f"{theirs * scale:.1f}", f"{theirs / max(ours, 1e-9):.0f}"]


if __name__ == "__main__":
    sys.exit(main())
