"""Keeps torch to one thread; standing here, it also lets every folder import `oracles` and `builders`."""

from __future__ import annotations

import http.server
import shutil
import signal
import sys
import tarfile
import threading
from functools import partial

import pytest


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """Small tensors gain nothing from threads, and tests share the machine; does not import torch."""
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


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
