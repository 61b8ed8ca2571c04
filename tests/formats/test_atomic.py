import pytest

from spansrl.formats.atomic import atomic_write, write_bytes


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_when_the_block_ends_without_an_error(tmp_path):
    target = tmp_path / "a"
    target.write_bytes(b"old")
    with atomic_write(target) as (temporary,):
        temporary.write_bytes(b"new")
        assert target.read_bytes() == b"old"
    assert target.read_bytes() == b"new"
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_after_any_error_the_old_files_remain_alone(error, tmp_path):
    targets = [tmp_path / "a", tmp_path / "b"]
    for target in targets:
        target.write_bytes(b"old")

    def fail():
        with atomic_write(*targets) as temporaries:
            for temporary in temporaries:
                temporary.write_bytes(b"new")
            raise error

    with pytest.raises(error):
        fail()
    assert [target.read_bytes() for target in targets] == [b"old", b"old"]
    assert names(tmp_path) == ["a", "b"]


def test_writing_bytes_removes_what_a_crash_left(tmp_path):
    (tmp_path / ".a.tmp").write_bytes(b"half")
    write_bytes(tmp_path / "a", b"whole")
    assert names(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == b"whole"
