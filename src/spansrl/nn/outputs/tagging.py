"""Gold arguments as BIO tags: O is 0, B-r is 1 + 2r, I-r is 2 + 2r; the predicate is O."""

from __future__ import annotations

import torch
from torch import Tensor

from spansrl.nn.batch import Gold


def gold_tags(gold: Gold, mask: Tensor, pred: Tensor) -> Tensor:
    """(N, T) tag ids of the gold arguments; of nested arguments, the inner one interrupts the outer one."""
    tags = torch.zeros(mask.shape, dtype=torch.long, device=mask.device)
    if len(gold.role):
        order = (gold.first - gold.last).argsort(stable=True)  # longest first
        prop, role, first, last = (part[order] for part in (gold.prop, gold.role, gold.first, gold.last))
        tokens = torch.arange(mask.shape[1], device=mask.device)
        inside = (first[:, None] <= tokens) & (tokens <= last[:, None])  # (K, T)
        covering = _last_argument(inside, prop, tags)
        starting = _last_argument(first[:, None] == tokens, prop, tags)
        tags = torch.where(covering < 0, 0, 2 + 2 * role[covering])
        tags = torch.where(starting < 0, tags, 1 + 2 * role[starting])
    tags[torch.arange(len(pred), device=mask.device), pred] = 0
    # An argument that another one or the predicate interrupts continues with a B.
    before, after = tags[:, :-1], tags[:, 1:]
    stray = (after % 2 == 0) & (after > 0) & (before != after) & (before != after - 1)
    tags[:, 1:] -= stray.long()
    return tags


def _last_argument(at: Tensor, prop: Tensor, like: Tensor) -> Tensor:
    """(N, T) the last of the K arguments that is at a token, -1 for none: at (K, T), prop (K,), like (N, T)

    No element is assigned twice: on a GPU the order of such assignments is undefined.
    """
    numbers = torch.arange(len(prop), device=prop.device)[:, None].where(at, -1)  # (K, T)
    none = torch.full_like(like, -1)
    return none.scatter_reduce(0, prop[:, None].expand_as(numbers), numbers, "amax")
