"""Frame files of our own, and fixtures around them; a conftest imports those it needs."""

from __future__ import annotations

import pytest

# Frames of our own, in PropBank's shape: `guard.xml` has what real files have, the others little.
GUARD = """\
<?xml version="1.0" encoding="utf-8" standalone="no"?>
<!DOCTYPE frameset PUBLIC "-//PB//PropBank Frame v3.4 Transitional//EN" "http://localhost:9/frameset.dtd">
<frameset>
  <predicate lemma="guard">
    <note>A note.</note>
    <roleset id="guard.01" name="Watch over">
      <aliases>
        <alias pos="v">guard</alias>
        <alias pos="n">guarding</alias>
        <alias pos="m">on_guard</alias>
      </aliases>
      <roles>
        <role descr="Watcher" f="PAG" n="0"><rolelinks/></role>
        <role descr="  thing
          watched" f="PPT" n="1"/>
        <role descr="TV channel" f="GOL" n="2"/>
        <role descr="where the watcher stands" f="LOC" n="m"/>
        <role descr="thing watched, again" f="PPT" n="1"/>
      </roles>
      <example name="plain">
        <text>Two dogs guard the &lt;house&gt; .</text>
        <propbank><rel relloc="2">guard</rel><arg type="ARG0" start="0" end="1">Two dogs</arg></propbank>
      </example>
    </roleset>
    <roleset id="guard.02" name="">
      <aliases><alias pos="v">guard</alias><alias pos="j">guarded</alias></aliases>
      <roles/>
    </roleset>
  </predicate>
  <predicate lemma="guard_off">
    <roleset id="guard_off.03" name="keep away">
      <aliases><alias pos="v">guard off</alias></aliases>
      <roles><role descr="danger" f="PPT" n="1"/></roles>
    </roleset>
  </predicate>
</frameset>
"""
WARD = """\
<frameset><predicate lemma="ward">
<roleset id="ward.01" name="protect">
<aliases><alias pos="v">ward</alias><alias pos="v">guard</alias></aliases><roles/>
</roleset></predicate></frameset>
"""


@pytest.fixture
def guard() -> bytes:
    """A frame file with everything in it."""
    return GUARD.encode()


@pytest.fixture
def folder(tmp_path):
    """A checkout of frames: two frame files, and files that are none."""
    root = tmp_path / "propbank"
    (root / "frames").mkdir(parents=True)
    (root / "frames" / "guard.xml").write_text(GUARD, encoding="utf-8")
    (root / "frames" / "ward.xml").write_text(WARD, encoding="utf-8")
    (root / "frames" / "frameset.dtd").write_text("<!ELEMENT frameset (predicate*)>")
    (root / "build.xml").write_text("<project/>")
    return root


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A data directory that is the test's own."""
    monkeypatch.setenv("SPANSRL_HOME", str(tmp_path / "home"))
    return tmp_path / "home"
