"""The notebook "Who criticized whom?" runs from a table of articles to its pictures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spansrl.inference.loading import shipped_model

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.skipif(not shipped_model().is_dir(), reason="no model in the package")
def test_the_notebook_answers_who_criticized_whom(monkeypatch):
    for module in ("pandas", "networkx", "matplotlib"):
        pytest.importorskip(module)
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.gcf()))
    monkeypatch.chdir(EXAMPLES)
    names: dict[str, object] = {}
    for cell in json.loads((EXAMPLES / "criticism.ipynb").read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
    assert len(shown) == 2
    counts = names["counts"]
    assert counts["senator hale", "governor"] == 1  # type: ignore[index]
    assert counts["unions", "government"] == 1  # type: ignore[index]  # a passive
    assert list(names["left_out"]["object"]) == ["the bishops"]  # type: ignore[index]  # "did not criticize"
    plt.close("all")
