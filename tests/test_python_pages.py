"""The pages about Python and pictures, and the examples in docstrings: what they show is what happens."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import spansrl
from spansrl import visualize as pictures
from spansrl.structures import Sentence

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = ("python.md", "pictures.md", "tasks.md")
MODULES = ["spansrl.structures", "spansrl.checks", "spansrl.visualize"]
MODULES += [f"spansrl.visualize.{module.name}" for module in pkgutil.iter_modules(pictures.__path__)]


def run_examples(name: str) -> dict[str, object]:
    """Run all examples of a page, one after the other in one place, and return the names that they made."""
    text = (DOCS / name).read_text(encoding="utf-8")
    names: dict[str, object] = {}
    blocks = re.findall(r"^```pycon\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    for number, block in enumerate(blocks):
        test = doctest.DocTestParser().get_doctest(block, names, f"{name}[{number}]", name, 0)
        report: list[str] = []
        result = doctest.DocTestRunner().run(test, out=report.append, clear_globs=False)
        assert result.attempted, f"{name}: an example without a prompt"
        assert not result.failed, "".join(report)
        names = test.globs
    assert blocks
    return names


@pytest.mark.parametrize("name", PAGES)
def test_the_examples_of_the_page_show_what_happens(name):
    run_examples(name)


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
    sent = run_examples("pictures.md")["sent"]
    assert isinstance(sent, Sentence)
    assert (DOCS / "sentence.svg").read_text(encoding="utf-8") == pictures.sentence_svg(sent)
