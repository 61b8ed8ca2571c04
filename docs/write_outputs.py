"""Renew what the pages show of the program's output: `make docs`.

A ```text block after a ```python or ```sh block is what that code prints, on a terminal of 80 columns; a
```pycon block is a Python session. The README's figures are those of the shipped model's card.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from spansrl.inference.loading import shipped_model
from spansrl.visualize import sentence_svg

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)
FIRST = ("spansrl corpus news --out labeled\n",)  # commands whose files later code on their page reads


def updated(page: str, names: dict[str, Any] | None = None) -> str:
    """The page with the current output of its code, which runs in a directory of its own.

    `names` gets the names that its sessions define.
    """
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        page = BLOCK.sub(partial(_renewed, {} if names is None else names), page)
    for name, figures in _figures().items():
        row = f"| {name} | {' | '.join(f'{figure:.2f}' for figure in figures)} |"
        page = re.sub(rf"^\| {re.escape(name)} \| [\d.| ]+$", row, page, flags=re.MULTILINE)
    return page


def _renewed(names: dict[str, Any], match: re.Match[str]) -> str:
    language, code, shown = match.groups()
    if language == "pycon":
        return f"```pycon\n{_session(code, names)}```"
    if shown is None:
        if code in FIRST:
            on_terminal(code)
        return match[0]
    output = _printed(code) if language == "python" else on_terminal(code)
    return f"```{language}\n{code}```\n\n```text\n{output}```"


def _printed(code: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(code, "page", "exec"), {})
    return out.getvalue()


def on_terminal(code: str) -> str:
    """What shell commands print on a terminal without colors, leaving out standard error."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    settings = {**os.environ, "PATH": path, "COLUMNS": "80", "NO_COLOR": "1"}
    reader, terminal = os.openpty()
    with subprocess.Popen(["sh", "-ec", code], env=settings, stdout=terminal, stderr=subprocess.PIPE) as job:
        os.close(terminal)
        out = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while found := os.read(reader, 4096):
                out += found
        os.close(reader)
        messages = job.stderr.read() if job.stderr else b""
    if job.returncode:
        raise RuntimeError(f"{code}{messages.decode()}")
    return out.decode().replace("\r\n", "\n")


class _Recorder(doctest.DocTestRunner):
    """Runs a session and keeps the outputs that differ from those on the page."""

    def __init__(self) -> None:
        super().__init__()
        self.changed: list[tuple[doctest.Example, str]] = []

    def report_failure(self, out: Any, test: Any, example: doctest.Example, got: str) -> None:
        self.changed.append((example, got.replace("\n\n", "\n<BLANKLINE>\n")))

    def report_unexpected_exception(self, out: Any, test: Any, example: Any, exc_info: Any) -> None:
        raise exc_info[1]


def _session(code: str, names: dict[str, Any]) -> str:
    test = doctest.DocTestParser().get_doctest(code, names, "page", None, 0)
    recorder = _Recorder()
    recorder.run(test, clear_globs=False)
    names.update(test.globs)
    lines = code.splitlines(keepends=True)
    for example, got in reversed(recorder.changed):
        begin = example.lineno + example.source.count("\n")
        lines[begin : begin + example.want.count("\n")] = [got]
    return "".join(lines)


def _figures() -> dict[str, list[float]]:
    """Rows of the README's table: the figures of the small and of the large model."""
    models = shipped_model(), ROOT / "models" / "large" / "src" / "spansrl_large"
    scores = [json.loads((model / "scores.json").read_text(encoding="utf-8")) for model in models]
    return {
        "predicates found": [model["found"]["f1"] for model in scores],
        "arguments of gold predicates": [model["arguments"]["f1"] for model in scores],
        "arguments end to end": [model["end_to_end"]["f1"] for model in scores],
        "senses of gold predicates (accuracy)": [model["senses"] for model in scores],
    }


def main() -> None:
    """Renew the pages and the picture on one of them."""
    names: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as home:
        os.environ["SPANSRL_HOME"] = home  # the frames in the package, not the user's
        for path in PAGES:
            old = path.read_text(encoding="utf-8")
            new = updated(old, names)
            if new != old:
                path.write_text(new, encoding="utf-8")
                print(f"{path.relative_to(ROOT)} has changed: check that what it shows is correct")
            if path.name == "pictures.md":
                (ROOT / "docs" / "sentence.svg").write_text(sentence_svg(names["sent"]), encoding="utf-8")


if __name__ == "__main__":
    main()
