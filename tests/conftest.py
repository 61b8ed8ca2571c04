"""Fixtures for all tests, and which tests are left out where an extra is not installed."""

from __future__ import annotations

import ast
import http.server
import shutil
import signal
import sys
import tarfile
import threading
from collections import Counter
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
OWN = {path.stem for path in TESTS.rglob("*.py")}
# Modules that are imported in tests, and a package that they need.
NEEDS = {"spansrl.nn": "torch", "spansrl.training": "torch", "spansrl.server": "starlette"}
left_out: dict[str, list[str]] = {}


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out test files, and directories by their conftest, that import what is not installed."""
    module = collection_path / "conftest.py" if collection_path.is_dir() else collection_path
    if module.suffix != ".py" or not module.exists():
        return None
    missing = sorted(name for name in imported(module) if find_spec(name) is None)
    if missing and collection_path.name != "conftest.py":
        left_out.setdefault(missing[0], []).append(str(collection_path.relative_to(TESTS)))
    return True if missing else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests come first: two processes that take file after file then end together."""
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: -slow[item.path])


def pytest_terminal_summary(terminalreporter) -> None:
    for package, paths in sorted(left_out.items()):
        terminalreporter.write_line(
            f"not run, because {package} is not installed: {', '.join(sorted(paths))}"
        )


@cache
def imported(path: Path) -> frozenset[str]:
    """Return the packages outside this project that importing a test module imports."""
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            helper = next(TESTS.rglob(f"{name}.py"), None) if name in OWN else None
            if helper is not None:
                found |= imported(helper)
            elif name.partition(".")[0] != "spansrl":
                found.add(name.partition(".")[0])
            found |= {package for prefix, package in NEEDS.items() if f"{name}.".startswith(f"{prefix}.")}
    return frozenset(found)


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """Small tensors gain nothing from threads, and tests share the machine; does not import torch."""
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def one_table_of_operators():
    """Each graph that torch exports has it build its table of operators anew, which takes half a second."""
    if "spansrl.training.export" in sys.modules and find_spec("onnxscript") is not None:
        from torch.onnx._internal.exporter._registration import ONNXRegistry

        ONNXRegistry.from_torchlib = staticmethod(cache(ONNXRegistry.from_torchlib))


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_is_heard():
    """A job in the background of a shell starts with SIGINT ignored, and so would all that tests start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def pack():
    """A function that packs a directory into an archive."""

    def packed(folder, archive):
        if archive.suffix == ".zip":
            shutil.make_archive(str(archive.with_suffix("")), "zip", folder.parent, folder.name)
        else:
            with tarfile.open(archive, f"w:{archive.suffix[1:]}") as tar:
                tar.add(folder, folder.name)
        return archive

    return packed


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format, *args):
        pass


@pytest.fixture
def server(tmp_path):
    """The address of a local server, and the directory that it serves."""
    folder = tmp_path / "served"
    folder.mkdir()
    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(QuietHandler, directory=str(folder))
    ) as served:
        thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{served.server_port}", folder
        served.shutdown()
        thread.join()
