import shutil
from pathlib import Path

import pytest

from frame_files import folder, guard, home  # noqa: F401

DATA = Path(__file__).resolve().parents[1] / "data"


@pytest.fixture
def ewt(tmp_path):
    """Two small sources, which a test may change."""
    return Path(shutil.copytree(DATA / "ewt", tmp_path / "ewt"))
