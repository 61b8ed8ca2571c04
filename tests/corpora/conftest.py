import http.server
import shutil
import tarfile
import threading
from functools import partial
from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[1] / "data"


@pytest.fixture
def ewt(tmp_path):
    """Our two small sources, to be spoilt at will."""
    return Path(shutil.copytree(DATA / "ewt", tmp_path / "ewt"))


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
