import gzip
import io
import lzma
import os
import resource
import stat
import sys
import tracemalloc
from pathlib import Path

import pytest

from spansrl.errors import FormatError
from spansrl.formats.text_files import LONGEST_LINE, open_output, open_outputs, plain_name, read_lines


def texts(path):
    return [line.text for line in read_lines(path)]


def error_of(path):
    with pytest.raises(FormatError) as caught:
        list(read_lines(path))
    return str(caught.value)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"", []),
        (b"a\nb\n", ["a", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"a\r\n\r\nb\r\n", ["a", "", "b"]),
        (b"\xef\xbb\xbfa\n", ["a"]),
        ("é\u2028ü\x85\n".encode(), ["é\u2028ü\x85"]),
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
def test_lines_are_the_same_plain_or_compressed_whatever_ends_them(raw, expected, pack, tmp_path):
    path = tmp_path / {bytes: "a.txt", gzip.compress: "a.gz", lzma.compress: "a.xz"}[pack]
    path.write_bytes(pack(raw))
    assert texts(path) == expected


def test_compression_is_seen_in_the_content_whatever_the_name(tmp_path):
    (tmp_path / "a.txt").write_bytes(gzip.compress(b"a\n"))
    assert texts(tmp_path / "a.txt") == ["a"]


def test_bytes_that_are_not_utf8_are_refused_with_their_line(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"good\ncaf\xe9\n")
    assert error_of(path).startswith(f"{path}:2: not UTF-8: byte 0xe9 at byte 4")


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_a_compressed_file_that_is_cut_short_is_refused(suffix, pack, tmp_path):
    path = tmp_path / f"a{suffix}"
    packed = pack("".join(f"line {k}\n" for k in range(2000)).encode())
    path.write_bytes(packed[: len(packed) // 2])
    assert error_of(path).startswith(f"{path}:")
    assert "the compressed data is damaged or truncated" in error_of(path)


@pytest.mark.parametrize(
    "damage", [lambda raw: raw[:-8] + b"\0" * 8, lambda raw: raw[:30] + b"\xff" * 9 + raw[39:]]
)
@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_a_compressed_file_that_is_damaged_is_refused(suffix, pack, damage, tmp_path):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(damage(pack("".join(f"line {k * k}\n" for k in range(200)).encode())))
    assert "the compressed data is damaged or truncated" in error_of(path)


@pytest.mark.parametrize("raw", [b"", b"\x1f", b"plain text\n"])
def test_a_name_that_promises_compression_must_keep_it(raw, tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(raw)
    assert error_of(path).startswith(f"{path}: not a .gz file")


def test_missing_paths_and_directories_are_refused(tmp_path):
    missing = tmp_path / "missing.txt"
    assert error_of(missing) == f"{missing}: cannot be read: No such file or directory; check the path"
    assert error_of(tmp_path) == f"{tmp_path}: cannot be read: Is a directory; check the path"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_refused(tmp_path):
    path = tmp_path / "secret"
    path.write_text("x")
    path.chmod(0)
    assert error_of(path) == f"{path}: cannot be read: Permission denied; check the path"


def test_standard_input_may_be_compressed_and_stays_open(monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(gzip.compress(b"a\nb")))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert texts("-") == ["a", "b"]
    assert not stdin.buffer.closed


def test_a_line_that_is_not_text_is_refused_before_it_fills_the_memory(tmp_path):
    path = tmp_path / "zeros.xz"
    path.write_bytes(lzma.compress(b"fine\n" + b"\0" * (LONGEST_LINE + 1), preset=0))
    message = error_of(path)
    assert message.startswith(f"{path}:2: the line has more than")
    assert len(message) < 500


def test_progress_counts_the_stored_bytes(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"line\n" * 10_000)
    seen = []
    list(read_lines(path, progress=lambda *step: seen.append(step)))
    assert len(seen) > 1
    assert seen[-1] == (f"reading {path}", 50_000, 50_000)


def test_memory_does_not_grow_with_the_file(tmp_path):
    path = tmp_path / "long.gz"
    path.write_bytes(gzip.compress((b"x" * 999 + b"\n") * 5_000))  # 5 MB
    tracemalloc.start()
    try:
        count = sum(1 for _ in read_lines(path))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 5_000
    assert peak < 1_000_000


@pytest.mark.parametrize(
    ("name", "unpack"), [("a", bytes), ("a.gz", gzip.decompress), ("a.xz", lzma.decompress)]
)
def test_output_is_compressed_by_name_and_repeatable_to_the_byte(name, unpack, tmp_path):
    paths = [tmp_path / "one" / name, tmp_path / "two" / name]
    for path in paths:
        path.parent.mkdir()
        with open_output(path) as output:
            output.write(b"hello\n")
    assert unpack(paths[0].read_bytes()) == b"hello\n"
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize("name", ["a", "a.gz", "a.xz"])
def test_after_a_failure_the_old_file_remains_and_nothing_else(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(b"old")

    def fail_half_way():
        with open_output(path) as output:
            output.write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_half_way()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_has_the_rights_that_the_user_gives_to_new_files(tmp_path):
    (tmp_path / "usual").touch()
    with open_output(tmp_path / "ours"):
        pass
    assert stat.S_IMODE((tmp_path / "ours").stat().st_mode) == stat.S_IMODE(
        (tmp_path / "usual").stat().st_mode
    )


def test_a_link_stays_a_link_and_its_target_is_replaced(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    with open_output(link) as output:
        output.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_device_is_written_to_and_not_replaced():
    with open_output(os.devnull) as output:
        output.write(b"gone")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_an_error():
    with pytest.raises(FormatError) as caught, open_output("/dev/full") as output:
        output.write(b"x")
    assert str(caught.value) == "/dev/full: cannot be written: No space left on device"


def test_of_files_that_belong_together_none_appears_before_all_are_written(tmp_path):
    with open_outputs(tmp_path, ["a", "b"]) as (a, b):
        a.write(b"one")
        b.write(b"two")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"one", "b": b"two"}
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(FormatError) as caught, open_outputs(tmp_path, ["a", "b"]) as outputs:
            outputs[0].write(b"x" * 1000)  # stays in the buffer until the file is closed
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert str(caught.value) == f"{tmp_path}: cannot be written: File too large"
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"one", "b": b"two"}


def test_a_name_without_a_letter_is_refused():
    assert error_of("").startswith("'': the file name is empty")


@pytest.mark.parametrize(
    ("name", "reason"), [(".", "Is a directory"), ("no/such/place", "No such file or directory")]
)
def test_a_path_that_cannot_be_written_is_refused(name, reason, tmp_path):
    path = tmp_path / name
    with pytest.raises(FormatError) as caught, open_output(path):
        pass
    assert str(caught.value) == f"{path}: cannot be written: {reason}"


def test_the_plain_name_has_no_compression_suffix():
    assert [plain_name(name) for name in ("x/a.props.gz", "a.jsonl.xz", "a.props")] == [
        "a.props",
        "a.jsonl",
        "a.props",
    ]
