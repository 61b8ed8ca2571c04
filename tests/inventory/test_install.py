from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from spansrl.errors import DataError
from spansrl.formats.archives import fingerprint
from spansrl.inventory import install, load_frames, registered, remove_frames, shipped
from spansrl.inventory.frame_store import data_directory, index_path, shipped_path
from spansrl.inventory.install import FRAMES, read_frames, register_frames
from timing import seconds

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "propbank-frames.tar.xz"


def members(folder: Path) -> dict[str, bytes]:
    return {f"frames/{path.name}": path.read_bytes() for path in (folder / "frames").glob("*.xml")}


def test_the_frames_in_the_package_are_there_at_first():
    assert load_frames().meaning("keep.01", "ARG1") == "thing kept"
    assert registered() is None
    assert shipped().rolesets == len(load_frames()) > 11_000
    assert shipped().source == "https://github.com/propbank/propbank-frames"
    assert shipped_path().stat().st_size < 1_500_000
    assert "CC BY-SA 4.0" in (shipped_path().parent / "LICENSE").read_text()
    assert remove_frames() is False


def test_registered_frames_stay_until_they_are_removed(folder, home):
    register_frames(str(folder))
    frames = load_frames()
    assert frames is not None
    assert frames.meaning("guard.01", "ARG1") == "thing watched"
    found = registered()
    assert found is not None
    assert (found.source, found.commit, found.files, found.broken, found.rolesets) == (
        str(folder),
        None,
        2,
        0,
        4,
    )
    assert [path.name for path in home.iterdir()] == ["frames.jsonl"]
    assert "keep.01" in frames, "those in the package stay"
    assert remove_frames() is True
    assert "keep.01" in load_frames()


@pytest.mark.parametrize("ending", ["tar", "tar.gz", "tar.xz", "zip"])
def test_directories_and_archives_give_the_same_index(folder, pack, tmp_path, ending):
    if ending == "tar":
        archive = tmp_path / "frames.tar"
        with tarfile.open(archive, "w") as tar:
            tar.add(folder, folder.name)
    else:
        archive = pack(folder, tmp_path / f"packed.{ending}")
    before = sorted(tmp_path.rglob("*"))
    assert read_frames(str(archive)).index.to_dict() == read_frames(str(folder)).index.to_dict()
    assert sorted(tmp_path.rglob("*")) == before


def test_the_directory_of_frames_itself_and_a_single_file_are_read_too(folder):
    assert len(read_frames(str(folder / "frames")).index) == 4
    assert len(read_frames(str(folder / "frames" / "ward.xml")).index) == 1


def test_files_beside_the_frames_are_left_alone(folder):
    assert read_frames(str(folder)).errors == ()


def test_broken_files_are_counted_and_named_with_their_line(folder):
    (folder / "frames" / "bad.xml").write_text("<frameset>\n<a></b></frameset>")
    read = register_frames(str(folder))
    assert [str(error).partition(": ")[0] for error in read.errors] == [f"{folder}/frames/bad.xml:2"]
    assert (read.registration.files, read.registration.broken) == (3, 1)


def test_a_file_larger_than_any_frame_is_refused_before_it_is_read(folder, pack, monkeypatch):
    monkeypatch.setattr(install, "_LARGEST_FILE", 100)
    for source in (
        folder,
        pack(folder, folder.with_suffix(".zip")),
        pack(folder, folder.with_suffix(".tar.gz")),
    ):
        with pytest.raises(DataError, match=r"guard\.xml: .*100"):
            read_frames(str(source))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing", "no such file"),
        ("empty", "no rolesets; expected PropBank's frames"),
        ("text", "not an archive"),
    ],
)
def test_sources_without_frames_are_refused_and_registered_frames_stay(folder, tmp_path, name, message):
    register_frames(str(folder))
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").write_text("no archive")
    with pytest.raises(DataError, match=message):
        register_frames(str(tmp_path / name))
    assert load_frames() is not None


def test_the_pinned_commit_is_downloaded_and_checked(folder, server, pack, monkeypatch):
    url, served = server
    pack(folder, served / "frames.tar.gz")
    pin = replace(FRAMES, url=f"{url}/frames.tar.gz", sha256=fingerprint(members(folder)))
    monkeypatch.setattr(install, "FRAMES", pin)
    seen = []
    read = register_frames(progress=lambda *args: seen.append(args))
    assert (read.registration.commit, read.registration.source) == ("c66e0cc", pin.url)
    assert {what for what, _, _ in seen} >= {"downloading frames", "reading frames"}
    monkeypatch.setattr(install, "FRAMES", replace(pin, sha256="0" * 64))
    with pytest.raises(DataError, match="not those of commit c66e0cc"):
        register_frames()
    monkeypatch.setattr(install, "FRAMES", replace(pin, url=f"{url}/nowhere.tar.gz"))
    with pytest.raises(DataError, match=r"cannot be downloaded \(.*\); .* with spansrl frames PATH"):
        register_frames()


def test_a_copy_of_the_pinned_commit_is_recognized(folder, monkeypatch):
    monkeypatch.setattr(install, "FRAMES", replace(FRAMES, sha256=fingerprint(members(folder))))
    assert read_frames(str(folder)).registration.commit == "c66e0cc"


def damaged(change) -> None:
    header, body = index_path().read_text(encoding="utf-8").splitlines()
    index_path().write_text("\n".join(change(json.loads(header), body)) + "\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header, body: (json.dumps(header), body.replace("watcher", "butcher")), "SHA-256"),
        (lambda header, body: (json.dumps(header), body[:40]), "SHA-256"),
        (lambda header, body: (json.dumps(header | {"version": 99}), body), "in version 1"),
        (lambda header, body: (json.dumps(header | {"format": "x"}), body), "not an index of frames"),
        (lambda header, body: ("[1", body), "damaged"),
        (lambda header, body: ("[]", body), "not an index of frames"),
        (lambda header, body: (json.dumps({"format": "spansrl-frames", "version": 1}), body), "damaged"),
    ],
)
def test_a_damaged_index_is_refused_with_what_to_do(folder, change, message):
    register_frames(str(folder))
    damaged(change)
    with pytest.raises(DataError, match=rf"frames\.jsonl: .*{message}.*spansrl frames PATH"):
        load_frames()


def test_a_data_directory_that_cannot_be_made_is_an_error_of_one_line(folder, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SPANSRL_HOME", str(tmp_path / "file" / "home"))
    with pytest.raises(
        DataError, match="cannot be made: Not a directory; give another directory in SPANSRL_HOME"
    ):
        register_frames(str(folder))


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {"SPANSRL_HOME": "/a/b"}, "/a/b"),
        ("linux", {"XDG_DATA_HOME": "/data"}, "/data/spansrl"),
        ("linux", {"XDG_DATA_HOME": "not/absolute"}, "/home/u/.local/share/spansrl"),
        ("linux", {}, "/home/u/.local/share/spansrl"),
        ("darwin", {}, "/home/u/Library/Application Support/spansrl"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/spansrl"),
        ("win32", {}, "/home/u/AppData/Local/spansrl"),
    ],
)
def test_the_data_directory_is_where_the_platform_wants_it(monkeypatch, platform, environment, expected):
    for name in ("SPANSRL_HOME", "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/u")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert data_directory() == Path(expected)


def test_labeling_imports_no_network_library():
    code = (
        "import sys, spansrl.inventory, spansrl.inventory.senses; "
        "print({'http', 'ssl', 'torch'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.exists(), reason="needs propbank-frames.tar.xz in ../shared/data")
def test_propbank_frames_are_read_except_two_broken_files_and_load_quickly():
    read = register_frames(str(SHARED))
    assert read.registration == replace(
        read.registration, commit="c66e0cc", files=7566, broken=2, rolesets=11207
    )
    places = [str(error).partition(": ")[0].rpartition("/frames/")[2] for error in read.errors]
    assert places == ["check.xml:304", "rend.xml:38"]
    frames = load_frames()
    assert seconds(load_frames) < 0.5  # some 0.04 s where nothing else runs
    assert frames is not None
    assert frames.meaning("keep.01", "R-A0") == "keeper"
    assert frames.meaning("keep.01", "ARG1") == "thing kept"
    assert set(frames.roles("keep.01")) == {"ARG0", "ARG1"}
    assert frames.rolesets("decision", "noun") == ("decide.01",)
    assert "check_out.05" in frames  # stands behind what is broken in its file
