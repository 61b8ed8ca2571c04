"""The large model as it lies in models/large, a package of its own."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from spansrl import load
from spansrl.inference.directory import MANIFEST, read_json

PACKAGE = Path(__file__).parents[2] / "models" / "large"
MODEL = PACKAGE / "src" / "spansrl_large"


def test_the_package_offers_its_directory_by_the_entry_point_that_load_looks_for():
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["spansrl.models"] == {"large": MODEL.name}
    assert not (MODEL / "__init__.py").exists()  # imported as a namespace, which leaves nothing behind


def test_no_file_is_too_large_for_a_host_of_repositories():
    sizes = {name: (MODEL / name).stat().st_size for name in read_json(MODEL / MANIFEST)["sha256"]}
    assert max(sizes.values()) < 100e6
    assert sum(sizes.values()) < 120 * 2**20


@pytest.mark.slow
def test_it_labels_text_without_torch():
    (sentence,) = load(MODEL)("A museum bought the painting from Ann.").sentences
    (bought,) = sentence.props
    assert bought.sense == "buy.01"
    assert {arg.role: sentence.text_of(arg) for arg in bought.args} == {
        "ARG0": "A museum",
        "ARG1": "the painting",
        "ARG2": "from Ann",
    }
