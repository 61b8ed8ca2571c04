import gzip
import os
import socket
import zipfile

import pytest

from spansrl.errors import DataError, FormatError, SpansrlWarning
from spansrl.formats.archives import SourceFile, fetched, fingerprint, member_names, read_members


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "corpus"
    (root / "b").mkdir(parents=True)
    (root / "b" / "two.txt").write_bytes(b"2" * 5000)
    (root / "one.txt").write_bytes(b"1")
    (root / "other.bin").write_bytes(b"\0")
    return root


def texts(source):
    return {
        name.removeprefix("corpus/"): data
        for name, data in read_members(source, "SRC", lambda n: n.endswith("txt"))
    }


@pytest.mark.parametrize("suffix", ["tar.xz", "tar.gz", "tar.bz2", "zip"])
def test_an_archive_holds_what_its_directory_holds(folder, tmp_path, pack, suffix):
    found = texts(pack(folder, tmp_path / f"corpus.{suffix}"))
    assert found == texts(folder) == {"one.txt": b"1", "b/two.txt": b"2" * 5000}


def test_names_can_be_had_without_content(folder):
    assert member_names(folder, "SRC") == ["one.txt", "other.bin", "b/two.txt"]


@pytest.mark.parametrize("suffix", ["tar.xz", "tar.gz", "zip"])
@pytest.mark.parametrize("keep", [0.5, 0.9, 0.99])
def test_an_archive_that_was_cut_short_is_refused(folder, tmp_path, pack, suffix, keep):
    archive = pack(folder, tmp_path / f"corpus.{suffix}")
    whole = archive.read_bytes()
    archive.write_bytes(whole[: int(len(whole) * keep)])
    with pytest.raises(DataError, match=r"^SRC: not an archive, or damaged or truncated \(.+\)"):
        texts(archive)


def write_zip(path, content, *, flag_bits=0, compression=0, size=None):
    """Write an archive with one member, whose central directory claims what the arguments say."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", content)
    data = bytearray(path.read_bytes())
    entry = data.index(b"PK\x01\x02")
    for start, flag_offset in ((0, 6), (entry, 8)):
        data[start + flag_offset] |= flag_bits
        data[start + flag_offset + 2] = compression
    if size is not None:
        data[entry + 24 : entry + 28] = size.to_bytes(4, "little")
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("change", [{"flag_bits": 1}, {"compression": 99}])
def test_encrypted_members_and_unknown_compressions_are_refused(change, tmp_path):
    archive = write_zip(tmp_path / "a.zip", "text", **change)
    with pytest.raises(DataError, match=r"^SRC: not an archive, or damaged"):
        texts(archive)


def test_a_member_that_is_too_large_is_refused_whatever_its_archive_claims(tmp_path):
    for archive in (
        write_zip(tmp_path / "honest.zip", "x" * 200),
        write_zip(tmp_path / "lying.zip", "x" * 200, size=10),
    ):
        with pytest.raises(DataError, match=r"^SRC"):
            dict(read_members(archive, "SRC", lambda name: True, largest=100))


def test_a_file_that_is_not_an_archive_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("hello\n" * 200)
    with pytest.raises(DataError, match=r"^SRC: not an archive, or damaged"):
        texts(tmp_path / "notes.txt")


def test_a_missing_source_is_named(tmp_path):
    with pytest.raises(DataError, match=r"^SRC: no such file or directory$"):
        texts(tmp_path / "nothing")


def test_a_fingerprint_depends_on_names_and_content_but_not_on_order():
    assert fingerprint({"a": b"1", "b": b"2"}) == fingerprint({"b": b"2", "a": b"1"})
    assert len({fingerprint(files) for files in ({"a": b"1"}, {"a": b"2"}, {"b": b"1"}, {})}) == 4


def test_lines_come_from_plain_and_compressed_bytes_with_any_line_end():
    content = b"\xef\xbb\xbfone\r\n\r\ntwo"
    for data in (content, gzip.compress(content)):
        lines = SourceFile.of("f", data).lines()
        assert [tuple(line) for line in lines] == [(1, "one"), (2, ""), (3, "two")]
    assert list(SourceFile("f", b"").lines()) == []
    assert [line.text for line in SourceFile("f", b"a\n").lines()] == ["a"]


def test_bytes_that_are_not_utf8_are_named_with_their_line():
    with pytest.raises(FormatError) as caught:
        list(SourceFile("f.conllu", b"fine\nna\xefve\n").lines())
    assert str(caught.value).startswith("f.conllu:2: not UTF-8: byte 0xef at byte 3")


def test_compressed_bytes_that_were_cut_short_are_refused():
    with pytest.raises(FormatError, match=r"^f\.gz: the compressed data is damaged or truncated"):
        SourceFile.of("f.gz", gzip.compress(b"x" * 1000)[:-4])


def test_a_download_arrives_and_reports_progress(server):
    url, served = server
    (served / "a.tar.gz").write_bytes(b"x" * 300_000)
    seen = []
    with fetched(f"{url}/a.tar.gz", "ud", lambda *args: seen.append(args)) as path:
        assert path.read_bytes() == b"x" * 300_000
    assert not path.exists()
    assert seen[-1] == ("downloading ud", 300_000, 300_000)


def test_a_download_that_the_server_does_not_have_is_named(server):
    url, _ = server
    with pytest.raises(DataError) as caught, fetched(f"{url}/none.tar.gz", "ud"):
        pass
    assert str(caught.value) == (
        f"{url}/none.tar.gz: cannot be downloaded (File not found); try again, or use a local copy with --ud"
    )


def test_being_offline_is_a_clear_error():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/a.tar.gz"
        with (
            pytest.raises(DataError, match=r"cannot be downloaded \(.*refused\); .* with --propbank$"),
            fetched(url, "propbank"),
        ):
            pass


def test_what_is_not_a_regular_file_is_skipped_with_a_warning(folder):
    os.mkfifo(folder / "pipe.txt")
    with pytest.warns(SpansrlWarning, match=r"pipe\.txt: skipped: a FIFO"):
        assert set(texts(folder)) == {"one.txt", "b/two.txt"}
