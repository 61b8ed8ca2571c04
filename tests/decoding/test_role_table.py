"""Roles that differ between the propositions of a batch, and roles that are not PropBank's."""

from __future__ import annotations

import numpy as np
import pytest

from spansrl.decoding import DECODERS, SCORES, make_scores
from spansrl.errors import DataError
from spansrl.inventory import Role, RoleTable

FOOD = Role("food", is_core=True)
COOKING = (Role("cook", is_core=True), FOOD, Role("more-food", continues="food"), Role("place"))
MOTION = (Role("path"), Role("traveler", is_core=True))
N, T, R = 12, 7, len(COOKING)
WHICH = np.arange(N) % 2  # cooking and motion take turns


def scores_of(kind: str, seed: int):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(3, T + 1, size=N)
    arrays = {"start": rng.normal(0, 2, (N, T, R)), "end": rng.normal(0, 2, (N, T, R))}
    arrays |= {"outside": rng.normal(0, 2, (N, T)), "emissions": rng.normal(0, 2, (N, T, 1 + 2 * R))}
    arrays |= {"transitions": rng.normal(size=(1 + 2 * R,) * 2), "first": rng.normal(size=1 + 2 * R)}
    return arrays, lengths, rng.integers(lengths)


def alone(kind: str, arrays, lengths, pred, n: int, n_roles: int):
    """The scores of one proposition, cut down to its own columns."""
    cut = slice(0, 1 + 2 * n_roles)
    own = {
        "start": arrays["start"][n : n + 1, :, :n_roles],
        "end": arrays["end"][n : n + 1, :, :n_roles],
        "outside": arrays["outside"][n : n + 1],
        "emissions": arrays["emissions"][n : n + 1, :, cut],
        "transitions": arrays["transitions"][cut, cut],
        "first": arrays["first"][cut],
    }
    return make_scores(kind, own, lengths[n : n + 1], pred[n : n + 1])


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("kind", SCORES)
def test_each_proposition_of_a_batch_may_have_roles_of_its_own(kind, decoder):
    names = set()
    for seed in range(5):
        arrays, lengths, pred = scores_of(kind, seed)
        table = RoleTable(COOKING, MOTION, which=WHICH)
        found = make_scores(kind, arrays, lengths, pred).decode(table, decoder=decoder)
        for n, args in enumerate(found):
            roles = (COOKING, MOTION)[WHICH[n]]
            (expected,) = alone(kind, arrays, lengths, pred, n, len(roles)).decode(
                RoleTable(roles), decoder=decoder
            )
            assert [(arg.role, arg.span) for arg in args] == [(arg.role, arg.span) for arg in expected]
            assert [arg.prob for arg in args] == pytest.approx([arg.prob for arg in expected])
            names |= {(WHICH[n], arg.role) for arg in args}
    assert {role for k, role in names if k} <= {"path", "traveler"}
    assert {"cook", "path", "traveler"} <= {role for _, role in names}


@pytest.mark.parametrize("kind", ["span", "segmental", "label"])
def test_core_roles_and_links_are_those_of_the_inventory(kind):
    for seed in range(20):
        arrays, lengths, pred = scores_of(kind, seed)
        scores = make_scores(kind, arrays, lengths, pred)
        for args in scores.decode(RoleTable(COOKING), decoder="constrained"):
            roles = [arg.role for arg in args]
            assert roles.count("cook") <= 1
            assert roles.count("food") <= 1
            assert "more-food" not in roles or roles.index("food") < roles.index("more-food")


def test_tables_that_do_not_fit_the_scores_are_refused():
    scores = make_scores("span", *scores_of("span", 0))
    with pytest.raises(DataError, match="expected 4 role names, one per column of the scores, found 2"):
        scores.decode(RoleTable(MOTION))
    with pytest.raises(DataError, match="not those of 12 propositions with 4 columns"):
        scores.decode(RoleTable(COOKING, MOTION, which=[0, 1]))
