"""Gold arguments as BIO tags: O is 0, B-r is 1 + 2r, I-r is 2 + 2r; the predicate is O."""

from __future__ import annotations

import torch
from torch import Tensor

from spansrl.nn.batch import Gold


def gold_tags(gold: Gold, mask: Tensor, pred: Tensor) -> Tensor:
    """(N, T) tag ids of the gold arguments; of nested arguments, the inner one interrupts the outer one."""
    tags = torch.zeros(mask.shape, dtype=torch.long, device=mask.device)
    sizes = gold.last - gold.first + 1
    longest_first = sizes.argsort(
        descending=True, stable=True
    )  # so that inner arguments overwrite outer ones
    prop, role, first, sizes = (part[longest_first] for part in (gold.prop, gold.role, gold.first, sizes))
    inner = torch.repeat_interleave(
        torch.arange(len(sizes), device=mask.device), sizes
    )  # each token's argument
    within = torch.arange(len(inner), device=mask.device) - (sizes.cumsum(0) - sizes)[inner]
    tags[prop[inner], first[inner] + within] = 2 + 2 * role[inner]
    tags[prop, first] = 1 + 2 * role
    tags[torch.arange(len(pred), device=mask.device), pred] = 0
    # An argument that another one or the predicate interrupts continues with a B.
    before, after = tags[:, :-1], tags[:, 1:]
    stray = (after % 2 == 0) & (after > 0) & (before != after) & (before != after - 1)
    tags[:, 1:] -= stray.long()
    return tags
