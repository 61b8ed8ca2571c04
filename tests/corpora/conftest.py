import shutil
from pathlib import Path

import pytest

from frame_files import folder, guard, home  # noqa: F401

DATA = Path(__file__).resolve().parents[1] / "data"


@pytest.fixture
def ewt(tmp_path):
    """Our two small sources, to be spoilt at will."""
    return Path(shutil.copytree(DATA / "ewt", tmp_path / "ewt"))
