"""Losses over spans, forward and backward: span selection and the segmental model in linear time, label
selection in quadratic time, against scoring every span vector.

    python benchmarks/span_loss.py            # time and memory
    python benchmarks/span_loss.py --times    # only the times, which take a minute

The columns "span" and "every span" compute the same loss from the same token vectors h: B = 8 propositions,
R = 59 roles, width 300.
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
from spansrl.nn.outputs.label import LabelOutput
from spansrl.nn.outputs.segmental import SegmentalOutput
from spansrl.nn.outputs.span import SpanOutput

B, R, D = 8, 59, 300


def ours(h: Tensor, output: SpanOutput, pred: Tensor, gold: Gold) -> Tensor:
    """Two scores per token and role."""
    return output.gold_loss(h, torch.ones(h.shape[:2], dtype=torch.bool), pred, gold)


def every_span(h: Tensor, output: SpanOutput, pred: Tensor, gold: Gold) -> Tensor:
    """A vector for each of the T(T+1)/2 spans, each scored for each role."""
    T = h.shape[1]
    first, last = torch.triu_indices(T, T)
    vectors = torch.cat([h[:, first] + h[:, last], h[:, first] - h[:, last]], dim=2)  # (B, spans, 2D)
    scores = vectors @ output.roles.T  # (B, spans, R)
    log_p = scores - scores.logsumexp(dim=1, keepdim=True)
    index = torch.zeros(T, T, dtype=torch.long)
    index[first, last] = torch.arange(len(first))
    props = torch.arange(len(h))
    absent = torch.ones(len(h), output.roles.shape[0], dtype=torch.bool)
    absent[gold.prop, gold.role] = False
    null = log_p[props, index[pred, pred]]  # (B, R)
    return -(log_p[gold.prop, index[gold.first, gold.last], gold.role].sum() + null[absent].sum()) / len(h)


LOSSES = {
    "span": (ours, SpanOutput),
    "segmental": (ours, SegmentalOutput),
    "label": (ours, LabelOutput),
    "every span": (every_span, SpanOutput),
}


def case(name: str, T: int) -> Callable[[], Tensor]:
    """One forward and backward pass over random token vectors."""
    torch.manual_seed(1)
    loss, kind = LOSSES[name]
    h = torch.randn(B, T, D, requires_grad=True)
    output = kind(D, R)
    pred = torch.randint(T, (B,))
    first = torch.randint(T, (3 * B,))
    last = torch.minimum(first + 2, torch.tensor(T - 1))
    gold = Gold(torch.arange(B).repeat_interleave(3), torch.arange(3).repeat(B), first, last)

    def run() -> Tensor:
        h.grad = None
        output.zero_grad()
        value = loss(h, output, pred, gold)
        value.backward()
        return value.detach()

    return run


def main() -> None:
    """Print the table, or, in a process of its own, the memory of one case."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", action="store_true", help="measure no memory, and not every span")
    parser.add_argument("--memory", nargs=2, metavar=("LOSS", "T"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.memory:
        name, size = options.memory
        print(json.dumps(added_memory(case(name, 4), case(name, int(size)))))
        return
    print(f"Loss, forward and backward, B = {B}, R = {R}, d = {D}; {machine()}\n")
    if options.times:
        print(_times())
        return
    rows = []
    for T in (25, 50, 100, 200, 400):
        names = [name for name in LOSSES if T <= 200 or name != "every span"]
        spent = {name: 1e3 * seconds(case(name, T)) for name in names}
        memory = {name: peak_memory(__file__, "--memory", name, T) / 2**20 for name in names}
        assert T > 200 or torch.allclose(case("span", T)(), case("every span", T)(), rtol=1e-4)
        rows.append([T, *_cells(spent), *_cells(memory)])
    print(table(["T", *(f"{name}, {unit}" for unit in ("ms", "MB") for name in LOSSES)], rows))


def _times() -> str:
    """CPU time against T of the losses that are not quadratic in memory, and the time per token."""
    names = [name for name in LOSSES if name != "every span"]
    rows = []
    for T in (25, 50, 100, 200, 400, 800):
        spent = [1e3 * seconds(case(name, T), budget=0.3) for name in names]
        rows.append([T, *(f"{ms:.1f}" for ms in spent), *(f"{1e3 * ms / (B * T):.1f}" for ms in spent)])
    return table(["T", *(f"{name}, {unit}" for unit in ("ms", "µs per token") for name in names)], rows)


def _cells(values: dict[str, float]) -> list[str]:
    return [f"{values[name]:.1f}" if name in values else "–" for name in LOSSES]


if __name__ == "__main__":
    sys.exit(main())
