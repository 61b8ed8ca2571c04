"""What span, segmental and label outputs share: F(i, j, r) = start_r(i) + end_r(j).

The paper scores span (i, j) for role r as W[r]·[h_i + h_j ; h_i − h_j] (Eqs. 7 and 8). With W[r] = [u ; v]
that is (u + v)·h_i + (u − v)·h_j, so two (T, R) arrays hold the scores of all T(T+1)/2 spans.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

import torch
from torch import Tensor, nn

from spansrl.inference.config import OutputConfig
from spansrl.nn.outputs.output_base import Output


class BoundaryOutput(Output):
    """A row W[r] = [u_r ; v_r] for each role."""

    row_axes: ClassVar[Mapping[str, tuple[str, ...]]] = {"roles": ("role",)}

    def __init__(self, width: int, n_roles: int, span_end: str = "last") -> None:
        super().__init__()
        self.roles = nn.Parameter(torch.empty(n_roles, 2 * width))  # W (R, 2D)
        self.span_end = span_end
        nn.init.xavier_uniform_(self.roles)

    @classmethod
    def of(cls, config: OutputConfig, width: int, n_roles: int) -> Self:
        return cls(width, n_roles, config.span_end)

    def arrays(self, h: Tensor, mask: Tensor) -> dict[str, Tensor]:
        """`start` and `end` (N, T, R), undefined at padding"""
        start, end = boundary_scores(h, self.roles)
        return {"start": start, "end": with_ends(end, mask, self.span_end)}


def boundary_scores(h: Tensor, roles: Tensor) -> tuple[Tensor, Tensor]:
    """Scores (N, T, R) of tokens as starts and as ends: h (N, T, D), roles (R, 2D) with rows [u ; v]"""
    u, v = roles.chunk(2, dim=1)  # (R, D), (R, D)
    # One product instead of two, so that h gets one gradient, not two to be added.
    start, end = (h @ torch.cat([u + v, u - v]).T).chunk(2, dim=2)  # (N, T, R), (N, T, R)
    return start, end


def with_ends(end: Tensor, mask: Tensor, span_end: str) -> Tensor:
    """End scores (N, T, R) read at the token that `span_end` chooses: at a span's last token, or at the next.

    The latter is the authors' later variant: end[j] is the next token's value, 0 at a sentence's last token.
    """
    if span_end == "last":
        return end
    has_next = nn.functional.pad(mask[:, 1:], (0, 1))  # (N, T)
    shifted = nn.functional.pad(end[:, 1:], (0, 0, 0, 1))  # (N, T, R)
    return shifted.masked_fill(~has_next[:, :, None], 0.0)


def span_vectors(h: Tensor, first: Tensor, last: Tensor) -> Tensor:
    """[h_i + h_j ; h_i − h_j] (Eq. 7) of chosen spans: h (T, D), first (K,), last (K,) -> (K, 2D)"""
    return torch.cat([h[first] + h[last], h[first] - h[last]], dim=1)
