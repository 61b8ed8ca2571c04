"""The pages about Python and pictures name everything public; the examples in docstrings run."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from typing import Any

import pytest

import spansrl
import write_outputs
from spansrl import visualize as pictures

DOCS = Path(__file__).resolve().parents[1] / "docs"
MODULES = ["spansrl.structures", "spansrl.checks", "spansrl.visualize"]
MODULES += [f"spansrl.visualize.{module.name}" for module in pkgutil.iter_modules(pictures.__path__)]


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings_show_what_happens(module):
    assert doctest.testmod(importlib.import_module(module)).failed == 0


def test_every_public_name_of_a_result_is_in_an_example():
    examples = "".join(re.findall(r"^(?:>>>|\.\.\.) (.*)$", (DOCS / "python.md").read_text("utf-8"), re.M))
    for name in ("Span", "Argument", "Proposition", "Sentence", "Document"):
        value = getattr(spansrl, name)
        assert re.search(rf"\b{name}\b", examples), name
        own = {key for key, member in vars(value).items() if inspect.isfunction(member) or _is_made(member)}
        for key in sorted(key for key in own if not key.startswith("_")):
            assert re.search(rf"\b{key}\b", examples), f"{name}.{key}"


def _is_made(member: object) -> bool:
    return isinstance(member, (property, classmethod))


def test_every_public_name_of_the_pictures_is_in_the_page():
    page = (DOCS / "pictures.md").read_text(encoding="utf-8")
    assert all(re.search(rf"\b{name}\b", page) for name in pictures.__all__ if name != "Frames")


def test_the_picture_on_the_page_is_what_the_code_draws():
    names: dict[str, Any] = {}
    write_outputs.updated((DOCS / "pictures.md").read_text(encoding="utf-8"), names)
    drawn = pictures.sentence_svg(names["sent"])
    assert (DOCS / "sentence.svg").read_text(encoding="utf-8") == drawn, "run: make docs"
