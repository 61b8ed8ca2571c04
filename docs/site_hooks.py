"""MkDocs hooks: pages at the root of the repository become part of the site."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
ROOT_PAGES = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "EXPERIMENTS.md")
# Files of the repository that pages link to and that are not part of the site.
_SOURCE_LINK = re.compile(
    r"\[([^\]]+)\]\((?:\.\./)?((?:experiments|src|configs|examples|benchmarks)/[^)]*|LICENSE)\)"
)


def on_files(files: Files, config: Any) -> Files:
    for name in ROOT_PAGES:
        files.append(File.generated(config, name, content=(ROOT / name).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    for name in ROOT_PAGES:
        markdown = markdown.replace(f"](../{name}", f"]({name}")
    markdown = markdown.replace("](docs/", "](")
    return _SOURCE_LINK.sub(r"`\2`", markdown)
