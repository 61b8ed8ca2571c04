"""What tests of commands share."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from spansrl.cli import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def spansrl(monkeypatch, capsys, tmp_path) -> Run:
    """Run `spansrl …` in an empty directory: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)

    def run(*args) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["spansrl", *map(str, args)])
        with pytest.raises(SystemExit) as stopped:
            main()
        return stopped.value.code or 0, *capsys.readouterr()

    return run
